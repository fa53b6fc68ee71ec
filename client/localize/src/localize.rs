//! Localizes a bug: judges what is close to the failing compile, and ranks by what they executed.

use crate::options::{Flip, flips, levels};
use crate::oracle::{Judged, Kind, Oracle, Refusal, Verdict, shown};
use crate::parallel::Connections;
use crate::toolchain::Toolchain;
use anyhow::bail;
use hearth_client::protocol::{Aggregation, Formula, Level, RunRef, Suspect};
use hearth_client::{Answer, Ask};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What is to be localized.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The compiler.
    pub subject: &'a str,
    /// Where the program is; headers are searched beside it.
    pub program: &'a Path,
    /// Its text.
    pub text: &'a [u8],
    /// Options it fails with.
    pub fail: Vec<String>,
    /// Options it passes with; a crash may have none.
    pub pass: Option<Vec<String>>,
    /// How long it may take.
    pub budget: Duration,
    /// How many suspects of each kind are wanted.
    pub limit: u32,
    /// A `hearth`.
    pub launcher: &'a Path,
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Candidates judged.
    pub judged: usize,
    /// All candidates.
    pub all: usize,
    /// Those that pass.
    pub passing: usize,
    /// Those that fail.
    pub failing: usize,
}

/// An option set that was judged.
#[derive(Debug, Clone)]
pub struct Witness {
    /// What was changed, as it is shown: `-fno-ivopts`.
    pub change: String,
    /// What came of it.
    pub verdict: Verdict,
}

/// What was found.
#[derive(Debug)]
pub struct Localization {
    /// What kind of bug it is.
    pub kind: Kind,
    /// Files, the most suspicious first.
    pub files: Vec<Suspect>,
    /// Functions, the most suspicious first.
    pub functions: Vec<Suspect>,
    /// Everything that was judged.
    pub witnesses: Vec<Witness>,
    /// Was everything judged before the time was over?
    pub is_complete: bool,
    /// How many files the failing compile executed.
    pub executed_files: u32,
    /// How many functions the failing compile executed.
    pub executed_functions: u32,
    /// Until the failure was seen.
    pub prepared: Duration,
    /// All of it.
    pub total: Duration,
}

impl Localization {
    /// How many witnesses have a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.witnesses.iter().filter(|witness| witness.verdict == verdict).count()
    }
}

/// A candidate: options that replace the failing ones, and how they are shown.
struct Candidate {
    change: String,
    options: Vec<String>,
    is_far: bool,
}

/// Localizes. `tell` is called now and then.
///
/// # Errors
/// If the program does not fail as it should, or the daemon cannot.
pub fn localize(
    connections: &mut Connections,
    request: &Request<'_>,
    tell: impl Fn(Progress) + Sync,
) -> Result<Localization, Refusal> {
    let started = Instant::now();
    let deadline = started + request.budget;
    let toolchain = Toolchain::new(connections.one(), request.subject, request.program, request.launcher)?;
    let (fail, pass) = (request.fail.clone(), request.pass.clone());
    let oracle = Oracle::new(connections.one(), toolchain, request.text, fail, pass)?;
    let prepared = started.elapsed();
    let candidates = candidates(flips(connections.one(), &oracle.toolchain, &oracle.fail)?, &oracle.fail);
    let progress = Mutex::new(Progress { all: candidates.len(), ..Progress::default() });
    let judged = connections.each(&candidates, deadline, |connection, candidate| {
        let judged = oracle.judge(connection, request.text, &candidate.options)?;
        if let Ok(mut progress) = progress.lock() {
            progress.judged += 1;
            progress.passing += usize::from(judged.verdict == Verdict::Pass);
            progress.failing += usize::from(judged.verdict == Verdict::Fail);
            tell(*progress);
        }
        Ok(judged)
    })?;
    let is_complete = judged.iter().all(Option::is_some);
    let pairs: Vec<(&Candidate, Judged)> =
        candidates.iter().zip(judged).filter_map(|(candidate, judged)| Some((candidate, judged?))).collect();
    let executed = |level| match connections.one().call(Ask::Spectrum {
        run: RunRef::Id(oracle.failing_run),
        level,
        counts: false,
    }) {
        Ok(Answer::Coverage(coverage)) => Ok(coverage.files.len().max(coverage.functions.len()) as u32),
        Ok(other) => Err(anyhow::anyhow!("the daemon answers {other:?}")),
        Err(error) => Err(error.into()),
    };
    let [executed_files, executed_functions] = [Level::Files, Level::Functions].map(executed);
    let (files, functions) = rank(connections, &oracle, &pairs, request.limit)?;
    let runs: Vec<RunRef> = pairs
        .iter()
        .map(|(_, judged)| judged.run)
        .chain([oracle.failing_run])
        .filter(|&run| run > 0)
        .map(RunRef::Id)
        .collect();
    connections.one().call(Ask::Forget { runs }).map_err(anyhow::Error::from)?;
    let witnesses = pairs
        .into_iter()
        .map(|(candidate, judged)| Witness { change: candidate.change.clone(), verdict: judged.verdict });
    Ok(Localization {
        kind: oracle.kind.clone(),
        files,
        functions,
        witnesses: witnesses.collect(),
        is_complete,
        executed_files: executed_files?,
        executed_functions: executed_functions?,
        prepared,
        total: started.elapsed(),
    })
}

/// The other levels, which are few, and each option turned the other way.
fn candidates(flips: Vec<Flip>, fail: &[String]) -> Vec<Candidate> {
    let flipped = flips.into_iter().map(|flip| {
        let options = fail.iter().chain([&flip.option]).cloned().collect();
        Candidate { change: flip.option, options, is_far: false }
    });
    let levels = levels(fail).into_iter().map(|options| Candidate {
        change: format!("{} instead", shown(&options)),
        options,
        is_far: true,
    });
    levels.chain(flipped).collect()
}

/// Ranks files and functions: what all failing compiles executed and a passing one did not votes.
fn rank(
    connections: &mut Connections,
    oracle: &Oracle,
    pairs: &[(&Candidate, Judged)],
    limit: u32,
) -> anyhow::Result<(Vec<Suspect>, Vec<Suspect>)> {
    let of = |verdict: Verdict, is_far: bool| {
        let matching = pairs.iter().filter(move |(candidate, judged)| {
            judged.verdict == verdict && judged.run > 0 && candidate.is_far == is_far
        });
        matching.map(|(_, judged)| RunRef::Id(judged.run)).collect::<Vec<_>>()
    };
    let failing: Vec<RunRef> =
        [RunRef::Id(oracle.failing_run)].into_iter().chain(of(Verdict::Fail, false)).collect();
    // Another level executes much else, and is asked only where no single option makes a difference.
    let mut passing = of(Verdict::Pass, false);
    if passing.is_empty() {
        passing = of(Verdict::Pass, true);
    }
    let mut suspects = |level| {
        let ask = Ask::Rank {
            failing: failing.clone(),
            passing: passing.clone(),
            formula: Formula::Votes,
            aggregation: Aggregation::Sum,
            level,
            limit,
        };
        match connections.one().call(ask)? {
            Answer::Ranking(ranking) => Ok(ranking),
            other => bail!("the daemon answers {other:?}"),
        }
    };
    Ok((suspects(Level::Files)?, suspects(Level::Functions)?))
}
