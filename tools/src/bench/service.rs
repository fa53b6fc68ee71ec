//! The benchmark `service`: what the daemon's answers cost.
//!
//! One failing and many passing runs of mutants are kept; then each request is timed, alone and with many
//! clients, and sizes are compared.

use crate::daemon::Daemon;
use crate::measure::SubjectResult;
use crate::mutants::{mutant_input, mutant_order};
use crate::needs;
use anyhow::{Context, bail};
use hearth_client::protocol::{
    Aggregation, Body, Encoding, Formula, Level, Measure, Reply, RunRef, Status, encode,
};
use hearth_client::{Answer, Ask};
use hearth_subject::Store;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Passing runs in a ranking.
const PASSING: usize = 500;
/// Runs before memory is looked at.
const WARM_UPS: usize = 50;
/// Clients at a time.
const CLIENTS: [usize; 4] = [1, 2, 8, 64];
/// How long each number of clients runs.
const THROUGHPUT_TIME: Duration = Duration::from_secs(8);

/// Runs the benchmark on each subject.
pub fn run(
    hearth: &Path,
    subjects: &[String],
    repeat: usize,
) -> anyhow::Result<BTreeMap<String, SubjectResult>> {
    needs::subjects(&Store::open()?, subjects)?;
    let mut results = BTreeMap::new();
    for subject in subjects {
        let result = measure(hearth, subject, repeat).with_context(|| format!("on {subject}"))?;
        print(subject, &result);
        results.insert(subject.clone(), result);
    }
    Ok(results)
}

