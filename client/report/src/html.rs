//! A localization as one HTML page that needs nothing else: no network, no script.

mod diff;
mod rankings;
mod source;
#[cfg(test)]
mod tests;
mod witness;

use crate::markup::Escaped;
use crate::names::FileNames;
use crate::plot::{Axis, LineChart, Paper, Series};
use hearth_client::protocol::Suspect;
use hearth_localize::localization::{Localization, Sample};
use hearth_localize::oracle::{Symptom, Verdict};
use rankings::file_name;
use std::time::Duration;

/// Files whose way to the top is drawn.
const DRAWN: usize = 5;
/// Ranks up to this are drawn on a linear axis.
const LINEAR_RANKS: f64 = 12.0;
/// Lines of the failing program that are shown.
const PROGRAM_LINES: usize = 2000;
/// Times above this are drawn in minutes.
const LONG: Duration = Duration::from_secs(300);

/// What was localized, and how.
#[derive(Debug, Clone)]
pub struct About<'a> {
    /// The compiler.
    pub subject: &'a str,
    /// The failing program's name.
    pub program: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The options it fails with, as they are shown.
    pub fail: String,
    /// The options it passes with, as they are shown.
    pub pass: Option<String>,
    /// The technique's name.
    pub technique: &'a str,
    /// Where random choices began.
    pub seed: u64,
    /// The time it was given.
    pub budget: Duration,
    /// When it was done, and on what machine.
    pub made: String,
}

/// The page. `source_of` gives the text of a file of the compiler, if there is one.
#[must_use]
pub fn page(about: &About<'_>, found: &Localization, source_of: impl Fn(&str) -> Option<String>) -> String {
    let names = FileNames::new(&found.files);
    let lines = source::Lines::new(found, source_of);
    let title = title(about, found);
    let sections = [
        ("suspects", "Suspects", rankings::section(found, &names, &lines)),
        ("lines", "Suspicious lines", lines.section(found, &names)),
        ("witnesses", "Witnesses", witness::section(about.text, found)),
        ("convergence", "How the ranking settled", convergence(found, &names)),
        ("time", "Where the time went", time(found)),
        ("program", "The failing program", program(about)),
    ];
    let links: String =
        sections.iter().map(|(id, heading, _)| format!("<li><a href=\"#{id}\">{heading}</a></li>")).collect();
    let sections: String = sections
        .iter()
        .map(|(id, heading, body)| {
            format!("<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n{body}</section>\n")
        })
        .collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n{facts}</header>\n\
         <nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n<main>\n{sections}</main>\n\
         <footer><p>Made by <code>hearth localize</code>, {made}.</p></footer>\n</body>\n</html>\n",
        style = include_str!("html/style.css"),
        facts = facts(about, found, &names),
        made = Escaped(&about.made),
    )
}

fn title(about: &About<'_>, found: &Localization) -> String {
    let (subject, program) = (Escaped(about.subject), Escaped(about.program));
    match found.symptom {
        Symptom::Crash(_) => format!("{subject} crashes on {program}"),
        Symptom::WrongCode => format!("{subject} compiles {program} to wrong code"),
    }
}

/// What failed, how, and what it took.
fn facts(about: &About<'_>, found: &Localization, names: &FileNames) -> String {
    let crash = match &found.symptom {
        Symptom::Crash(message) => format!("<pre class=\"message\">{}</pre>\n", Escaped(message)),
        Symptom::WrongCode => String::new(),
    };
    // Of equals, which have the last one's rank, none is named.
    let first = |suspects: &[Suspect], kind: &str, name: &dyn Fn(&Suspect) -> String| match suspects.first() {
        Some(suspect) if suspect.rank == 1 => Some(format!("{kind} {}", name(suspect))),
        Some(suspect) => Some(format!("{} {kind}s that are equal", suspect.rank)),
        None => None,
    };
    let firsts = [
        first(&found.files, "file", &|file| file_name(names, &file.source)),
        first(&found.functions, "function", &|function| rankings::function_name(&function.function)),
    ];
    let first = match firsts.into_iter().flatten().collect::<Vec<_>>().join(", ").as_str() {
        "" => "<p class=\"lead\">Nothing could be ranked.</p>\n".to_owned(),
        firsts => format!("<p class=\"lead\">Most suspicious: {firsts}.</p>\n"),
    };
    let alone = match found.count(Verdict::Pass) == 0 && !found.files.is_empty() {
        true => "<p>Nothing that was tried makes it pass: the ranking is the stack of the crash alone.</p>\n",
        false => "",
    };
    let (passing, failing) = (found.count(Verdict::Pass), found.count(Verdict::Fail));
    let judged = found.witnesses.len();
    let pass = about.pass.as_ref().map_or_else(
        || "not given: a crash needs none".to_owned(),
        |pass| format!("<code>{}</code>", Escaped(pass)),
    );
    let complete = match found.is_complete {
        true => "everything was tried before the time was over",
        false => "the time was over before everything was tried",
    };
    let rows = [
        ("Fails with", format!("<code>{}</code>", Escaped(&about.fail))),
        ("Passes with", pass),
        (
            "Judged",
            format!("{judged}: {passing} pass, {failing} fail, {} neither", judged - passing - failing),
        ),
        ("Time", format!("{} of {}; {complete}", seconds(found.total), seconds(about.budget))),
        ("Technique", format!("{}, seed {}", Escaped(about.technique), about.seed)),
        (
            "Executed by the failing compile",
            format!("{} files, {} functions", found.executed_files, found.executed_functions),
        ),
    ];
    let rows: String =
        rows.iter().map(|(term, what)| format!("<div><dt>{term}</dt><dd>{what}</dd></div>\n")).collect();
    format!("{crash}{first}{alone}<dl class=\"facts\">\n{rows}</dl>\n")
}

