//! The benchmark `service`: what the daemon's answers cost.
//!
//! One failing and many passing runs of mutants are kept; then each request is timed, alone and with many
//! clients, and sizes are compared.

use crate::daemon::Daemon;
use crate::measure::{Results, SubjectResult, each};
use crate::mutants::{mutant_input, mutant_order};
use crate::needs;
use anyhow::bail;
use hearth_client::protocol::{
    Aggregation, Body, Encoding, Formula, Level, Measure, Reply, RunRef, Status, encode,
};
use hearth_client::{Answer, Ask, Connection};
use hearth_subject::Store;
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
pub fn run(hearth: &Path, subjects: &[String], repeat: usize) -> anyhow::Result<Results> {
    needs::subjects(&Store::open()?, subjects)?;
    let named = subjects.iter().map(|subject| (subject.clone(), subject));
    each(named, |subject| measure(hearth, subject, repeat), print)
}

fn measure(hearth: &Path, subject: &str, repeat: usize) -> anyhow::Result<SubjectResult> {
    let scratch = tempfile::tempdir()?;
    let daemon = Daemon::start(&hearth.with_file_name("hearthd"), &scratch.path().join("run"), &[]);
    let mut client = daemon.connect(Encoding::Bincode);
    let mut result = SubjectResult::default();
    let kept = Kept::make(&mut client, subject, &mut result)?;
    kept.time_questions(&mut client, repeat, &mut result)?;
    kept.compare_sizes(&mut client, &mut result)?;
    for clients in CLIENTS {
        eprintln!("{subject}: {clients} clients");
        let rate = throughput(&daemon, subject, clients)?;
        result.about.insert(format!("runs per second, {clients:>2} clients"), format!("{rate:.1}"));
    }
    Ok(result)
}

/// Runs that the daemon keeps.
struct Kept<'k> {
    subject: &'k str,
    failing: u64,
    passing: Vec<u64>,
}

impl<'k> Kept<'k> {
    /// Makes them, and finds what each takes.
    fn make(client: &mut Connection, subject: &'k str, result: &mut SubjectResult) -> anyhow::Result<Self> {
        let failing = client.run(mutant_order(subject, "-O2"), mutant_input(0))?.run;
        eprintln!("{subject}: {PASSING} runs to keep");
        let mut passing = Vec::new();
        let mut keep = |numbers: std::ops::RangeInclusive<usize>| -> anyhow::Result<Status> {
            let inputs = numbers.map(mutant_input).collect();
            let ask = Ask::Batch { order: mutant_order(subject, "-O2"), inputs };
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
        let kept = (after.kept_bytes - before.kept_bytes) as f64 / measured;
        let grown = (after.memory_bytes.saturating_sub(before.memory_bytes)) as f64 / measured;
        for (name, bytes) in
            [("KB per kept spectrum, as accounted", kept), ("KB per kept spectrum, daemon's memory", grown)]
        {
            result.about.insert(name.to_owned(), format!("{:.1}", bytes / 1000.0));
        }
        Ok(Self { subject, failing, passing })
    }

    fn passing(&self, index: usize) -> RunRef {
        self.passing[index % self.passing.len()].into()
    }

    fn rank(&self, level: Level) -> Ask {
        Ask::Rank {
            failing: vec![self.failing.into()],
            passing: refs(&self.passing),
            innocent: Vec::new(),
            formula: Formula::Ochiai,
            aggregation: Aggregation::Mean,
            level,
            limit: 0,
            counts: false,
            without: Vec::new(),
        }
    }

    fn delta(&self, index: usize, level: Level, counts: bool) -> Ask {
        Ask::Delta { run: self.passing(index), against: self.failing.into(), level, counts }
    }

    fn spectrum(&self, index: usize, counts: bool) -> Ask {
        Ask::Spectrum { run: self.passing(index), level: Level::Lines, counts }
    }

    fn distance(&self, index: usize) -> Ask {
        let measure = Measure::JaccardLines;
        Ask::Distance { run: self.passing(index), against: self.failing.into(), measure }
    }

    fn quality(&self) -> Ask {
        Ask::Quality { failing: self.failing.into(), passing: refs(&self.passing[..50]), alpha: 0.8 }
    }

    fn run(&self, index: usize) -> Ask {
        Ask::Run { order: mutant_order(self.subject, "-O2"), input: mutant_input(PASSING + index) }
    }

    /// Asks each question many times.
    fn time_questions(
        &self,
        client: &mut Connection,
        repeat: usize,
        result: &mut SubjectResult,
    ) -> anyhow::Result<()> {
        type Question = fn(&Kept<'_>, usize) -> Ask;
        let questions: [(&str, Question); 12] = [
            ("status", |_, _| Ask::Status {}),
            ("delta, lines", |kept, index| kept.delta(index, Level::Lines, false)),
            ("delta, lines with counts", |kept, index| kept.delta(index, Level::Lines, true)),
            ("delta, functions", |kept, index| kept.delta(index, Level::Functions, false)),
            ("delta, files", |kept, index| kept.delta(index, Level::Files, false)),
            ("spectrum, lines", |kept, index| kept.spectrum(index, false)),
            ("spectrum, lines with counts", |kept, index| kept.spectrum(index, true)),
            ("distance", |kept, index| kept.distance(index)),
            ("quality of 50", |kept, _| kept.quality()),
            ("rank files by 501", |kept, _| kept.rank(Level::Files)),
            ("rank functions by 501", |kept, _| kept.rank(Level::Functions)),
            ("run", |kept, index| kept.run(index)),
        ];
        for (name, question) in questions {
            eprintln!("{}: {name}", self.subject);
            let mut times = Vec::new();
            for index in 0..repeat * 8 {
                let ask = question(self, index);
                let started = Instant::now();
                client.call(ask)?;
                times.push(started.elapsed());
            }
            times.sort();
            let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64();
            result.medians_s.insert(name.to_owned(), at(50));
            result.repeats.insert(name.to_owned(), times.len());
            let high = format!("{:.2}, {:.2}", at(90) * 1000.0, at(99) * 1000.0);
            result.about.insert(format!("{name}: p90, p99 ms"), high);
        }
        Ok(())
    }

    /// How much smaller a delta is than a whole spectrum.
    fn compare_sizes(&self, client: &mut Connection, result: &mut SubjectResult) -> anyhow::Result<()> {
        let mut size = |ask: Ask, encoding| -> anyhow::Result<f64> {
            let body = Body::Done(client.call(ask)?);
            Ok(encode(encoding, &Reply { id: 1, last: true, body })?.len() as f64)
        };
        let median = |numbers: &mut Vec<f64>| {
            numbers.sort_by(f64::total_cmp);
            numbers[numbers.len() / 2]
        };
        for (name, counts) in [("delta bytes", false), ("delta bytes with counts", true)] {
            for (suffix, encoding) in [("", Encoding::Bincode), (", json", Encoding::Json)] {
                let mut shares = Vec::new();
                let mut smaller = Vec::new();
                for index in 0..self.passing.len().min(100) {
                    let full = size(self.spectrum(index, counts), encoding)?;
                    let part = size(self.delta(index, Level::Lines, counts), encoding)?;
                    shares.push(full / part);
                    smaller.push(part);
                }
                result.ratios.insert(format!("{name}{suffix}"), median(&mut shares));
                let bytes = format!("{:.0}", median(&mut smaller));
                result.about.insert(format!("{name}{suffix}, median"), bytes);
            }
        }
        Ok(())
    }
}

fn refs(runs: &[u64]) -> Vec<RunRef> {
    runs.iter().map(|&run| run.into()).collect()
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
