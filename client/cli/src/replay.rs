//! `hearth replay`: localizes all bugs of a manifest, and prints how well.

use crate::localize::{SearchArgs, line_of, technique_parser};
use crate::output;
use crate::terminal;
use anyhow::{Context, ensure};
use clap::Args;
use hearth_client::protocol::Address;
use hearth_experiment::bugs::{self, Bug, BugKind, Manifest};
use hearth_experiment::replay::{
    Replayed, Setting, Summary, VERSION, first_programs, medians, over_time, overlap,
};
use hearth_localize::connections::Connections;
use hearth_localize::localization::Progress;
use hearth_localize::localize::localize;
use hearth_localize::oracle::Refusal;
use hearth_localize::request::Request;
use hearth_localize::technique::Technique;
use hearth_report::plot::{Axis, BarChart, LineChart, Paper, Series};
use hearth_subject::{Recipe, Store, source};
use indicatif::ProgressStyle;
use std::fmt::{self, Write as _};
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
    /// How they are localized, in turn
    #[arg(long, value_parser = technique_parser(), value_delimiter = ',', default_value = Technique::ALL[0].name())]
    techniques: Vec<Technique>,
    /// How often each, with the seeds that follow; a median stands in the table
    #[arg(long, default_value_t = 1)]
    repeat: u64,
    #[command(flatten)]
    search: SearchArgs,
    /// Where to remember what is done, a line for each bug; what is there already is not done again
    #[arg(long, default_value = "replay.jsonl", value_name = "FILE")]
    state: PathBuf,
    /// Where to draw how many bugs are found, as SVG files
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
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
    let ingredients = args.search.ingredients(&manifest.subject, &args.techniques);
    let mut connections = Connections::open(&Address::of_user())?;
    let mut done = read_state(&args.state)?;
    let wanted = first_programs(&manifest.bugs);
    let tasks: Vec<(Technique, u64, &Bug)> = args
        .techniques
        .iter()
        .flat_map(|&technique| (0..args.repeat.max(1)).map(move |number| (technique, number)))
        .flat_map(|(technique, number)| {
            wanted.iter().map(move |&bug| (technique, args.search.seed + number, bug))
        })
        .collect();
    let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}")?;
    let bar = terminal::progress_bar().with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    let setting = |technique: Technique, seed: u64| Setting {
        version: VERSION,
        technique: technique.name().to_owned(),
        seed,
        budget_s: args.search.budget.as_secs(),
        subject: manifest.subject.clone(),
        beside: args.search.beside(),
    };
    let mut last = None;
    for (number, &(technique, seed, bug)) in tasks.iter().enumerate() {
        let setting = setting(technique, seed);
        if done.iter().any(|done| done.setting == setting && done.is_of(bug)) {
            continue;
        }
        if last.replace((technique, seed)) != Some((technique, seed)) {
            bar.suspend(|| output::line(format_args!("\n{}, seed {seed}", technique.name())))?;
        }
        let what = format!("{} of {}: {}", number + 1, tasks.len(), bug.program);
        let place =
            Replay { manifest: &manifest, programs: &programs, ingredients: ingredients.as_deref(), args };
        let replayed = place.one(&mut connections, bug, technique, &setting, &|progress| {
            bar.set_message(format!("{what}, {}", line_of(progress)));
        })?;
        append(&args.state, &replayed)?;
        bar.suspend(|| output::line(line_of_bug(&replayed)))?;
        done.push(replayed);
    }
    bar.finish_and_clear();
    done.retain(|done| {
        tasks
            .iter()
            .any(|&(technique, seed, bug)| done.setting == setting(technique, seed) && done.is_of(bug))
    });
    for kind in [BugKind::WrongCode, BugKind::Crash] {
        let rows: Vec<Row<'_>> =
            args.techniques.iter().map(|&technique| Row::new(technique, kind, &done)).collect();
        if rows.iter().all(|row| row.bugs.is_empty()) {
            continue;
        }
        output::write(table(kind, &rows, args.repeat)?.as_bytes())?;
        if let Some(directory) = &args.plots {
            draw(directory, kind, &rows)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What all bugs of a replay have in common.
struct Replay<'a> {
    manifest: &'a Manifest,
    programs: &'a Path,
    ingredients: Option<&'a Path>,
    args: &'a ReplayArgs,
}

impl Replay<'_> {
    fn one(
        &self,
        connections: &mut Connections,
        bug: &Bug,
        technique: Technique,
        setting: &Setting,
        tell: &(dyn Fn(&Progress) + Sync),
    ) -> anyhow::Result<Replayed> {
        let program = self.programs.join(&bug.program);
        let text = fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
        let launcher = std::env::current_exe()?;
        let search = &self.args.search;
        let request = Request {
            subject: &self.manifest.subject,
            program: &program,
            text: &text,
            fail: bug.fail.clone(),
            pass: bug.pass.clone(),
            reference: None,
            technique,
            seed: setting.seed,
            count: usize::MAX,
            budget: search.budget,
            settled: search.settled,
            formula: search.formula,
            aggregation: search.aggregation,
            screen: search.screen,
            counts: search.counts,
            ingredients: self.ingredients,
            limit: 0,
            launcher: &launcher,
        };
        match localize(connections, &request, tell) {
            Ok(found) => Ok(Replayed::new(bug, setting, &found)),
            Err(Refusal::Daemon(error)) => Err(error),
            Err(refusal) => Ok(Replayed::refused(bug, setting, Some(refusal.to_string()))),
        }
    }
}

