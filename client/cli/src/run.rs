//! `hearth run`: a program on one input, from a warm process, with its coverage.

use crate::format::{Format, format_parser};
use crate::output::{self, cannot_write, check_writable};
use crate::run::show::Runs;
use crate::working_directory;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use hearth_runner::limits::RunLimits;
use hearth_runner::order::{Resolver, RunOrder};
use hearth_runner::{Observe, Outcome, Pool, RunRequest, WarmPoint};
use hearth_sandbox::Policy;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

mod report;
pub mod show;
mod write;

/// The exit code for a run that took too long, as `timeout` has it.
const EXIT_TIMED_OUT: u8 = 124;
/// The exit code for a run that Hearth could not do.
const EXIT_LOST: u8 = 125;

/// The arguments of `hearth run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: the program's own; 128 and the signal's number if a signal ended it; 124 timed out; 137 out of memory;
153 wrote too much; 125 the warm program was lost; 1 also if Hearth could not run it; 2 wrong usage.")]
pub struct RunArgs {
    /// A subject's name, or the path of any program
    subject: String,
    /// Where the program waits for runs: main, input (before it opens the input) or symbol:NAME [default: input
    /// with --input, else main]
    #[arg(long, value_name = "POINT")]
    warm: Option<WarmPoint>,
    /// The input: its bytes stand for this path, which is among ARGS, or for {} there
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// What the program reads from standard input; `-` is this command's own [default: nothing]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Put the files the program makes where it would have put them; else they are only listed
    #[arg(long)]
    write: bool,
    /// Run so many times, and tell how long the runs took
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: u32,
    /// Print one JSON object instead of the program's output; bytes that are not UTF-8 are {"base64": "..."}
    #[arg(long)]
    json: bool,
    /// Write the run's coverage to a file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The report's format
    #[arg(long, value_parser = format_parser(report::FORMATS), default_value = Format::Lcov.name())]
    report_format: Format,
    /// Say nothing of Hearth's own
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    limits: LimitArgs,
    /// The program's arguments
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

/// What a run may use.
#[derive(Debug, Clone, Args)]
pub struct LimitArgs {
    /// Time on the wall, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = RunLimits::default().wall_ms,
        value_parser = clap::value_parser!(u64).range(1..))]
    wall_ms: u64,
    /// Processor time of all its processes, in seconds
    #[arg(long, value_name = "S", default_value_t = RunLimits::default().cpu_s,
        value_parser = clap::value_parser!(u64).range(1..))]
    cpu_s: u64,
    /// Memory, in MiB
    #[arg(long, value_name = "MIB", default_value_t = RunLimits::default().memory_bytes >> 20,
        value_parser = clap::value_parser!(u64).range(1..))]
    memory_mib: u64,
    /// Standard output, standard error and all files together, in MiB
    #[arg(long, value_name = "MIB", default_value_t = RunLimits::default().output_bytes >> 20,
        value_parser = clap::value_parser!(u64).range(1..))]
    output_mib: u64,
    /// Processes at a time
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().processes,
        value_parser = clap::value_parser!(u64).range(1..))]
    processes: u64,
    /// Show the run a path that is hidden from it otherwise, such as ~/.config; can be repeated
    #[arg(long, value_name = "PATH")]
    show: Vec<PathBuf>,
    /// What to do on a machine that cannot keep runs apart from everything else
    #[arg(long, value_enum, default_value_t = SandboxArgument::Required)]
    sandbox: SandboxArgument,
}

/// What becomes of a machine that lacks something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SandboxArgument {
    /// Refuse
    Required,
    /// Run all the same, and say what is missing
    BestEffort,
}

impl LimitArgs {
    /// As the daemon counts them.
    pub fn limits(&self) -> RunLimits {
        RunLimits {
            wall_ms: self.wall_ms,
            cpu_s: self.cpu_s,
            memory_bytes: self.memory_mib << 20,
            output_bytes: self.output_mib << 20,
            processes: self.processes,
        }
    }

