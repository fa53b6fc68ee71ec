//! `hearth bench bugs`: real bugs of a compiler, from its source packages.

use crate::output;
use crate::terminal;
use anyhow::Context;
use clap::{Args, Subcommand};
use hearth_client::protocol::Address;
use hearth_experiment::bugs::{self, BugList, FORMAT, PROGRAMS, Sources};
use hearth_localize::connections::Connections;
use hearth_subject::{Store, recipes, source};
use indicatif::ProgressStyle;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// `hearth bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Find real bugs of GCC 11.3: new programs of GCC 12.2's test suite that fail with 11.3 and pass with 12.2
    Bugs(BugsArgs),
}

/// The arguments of `hearth bench bugs`.
#[derive(Debug, Args)]
pub struct BugsArgs {
    /// Where to write the manifest
    #[arg(long, default_value = "bugs.json")]
    output: PathBuf,
    /// Try only the programs of these reports
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS")]
    report: Vec<u32>,
}

/// Runs it.
pub fn run(command: &BenchCommand) -> anyhow::Result<ExitCode> {
    let BenchCommand::Bugs(args) = command;
    let store = Store::open()?;
    let subject = store.find("gcc-11")?;
    let subject_source = subject.source_directory().context("the subject gcc-11 has no source")?;
    let bar = terminal::progress_bar().with_style(ProgressStyle::with_template("{spinner} {wide_msg}")?);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar.set_message("unpacking the test suites of GCC 11.3 and 12.2 (a minute, once)");
    let old = source::unpack(&store, &recipes::GCC_11, &PROGRAMS)?;
    let new = source::unpack(&store, &recipes::GCC_12, &bugs::parts())?;
    let scratch = tempfile::tempdir()?;
    let launcher = std::env::current_exe()?;
    let sources = Sources {
        name: "gcc-11",
        subject: &subject_source,
        old: &old,
        new: &new,
        new_driver: "gcc-12",
        launcher: &launcher,
        scratch: scratch.path(),
        reports: &args.report,
    };
    let mut connections = Connections::open(&Address::of_user())?;
    let found = bugs::find(&mut connections, &sources, |tried, all, found| {
        bar.set_message(format!("{tried} of {all} programs tried, {found} bugs found"));
    });
    bar.finish_and_clear();
    let bugs = found?;
    let list =
        BugList { format: FORMAT, subject: "gcc-11".to_owned(), package: "gcc-12-source".to_owned(), bugs };
    fs::write(&args.output, serde_json::to_string_pretty(&list)? + "\n")
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    output::line(format_args!("{} bugs, written to {}", list.bugs.len(), args.output.display()))?;
    Ok(ExitCode::SUCCESS)
}