/// What was done before. A line that was cut off is done again.
fn read_state(path: &Path) -> anyhow::Result<Vec<Replayed>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn append(path: &Path, replayed: &Replayed) -> anyhow::Result<()> {
    let written = OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| {
        // A line that was cut off when the last replay was killed must not swallow this one.
        writeln!(file, "\n{}", serde_json::to_string(replayed)?)
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn line_of_bug(bug: &Replayed) -> String {
    let first = |ranks: &[u32]| match (&bug.refusal, ranks.first()) {
        (None, Some(rank)) => rank.to_string(),
        _ => "-".to_owned(),
    };
    let name = bug.program.rsplit('/').next().unwrap_or(&bug.program);
    let what = match &bug.refusal {
        Some(refusal) => format!("not localized: {refusal}"),
        None => format!("{} of {} judged pass, {:.1} s", bug.passing, bug.judged, bug.total_s),
    };
    format!("{name:<18} file {:>4}  function {:>5}  {what}", first(&bug.files), first(&bug.functions))
}

/// What came of a technique: of each bug the median of the repeats.
struct Row<'a> {
    technique: Technique,
    bugs: Vec<&'a Replayed>,
    overlap: Option<f64>,
    /// The last ranks there are, of files and functions.
    last: [u32; 2],
}

impl<'a> Row<'a> {
    fn new(technique: Technique, kind: BugKind, done: &'a [Replayed]) -> Self {
        let own = |done: &&Replayed| done.kind == kind && done.setting.technique == technique.name();
        let all: Vec<&Replayed> = done.iter().filter(own).collect();
        let last = [0, 1].map(|level| done.iter().map(|done| done.executed[level]).max().unwrap_or(0));
        Self { technique, bugs: medians(&all), overlap: overlap(&all), last }
    }

    fn files(&self) -> Summary {
        Summary::new(self.bugs.iter().map(|bug| &bug.files[..]), self.last[0])
    }

    fn functions(&self) -> Summary {
        let known = self.bugs.iter().filter(|bug| !bug.functions.is_empty());
        Summary::new(known.map(|bug| &bug.functions[..]), self.last[1])
    }
}

fn name_of(kind: BugKind) -> &'static str {
    match kind {
        BugKind::WrongCode => "wrong code",
        BugKind::Crash => "crashes",
    }
}

fn table(kind: BugKind, rows: &[Row<'_>], repeat: u64) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let bugs = rows.iter().map(|row| row.bugs.len()).max().unwrap_or(0);
    let median = if repeat > 1 { format!(", medians of {repeat} repeats") } else { String::new() };
    writeln!(text, "\n{}: {bugs} bugs{median}", name_of(kind))?;
    writeln!(
        text,
        "{:<13} {:<10} {:>4} {:>5} {:>5} {:>6} {:>6} {:>8} {:>8} {:>10}",
        "", "", "bugs", "Top-1", "Top-5", "Top-10", "Top-20", "MFR", "MAR", "s per bug"
    )?;
    for row in rows {
        let seconds = row.bugs.iter().map(|bug| bug.total_s).sum::<f64>() / row.bugs.len().max(1) as f64;
        for (level, summary) in [("files", row.files()), ("functions", row.functions())] {
            let [one, five, ten, twenty] = summary.top;
            writeln!(
                text,
                "{:<13} {level:<10} {:>4} {one:>5} {five:>5} {ten:>6} {twenty:>6} {:>8.1} {:>8.1} {seconds:>10.1}",
                row.technique.name(),
                summary.bugs,
                summary.mean_first_rank,
                summary.mean_average_rank
            )?;
        }
    }
    for row in rows {
        if let Some(overlap) = row.overlap {
            writeln!(
                text,
                "{}: the first five files of two seeds have {:.0} % in common, on average",
                row.technique.name(),
                100.0 * overlap
            )?;
        }
    }
    Ok(text)
}

/// Draws how many bugs are found: by rank, and over the time.
fn draw(directory: &Path, kind: BugKind, rows: &[Row<'_>]) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let of = name_of(kind);
    let top = |summary: Summary| summary.top.map(|count| count as f64).to_vec();
    let bars = |title: &str, summary: &dyn Fn(&Row<'_>) -> Summary| BarChart {
        title: title.to_owned(),
        x_title: "among the first".to_owned(),
        y_title: "bugs".to_owned(),
        groups: ["1", "5", "10", "20"].map(str::to_owned).to_vec(),
        series: rows.iter().map(|row| (row.technique.name().to_owned(), top(summary(row)))).collect(),
    };
    let axis = |title: &str| Axis { title: title.to_owned(), from: 0.0, is_log: false, is_inverted: false };
    let course = LineChart {
        title: format!("{of}: bugs with a true file among the first five"),
        x: axis("seconds"),
        y: axis("bugs"),
        series: rows
            .iter()
            .map(|row| Series { name: row.technique.name().to_owned(), points: over_time(&row.bugs, 5) })
            .collect(),
    };
    let file = of.replace(' ', "-");
    for (name, drawing) in [
        ("files", bars(&format!("{of}: a true file"), &|row| row.files()).svg(Paper::White)),
        ("functions", bars(&format!("{of}: a true function"), &|row| row.functions()).svg(Paper::White)),
        ("course", course.svg(Paper::White)),
    ] {
        let path = directory.join(format!("{file}-{name}.svg"));
        fs::write(&path, drawing).with_context(|| format!("cannot write {}", path.display()))?;
        output::line(format_args!("drawn: {}", path.display()))?;
    }
    Ok(())
}
