//! `hearth report`: the coverage of an existing tree of .gcno and .gcda files.

mod find;
mod object;
mod output;
mod pipeline;

use crate::format::{Format, format_parser};
use crate::libstdcxx;
use crate::output::{OutputError, tell};
use crate::source_path::{no_source, path_of};
use anyhow::{Context, bail};
use clap::Args;
use find::Object;
use hearth_coverage::format::{Branches, Report, gcov_json};
use hearth_coverage::gcov::canonical::canonical_name;
use hearth_coverage::name_text;
use object::{Failure, Worker, find_sources};
use output::Output;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Some files could not be used; the rest was reported.
const EXIT_PARTIAL: u8 = 3;

/// What can be written.
const FORMATS: &[(Format, &str)] = &[
    (Format::Lcov, "lcov's tracefile (.info)"),
    (Format::GcovJson, "gcov's JSON, one document per object, as `gcov --json-format --stdout` writes it"),
    (Format::Cobertura, "Cobertura's XML"),
    (Format::Text, "Annotated source, as in gcov's .gcov files"),
];

/// The arguments of `hearth report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 all files reported; 3 some files could not be used (each is named with the reason), the rest
was reported; 1 nothing could be reported; 2 wrong usage.

Examples:
  hearth report --gcda build --format lcov --output coverage.info
  hearth report --gcda build --format gcov-json --branches | gzip > coverage.json.gz
  hearth report --gcda build --format text --source src/parser.c
  GCOV_PREFIX=/tmp/run ./program; hearth report --gcda /tmp/run --notes build --format cobertura")]
pub struct ReportArgs {
    /// The directory to search for .gcda files (and for their .gcno files, which lie beside them)
    #[arg(long, value_name = "DIR")]
    gcda: PathBuf,
    /// Search here for the .gcno files, by the same relative path or the longest tail of it that exists; for
    /// programs built with -fprofile-dir, by the path in the .gcda file's name
    #[arg(long, value_name = "DIR")]
    notes: Option<PathBuf>,
    /// Count objects that left no .gcda file as never executed, instead of leaving them out
    #[arg(long)]
    all: bool,
    /// What to write
    #[arg(long, value_parser = format_parser(FORMATS), default_value = Format::Lcov.name())]
    format: Format,
    /// Include branches
    #[arg(long, short)]
    branches: bool,
    /// With --branches: leave out the branches that lead to exception handlers (not in gcov-json)
    #[arg(long, requires = "branches")]
    no_throw_branches: bool,
    /// Only sources whose path contains TEXT; may be repeated (not in gcov-json)
    #[arg(long, value_name = "TEXT")]
    source: Vec<String>,
    /// Write to this file instead of standard output; it appears only when complete
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let objects = find::find_objects(&args.gcda, args.notes.as_deref(), args.all)
        .with_context(|| format!("cannot search {}", args.gcda.display()))?;
    if objects.is_empty() {
        bail!(
            "no .gcda files below {}: run the program that was built with --coverage first, \
             or use --all to report its .gcno files as never executed",
            args.gcda.display()
        );
    }
    let mut output = Output::create(args.output.as_deref())?;
    let written = match args.format {
        Format::GcovJson => write_documents(args, &objects, &mut output),
        Format::Lcov | Format::Cobertura | Format::Text | Format::Json => {
            write_sources(args, &objects, &mut output)
        }
    };
    let place = output.place();
    // Where nothing could be reported, a report that is there already stays.
    let written = written.and_then(|failures| match failures.len() < objects.len() {
        true => output.finish().map(|()| failures),
        false => Ok(failures),
    });
    let failures = written.map_err(|error| OutputError::new(place, error))?;
    for failure in &failures {
        tell(format_args!("hearth: {failure}"));
    }
    let reported = objects.len() - failures.len();
    if !failures.is_empty() {
        tell(format_args!(
            "hearth: {reported} of {} objects reported, {} left out",
            objects.len(),
            failures.len()
        ));
    } else if !args.quiet && args.output.is_some() {
        tell(format_args!("hearth: {reported} objects reported"));
    }
    Ok(match (failures.len(), reported) {
        (0, _) => ExitCode::SUCCESS,
        (_, 0) => ExitCode::FAILURE,
        _ => ExitCode::from(EXIT_PARTIAL),
    })
}

/// Writes a document for each object while later ones are being worked on.
fn write_documents(args: &ReportArgs, objects: &[Object], output: &mut Output) -> io::Result<Vec<Failure>> {
    let names = gcov_json::Names::new(libstdcxx::demangle);
    let mut failures = Vec::new();
    pipeline::in_order(
        objects,
        || (Worker::new(args.branches), gcov_json::Writer::new(args.branches, &names)),
        |(worker, writer), object, text, offer| {
            let (map, coverage) = worker.cover(object)?;
            let data = name_text::from_bytes(object.data.as_os_str().as_bytes());
            let data = canonical_name(&data, &|name| path_of(name).exists());
            writer.write(&data, &map, &coverage, text, offer);
            Ok(())
        },
        |bytes, result: Option<Result<(), Failure>>| {
            failures.extend(result.and_then(Result::err));
            output.write(bytes)
        },
    )?;
    Ok(failures)
}

/// Adds all objects up, then writes the sources.
fn write_sources(args: &ReportArgs, objects: &[Object], output: &mut Output) -> io::Result<Vec<Failure>> {
    let branches = match (args.branches, args.no_throw_branches) {
        (false, _) => Branches::None,
        (true, false) => Branches::All,
        (true, true) => Branches::WithoutThrows,
    };
    let mut report = Report::default();
    let mut failures = Vec::new();
    pipeline::in_order(
        objects,
        || Worker::new(args.branches),
        |worker, object, _, _| {
            let (mut map, coverage) = worker.cover(object)?;
            find_sources(&mut map, &object.notes);
            Ok((map, coverage))
        },
        |_, result| {
            match result {
                Some(Ok((map, coverage))) => coverage.add_to(&mut report, &map, branches),
                Some(Err(failure)) => failures.push(failure),
                None => {}
            }
            Ok(())
        },
    )?;
    if !args.source.is_empty() {
        report.sources.retain(|name, _| args.source.iter().any(|text| name.contains(text.as_str())));
        if report.sources.is_empty() {
            tell(no_source(&args.source));
        }
    }
    let mut bytes = Vec::new();
    args.format.write(&report, args.branches, &mut bytes)?;
    if failures.len() < objects.len() {
        output.write(&bytes)?;
    }
    Ok(failures)
}
