//! Localizes a bug: judges what is close to the failing compile, and ranks by what they executed.

use crate::options::{Flip, flips, levels};
use crate::oracle::{Judged, Kind, Oracle, Refusal, Verdict, shown};
use crate::parallel::Connections;
use crate::search::Choice;
use crate::toolchain::Toolchain;
use crate::witnesses;
use anyhow::bail;
use hearth_client::protocol::{Aggregation, Formula, Level, RunRef, Suspect};
use hearth_client::{Answer, Ask};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The longest budget.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// How many suspicious lines are wanted.
const LINES: u32 = 200;

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
    /// How witnesses are found.
    pub technique: Technique,
    /// Where random choices begin.
    pub seed: u64,
    /// How long it may take.
    pub budget: Duration,
    /// How many mutants are judged at the most.
    pub count: usize,
    /// How many suspects of each kind are wanted.
    pub limit: u32,
    /// A `hearth`.
    pub launcher: &'a Path,
}

/// How witnesses are found, and what is made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Technique {
    /// Each option turned the other way; passing option sets vote.
    Options,
    /// DiWi: mutants of the program, rules chosen by Metropolis and Hastings; Ochiai, the mean of a file's lines.
    Diwi,
    /// DiWi with rules chosen at random.
    Random,
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Candidates judged.
    pub judged: usize,
    /// All candidates, if they are known.
    pub all: Option<usize>,
    /// Those that pass.
    pub passing: usize,
    /// Those that fail.
    pub failing: usize,
}

/// Counts one more, and tells.
pub(crate) fn count(progress: &Mutex<Progress>, verdict: Verdict, tell: &impl Fn(Progress)) {
    if let Ok(mut progress) = progress.lock() {
        progress.judged += 1;
        progress.passing += usize::from(verdict == Verdict::Pass);
        progress.failing += usize::from(verdict == Verdict::Fail);
        tell(*progress);
    }
}

/// Something close to the failing compile that was judged.
#[derive(Debug, Clone)]
pub struct Witness {
    /// What was changed, as it is shown: `-fno-ivopts`, `replace + by -`.
    pub change: String,
    /// What came of it.
    pub verdict: Verdict,
    /// The program, if it was changed and passes.
    pub program: Option<String>,
    /// When it was judged, since the beginning.
    pub at: Duration,
    /// How many lines of the compiler the failing compile executed and this one did not; only of those that pass.
    pub lacks: Option<u64>,
}

/// The ranking as it was at some moment.
#[derive(Debug, Clone)]
pub struct Sample {
    /// When, since the beginning.
    pub at: Duration,
    /// How many candidates were judged.
    pub judged: usize,
    /// How many of them pass.
    pub passing: usize,
    /// The first files.
    pub files: Vec<Suspect>,
}

/// Where the time went, added up over all threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// Compiles.
    pub compile: Duration,
    /// The assembler and the linker.
    pub link: Duration,
    /// Executions of the compiled programs.
    pub execute: Duration,
    /// Comparisons of spectra, and rankings.
    pub rank: Duration,
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
    /// Lines of the compiler, the most suspicious first.
    pub lines: Vec<Suspect>,
    /// The rankings on the way, the last one last.
    pub samples: Vec<Sample>,
    /// Where the time went.
    pub spent: Spent,
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
    let deadline = started + request.budget.min(LONGEST);
    let toolchain = Toolchain::new(connections.one(), request.subject, request.program, request.launcher)?;
    let (fail, pass) = (request.fail.clone(), request.pass.clone());
    let oracle = Oracle::new(connections.one(), toolchain, request.text, fail, pass)?;
    let prepared = started.elapsed();
    if request.technique != Technique::Options && std::str::from_utf8(request.text).is_err() {
        return Err(Refusal::NotText);
    }
    // With a name it is not forgotten, however many others come and go.
    let (run, name) = (RunRef::Id(oracle.failing_run), format!("failing, of process {}", std::process::id()));
    connections.one().call(Ask::Name { run, name }).map_err(anyhow::Error::from)?;
    let (witnesses, rankings, is_complete) = match request.technique {
        Technique::Options => by_options(connections, &oracle, request, deadline, &tell)?,
        Technique::Diwi => {
            by_mutants(connections, &oracle, request, deadline, Choice::MetropolisHastings, &tell)?
        }
        Technique::Random => by_mutants(connections, &oracle, request, deadline, Choice::Random, &tell)?,
    };
    let [files, functions, lines] = rankings;
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
    connections.forget([oracle.failing_run]);
    Ok(Localization {
        kind: oracle.kind.clone(),
        files,
        functions,
        lines,
        samples: Vec::new(),
        spent: Spent::default(),
        witnesses,
        is_complete,
        executed_files: executed_files?,
        executed_functions: executed_functions?,
        prepared,
        total: started.elapsed(),
    })
}

