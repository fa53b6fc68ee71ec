//! `hearth localize`: the guilty file and function of a compiler, from a program that fails.

use crate::output::{self, cannot_write, check_writable, tell};
use crate::source_path::path_of;
use crate::terminal;
use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hearth_client::protocol::Address;
use hearth_client::protocol::{Aggregation, Formula, Suspect};
use hearth_compiler::function_name::short_function;
use hearth_experiment::bugs;
use hearth_localize::assignment::{Assignment, Way};
use hearth_localize::connections::Connections;
use hearth_localize::localization::{Localization, Progress};
use hearth_localize::localize::localize as find;
use hearth_localize::oracle::{Symptom, Verdict, shown};
use hearth_localize::technique::Technique;
use hearth_report::html::{self, About};
use hearth_report::names::FileNames;
use hearth_subject::recipes::{GCC_11, GCC_12, Recipe};
use hearth_subject::{Store, source};
use indicatif::ProgressStyle;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// The version of what `--json` prints.
const FORMAT: u32 = 1;
/// Suspects that are printed for people.
const SHOWN: usize = 10;

/// The arguments of `hearth localize`.
#[derive(Debug, Args)]
pub struct LocalizeArgs {
    /// The program that fails
    program: PathBuf,
    /// The compiler
    #[arg(long)]
    subject: String,
    /// The options it fails with, as for the compiler proper: "-O2 -fwrapv"
    #[arg(long, allow_hyphen_values = true, value_name = "OPTIONS")]
    fail: String,
    /// The options it passes with; if the compiler crashes, they may be left out
    #[arg(long, allow_hyphen_values = true, value_name = "OPTIONS")]
    pass: Option<String>,
    /// Another subject that compiles the program right, with --pass or the same options: a version without the bug
    #[arg(long, value_name = "SUBJECT")]
    reference: Option<String>,
    /// How it is localized
    #[arg(long, value_parser = technique_parser(), default_value = Technique::ALL[0].name())]
    technique: Technique,
    /// How many mutants are judged at the most
    #[arg(long, default_value_t = 100_000)]
    count: usize,
    #[command(flatten)]
    search: SearchArgs,
    /// How many suspects `--json` has of each kind; 0 for all
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    limit: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Write a report for people, one HTML page that needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// What `hearth localize` and `hearth replay` have in common.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Where random choices begin
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How long a bug may take: 60s, 5m, or a number of seconds
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = time)]
    pub budget: Duration,
    /// End when the first five files have been the same for this long
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub settled: Option<Duration>,
    /// How lines are scored, instead of the technique's own way: votes, ochiai, tarantula, jaccard, dstar, op2, barinel
    #[arg(long, value_parser = by_name::<Formula>)]
    pub formula: Option<Formula>,
    /// How the scores of lines make those of files and functions: mean, rank_weighted, sum
    #[arg(long, value_parser = by_name::<Aggregation>)]
    pub aggregation: Option<Aggregation>,
    /// For wrong code: leave out mutants in which GCC's sanitizer finds undefined behaviour
    #[arg(long)]
    pub screen: bool,
    /// Let execution counts decide between equals: the more they differ where it passes, the more suspicious
    #[arg(long)]
    pub counts: bool,
    /// C programs whose parts are inserted into mutants; the compiler's own test programs if they can be had
    #[arg(long, value_name = "DIRECTORY")]
    pub ingredients: Option<PathBuf>,
}

