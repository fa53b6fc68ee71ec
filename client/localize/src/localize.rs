//! Localizes a bug: judges what is close to the failing compile, and ranks by what they executed.

use crate::connections::Connections;
use crate::oracle::{Kind, Oracle, Refusal, Verdict, shown};
use crate::session::{Candidate, Session, is_of_the_machine};
use crate::technique::Technique;
use crate::witnesses::{self, Search};
use anyhow::bail;
use hearth_client::protocol::{Aggregation, Coverage, Formula, Level, RunRef, Suspect};
use hearth_client::{Answer, Ask};
use hearth_compiler::options::{flips, levels};
use hearth_compiler::spent::Spent;
use hearth_compiler::stack::Stack;
use hearth_compiler::toolchain::Toolchain;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// The longest budget.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// How many suspicious lines are wanted.
const LINES: u32 = 3000;
/// Option sets that are judged between two looks at the ranking.
const CHUNK: usize = 16;
/// The share of the time that is kept for what is under way when the search ends, and for the last rankings.
const RESERVE: f64 = 0.05;
/// That time at the most.
const LONGEST_RESERVE: Duration = Duration::from_secs(3);
/// The share of the time that options may take when mutants come after them.
const OPTIONS_SHARE: f64 = 0.6;

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
    /// Another compiler, whose code is right.
    pub reference: Option<&'a str>,
    /// How witnesses are found.
    pub technique: Technique,
    /// Where random choices begin.
    pub seed: u64,
    /// How long it may take.
    pub budget: Duration,
    /// The search ends when the first five files have been the same for this long.
    pub settled: Option<Duration>,
    /// How lines are scored, if not in the technique's own way.
    pub formula: Option<Formula>,
    /// How the scores of lines make those of places, if not in the technique's own way.
    pub aggregation: Option<Aggregation>,
    /// Are programs left out that do what C leaves undefined?
    pub screen: bool,
    /// Do execution counts decide between equals?
    pub counts: bool,
    /// A directory of C programs, whose parts RecBi inserts; only the program itself if there is none.
    pub ingredients: Option<&'a Path>,
    /// How many mutants are judged at the most.
    pub count: usize,
    /// How many suspects of each kind are wanted.
    pub limit: u32,
    /// A `hearth`.
    pub launcher: &'a Path,
}

/// How far it is.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Candidates judged.
    pub judged: usize,
    /// All candidates, if they are known.
    pub all: Option<usize>,
    /// Those that pass.
    pub passing: usize,
    /// Those that fail.
    pub failing: usize,
    /// How long it has taken.
    pub elapsed: Duration,
    /// The files that are the most suspicious so far.
    pub first: Vec<String>,
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

/// Localizes. `tell` is called now and then.
///
/// # Errors
/// If the program does not fail as it should, or the daemon cannot.
pub fn localize(
    connections: &mut Connections,
    request: &Request<'_>,
    tell: impl Fn(&Progress) + Sync,
) -> Result<Localization, Refusal> {
    let started = Instant::now();
    let budget = request.budget.min(LONGEST);
    let budget = budget.saturating_sub(budget.mul_f64(RESERVE).min(LONGEST_RESERVE));
    let deadline = started + budget;
    let toolchain = Toolchain::new(connections.one(), request.subject, request.program, request.launcher)?;
    let (fail, pass) = (request.fail.clone(), request.pass.clone());
    let reference = request.reference.map(|subject| {
        Toolchain::new(connections.one(), subject, request.program, request.launcher)
            .map(|toolchain| (toolchain, subject))
    });
    let mut oracle =
        Oracle::new(connections.one(), toolchain, reference.transpose()?, request.text, fail, pass)?;
    let found = prepare(connections, &mut oracle, request).and_then(|search| {
        let prepared = started.elapsed();
        let session = Session::new(connections, &oracle, request, started, deadline, &tell);
        Ok(Localization { prepared, ..find(session, search, started + budget.mul_f64(OPTIONS_SHARE))? })
    });
    connections.forget([oracle.failing_run]);
    found
}

/// Sees that the technique can be used, and has the failing run kept.
fn prepare(
    connections: &mut Connections,
    oracle: &mut Oracle,
    request: &Request<'_>,
) -> Result<Option<Search>, Refusal> {
    if request.screen && request.technique.mutates() {
        oracle.screen(connections.one(), request.text)?;
    }
    if request.technique == Technique::Options && !oracle.toolchain.has_options() {
        return Err(Refusal::NoOptions);
    }
    let search = request.technique.mutates().then(|| Search::new(request)).transpose()?.flatten();
    let is_text_needed = !request.technique.is_own() || !oracle.toolchain.has_options();
    if search.is_none() && is_text_needed {
        return Err(Refusal::NotText);
    }
    // With a name it is not forgotten, however many others come and go.
    let (run, name) = (RunRef::Id(oracle.failing_run), format!("failing, of process {}", std::process::id()));
    connections.one().call(Ask::Name { run, name }).map_err(anyhow::Error::from)?;
    Ok(search)
}

