//! `tools/verify NAME`: checks too long for every commit, each with a short form for CI.
//!
//! Every check is bounded, takes a seed and prints it, and goes on where an interrupted one stopped.

#[path = "../../tests/support/daemon.rs"]
mod daemon;
#[path = "../../tests/support/exact.rs"]
mod exact_support;
#[path = "../../tests/support/mutants.rs"]
mod mutants;
#[path = "../../tests/support/notes_writer.rs"]
mod notes_writer;
#[path = "../../tests/support/option_sets.rs"]
mod option_sets;
#[path = "../../tests/support/plain_run.rs"]
mod plain_run;
#[path = "../../tests/support/programs.rs"]
mod programs;
#[path = "../../tests/support/warm_exact.rs"]
mod warm_exact;

#[path = "verify/done.rs"]
mod done;
#[path = "verify/exact.rs"]
mod exact;
#[path = "verify/fuzz.rs"]
mod fuzz;
mod needs;
#[path = "verify/real_programs.rs"]
mod real_programs;
#[path = "verify/service.rs"]
mod service;
#[path = "verify/warm.rs"]
mod warm;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use hearth_subject::Store;
use peak_alloc::PeakAlloc;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Tells how much memory a fuzzed input takes.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Runs a long check.
#[derive(Debug, Parser)]
#[command(name = "tools/verify")]
struct Cli {
    /// Which one
    name: Check,
    /// The short form that CI runs: under a minute
    #[arg(long)]
    short: bool,
    /// Where random choices begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after this many minutes; for `service`, the time of its clients, 10 at the most
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// For `exact` and `soak`: the subjects; they must have been built
    #[arg(long, value_delimiter = ',', default_value = "tcc,gcc-11-noopt")]
    subjects: Vec<String>,
    /// For `exact`: how many programs for each subject, each with every option set
    #[arg(long, default_value_t = 200)]
    programs: u64,
    /// For `exact`: compare whole reports with gcov's, instead of warm runs with plain ones
    #[arg(long)]
    reports: bool,
    /// For `programs`: these alone
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// For `soak`: how many runs
    #[arg(long, default_value_t = 10_000)]
    runs: usize,
    /// The `hearth` to verify
    #[arg(long)]
    hearth: PathBuf,
    /// Where to remember what has been done
    #[arg(long)]
    state: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Check {
    /// Random programs and the subject's own tests, at all levels: the spectrum from memory equals a plain run's
    /// counters; with --reports, `hearth report` equals gcov
    Exact,
    /// Real programs of Debian, built with coverage (bzip2, lua, dash, sqlite3, ninja, gcc's driver), doing real
    /// work: warm runs equal plain runs and gcov
    Programs,
    /// Many runs: equal spectra, and no file changed or appeared
    Soak,
    /// The daemon: 64 clients at once for 10 minutes, 50 kills under load, 10 million random frames
    Service,
    /// Damaged notes and data: no panic, no unbounded memory
    Fuzz,
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tools/verify: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What random programs are made with.
const MAKERS: needs::Programs = &[
    ("csmith", "apt-get install csmith libcsmith-dev"),
    ("gcc", "apt-get install gcc"),
    ("gcov-12", "apt-get install gcc-12"),
];

/// What real programs are built with.
const BUILDERS: needs::Programs = &[
    ("gcc", "apt-get install gcc"),
    ("g++", "apt-get install g++"),
    ("make", "apt-get install make"),
    ("dpkg-source", "apt-get install dpkg-dev"),
    ("tclsh", "apt-get install tcl"),
    ("gcov-12", "apt-get install gcc-12"),
];

/// Sees that all is there, before time is spent.
fn check(cli: &Cli, subjects: &[String]) -> anyhow::Result<PathBuf> {
    let hearth = needs::hearth(&cli.hearth)?;
    if matches!(cli.name, Check::Exact) {
        needs::programs(MAKERS)?;
    }
    needs::subjects(&Store::open()?, subjects)?;
    Ok(hearth)
}

fn state_directory(cli: &Cli) -> anyhow::Result<()> {
    std::fs::create_dir_all(&cli.state).with_context(|| format!("cannot make {}", cli.state.display()))
}

fn run(cli: Cli) -> anyhow::Result<()> {
    let limit = Duration::from_secs(cli.minutes * 60);
    match cli.name {
        Check::Exact if cli.short => {
            let subjects = vec!["tcc".to_owned()];
            check(&cli, &subjects)?;
            let hearth = check(&cli, &cli.subjects)?;
            let plan =
                exact::Plan { subjects: subjects.clone(), seed: cli.seed, programs: 1, option_sets: 5 };
            exact::run(&hearth, &plan, limit, None)?;
            let subjects = if cli.subjects.is_empty() { subjects } else { cli.subjects };
            warm::run(&hearth, &warm::Plan { subjects, seed: cli.seed, programs: 6 }, limit, None)
        }
        Check::Exact if cli.reports => {
            let hearth = check(&cli, &cli.subjects)?;
            state_directory(&cli)?;
            let plan = exact::Plan {
                subjects: cli.subjects,
                seed: cli.seed,
                programs: cli.programs,
                option_sets: usize::MAX,
            };
            exact::run(&hearth, &plan, limit, Some(&cli.state.join("reports.done")))
        }
        Check::Exact => {
            let hearth = check(&cli, &cli.subjects)?;
            state_directory(&cli)?;
            let plan = warm::Plan { subjects: cli.subjects, seed: cli.seed, programs: cli.programs as usize };
            warm::run(&hearth, &plan, limit, Some(&cli.state.join("exact.done")))
        }
        Check::Programs => {
            let hearth = check(&cli, &[])?;
            needs::programs(BUILDERS)?;
            real_programs::run(&hearth, &real_programs::Plan { short: cli.short, only: cli.only }, limit)
        }
        Check::Soak => {
            let hearth = check(&cli, &cli.subjects)?;
            let runs = if cli.short { cli.runs.min(600) } else { cli.runs };
            cli.subjects.iter().try_for_each(|subject| warm::soak(&hearth, subject, runs))
        }
        Check::Service => {
            let subject = if cli.short { "tcc".to_owned() } else { "gcc-11-noopt".to_owned() };
            let hearth = check(&cli, std::slice::from_ref(&subject))?;
            let plan = service::Plan {
                subject,
                clients: 64,
                time: limit.min(Duration::from_secs(if cli.short { 10 } else { 600 })),
                kills: if cli.short { 5 } else { 50 },
                frames: if cli.short { 200_000 } else { 10_000_000 },
                seed: cli.seed,
            };
            service::run(&hearth, &plan, &MEMORY)
        }
        Check::Fuzz => {
            let limit = if cli.short { Duration::from_secs(20) } else { limit };
            state_directory(&cli)?;
            let state = (!cli.short).then(|| cli.state.join("fuzz.done"));
            fuzz::run(cli.seed, limit, state.as_deref(), &MEMORY)
        }
    }
}
