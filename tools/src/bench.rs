//! `tools/bench NAME`: Hearth and its peers side by side in one run.
//!
//! Every benchmark prints a table and writes `target/bench/NAME.json`: one object for each subject, with
//! `ratios` from a peer's name to its time over Hearth's, and the medians beside them.

#[path = "../../tests/support/daemon.rs"]
#[expect(dead_code, reason = "it is shared with the tests")]
mod daemon;
#[path = "../../tests/support/mutants.rs"]
mod mutants;
#[path = "../../tests/support/plain_run.rs"]
mod plain_run;
#[path = "../../tests/support/programs.rs"]
mod programs;

#[path = "bench/gcov.rs"]
mod gcov;
#[path = "bench/localize.rs"]
mod localize;
#[path = "bench/measure.rs"]
mod measure;
mod needs;
#[path = "bench/service.rs"]
mod service;
#[path = "bench/warm.rs"]
mod warm;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs a benchmark.
#[derive(Debug, Parser)]
#[command(name = "tools/bench")]
struct Cli {
    /// Which one
    name: Benchmark,
    /// The subjects to measure; they must have been built
    ///
    /// By default tcc and gcc-11-noopt; for `warm` also gcc-11-opt.
    #[arg(long, value_delimiter = ',')]
    subjects: Vec<String>,
    /// How often each program is timed; what takes more than 30 s is timed once [default: 5; for `warm` 10 at each level]
    #[arg(long)]
    repeat: Option<usize>,
    /// The `hearth` to measure
    #[arg(long)]
    hearth: PathBuf,
    /// Where to write the results
    #[arg(long)]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Benchmark {
    /// One tree of .gcda files through gcov, fastcov, gcovr, lcov and `hearth report`
    Gcov,
    /// Mutants of a failing program judged by Hearth and in the papers' way, with gcov
    Localize,
    /// The daemon's answers: latencies, runs per second of many clients, bytes of deltas and spectra
    Service,
    /// One small program through plain and warm compilers, and what it executed by gcov, fastcov and Hearth
    Warm,
}

/// What the benchmarks call.
const GCC: (&str, &str) = ("gcc", "apt-get install gcc");
const GCOV: (&str, &str) = ("gcov", "apt-get install gcc");
const FASTCOV: (&str, &str) = ("fastcov", "pip install fastcov==1.17");
const CSMITH: (&str, &str) = ("csmith", "apt-get install csmith libcsmith-dev");

impl Benchmark {
    fn programs(self) -> needs::Programs {
        match self {
            Self::Gcov => {
                &[GCOV, FASTCOV, ("gcovr", "apt-get install gcovr"), ("lcov", "apt-get install lcov")]
            }
            Self::Localize => &[GCC, GCOV, ("timeout", "apt-get install coreutils")],
            Self::Service => &[],
            Self::Warm => &[GCC, GCOV, FASTCOV, CSMITH],
        }
    }
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tools/bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    let hearth = needs::hearth(&cli.hearth)?;
    needs::programs(cli.name.programs())?;
    let subjects = |default: &[&str]| match cli.subjects.is_empty() {
        true => default.iter().map(|&name| name.to_owned()).collect(),
        false => cli.subjects.clone(),
    };
    let results = match cli.name {
        Benchmark::Gcov => gcov::run(&hearth, &subjects(&["tcc", "gcc-11-noopt"]), cli.repeat.unwrap_or(5))?,
        Benchmark::Localize => localize::run(&hearth, &subjects(&["gcc-11-noopt"]), cli.repeat.unwrap_or(2))?,
        Benchmark::Service => {
            service::run(&hearth, &subjects(&["tcc", "gcc-11-noopt"]), cli.repeat.unwrap_or(10))?
        }
        Benchmark::Warm => {
            let subjects = subjects(&["tcc", "gcc-11-noopt", "gcc-11-opt"]);
            warm::run(&hearth, &subjects, cli.repeat.unwrap_or(10))?
        }
    };
    let name = cli.name.to_possible_value().context("every benchmark has a name")?;
    let path = cli.output.join(name.get_name()).with_extension("json");
    let text = serde_json::to_string_pretty(&results)? + "\n";
    std::fs::create_dir_all(&cli.output)
        .and_then(|()| std::fs::write(&path, text))
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}
