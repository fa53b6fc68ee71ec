//! `hearth`, the command users type.

mod libstdcxx;
mod report;
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
    /// Report the coverage of a tree of .gcno and .gcda files, as gcov would but faster
    Report(report::ReportArgs),
    /// Build, add, list, show and remove subjects: the instrumented programs Hearth knows
    #[command(subcommand)]
    Subject(subject::SubjectCommand),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
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
