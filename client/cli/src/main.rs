//! `hearth`, the command users type.

mod exec;
mod libstdcxx;
mod report;
mod run;
mod subject;

use clap::{Parser, Subcommand};
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
    /// Do many runs by a private daemon: orders come as lines of JSON, answers go out the same way
    Exec(exec::ExecArgs),
    /// Report the coverage of a tree of .gcno and .gcda files, as gcov would but faster
    Report(report::ReportArgs),
    /// Build, add, list, show and remove subjects: the instrumented programs Hearth knows
    #[command(subcommand)]
    Subject(subject::SubjectCommand),
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == hearth_daemon::launch::LAUNCH_ARGUMENT) {
        return hearth_daemon::sandbox::main();
    }
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Exec(args) => exec::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Subject(command) => subject::run(command),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("hearth: {error:#}");
            ExitCode::FAILURE
        }
    }
}
