//! `hearth`, the command users type.

// They panic when nobody reads; `output` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod exec;
mod format;
mod libstdcxx;
mod localize;
mod output;
mod replay;
mod report;
mod run;
mod service;
mod source_path;
mod subject;
mod terminal;
mod view;
mod working_directory;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use hearth_compiler::toolchain::EXECUTE_ARGUMENT;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Keeps coverage-instrumented compilers warm and tells what a compile executed.
#[derive(Debug, Parser)]
#[command(name = "hearth", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a program from a warm process and tell what it executed
    Run(run::RunArgs),
    /// Do many runs: orders come as lines of JSON, answers go out the same way; what is warm ends with the command
    Exec(exec::ExecArgs),
    /// Show what a compile executed, as annotated source or a report
    Cover(view::CoverArgs),
    /// Show what ran for one program and not for another: functions, files, lines
    Diff(view::DiffArgs),
    /// Find the guilty file and function of a compiler, from a program that fails
    Localize(localize::LocalizeArgs),
    /// Localize all bugs that `hearth bench bugs` found, and tell how well
    Replay(replay::ReplayArgs),
    /// Find what localization is measured with
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Tell how the daemon is: zygotes, kept runs, latencies
    Status(service::StatusArgs),
    /// Show how the daemon is, again and again
    Top(service::TopArgs),
    /// End the daemon
    Stop,
    /// Report the coverage of a tree of .gcno and .gcda files, as gcov would but faster
    Report(report::ReportArgs),
    /// Build, add, list, show and remove subjects: the instrumented programs Hearth knows
    #[command(subcommand)]
    Subject(subject::SubjectCommand),
    /// Print the completions for a shell: hearth completions bash > /etc/bash_completion.d/hearth
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Write the manual pages of all commands into a directory
    Man {
        /// The directory
        directory: PathBuf,
    },
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == hearth_sandbox::LAUNCH_ARGUMENT) {
        return hearth_sandbox::launcher::main();
    }
    if std::env::args_os().nth(1).is_some_and(|argument| argument == EXECUTE_ARGUMENT) {
        return localize::execute(std::env::args_os().nth(2));
    }
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Exec(args) => exec::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Subject(command) => subject::run(command),
        Command::Cover(args) => view::cover(&args),
        Command::Diff(args) => view::diff(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Bench(command) => bench::run(&command),
        Command::Localize(args) => localize::localize(&args),
        Command::Status(args) => service::status(&args),
        Command::Top(args) => service::top(&args),
        Command::Stop => service::stop(),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "hearth", &mut text);
            output::write(&text).map(|()| ExitCode::SUCCESS).map_err(Into::into)
        }
        Command::Man { directory } => write_manual(&directory).map(|()| ExitCode::SUCCESS),
    };
    match result {
        Ok(code) => code,
        Err(error) => output::fail(&error),
    }
}

fn write_manual(directory: &Path) -> anyhow::Result<()> {
    clap_mangen::generate_to(Cli::command(), directory).map_err(|error| {
        anyhow::anyhow!(
            "cannot write the manual pages into {}: {error}; name a directory that exists and may be written to",
            directory.display()
        )
    })
}
