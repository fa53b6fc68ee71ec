//! `hearth localize`: the guilty file and function of a compiler, from a program that fails.

use anyhow::Context;
use clap::{Args, ValueEnum};
use hearth_client::address::Place;
use hearth_client::protocol::Suspect;
use hearth_localize::html::{self, About};
use hearth_localize::localize::{Localization, Progress, Request, Technique, localize as find};
use hearth_localize::oracle::{Kind, Verdict, shown};
use hearth_localize::parallel::Connections;
use indicatif::{ProgressBar, ProgressStyle};
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
    /// How it is localized
    #[arg(long, value_enum, default_value_t = TechniqueName::Options)]
    technique: TechniqueName,
    /// Where random choices begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many mutants are judged at the most
    #[arg(long, default_value_t = 100_000)]
    count: usize,
    /// How long it may take, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    budget: u64,
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

/// The techniques by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TechniqueName {
    /// Each option of optimization turned the other way; what passes votes
    Options,
    /// DiWi: mutants of the program, rules that bring diverse witnesses preferred
    Diwi,
    /// DiWi with rules chosen at random
    Random,
}

impl From<TechniqueName> for Technique {
    fn from(name: TechniqueName) -> Self {
        match name {
            TechniqueName::Options => Self::Options,
            TechniqueName::Diwi => Self::Diwi,
            TechniqueName::Random => Self::Random,
        }
    }
}

/// Localizes.
pub fn localize(args: &LocalizeArgs) -> anyhow::Result<ExitCode> {
    let text = fs::read(&args.program).with_context(|| format!("cannot read {}", args.program.display()))?;
    if let Some(path) = &args.html {
        check_writable(path)?;
    }
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let launcher = std::env::current_exe()?;
    let request = Request {
        subject: &args.subject,
        program: &args.program,
        text: &text,
        fail: words(&args.fail),
        pass: args.pass.as_deref().map(words),
        technique: args.technique.into(),
        seed: args.seed,
        count: args.count,
        budget: Duration::from_secs(args.budget),
        limit: args.limit,
        launcher: &launcher,
    };
    let mut connections = Connections::open(&Place::of_user())?;
    let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}")?;
    let bar = ProgressBar::new_spinner().with_style(style).with_message("seeing how the program fails");
    bar.enable_steady_tick(Duration::from_millis(200));
    let found = find(&mut connections, &request, |progress: Progress| {
        let all = progress.all.map_or(String::new(), |all| format!(" of {all}"));
        bar.set_message(format!(
            "{}{all} judged: {} pass, {} fail",
            progress.judged, progress.passing, progress.failing
        ));
    });
    bar.finish_and_clear();
    let found = found?;
    // What is printed is not lost if the page cannot be written.
    let page = args.html.as_deref().map(|path| write_page(path, &page_of(args, &request, &found)));
    let mut output = io::stdout().lock();
    let written = match args.json {
        true => writeln!(output, "{}", as_json(&found)),
        false => print(&mut output, &found, args),
    };
    match written {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written.context("cannot write the result")?,
    }
    page.transpose()?;
    Ok(ExitCode::SUCCESS)
}

/// Sees that a file can be written, and leaves all as it was: the time is spent only then.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    let is_new = !path.exists();
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(|| cannot_write(path))?;
    if is_new {
        fs::remove_file(path).with_context(|| cannot_write(path))?;
    }
    Ok(())
}

fn cannot_write(path: &Path) -> String {
    format!(
        "cannot write {}; give --html a file in a directory that exists and may be written to",
        path.display()
    )
}

fn write_page(path: &Path, page: &str) -> anyhow::Result<()> {
    fs::write(path, page).with_context(|| cannot_write(path))?;
    // Standard output may be JSON.
    eprintln!("the report is {}", path.display());
    Ok(())
}

fn page_of(args: &LocalizeArgs, request: &Request<'_>, found: &Localization) -> String {
    let technique = args.technique.to_possible_value();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let about = About {
        subject: request.subject,
        program: &args.program.file_name().unwrap_or_default().to_string_lossy(),
        text: &String::from_utf8_lossy(request.text),
        fail: shown(&request.fail),
        pass: request.pass.as_deref().map(shown),
        technique: technique.as_ref().map_or("", |technique| technique.get_name()),
        seed: request.seed,
        budget: request.budget,
        made: format!(
            "{}, on {} with {cores} cores",
            humantime::format_rfc3339_seconds(SystemTime::now()),
            std::env::consts::ARCH
        ),
    };
    html::page(&about, found, |source| {
        fs::read(source).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    })
}

fn as_json(found: &Localization) -> Value {
    let (kind, crash) = match &found.kind {
        Kind::Crash(crash) => ("crash", Some(crash)),
        Kind::WrongCode => ("wrong-code", None),
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
        "files": found.files,
        "functions": found.functions,
        "witnesses": witnesses,
        "complete": found.is_complete,
        "prepared_s": found.prepared.as_secs_f64(),
        "total_s": found.total.as_secs_f64(),
    })
}

fn print(output: &mut impl Write, found: &Localization, args: &LocalizeArgs) -> io::Result<()> {
    match &found.kind {
        Kind::Crash(crash) => writeln!(output, "{} crashes: {crash}", args.subject),
        Kind::WrongCode => writeln!(output, "{} compiles wrong code", args.subject),
    }?;
    writeln!(
        output,
        "{} judged in {:.1} s: {} pass, {} fail, {} neither{}",
        found.witnesses.len(),
        found.total.as_secs_f64(),
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
        writeln!(output, "nothing that was tried makes it pass, so nothing can be compared")?;
        return Ok(());
    }
    if args.technique == TechniqueName::Options {
        writeln!(output, "it passes with: {}", passing.join(", "))?;
    }
    writeln!(output, "\nfiles")?;
    print_suspects(output, &found.files, |suspect| suspect.source.clone())?;
    writeln!(output, "\nfunctions")?;
    print_suspects(output, &found.functions, |suspect| {
        format!("{} ({}:{})", suspect.function, suspect.source, suspect.line)
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
    eprintln!("hearth: cannot execute the program: {error:#}");
    ExitCode::FAILURE
}