    /// An order of a subject in this process's directory and environment.
    pub fn order(&self, subject: &str) -> anyhow::Result<RunOrder> {
        let order = RunOrder::here(subject, self.policy(), self.processes)?;
        Ok(RunOrder { shown: self.show.clone(), ..order })
    }

    /// What becomes of a machine that lacks something.
    fn policy(&self) -> Policy {
        match self.sandbox {
            SandboxArgument::Required => Policy::Required,
            SandboxArgument::BestEffort => Policy::BestEffort,
        }
    }
}

/// A pool whose launcher is this program.
pub fn own_pool() -> anyhow::Result<Pool> {
    Ok(Pool::new(std::env::current_exe().context("cannot find this program")?))
}

/// Runs the command.
pub fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let directory = working_directory::here()?;
    let order = RunOrder {
        arguments: args.arguments.clone(),
        input: args.input.clone(),
        warm: args.warm.clone(),
        directory,
        ..args.limits.order(&args.subject)?
    };
    let request = RunRequest {
        input: args.input.as_ref().map(read).transpose()?,
        stdin: args.standard_input()?,
        limits: args.limits.limits(),
        observe: args.report.as_ref().map_or(Observe::Spectrum, |_| report::needs(args.report_format)),
        ..RunRequest::default()
    };
    if let Some(path) = &args.report {
        check_writable(path).map_err(|error| cannot_write(path, "--report", &error))?;
    }
    if args.repeat == 0 {
        bail!("--repeat 0 would run nothing");
    }
    let resolved = Resolver::default().resolve(&order)?;
    let pool = own_pool()?;
    let run_once = || pool.run(&resolved.key, resolved.map.as_ref(), &request);
    let first = run_once()?;
    let mut runs = Runs { times: vec![first.run.times], first };
    for _ in 1..args.repeat {
        runs.times.push(run_once()?.run.times);
    }
    if let Some(path) = &args.report {
        let text = report::text(args.report_format, resolved.map.as_deref(), &runs.first)?;
        fs::write(path, text).map_err(|error| cannot_write(path, "--report", &error))?;
    }
    let first = &runs.first;
    let problems: Vec<String> = match args.write {
        true => first
            .run
            .files
            .iter()
            .filter_map(|file| write::put(file, &order.directory, &order.arguments).err())
            .collect(),
        false => Vec::new(),
    };
    if args.json {
        let document = show::document(&runs, resolved.map.as_deref());
        let mut line = serde_json::to_string_pretty(&document)?;
        line.push('\n');
        output::write(line.as_bytes())?;
    } else {
        output::write(&first.run.stdout)?;
        output::write_error(&first.run.stderr)?;
        if !args.quiet {
            output::tell(show::summary(&runs, resolved.map.as_deref(), args.write).trim_end());
            if args.stdin.is_none() && has_waiting_input() {
                output::tell("hearth: standard input was not passed on; --stdin - does that");
            }
        }
    }
    if !problems.is_empty() {
        bail!("{}; run again with --write once that is mended", problems.join("; "));
    }
    Ok(ExitCode::from(exit_code(first.run.outcome)))
}

fn read(path: &PathBuf) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

impl RunArgs {
    /// What the program reads from standard input.
    fn standard_input(&self) -> anyhow::Result<Vec<u8>> {
        match &self.stdin {
            Some(path) if path.as_os_str() == "-" => {
                let mut bytes = Vec::new();
                io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
                Ok(bytes)
            }
            Some(path) => read(path),
            None => Ok(Vec::new()),
        }
    }
}

/// Is there something to be read from standard input, other than what somebody types?
fn has_waiting_input() -> bool {
    let stdin = io::stdin();
    !stdin.is_terminal() && rustix::io::ioctl_fionread(&stdin).is_ok_and(|bytes| bytes > 0)
}

/// A run's outcome as shells see it.
fn exit_code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Exited(code) => code as u8,
        Outcome::Signalled(signal) => 128_u8.saturating_add(signal as u8),
        Outcome::TimedOut => EXIT_TIMED_OUT,
        Outcome::OutOfMemory => 137,
        Outcome::OutputLimit => 153,
        Outcome::ZygoteLost => EXIT_LOST,
    }
}