impl SearchArgs {
    /// What else is asked for than a technique, a seed and a budget, in words.
    pub fn beside(&self) -> String {
        let Self { seed: _, budget: _, settled, formula, aggregation, screen, counts, ingredients } = self;
        let words = [
            settled.map(|time| format!("settled {}", humantime::format_duration(time))),
            formula.map(|formula| format!("formula {formula:?}")),
            aggregation.map(|aggregation| format!("aggregation {aggregation:?}")),
            screen.then(|| "screen".to_owned()),
            counts.then(|| "counts".to_owned()),
            ingredients.as_ref().map(|directory| format!("ingredients {}", directory.display())),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// How bugs are localized.
    pub fn way<'a>(&self, ingredients: Option<&'a Path>, launcher: &'a Path) -> Way<'a> {
        Way {
            budget: self.budget,
            settled: self.settled,
            formula: self.formula,
            aggregation: self.aggregation,
            screen: self.screen,
            counts: self.counts,
            ingredients,
            launcher,
        }
    }

    /// The directory of ingredients, which is unpacked if it is not there; none if no technique uses them.
    pub fn ingredients(&self, subject: &str, techniques: &[Technique]) -> Option<PathBuf> {
        if !techniques.iter().any(|technique| technique.inserts()) {
            return None;
        }
        if self.ingredients.is_some() {
            return self.ingredients.clone();
        }
        let recipe = [&GCC_11, &GCC_12].into_iter().find(|recipe| subject.starts_with(recipe.name()))?;
        let parts = if *recipe == GCC_12 { bugs::parts() } else { bugs::PROGRAMS.to_vec() };
        match Store::open().and_then(|store| source::unpack(&store, recipe, &parts)) {
            Ok(directory) => Some(directory.join(INGREDIENTS)),
            Err(error) => {
                tell(format_args!("hearth: mutants go without parts of {subject}'s test programs: {error}"));
                None
            }
        }
    }
}

/// The directory of GCC's test programs from which ingredients are taken.
const INGREDIENTS: &str = "gcc/testsuite/gcc.c-torture/execute";

/// Reads the name of a technique.
pub fn technique_parser() -> impl TypedValueParser<Value = Technique> {
    let names = Technique::ALL.map(|technique| PossibleValue::new(technique.name()).help(technique.about()));
    PossibleValuesParser::new(names)
        .try_map(|name| Technique::by_name(&name).ok_or_else(|| format!("there is no technique {name}")))
}

/// Reads a time: a number is of seconds.
fn time(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => humantime::parse_duration(text).map_err(|error| format!("{error}; try 60s or 5m")),
    }
}

/// Reads a value that has the name it has in the protocol.
fn by_name<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    serde_json::from_value(Value::String(name.replace('-', "_"))).map_err(|error| error.to_string())
}

/// Localizes.
pub fn localize(args: &LocalizeArgs) -> anyhow::Result<ExitCode> {
    let text = fs::read(&args.program).with_context(|| format!("cannot read {}", args.program.display()))?;
    if let Some(path) = &args.html {
        check_writable(path).map_err(|error| cannot_write(path, "--html", &error))?;
    }
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let launcher = std::env::current_exe()?;
    let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}")?;
    let bar = terminal::progress_bar().with_style(style);
    bar.set_message("looking for the compiler's test programs, which are unpacked once");
    bar.enable_steady_tick(Duration::from_millis(200));
    let ingredients = args.search.ingredients(&args.subject, &[args.technique]);
    let assignment = Assignment {
        subject: &args.subject,
        program: &args.program,
        text: &text,
        fail: words(&args.fail),
        pass: args.pass.as_deref().map(words),
        reference: args.reference.as_deref(),
        technique: args.technique,
        seed: args.search.seed,
        count: args.count,
        limit: args.limit,
        way: args.search.way(ingredients.as_deref(), &launcher),
    };
    let mut connections = Connections::open(&Address::of_user())?;
    bar.set_message("seeing how the program fails");
    let found = find(&mut connections, &assignment, |progress| bar.set_message(line_of(progress)));
    bar.finish_and_clear();
    let found = found?;
    // What is printed is not lost if the page cannot be written.
    let page = args.html.as_deref().map(|path| write_page(path, &page_of(args, &assignment, &found)));
    let mut text = Vec::new();
    match args.json {
        true => writeln!(text, "{}", as_json(&found, &assignment)),
        false => print(&mut text, &found, args),
    }?;
    let written = output::write(&text);
    page.transpose()?;
    written?;
    Ok(ExitCode::SUCCESS)
}

/// How far it is, in a line.
pub fn line_of(progress: &Progress) -> String {
    let all = progress.all.map_or(String::new(), |all| format!(" of {all}"));
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    let first: Vec<String> = progress.first.iter().map(name).collect();
    let first = if first.is_empty() { String::new() } else { format!("; first {}", first.join(", ")) };
    let rate = progress.judged as f64 / progress.elapsed.as_secs_f64().max(0.001);
    format!(
        "{}{all} judged, {rate:.0} a second: {} pass, {} fail{first}",
        progress.judged, progress.passing, progress.failing
    )
}

fn write_page(path: &Path, page: &str) -> anyhow::Result<()> {
    fs::write(path, page).map_err(|error| cannot_write(path, "--html", &error))?;
    // Standard output may be JSON.
    tell(format_args!("the report is {}", path.display()));
    Ok(())
}

/// With what it passes, in words.
fn passes_with(args: &LocalizeArgs, assignment: &Assignment<'_>) -> Option<String> {
    let options = assignment.pass.as_deref();
    match &args.reference {
        Some(reference) => Some(format!("{} of {reference}", shown(options.unwrap_or(&assignment.fail)))),
        None => options.map(shown),
    }
}

