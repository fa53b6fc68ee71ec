//! Localizes a bug: judges what is close to the failing compile, and ranks by what they executed.

use crate::assignment::Assignment;
use crate::connections::Connections;
use crate::error::{Error, Result};
use crate::investigation::Investigation;
use crate::localization::{Localization, Progress};
use crate::oracle::{Oracle, Refusal, Symptom};
use crate::rank::{Stack, is_of_the_machine};
use crate::witness::{self, Mutants, OptionSets};
use hearth_client::protocol::{Coverage, Level, RunRef, Suspect};
use hearth_client::{Answer, Ask};
use hearth_compiler::spent::Spent;
use hearth_compiler::toolchain::Toolchain;
use std::time::{Duration, Instant};

/// The longest budget.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many suspicious lines are wanted.
const LINES: u32 = 3000;
/// The share of the time that is kept for what is under way when the search ends, and for the last rankings.
const RESERVE: f64 = 0.05;
/// That time at the most.
const LONGEST_RESERVE: Duration = Duration::from_secs(3);
/// The share of the time that options may take when mutants come after them.
const OPTIONS_SHARE: f64 = 0.6;

/// Localizes. `tell` is called now and then.
///
/// # Errors
/// If the program does not fail as it should, or the daemon cannot.
pub fn localize(
    connections: &mut Connections,
    assignment: &Assignment<'_>,
    tell: impl Fn(&Progress) + Sync,
) -> Result<Localization> {
    let started = Instant::now();
    let budget = assignment.way.budget.min(LONGEST);
    let budget = budget.saturating_sub(budget.mul_f64(RESERVE).min(LONGEST_RESERVE));
    let deadline = started + budget;
    let toolchain =
        Toolchain::new(connections.one(), assignment.subject, assignment.program, assignment.way.launcher)?;
    let (fail, pass) = (assignment.fail.clone(), assignment.pass.clone());
    let reference = assignment.reference.map(|subject| {
        Toolchain::new(connections.one(), subject, assignment.program, assignment.way.launcher)
            .map(|toolchain| (toolchain, subject))
    });
    let mut oracle =
        Oracle::new(connections.one(), toolchain, reference.transpose()?, assignment.text, fail, pass)?;
    let found = prepare(connections, &mut oracle, assignment).and_then(|mutants| {
        let prepared = started.elapsed();
        let investigation = Investigation::new(connections, &oracle, assignment, started, deadline, &tell);
        Ok(Localization {
            prepared,
            ..find(investigation, mutants, started + budget.mul_f64(OPTIONS_SHARE))?
        })
    });
    connections.forget([oracle.failing_run]);
    found
}

/// Sees that the technique can be used, and has the failing run kept.
fn prepare<'a>(
    connections: &mut Connections,
    oracle: &mut Oracle,
    assignment: &'a Assignment<'a>,
) -> Result<Option<Mutants<'a>>> {
    if assignment.way.screen && assignment.technique.mutates() {
        oracle.screen(connections.one(), assignment.text)?;
    }
    if !assignment.technique.mutates() && !oracle.toolchain.has_options() {
        return Err(Refusal::NoOptions.into());
    }
    let mutants = assignment.technique.mutates().then(|| Mutants::new(assignment)).transpose()?.flatten();
    let is_text_needed = !assignment.technique.is_own() || !oracle.toolchain.has_options();
    if mutants.is_none() && is_text_needed {
        return Err(Refusal::NotText.into());
    }
    // With a name it is not forgotten, however many others come and go.
    let (run, name) = (RunRef::Id(oracle.failing_run), format!("failing, of process {}", std::process::id()));
    connections.one().call(Ask::Name { run, name })?;
    Ok(mutants)
}

/// Finds witnesses, ranks, and has all runs but the failing one forgotten.
fn find(
    mut investigation: Investigation<'_>,
    mutants: Option<Mutants<'_>>,
    options_deadline: Instant,
) -> Result<Localization> {
    let rankings = judge(&mut investigation, mutants, options_deadline);
    investigation.forget();
    let Rankings { files, functions, lines, is_complete } = rankings?;
    let Investigation { connections, oracle, started, witnesses, samples, ranking, .. } = investigation;
    let mut executed = |level| {
        coverage_of(connections, oracle.failing_run, level)
            .map(|coverage| coverage.files.len().max(coverage.functions.len()) as u32)
    };
    Ok(Localization {
        symptom: oracle.symptom.clone(),
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
fn coverage_of(connections: &mut Connections, run: u64, level: Level) -> Result<Coverage> {
    match connections.one().call(Ask::Spectrum { run: RunRef::Id(run), level, counts: false })? {
        Answer::Coverage(coverage) => Ok(coverage),
        other => Err(Error::answers(other)),
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
    investigation: &mut Investigation<'_>,
    mutants: Option<Mutants<'_>>,
    options_deadline: Instant,
) -> Result<Rankings> {
    let (technique, deadline, limit) =
        (investigation.assignment.technique, investigation.deadline, investigation.assignment.limit);
    let mut is_complete = true;
    if matches!(investigation.oracle.symptom, Symptom::Crash(_)) && technique.is_own() {
        look_at_crash(investigation)?;
    }
    if technique.is_own() && investigation.oracle.toolchain.has_options() {
        let deadline = if mutants.is_some() { options_deadline } else { deadline };
        let mut option_sets = OptionSets::new(investigation)?;
        is_complete &= witness::find(investigation, &mut option_sets, deadline)?;
    }
    if let Some(mut mutants) = mutants {
        is_complete &= witness::find(investigation, &mut mutants, deadline)?;
    }
    investigation.sample_now()?;
    Ok(Rankings {
        files: investigation.rank(Level::Files, limit)?,
        functions: investigation.rank(Level::Functions, limit)?,
        lines: investigation.rank(Level::Lines, LINES)?,
        is_complete,
    })
}

/// Learns what every crash executes, and what was under way in this one.
fn look_at_crash(investigation: &mut Investigation<'_>) -> Result<()> {
    let Oracle { toolchain, fail, failing_run, .. } = investigation.oracle;
    toolchain.crash_on_purpose(investigation.connections.one(), &mut investigation.evidence.innocent)?;
    if !investigation.assignment.technique.reads_stack() {
        return Ok(());
    }
    let mut frames = toolchain.stack(investigation.connections.one(), investigation.assignment.text, fail)?;
    let compiler = toolchain.compiler();
    let is_reporter = |source: &str| compiler.reporters().iter().any(|name| source.contains(name));
    frames.retain(|frame| !is_reporter(&frame.source) && !is_of_the_machine(&frame.source));
    let executed = coverage_of(investigation.connections, *failing_run, Level::Functions)?;
    investigation.evidence.stack = Stack::new(&frames, &executed.functions);
    Ok(())
}