/// Files, functions, lines.
type Rankings = [Vec<Suspect>; 3];
type Found = (Vec<Witness>, Rankings, bool);

/// Option sets; what all failing compiles executed and a passing one did not votes.
fn by_options(
    connections: &mut Connections,
    oracle: &Oracle,
    request: &Request<'_>,
    deadline: Instant,
    tell: &(impl Fn(Progress) + Sync),
) -> anyhow::Result<Found> {
    let flips = flips(connections.one(), &oracle.toolchain, &oracle.fail)?;
    let candidates = candidates(flips, &oracle.fail);
    let progress = Mutex::new(Progress { all: Some(candidates.len()), ..Progress::default() });
    let judged = connections.each(&candidates, deadline, |connection, candidate| {
        let judged = oracle.judge(connection, request.text, &candidate.options)?;
        count(&progress, judged.verdict, tell);
        Ok(judged)
    })?;
    let is_complete = judged.iter().all(Option::is_some);
    let pairs: Vec<(&Candidate, Judged)> =
        candidates.iter().zip(judged).filter_map(|(candidate, judged)| Some((candidate, judged?))).collect();
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
    let rankings = rank(connections, &failing, &passing, Formula::Votes, Aggregation::Sum, request.limit)?;
    connections.forget(pairs.iter().map(|(_, judged)| judged.run));
    let witness = |(candidate, judged): (&Candidate, Judged)| Witness {
        change: candidate.change.clone(),
        verdict: judged.verdict,
        program: None,
        at: Duration::ZERO,
        lacks: None,
    };
    Ok((pairs.into_iter().map(witness).collect(), rankings, is_complete))
}

/// Mutants, ranked as DiWi does.
fn by_mutants(
    connections: &mut Connections,
    oracle: &Oracle,
    request: &Request<'_>,
    deadline: Instant,
    choice: Choice,
    tell: &(impl Fn(Progress) + Sync),
) -> anyhow::Result<Found> {
    let found = witnesses::find(connections, oracle, request, deadline, choice, tell)?;
    let passing: Vec<RunRef> = found.accepted.iter().map(|&run| RunRef::Id(run)).collect();
    let failing = [RunRef::Id(oracle.failing_run)];
    let rankings = match passing.is_empty() {
        // Without a passing one all lines are alike.
        true => Rankings::default(),
        false => rank(connections, &failing, &passing, Formula::Ochiai, Aggregation::Mean, request.limit)?,
    };
    connections.forget(found.accepted);
    Ok((found.witnesses, rankings, found.is_complete))
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

/// Ranks files and functions.
fn rank(
    connections: &mut Connections,
    failing: &[RunRef],
    passing: &[RunRef],
    formula: Formula,
    aggregation: Aggregation,
    limit: u32,
) -> anyhow::Result<Rankings> {
    let mut suspects = |level, limit| {
        let (failing, passing) = (failing.to_vec(), passing.to_vec());
        match connections.one().call(Ask::Rank { failing, passing, formula, aggregation, level, limit })? {
            Answer::Ranking(ranking) => Ok(ranking),
            other => bail!("the daemon answers {other:?}"),
        }
    };
    Ok([suspects(Level::Files, limit)?, suspects(Level::Functions, limit)?, suspects(Level::Lines, LINES)?])
}
