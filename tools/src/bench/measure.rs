//! Timing commands: interleaved repeats, medians, a table.

use anyhow::{Context, bail};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What takes longer is timed once.
const SLOW: Duration = Duration::from_secs(30);

/// A command to time.
pub struct Contender {
    /// Its name in the table.
    pub name: String,
    /// Makes the command anew for each repeat.
    pub command: Box<dyn Fn() -> Command>,
}

/// The results of one subject.
#[derive(Debug, Default, Serialize)]
pub struct SubjectResult {
    /// A peer's time over Hearth's, for the same kind of output; above 1 Hearth is faster.
    pub ratios: BTreeMap<String, f64>,
    /// Median times in seconds.
    pub medians_s: BTreeMap<String, f64>,
    /// How often each was timed.
    pub repeats: BTreeMap<String, usize>,
    /// What was measured.
    pub about: BTreeMap<String, String>,
}

/// The results of all subjects.
pub type Results = BTreeMap<String, SubjectResult>;

/// Measures one subject after the other, and shows each result as it is there.
pub fn each<S>(
    subjects: impl IntoIterator<Item = (String, S)>,
    measure: impl Fn(&S) -> anyhow::Result<SubjectResult>,
    print: impl Fn(&str, &SubjectResult),
) -> anyhow::Result<Results> {
    let mut results = Results::new();
    for (name, subject) in subjects {
        let result = measure(&subject).with_context(|| format!("on {name}"))?;
        print(&name, &result);
        results.insert(name, result);
    }
    Ok(results)
}

/// Times all contenders in turn, `repeat` times over, and returns the median of each with its repeats.
pub fn time_all(
    contenders: &[Contender],
    repeat: usize,
    directory: &Path,
) -> anyhow::Result<BTreeMap<String, (Duration, usize)>> {
    let mut times: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for round in 0..repeat {
        for contender in contenders {
            let known = times.entry(contender.name.clone()).or_default();
            if known.first().is_some_and(|&first| first > SLOW) {
                continue;
            }
            eprintln!("round {} of {repeat}: {}", round + 1, contender.name);
            let elapsed = time(&mut (contender.command)(), directory);
            known.push(elapsed.with_context(|| format!("{} failed", contender.name))?);
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        (times[times.len() / 2], times.len())
    };
    Ok(times.into_iter().map(|(name, times)| (name, median(times))).collect())
}

fn time(command: &mut Command, directory: &Path) -> anyhow::Result<Duration> {
    let errors = directory.join("stderr");
    // What is printed goes nowhere: the disk is not what is measured.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&errors)?);
    let started = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    let elapsed = started.elapsed();
    if !status.success() {
        bail!("{command:?}: {status}\n{}", std::fs::read_to_string(errors).unwrap_or_default());
    }
    Ok(elapsed)
}