fn measure(hearth: &Path, subject: &str, repeat: usize) -> anyhow::Result<SubjectResult> {
    let scratch = tempfile::tempdir()?;
    let daemon = Daemon::start(&hearth.with_file_name("hearthd"), &scratch.path().join("run"), &[]);
    let mut client = daemon.connect(Encoding::Bincode);
    let failing = client.run(mutant_order(subject, "-O2"), mutant_input(0))?.run;
    eprintln!("{subject}: {PASSING} runs to keep");
    let mut passing = Vec::new();
    let mut keep = |numbers: std::ops::RangeInclusive<usize>| -> anyhow::Result<Status> {
        let ask =
            Ask::Batch { order: mutant_order(subject, "-O2"), inputs: numbers.map(mutant_input).collect() };
        client.call_each(ask, |answer| {
            if let Answer::Run(run) = answer {
                passing.push(run.run);
            }
        })?;
        Ok(client.status()?)
    };
    // The first ones start the zygotes.
    let before = keep(1..=WARM_UPS)?;
    let after = keep(WARM_UPS + 1..=PASSING)?;
    let measured = (PASSING - WARM_UPS) as f64;
    let refs = |runs: &[u64]| -> Vec<RunRef> { runs.iter().map(|&run| run.into()).collect() };
    let rank = |level| Ask::Rank {
        failing: vec![failing.into()],
        passing: refs(&passing),
        innocent: Vec::new(),
        formula: Formula::Ochiai,
        aggregation: Aggregation::Mean,
        level,
        limit: 0,
        counts: false,
    };
    let delta = |index: usize, level, counts| Ask::Delta {
        run: passing[index % passing.len()].into(),
        against: failing.into(),
        level,
        counts,
    };
    let spectrum = |index: usize, counts| Ask::Spectrum {
        run: passing[index % passing.len()].into(),
        level: Level::Lines,
        counts,
    };
    type Question<'a> = (&'a str, Box<dyn Fn(usize) -> Ask + 'a>);
    let questions: Vec<Question<'_>> = vec![
        ("status", Box::new(|_| Ask::Status {})),
        ("delta, lines", Box::new(|index| delta(index, Level::Lines, false))),
        ("delta, lines with counts", Box::new(|index| delta(index, Level::Lines, true))),
        ("delta, functions", Box::new(|index| delta(index, Level::Functions, false))),
        ("delta, files", Box::new(|index| delta(index, Level::Files, false))),
        ("spectrum, lines", Box::new(|index| spectrum(index, false))),
        ("spectrum, lines with counts", Box::new(|index| spectrum(index, true))),
        (
            "distance",
            Box::new(|index| Ask::Distance {
                run: passing[index % passing.len()].into(),
                against: failing.into(),
                measure: Measure::JaccardLines,
            }),
        ),
        (
            "quality of 50",
            Box::new(|_| Ask::Quality { failing: failing.into(), passing: refs(&passing[..50]), alpha: 0.8 }),
        ),
        ("rank files by 501", Box::new(|_| rank(Level::Files))),
        ("rank functions by 501", Box::new(|_| rank(Level::Functions))),
        (
            "run",
            Box::new(|index| Ask::Run {
                order: mutant_order(subject, "-O2"),
                input: mutant_input(PASSING + index),
            }),
        ),
    ];
    let mut medians_s = BTreeMap::new();
    let mut repeats = BTreeMap::new();
    let mut about = BTreeMap::new();
    for (name, question) in &questions {
        eprintln!("{subject}: {name}");
        let mut times = Vec::new();
        for index in 0..repeat * 8 {
            let ask = question(index);
            let started = Instant::now();
            client.call(ask)?;
            times.push(started.elapsed());
        }
        times.sort();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64();
        medians_s.insert((*name).to_owned(), at(50));
        repeats.insert((*name).to_owned(), times.len());
        about.insert(
            format!("{name}: p90, p99 ms"),
            format!("{:.2}, {:.2}", at(90) * 1000.0, at(99) * 1000.0),
        );
    }
    let mut size = |ask: Ask, encoding| -> anyhow::Result<f64> {
        let body = Body::Done(client.call(ask)?);
        Ok(encode(encoding, &Reply { id: 1, last: true, body })?.len() as f64)
    };
    let mut ratios = BTreeMap::new();
    for (name, counts) in [("delta bytes", false), ("delta bytes with counts", true)] {
        for (suffix, encoding) in [("", Encoding::Bincode), (", json", Encoding::Json)] {
            let mut shares = Vec::new();
            let mut smaller = Vec::new();
            for index in 0..passing.len().min(100) {
                let full = size(spectrum(index, counts), encoding)?;
                let part = size(delta(index, Level::Lines, counts), encoding)?;
                shares.push(full / part);
                smaller.push(part);
            }
            let median = |numbers: &mut Vec<f64>| {
                numbers.sort_by(f64::total_cmp);
                numbers[numbers.len() / 2]
            };
            ratios.insert(format!("{name}{suffix}"), median(&mut shares));
            about.insert(format!("{name}{suffix}, median"), format!("{:.0}", median(&mut smaller)));
        }
    }
    let kept = (after.kept_bytes - before.kept_bytes) as f64 / measured;
    about.insert("KB per kept spectrum, as accounted".to_owned(), format!("{:.1}", kept / 1000.0));
    let grown = (after.memory_bytes.saturating_sub(before.memory_bytes)) as f64 / measured;
    about.insert("KB per kept spectrum, daemon's memory".to_owned(), format!("{:.1}", grown / 1000.0));
    for clients in CLIENTS {
        eprintln!("{subject}: {clients} clients");
        let rate = throughput(&daemon, subject, clients)?;
        about.insert(format!("runs per second, {clients:>2} clients"), format!("{rate:.1}"));
    }
    Ok(SubjectResult { ratios, medians_s, repeats, about })
}

/// Runs per second of so many clients.
fn throughput(daemon: &Daemon, subject: &str, clients: usize) -> anyhow::Result<f64> {
    let until = Instant::now() + THROUGHPUT_TIME;
    let work = |client: usize| -> anyhow::Result<usize> {
        let mut connection = daemon.connect(Encoding::Bincode);
        let mut runs = 0;
        while Instant::now() < until {
            connection.run(mutant_order(subject, "-O2"), mutant_input(client * 1000 + runs))?;
            runs += 1;
        }
        Ok(runs)
    };
    let started = Instant::now();
    let runs: anyhow::Result<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|client| scope.spawn(move || work(client))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a panic"))).sum()
    });
    Ok(runs? as f64 / started.elapsed().as_secs_f64())
}

fn print(subject: &str, result: &SubjectResult) {
    println!("\n{subject}");
    for (name, median) in &result.medians_s {
        println!("{name:<44} {:>9.3} ms {:>6} times", median * 1000.0, result.repeats[name]);
    }
    println!("a full spectrum's bytes over a delta's:");
    for (name, ratio) in &result.ratios {
        println!("{name:<44} {ratio:>11.1}x");
    }
    for (name, text) in &result.about {
        println!("{name:<44} {text:>12}");
    }
}
