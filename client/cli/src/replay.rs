//! `hearth replay`: localizes all bugs of a manifest, and prints how well.

use crate::localize::TechniqueName;
use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use hearth_client::address::Place;
use hearth_localize::bugs::{self, Bug, BugKind, Manifest};
use hearth_localize::localize::{Request, localize};
use hearth_localize::oracle::Refusal;
use hearth_localize::parallel::Connections;
use hearth_localize::replay::{Replayed, Setting, Summary, first_programs};
use hearth_subject::{Recipe, Store, source};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The arguments of `hearth replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The manifest that `hearth bench bugs` wrote
    manifest: PathBuf,
    /// How they are localized
    #[arg(long, value_enum, default_value_t = TechniqueName::Options)]
    technique: TechniqueName,
    /// Where random choices begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long each bug may take, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    budget: u64,
    /// Where to remember what is done, a line for each bug; what is there already is not done again
    #[arg(long, default_value = "replay.jsonl", value_name = "FILE")]
    state: PathBuf,
}

/// Replays.
pub fn replay(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let path = args.manifest.display();
    let text = fs::read_to_string(&args.manifest)
        .with_context(|| format!("cannot read {path}; write it with: hearth bench bugs --output {path}"))?;
    let manifest: Manifest =
        serde_json::from_str(&text).with_context(|| format!("{path} is no manifest of bugs"))?;
    ensure!(
        manifest.format == bugs::FORMAT,
        "{path} is of format {}, this hearth reads {}; write it anew with: hearth bench bugs --output {path}",
        manifest.format,
        bugs::FORMAT
    );
    let programs = source::unpack(&Store::open()?, Recipe::Gcc12, &bugs::parts())?;
    let mut connections = Connections::open(&Place::of_user())?;
    let technique =
        args.technique.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
    let setting = Setting { technique, seed: args.seed, budget_s: args.budget };
    let mut done = read_state(&args.state, &setting)?;
    let wanted = first_programs(&manifest.bugs);
    let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}")?;
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    for (number, bug) in wanted.iter().enumerate() {
        if done.iter().any(|done| done.is_of(bug)) {
            continue;
        }
        let what = format!("bug {} of {}: {}", number + 1, wanted.len(), bug.program);
        let replayed = one(&mut connections, &manifest.subject, bug, &programs, args, &setting, &|judged| {
            bar.set_message(format!("{what}, {judged} judged"));
        })?;
        bar.suspend(|| print_bug(&replayed));
        append(&args.state, &replayed)?;
        done.push(replayed);
    }
    bar.finish_and_clear();
    for kind in [BugKind::WrongCode, BugKind::Crash] {
        let of_kind: Vec<&Replayed> = done
            .iter()
            .filter(|done| done.kind == kind && wanted.iter().any(|bug| done.is_of(bug)))
            .collect();
        print_summary(kind, &of_kind);
    }
    Ok(ExitCode::SUCCESS)
}

fn one(
    connections: &mut Connections,
    subject: &str,
    bug: &Bug,
    programs: &Path,
    args: &ReplayArgs,
    setting: &Setting,
    tell: &(dyn Fn(usize) + Sync),
) -> anyhow::Result<Replayed> {
    let program = programs.join(&bug.program);
    let text = fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    let launcher = std::env::current_exe()?;
    let request = Request {
        subject,
        program: &program,
        text: &text,
        fail: bug.fail.clone(),
        pass: bug.pass.clone(),
        technique: args.technique.into(),
        seed: args.seed,
        count: usize::MAX,
        budget: Duration::from_secs(args.budget),
        limit: 0,
        launcher: &launcher,
    };
    match localize(connections, &request, |progress| tell(progress.judged)) {
        Ok(found) => Ok(Replayed::new(bug, setting, &found)),
        Err(Refusal::Daemon(error)) => Err(error),
        Err(refusal) => Ok(Replayed::refused(bug, setting, Some(refusal.to_string()))),
    }
}

/// What was done before in the same way. A line that was cut off is done again.
fn read_state(path: &Path, setting: &Setting) -> anyhow::Result<Vec<Replayed>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Replayed>(line).ok());
    Ok(lines.filter(|done| done.setting == *setting).collect())
}

fn append(path: &Path, replayed: &Replayed) -> anyhow::Result<()> {
    let written = OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| {
        // A line that was cut off when the last replay was killed must not swallow this one.
        writeln!(file, "\n{}", serde_json::to_string(replayed)?)
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn print_bug(bug: &Replayed) {
    let first = |ranks: &[u32]| ranks.first().map_or("-".to_owned(), u32::to_string);
    let name = bug.program.rsplit('/').next().unwrap_or(&bug.program);
    let what = match &bug.refusal {
        Some(refusal) => format!("not localized: {refusal}"),
        None => format!("{} of {} judged pass, {:.1} s", bug.passing, bug.judged, bug.total_s),
    };
    println!("{name:<18} file {:>4}  function {:>5}  {what}", first(&bug.files), first(&bug.functions));
}

fn print_summary(kind: BugKind, bugs: &[&Replayed]) {
    let name = match kind {
        BugKind::WrongCode => "wrong code",
        BugKind::Crash => "crashes",
    };
    if bugs.is_empty() {
        return;
    }
    let seconds = bugs.iter().map(|bug| bug.total_s).sum::<f64>() / bugs.len() as f64;
    println!("\n{name}: {} bugs, {seconds:.1} s each on average", bugs.len());
    let levels = [
        ("files", Summary::new(bugs.iter().map(|bug| &bug.files[..]))),
        ("functions", Summary::new(bugs.iter().map(|bug| &bug.functions[..]))),
    ];
    println!(
        "{:<10} {:>5} {:>5} {:>6} {:>6} {:>8} {:>8}",
        "", "Top-1", "Top-5", "Top-10", "Top-20", "MFR", "MAR"
    );
    for (level, summary) in levels {
        let [one, five, ten, twenty] = summary.top;
        println!(
            "{level:<10} {one:>5} {five:>5} {ten:>6} {twenty:>6} {:>8.1} {:>8.1}",
            summary.mean_first_rank, summary.mean_average_rank
        );
    }
}
