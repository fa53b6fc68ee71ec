//! `hearth replay`: localizes all bugs of a list, and prints how well.

use crate::localize::{SearchArgs, line_of, technique_parser};
use crate::output;
use crate::terminal;
use anyhow::Context;
use clap::Args;
use hearth_client::protocol::Address;
use hearth_experiment::bugs::{self, Bug, BugKind, BugList};
use hearth_experiment::local::Local;
use hearth_experiment::results::{Replayed, Results, Setting};
use hearth_experiment::summary::{Row, Summary, over_time, table};
use hearth_experiment::tasks::{Experiment, Task};
use hearth_localize::connections::Connections;
use hearth_localize::technique::Technique;
use hearth_report::plot::{Axis, BarChart, LineChart, Paper, Series};
use hearth_subject::{Store, recipes, source};
use indicatif::ProgressStyle;
use std::fs;
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
    let list = BugList::read(&args.manifest)?;
    let programs = source::unpack(&Store::open()?, &recipes::GCC_12, &bugs::parts())?;
    let search = &args.search;
    let ingredients = search.ingredients(&list.subject, &args.techniques);
    let launcher = std::env::current_exe()?;
    let experiment = Experiment {
        subject: &list.subject,
        way: search.way(ingredients.as_deref(), &launcher),
        beside: search.beside(),
    };
    let mut connections = Connections::open(&Address::of_user())?;
    let mut results = Results::read(&args.state)?;
    let tasks = Task::all(&args.techniques, search.seed, args.repeat, &list.first_programs());
    let local = Local { connections: &mut connections, programs: &programs, experiment: &experiment };
    finish(local, &tasks, &mut results)?;
    let wanted: Vec<(&Bug, Setting)> =
        tasks.iter().map(|task| (task.bug, task.setting(&experiment))).collect();
    let done = results.of(&wanted);
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

/// Does the tasks that were not done before, and prints what comes of each.
fn finish(mut local: Local<'_>, tasks: &[Task<'_>], results: &mut Results) -> anyhow::Result<()> {
    let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}")?;
    let bar = terminal::progress_bar().with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    let mut last = None;
    for (number, task) in tasks.iter().enumerate() {
        if results.has(task.bug, &task.setting(local.experiment)) {
            continue;
        }
        let (technique, seed) = (task.technique, task.seed);
        if last.replace((technique, seed)) != Some((technique, seed)) {
            bar.suspend(|| output::line(format_args!("\n{}, seed {seed}", technique.name())))?;
        }
        let what = format!("{} of {}: {}", number + 1, tasks.len(), task.bug.program);
        let replayed =
            local.run(task, |progress| bar.set_message(format!("{what}, {}", line_of(progress))))?;
        let line = line_of_bug(&replayed);
        results.add(replayed)?;
        bar.suspend(|| output::line(line))?;
    }
    bar.finish_and_clear();
    Ok(())
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

/// Draws how many bugs are found: by rank, and over the time.
fn draw(directory: &Path, kind: BugKind, rows: &[Row<'_>]) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let of = kind.plural();
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