/// The ranks of the first files over time, and how many witnesses passed by then.
fn convergence(found: &Localization, names: &FileNames) -> String {
    if found.samples.is_empty() || found.files.is_empty() {
        return "<p>No ranking was taken on the way, so there is nothing to draw.</p>\n".to_owned();
    }
    let is_long = found.samples.iter().any(|sample| sample.at > LONG);
    let (unit, unit_name) = if is_long { (60.0, "minutes") } else { (1.0, "seconds") };
    let at = |sample: &Sample| sample.at.as_secs_f64() / unit;
    let rank = |sample: &Sample, source: &str| {
        let suspect = sample.files.iter().find(|suspect| suspect.source == source);
        suspect.map_or(f64::NAN, |suspect| f64::from(suspect.rank))
    };
    let series = |source: &str| Series {
        name: names.short(source),
        points: found.samples.iter().map(|sample| (at(sample), rank(sample, source))).collect(),
    };
    let series: Vec<Series> = found.files.iter().take(DRAWN).map(|file| series(&file.source)).collect();
    let worst = series.iter().flat_map(|series| &series.points).map(|point| point.1).fold(1.0, f64::max);
    let x = Axis { title: format!("time in {unit_name}"), ..Axis::default() };
    let ranks = LineChart {
        title: "Rank of the files that are first at the end, over time".to_owned(),
        x: x.clone(),
        y: Axis { title: "rank".to_owned(), from: 1.0, is_log: worst > LINEAR_RANKS, is_inverted: true },
        series,
    };
    let counts = |name: &str, count: fn(&Sample) -> usize| Series {
        name: name.to_owned(),
        points: found.samples.iter().map(|sample| (at(sample), count(sample) as f64)).collect(),
    };
    let passing = LineChart {
        title: "Passing witnesses over time".to_owned(),
        x,
        y: Axis { title: "passing witnesses".to_owned(), ..Axis::default() },
        series: vec![counts("passing witnesses", |sample| sample.passing)],
    };
    let figures: String = [ranks, passing]
        .iter()
        .map(|chart| {
            let (title, svg) = (Escaped(&chart.title), chart.svg(Paper::Page));
            format!("<figure>\n<figcaption>{title}</figcaption>\n{svg}</figure>\n")
        })
        .collect();
    format!(
        "<p>Equal scores share the last rank. A line begins where the file first came among those that were kept.</p>\n\
         <div class=\"columns\">\n{figures}</div>\n"
    )
}

/// What each kind of work took, and the part of the preparation.
fn time(found: &Localization) -> String {
    let spent = &found.spent;
    let rows = [
        ("Compiling", spent.compile),
        ("Assembling and linking", spent.link),
        ("Executing programs", spent.execute),
        ("Comparing and ranking", spent.rank),
    ];
    let sum: Duration = rows.iter().map(|(_, time)| *time).sum();
    let bars = |caption: &str, rows: &[(&str, Duration)], all: Duration| {
        let rows: String = rows
            .iter()
            .map(|&(name, time)| {
                let part = (100.0 * time.as_secs_f64() / all.as_secs_f64().max(1e-9)).min(100.0);
                format!(
                    "<tr><th scope=\"row\">{name}</th><td class=\"number\">{}</td>\
                     <td class=\"score wide\" style=\"--part:{part:.1}%\">{part:.0} %</td></tr>\n",
                    seconds(time)
                )
            })
            .collect();
        format!(
            "<table class=\"time\">\n<caption>{caption}</caption>\n<thead><tr><th scope=\"col\">What</th>\
             <th scope=\"col\" class=\"number\">Time</th><th scope=\"col\">Part</th></tr></thead>\n\
             <tbody>\n{rows}</tbody>\n</table>\n"
        )
    };
    let clock = [
        ("Until the failure was seen", found.prepared),
        ("The search", found.total.saturating_sub(found.prepared)),
    ];
    let clock = bars(&format!("By the clock, of {}", seconds(found.total)), &clock, found.total);
    let work = match sum.is_zero() {
        true => "<p>What each kind of work took was not measured.</p>\n".to_owned(),
        false => bars(&format!("Work, {} added up over all threads", seconds(sum)), &rows, sum),
    };
    format!("<div class=\"columns\">\n<div>{clock}</div>\n<div>{work}</div>\n</div>\n")
}

fn program(about: &About<'_>) -> String {
    let count = about.text.lines().count();
    let rows: String = about
        .text
        .lines()
        .take(PROGRAM_LINES)
        .enumerate()
        .map(|(index, line)| {
            format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", index + 1, code(line))
        })
        .collect();
    let rest = match count.saturating_sub(PROGRAM_LINES) {
        0 => String::new(),
        rest => format!("<p>{rest} more lines are left out.</p>\n"),
    };
    format!(
        "<details{}>\n<summary>{}, {count} {}</summary>\n<table class=\"code\">\n<tbody>\n{rows}</tbody>\n</table>\n{rest}</details>\n",
        if count <= 60 { " open" } else { "" },
        Escaped(about.program),
        if count == 1 { "line" } else { "lines" },
    )
}

/// A line of code.
fn code(line: &str) -> String {
    format!("<code>{}</code>", Escaped(line.trim_end_matches('\r')))
}

/// A time for people.
fn seconds(time: Duration) -> String {
    match time.as_secs_f64() {
        time if time < 0.1 => format!("{:.1} ms", time * 1e3),
        time if time < 10.0 => format!("{time:.1} s"),
        time if time < 600.0 => format!("{time:.0} s"),
        time => format!("{:.1} min", time / 60.0),
    }
}