/// Finds witnesses, ranks, and has all runs but the failing one forgotten.
fn find(
    mut session: Session<'_>,
    search: Option<Search>,
    options_deadline: Instant,
) -> anyhow::Result<Localization> {
    let rankings = judge(&mut session, search, options_deadline);
    session.forget();
    let Rankings { files, functions, lines, is_complete } = rankings?;
    let Session { connections, oracle, started, witnesses, samples, ranking, .. } = session;
    let mut executed = |level| {
        coverage_of(connections, oracle.failing_run, level)
            .map(|coverage| coverage.files.len().max(coverage.functions.len()) as u32)
    };
    Ok(Localization {
        kind: oracle.kind.clone(),
        files,
        functions,
        lines,
        samples,
        spent: Spent { rank: ranking, ..oracle.toolchain.spent() },
        witnesses,
        is_complete,
        executed_files: executed(Level::Files)?,
        executed_functions: executed(Level::Functions)?,
        prepared: Duration::ZERO,
        total: started.elapsed(),
    })
}

/// What a run executed.
fn coverage_of(connections: &mut Connections, run: u64, level: Level) -> anyhow::Result<Coverage> {
    match connections.one().call(Ask::Spectrum { run: RunRef::Id(run), level, counts: false })? {
        Answer::Coverage(coverage) => Ok(coverage),
        other => bail!("the daemon answers {other:?}"),
    }
}

/// The last rankings.
struct Rankings {
    files: Vec<Suspect>,
    functions: Vec<Suspect>,
    lines: Vec<Suspect>,
    is_complete: bool,
}

/// Finds witnesses, and ranks. Options end earlier where mutants come after them.
fn judge(
    session: &mut Session<'_>,
    search: Option<Search>,
    options_deadline: Instant,
) -> anyhow::Result<Rankings> {
    let (technique, deadline, limit) = (session.request.technique, session.deadline, session.request.limit);
    let mut is_complete = true;
    if matches!(session.oracle.kind, Kind::Crash(_)) && technique.is_own() {
        look_at_crash(session)?;
    }
    if technique.is_own() {
        let deadline = if search.is_some() { options_deadline } else { deadline };
        is_complete &= by_options(session, deadline)?;
    }
    if let Some(search) = search {
        is_complete &= witnesses::find(session, search)?;
    }
    session.sample_now()?;
    Ok(Rankings {
        files: session.rank(Level::Files, limit)?,
        functions: session.rank(Level::Functions, limit)?,
        lines: session.rank(Level::Lines, LINES)?,
        is_complete,
    })
}

/// Learns what every crash executes, and what was under way in this one.
fn look_at_crash(session: &mut Session<'_>) -> anyhow::Result<()> {
    let Oracle { toolchain, fail, failing_run, .. } = session.oracle;
    toolchain.crash_on_purpose(session.connections.one(), &mut session.innocent)?;
    if session.request.technique != Technique::Fused {
        return Ok(());
    }
    let mut frames = toolchain.stack(session.connections.one(), session.request.text, fail)?;
    frames.retain(|frame| !toolchain.is_reporter(&frame.source) && !is_of_the_machine(&frame.source));
    let executed = coverage_of(session.connections, *failing_run, Level::Functions)?;
    session.stack = Stack::new(&frames, &executed.functions);
    Ok(())
}

/// Judges option sets: the other levels, which are few, and each option turned the other way. Says whether all were.
fn by_options(session: &mut Session<'_>, deadline: Instant) -> anyhow::Result<bool> {
    let oracle = session.oracle;
    if !oracle.toolchain.has_options() {
        return Ok(true);
    }
    let flips = flips(session.connections.one(), &oracle.toolchain, &oracle.fail)?;
    let levels =
        levels(&oracle.fail).into_iter().map(|options| (format!("{} instead", shown(&options)), options));
    let far = levels.len();
    let flipped = flips.into_iter().map(|flip| {
        let options = oracle.fail.iter().chain([&flip.option]).cloned().collect::<Vec<_>>();
        (flip.option, options)
    });
    let sets: Vec<(String, Vec<String>)> = levels.chain(flipped).collect();
    session.progress.get_mut().unwrap_or_else(PoisonError::into_inner).all = Some(sets.len());
    let text = session.request.text;
    let (mut is_complete, mut far_passing, mut useless) = (true, Vec::new(), Vec::new());
    for (number, chunk) in sets.chunks(CHUNK).enumerate() {
        if session.is_settled() {
            break;
        }
        let candidates: Vec<Candidate<'_>> = chunk
            .iter()
            .map(|(change, options)| Candidate { change: change.clone(), text, options })
            .collect();
        let judged = session.judge(&candidates, deadline)?;
        is_complete &= judged.iter().all(Option::is_some);
        let with_coverage =
            judged.into_iter().enumerate().filter_map(|(index, judged)| Some((index, judged?)));
        for (index, judged) in with_coverage.filter(|(_, judged)| judged.run > 0) {
            match (judged.verdict, number * CHUNK + index < far) {
                (Verdict::Pass, true) => far_passing.push(judged.run),
                (Verdict::Pass, false) => session.options.passing.push(judged.run),
                (Verdict::Fail, false) => session.options.failing.push(judged.run),
                _ => useless.push(judged.run),
            }
        }
        session.sample()?;
    }
    session.progress.get_mut().unwrap_or_else(PoisonError::into_inner).all = None;
    // Another level executes much else, and is asked only where no single option makes a difference.
    match session.options.passing.is_empty() {
        true => session.options.passing = far_passing,
        false => useless.extend(far_passing),
    }
    session.connections.forget(useless);
    Ok(is_complete)
}
