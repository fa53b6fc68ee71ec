//! What is told of runs, for people and as JSON.

use hearth_client::protocol::Bytes;
use hearth_runner::run::Times;
use hearth_runner::{CoveredRun, SubjectMap};
use serde_json::{Value, json};
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Latency percentiles that are shown.
const PERCENTILES: [u32; 4] = [50, 90, 99, 100];

/// A run, and how long it and the same ones after it took.
pub struct Runs {
    /// The first one.
    pub first: CoveredRun,
    /// The times of all.
    pub times: Vec<Times>,
}

/// What a run executed, in numbers.
struct Coverage {
    lines: (usize, usize),
    functions: (usize, usize),
}

fn coverage(answer: &CoveredRun, map: Option<&SubjectMap>) -> Result<Coverage, String> {
    let spectrum = &answer.observation.as_ref().map_err(Clone::clone)?.spectrum;
    let map = map.ok_or("the subject is not instrumented")?;
    let (lines, functions) = map.with_atlas(|atlas| (atlas.lines().len(), atlas.function_count() as usize));
    Ok(Coverage {
        lines: (spectrum.lines.executed(), lines),
        functions: (spectrum.functions.executed(), functions),
    })
}

/// A text in which nothing is an order to the terminal, or begins another line.
pub fn printable(text: impl Display) -> String {
    let mut shown = String::new();
    for character in text.to_string().chars() {
        match character.is_control() {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

/// The summary behind a run's own output.
pub fn summary(runs: &Runs, map: Option<&SubjectMap>, written: bool) -> String {
    let first = &runs.first;
    let mut lines = vec![format!("{} in {}", first.run.outcome, milliseconds(first.run.times.total))];
    for file in &first.run.files {
        let hint = if written { "written" } else { "kept in memory; --write puts it there" };
        lines.push(format!("made {}, {} bytes ({hint})", file.path.display(), file.bytes.len()));
    }
    match coverage(first, map) {
        Ok(coverage) => {
            let share = |(part, whole): (usize, usize)| format!("{part} of {whole}");
            lines.push(format!(
                "executed {} lines in {} functions",
                share(coverage.lines),
                share(coverage.functions)
            ));
        }
        Err(reason) if map.is_some() => lines.push(format!("no coverage: {reason}")),
        Err(_) => {}
    }
    if first.run.forked && first.observation.is_ok() {
        let how = if first.missing.is_empty() { "too" } else { "but for what is missing" };
        lines.push(format!("the run forked; its other processes are counted, {how}"));
    }
    if !first.missing.is_empty() {
        lines.push(format!("missing: {}", first.missing.join("; ")));
    }
    if runs.times.len() > 1 {
        lines.push(latencies(&runs.times));
    }
    // Runs choose the names of their files.
    lines.iter().map(|line| format!("hearth: {}\n", printable(line))).collect()
}

fn latencies(times: &[Times]) -> String {
    let mut totals: Vec<Duration> = times.iter().map(|times| times.total).collect();
    totals.sort();
    let shown = PERCENTILES.map(|percent| {
        let name = if percent == 100 { "max".to_owned() } else { format!("p{percent}") };
        format!("{name} {}", milliseconds(percentile(&totals, percent)))
    });
    format!("{} runs: {}", times.len(), shown.join(", "))
}

fn percentile(sorted: &[Duration], percent: u32) -> Duration {
    let last = sorted.len() - 1;
    sorted[(last * percent as usize).div_ceil(100).min(last)]
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// One run, or several of the same, as JSON.
pub fn document(runs: &Runs, map: Option<&SubjectMap>) -> Value {
    let first = &runs.first;
    let mut document = one(first, map);
    if runs.times.len() > 1 {
        let mut totals: Vec<Duration> = runs.times.iter().map(|times| times.total).collect();
        totals.sort();
        let latencies: serde_json::Map<String, Value> = PERCENTILES
            .iter()
            .map(|&percent| {
                (format!("p{percent}"), json!(percentile(&totals, percent).as_secs_f64() * 1000.0))
            })
            .collect();
        document["latency_ms"] = Value::Object(latencies);
        document["runs"] = json!(runs.times.len());
        document["times_ms"] = times(&runs.times);
    }
    document
}

/// One run as JSON, with bytes as in the daemon's protocol.
pub fn one(answer: &CoveredRun, map: Option<&SubjectMap>) -> Value {
    let run = &answer.run;
    let bytes = |bytes: &[u8]| Bytes(bytes.to_vec());
    let files: Vec<Value> = run
        .files
        .iter()
        .map(|file| {
            let path = bytes(file.path.as_os_str().as_bytes());
            json!({ "path": path, "size": file.bytes.len(), "bytes": bytes(&file.bytes) })
        })
        .collect();
    let coverage = match coverage(answer, map) {
        Ok(coverage) => json!({
            "lines_executed": coverage.lines.0,
            "lines": coverage.lines.1,
            "functions_executed": coverage.functions.0,
            "functions": coverage.functions.1,
        }),
        Err(reason) => json!({ "missing": reason }),
    };
    json!({
        "outcome": run.outcome,
        "stdout": bytes(&run.stdout),
        "stderr": bytes(&run.stderr),
        "files": files,
        "coverage": coverage,
        "forked": run.forked,
        "missing": answer.missing,
        "peak_kib": run.peak_kib,
        "page_faults": run.page_faults,
        "times_ms": times(std::slice::from_ref(&run.times)),
    })
}

/// Where the time went: medians over runs, in milliseconds.
fn times(all: &[Times]) -> Value {
    type Part = fn(&Times) -> Duration;
    let parts: [(&str, Part); 6] = [
        ("total", |times| times.total),
        ("fork", |times| times.fork),
        ("run", |times| times.run),
        ("harvest", |times| times.harvest),
        ("user", |times| times.user),
        ("system", |times| times.system),
    ];
    let median = |part: Part| {
        let mut times: Vec<Duration> = all.iter().map(part).collect();
        times.sort();
        percentile(&times, 50).as_secs_f64() * 1000.0
    };
    Value::Object(parts.into_iter().map(|(name, part)| (name.to_owned(), json!(median(part)))).collect())
}
