//! The check `exact`: random programs times option sets on real subjects.

use crate::done::Done;
use crate::exact_support::{Compared, compare};
use crate::option_sets::{CC1_OPTIONS, TCC_OPTIONS};
use crate::plain_run::plain_run;
use crate::programs::csmith_program;
use anyhow::bail;
use hearth_subject::{Store, Subject};
use std::path::Path;
use std::time::{Duration, Instant};

/// What to compare.
pub struct Plan {
    /// The subjects' names.
    pub subjects: Vec<String>,
    /// The first program's seed.
    pub seed: u64,
    /// How many programs.
    pub programs: u64,
    /// How many option sets at the most.
    pub option_sets: usize,
}

/// Compares until the plan is done or the time is up; `done` lists the cases of earlier calls.
pub fn run(hearth: &Path, plan: &Plan, limit: Duration, done: Option<&Path>) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut done = Done::read(done);
    let store = Store::open()?;
    let (mut cases, mut compared) = (0, Compared::default());
    for name in &plan.subjects {
        let subject = store.find(name)?;
        let is_tcc = subject.manifest.name == "tcc";
        let option_sets = if is_tcc { TCC_OPTIONS } else { CC1_OPTIONS };
        for seed in plan.seed..plan.seed + plan.programs {
            for options in option_sets.iter().take(plan.option_sets) {
                let case =
                    format!("{} {} seed {seed} {options}", subject.id(), subject.manifest.binary.sha256);
                if done.skips(&case) {
                    continue;
                }
                if started.elapsed() > limit {
                    let skipped = done.skipped;
                    println!(
                        "time is up after {cases} cases ({skipped} done before): {compared}; call again to go on"
                    );
                    return Ok(());
                }
                match check(hearth, &subject, seed, options, is_tcc) {
                    Ok(result) => compared.add(result),
                    Err(difference) => bail!("{case}: {difference}"),
                }
                cases += 1;
                println!("{} seed {seed} {options}: equal, {compared} so far", subject.id());
                done.add(&case)?;
            }
        }
    }
    println!("{cases} cases ({} done before), 0 differences in {compared}", done.skipped);
    Ok(())
}

fn check(
    hearth: &Path,
    subject: &Subject,
    seed: u64,
    options: &str,
    is_tcc: bool,
) -> Result<Compared, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = csmith_program(seed, scratch.path());
    let mut arguments: Vec<String> = options.split(' ').map(str::to_owned).collect();
    arguments.extend([program.to_string_lossy().into_owned(), "-o".to_owned(), "out".to_owned()]);
    if !is_tcc {
        arguments.push("-quiet".to_owned());
    }
    let tree = plain_run(&subject.binary(), &subject.notes_directory(), &arguments, scratch.path());
    compare("gcov-12", hearth, &tree)
}