fn page_of(args: &LocalizeArgs, assignment: &Assignment<'_>, found: &Localization) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let about = About {
        subject: assignment.subject,
        program: &args.program.file_name().unwrap_or_default().to_string_lossy(),
        text: &String::from_utf8_lossy(assignment.text),
        fail: shown(&assignment.fail),
        pass: passes_with(args, assignment),
        technique: args.technique.name(),
        seed: assignment.seed,
        budget: assignment.way.budget,
        made: format!(
            "{}, on {} with {cores} cores",
            humantime::format_rfc3339_seconds(SystemTime::now()),
            std::env::consts::ARCH
        ),
    };
    html::page(&about, found, |source| {
        fs::read(path_of(source)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    })
}

fn as_json(found: &Localization, assignment: &Assignment<'_>) -> Value {
    let (kind, crash) = match &found.symptom {
        Symptom::Crash(crash) => ("crash", Some(crash)),
        Symptom::WrongCode => ("wrong-code", None),
    };
    let witnesses: Vec<Value> = found
        .witnesses
        .iter()
        .map(|witness| {
            let (verdict, reason) = match witness.verdict {
                Verdict::Pass => ("pass", None),
                Verdict::Fail => ("fail", None),
                Verdict::Unusable(reason) => ("neither", Some(reason.to_string())),
            };
            json!({"change": witness.change, "verdict": verdict, "reason": reason, "program": witness.program})
        })
        .collect();
    json!({
        "format": FORMAT,
        "kind": kind,
        "crash": crash,
        "subject": assignment.subject,
        "fail": assignment.fail,
        "pass": assignment.pass,
        "technique": assignment.technique.name(),
        "seed": assignment.seed,
        "files": found.files,
        "functions": found.functions,
        "witnesses": witnesses,
        "complete": found.is_complete,
        "prepared_s": found.prepared.as_secs_f64(),
        "total_s": found.total.as_secs_f64(),
    })
}

fn print(output: &mut impl Write, found: &Localization, args: &LocalizeArgs) -> io::Result<()> {
    match &found.symptom {
        Symptom::Crash(crash) => writeln!(output, "{} crashes: {crash}", args.subject),
        Symptom::WrongCode => writeln!(output, "{} compiles wrong code", args.subject),
    }?;
    writeln!(
        output,
        "{} judged in {:.1} s ({}, seed {}): {} pass, {} fail, {} neither{}",
        found.witnesses.len(),
        found.total.as_secs_f64(),
        args.technique.name(),
        args.search.seed,
        found.count(Verdict::Pass),
        found.count(Verdict::Fail),
        found.witnesses.len() - found.count(Verdict::Pass) - found.count(Verdict::Fail),
        if found.is_complete { "" } else { "; the time was over before all were tried" }
    )?;
    let passing: Vec<&str> = found
        .witnesses
        .iter()
        .filter(|witness| witness.verdict == Verdict::Pass)
        .map(|witness| witness.change.as_str())
        .collect();
    if passing.is_empty() {
        let what = "nothing that was tried makes it pass, so nothing can be compared";
        if found.files.is_empty() {
            return writeln!(output, "{what}; give it more time, or try another --technique");
        }
        writeln!(output, "{what}; what follows is the stack of the crash")?;
    }
    if !args.technique.mutates() {
        writeln!(output, "it passes with: {}", passing.join(", "))?;
    }
    let names = FileNames::new(&found.files);
    match names.directory() {
        "" => writeln!(output, "\nfiles")?,
        directory => writeln!(output, "\nfiles in {directory}")?,
    }
    print_suspects(output, &found.files, |suspect| names.short(&suspect.source))?;
    writeln!(output, "\nfunctions")?;
    print_suspects(output, &found.functions, |suspect| {
        let name = short_function(&suspect.function);
        format!("{name} ({}:{})", names.short(&suspect.source), suspect.line)
    })
}

fn print_suspects(
    output: &mut impl Write,
    suspects: &[Suspect],
    name: impl Fn(&Suspect) -> String,
) -> io::Result<()> {
    for suspect in suspects.iter().take(SHOWN) {
        writeln!(output, "{:>5}  {:>8.3}  {}", suspect.rank, suspect.score, name(suspect))?;
    }
    let shown = &suspects[..suspects.len().min(SHOWN)];
    if shown.first().is_some_and(|first| first.rank > 1) {
        writeln!(output, "equal scores share the last rank")?;
    }
    Ok(())
}

/// Becomes the program that it is given as a file.
pub fn execute(program: Option<OsString>) -> ExitCode {
    let opened = program.context("no program is given").and_then(|path| Ok(fs::File::open(path)?));
    let error = match opened {
        Ok(file) => {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            anyhow::Error::from(std::process::Command::new(path).arg0("program").exec())
        }
        Err(error) => error,
    };
    tell(format_args!("hearth: cannot execute the program: {error:#}"));
    ExitCode::FAILURE
}
