//! `hearth cover` and `hearth diff`: what a compile executed, and where two differ, as annotated source.

mod annotate;

use crate::format::{Format, format_parser};
use crate::output;
use crate::source_path::no_source;
use crate::terminal;
use crate::working_directory;
use annotate::{Painter, Sources};
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use hearth_client::protocol::{Coverage, FileLines, Level, Order, RunDone, RunInput, RunRef};
use hearth_client::{Answer, Ask, Connection};
use hearth_coverage::format::{LineTotals, Report, SourceTotals};
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How a view can be printed.
const FORMATS: &[(Format, &str)] = &[
    (Format::Text, "For people"),
    (Format::Json, "One JSON object"),
    (Format::Lcov, "lcov's tracefile, of the lines that ran"),
    (Format::Cobertura, "Cobertura's XML, of the lines that ran"),
];

/// What both commands take.
#[derive(Debug, Args)]
struct ViewArgs {
    /// The subject
    #[arg(long)]
    subject: String,
    /// How to print it
    #[arg(long, value_parser = format_parser(FORMATS), default_value = Format::Text.name())]
    format: Format,
    /// Show the lines of sources whose path contains this; may be given several times
    #[arg(long, value_name = "PART")]
    source: Vec<String>,
    /// Colours: for terminals only (none if NO_COLOR is set or TERM is dumb), always or never
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    color: Colour,
    /// The compiler's options; the program's path is added at the end, or takes the place of {}
    #[arg(last = true)]
    arguments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

/// The arguments of `hearth cover`.
#[derive(Debug, Args)]
pub struct CoverArgs {
    /// The program that is compiled
    program: PathBuf,
    #[command(flatten)]
    view: ViewArgs,
}

/// The arguments of `hearth diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// One program
    one: PathBuf,
    /// The other program
    other: PathBuf,
    #[command(flatten)]
    view: ViewArgs,
    /// Show where counts differ, too, not only what ran for one and not for the other
    #[arg(long)]
    counts: bool,
}

/// Shows what a compile executed.
pub fn cover(args: &CoverArgs) -> anyhow::Result<ExitCode> {
    let mut hearth = Connection::open()?;
    let run = compile(&mut hearth, &args.program, &args.view)?;
    let view = &args.view;
    let lines =
        coverage(&mut hearth, Ask::Spectrum { run: run.run.into(), level: Level::Lines, counts: true })?;
    let lines = chosen(lines.lines, &view.source);
    let mut out = Vec::new();
    match view.format {
        Format::Json => writeln!(out, "{}", json!({ "run": run, "lines": lines }))?,
        Format::Lcov | Format::Cobertura | Format::GcovJson => {
            view.format.write(&report_of(&lines), false, &mut out)?
        }
        Format::Text => {
            let sources = Sources::of(&view.subject);
            let painter = painter(view.color);
            writeln!(
                out,
                "{}: {}; {} lines in {} functions ran",
                args.program.display(),
                run.outcome,
                run.lines_executed,
                run.functions_executed
            )?;
            if view.source.is_empty() {
                sources.summary(&lines, &mut out)?;
                writeln!(out, "--source PART shows the lines of a source")?;
            }
            for file in lines.iter().filter(|_| !view.source.is_empty()) {
                sources.annotate(file, &painter, &mut out)?;
            }
        }
    }
    output::write(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows what ran for one program and not for another.
pub fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let mut hearth = Connection::open()?;
    let view = &args.view;
    let one = compile(&mut hearth, &args.one, view)?;
    let other = compile(&mut hearth, &args.other, view)?;
    let mut delta = |level| {
        let (run, against): (RunRef, RunRef) = (other.run.into(), one.run.into());
        coverage(&mut hearth, Ask::Delta { run, against, level, counts: args.counts })
    };
    let mut functions = delta(Level::Functions)?.functions;
    functions.retain(|function| is_chosen(&function.source, &view.source));
    let lines = chosen(delta(Level::Lines)?.lines, &view.source);
    let mut out = Vec::new();
    match view.format {
        Format::Json => {
            let document = json!({ "one": one, "other": other, "functions": functions, "lines": lines });
            writeln!(out, "{document}")?;
        }
        Format::Lcov | Format::Cobertura | Format::GcovJson => {
            view.format.write(&report_of(&lines), false, &mut out)?
        }
        Format::Text => {
            let sources = Sources::of(&view.subject);
            let painter = painter(view.color);
            for (sign, path, run) in [('-', &args.one, &one), ('+', &args.other, &other)] {
                let text = format!(
                    "{sign} {}: {}; {} lines in {} functions ran",
                    path.display(),
                    run.outcome,
                    run.lines_executed,
                    run.functions_executed
                );
                writeln!(out, "{}", painter.signed(sign, &text))?;
            }
            sources.functions(&functions, args.counts, &painter, &mut out)?;
            if view.source.is_empty() {
                sources.difference(&lines, &painter, &mut out)?;
                writeln!(out, "--source PART shows the lines of a source")?;
            }
            for file in lines.iter().filter(|_| !view.source.is_empty()) {
                sources.annotate(file, &painter, &mut out)?;
            }
        }
    }
    output::write(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// Compiles a program under a name that is the same for all, so that all have one zygote.
fn compile(hearth: &mut Connection, program: &Path, view: &ViewArgs) -> anyhow::Result<RunDone> {
    let bytes = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let mut arguments = view.arguments.clone();
    if !arguments.iter().any(|argument| argument == "{}") {
        arguments.push("{}".to_owned());
    }
    working_directory::here()?;
    let here = Order::here().context("cannot tell the working directory")?;
    let order = Order { subject: view.subject.clone(), arguments, ..here };
    let run = hearth.run(order, RunInput { input: Some(bytes.into()), ..RunInput::default() })?;
    if let Some(reason) = &run.no_coverage {
        bail!("{} has no coverage: {reason}", program.display());
    }
    // JSON has it.
    if !run.missing.is_empty() && view.format != Format::Json {
        output::tell(format!("hearth: missing in {}: {}", program.display(), run.missing.join("; ")));
    }
    Ok(run)
}

fn coverage(hearth: &mut Connection, ask: Ask) -> anyhow::Result<Coverage> {
    match hearth.call(ask)? {
        Answer::Coverage(coverage) => Ok(coverage),
        other => bail!("the daemon answered {other:?}"),
    }
}

fn is_chosen(source: &str, parts: &[String]) -> bool {
    parts.is_empty() || parts.iter().any(|part| source.contains(part))
}

/// The sources that are asked for. That there are none is told.
fn chosen(mut files: Vec<FileLines>, parts: &[String]) -> Vec<FileLines> {
    files.retain(|file| is_chosen(&file.source, parts));
    if files.is_empty() && !parts.is_empty() {
        output::tell(no_source(parts));
    }
    files
}

fn painter(colour: Colour) -> Painter {
    let wanted = match colour {
        Colour::Auto => terminal::is_fancy(&io::stdout()),
        Colour::Always => true,
        Colour::Never => false,
    };
    Painter { wanted }
}

/// A report of the lines of some sources.
fn report_of(files: &[FileLines]) -> Report {
    let mut report = Report::default();
    for file in files {
        let line = |&(number, count): &(u32, i64)| LineTotals {
            number,
            unexecuted_block: false,
            unexceptional: true,
            count,
            branches: Vec::new(),
        };
        let lines = file.lines.iter().map(line).collect();
        report.sources.insert(file.source.clone(), SourceTotals { lines, ..SourceTotals::default() });
    }
    report
}
