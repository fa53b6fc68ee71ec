//! `hearth subject`: building, registering and looking at subjects.

use std::io::{self, BufRead, IsTerminal};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use crate::output;
use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use hearth_subject::{Addition, Level, Store, SubjectId, build, recipes};

mod describe;
mod progress;

use progress::Reporter;

/// What to do with subjects.
#[derive(Debug, Subcommand)]
pub enum SubjectCommand {
    /// Build a built-in subject from its source package: tcc (seconds), gcc-11 or gcc-12 (minutes).
    ///
    /// The source comes through apt with package lists of Hearth's own; the machine's apt stays as it is. Set
    /// HEARTH_MIRROR to the URL of a Debian archive to use another one. An interrupted build is resumed by the
    /// same command. Everything is kept in $HEARTH_CACHE, by default ~/.cache/hearth.
    Build {
        /// Which one: tcc, gcc-11 or gcc-12; gcc-11-opt is short for gcc-11 --level opt.
        name: String,
        /// How the subject itself is compiled [default: noopt].
        #[arg(long, value_enum)]
        level: Option<LevelArgument>,
        /// How many compilers to run at once [default: one per processor].
        #[arg(long, short, value_name = "N")]
        jobs: Option<NonZero<usize>>,
    },
    /// Register a program of your own, compiled and linked with `gcc --coverage`.
    ///
    /// Nothing is copied: the program and its .gcno files must stay where they are.
    Add {
        /// The name to give it: lower-case letters, digits, `.`, `_` and `-`.
        name: String,
        /// The program, with its symbols (not stripped).
        #[arg(long, value_name = "PATH")]
        binary: PathBuf,
        /// The directory with its .gcno files, at any depth; may be given several times.
        #[arg(long, value_name = "DIR", required = true)]
        notes: Vec<PathBuf>,
        /// Another program, compiled alike, which the program executes: what it counts is the subject's, too; may be
        /// given several times. Its .gcno files must be in one of the directories.
        #[arg(long, value_name = "PATH")]
        with: Vec<PathBuf>,
        /// Its source tree.
        #[arg(long, value_name = "DIR")]
        source: Option<PathBuf>,
    },
    /// List the subjects, unfinished builds included.
    List {
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Show all that is known about a subject.
    Show {
        /// Its name or id: gcc-11, gcc-11-opt.
        name: String,
        /// Print JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Remove a subject; of one that was added only the registration goes.
    Remove {
        /// Its name or id: gcc-11, gcc-11-opt.
        name: String,
        /// Do not ask first.
        #[arg(long, short)]
        yes: bool,
    },
}

/// How a subject is compiled, as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LevelArgument {
    /// -O0 -g1: every line keeps its own counter.
    Noopt,
    /// -O2 -g1: runs about three times faster, but lines are merged.
    Opt,
    /// As noopt, without instrumentation: what a run costs without coverage.
    PlainNoopt,
    /// As opt, without instrumentation.
    PlainOpt,
}

impl From<LevelArgument> for Level {
    fn from(argument: LevelArgument) -> Level {
        match argument {
            LevelArgument::Noopt => Level::Noopt,
            LevelArgument::Opt => Level::Opt,
            LevelArgument::PlainNoopt => Level::PlainNoopt,
            LevelArgument::PlainOpt => Level::PlainOpt,
        }
    }
}

/// Runs `hearth subject`.
pub fn run(command: SubjectCommand) -> anyhow::Result<ExitCode> {
    let store = Store::open()?;
    match command {
        SubjectCommand::Build { name, level, jobs } => make(&store, &name, level.map(Level::from), jobs)?,
        SubjectCommand::Add { name, binary, notes, with, source } => {
            let subject = store.add(&Addition { name, binary, with, notes, source })?;
            print(&format!("added {}: {} .gcno files\n", subject.id(), subject.manifest.notes.count))?;
        }
        SubjectCommand::List { json } => print(&describe::list(&store.list()?, json)?)?,
        SubjectCommand::Show { name, json } => print(&describe::subject(&store.find(&name)?, json)?)?,
        SubjectCommand::Remove { name, yes } => return remove(&store, &name, yes),
    }
    Ok(ExitCode::SUCCESS)
}

fn make(store: &Store, name: &str, level: Option<Level>, jobs: Option<NonZero<usize>>) -> anyhow::Result<()> {
    let (recipe, level) = recipes::parse(name, level)?;
    let jobs = jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZero::<usize>::MIN);
    let mut reporter = Reporter::new(SubjectId::built(recipe, level).as_str());
    let result = build::build(store, recipe, level, jobs, &mut reporter);
    reporter.finish();
    let built = result?;
    print(&describe::built(&built))
}

fn remove(store: &Store, name: &str, yes: bool) -> anyhow::Result<ExitCode> {
    let id = store.resolve(name)?;
    if !yes && !confirm(&id, store)? {
        output::tell("nothing removed");
        return Ok(ExitCode::FAILURE);
    }
    store.remove(&id)?;
    print(&format!("removed {id}\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn confirm(id: &SubjectId, store: &Store) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("removing {id} needs a confirmation, and there is no terminal to ask at: pass --yes");
    }
    output::write_error(format!("remove {id} ({})? [y/N] ", store.directory(id).display()).as_bytes())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(output::write(text.as_bytes())?)
}
