//! The ranked files and functions.

use super::source::Lines;
use crate::markup::Escaped;
use crate::names::FileNames;
use hearth_client::protocol::Suspect;
use hearth_compiler::function_name::short_function;
use hearth_localize::localization::Localization;

/// Suspects of each kind that are shown; `--json` has more.
const SHOWN: usize = 25;
/// A file's name, with the whole path at hand.
pub fn file_name(names: &FileNames, source: &str) -> String {
    format!("<code title=\"{}\">{}</code>", Escaped(source), Escaped(&names.short(source)))
}

/// A function's name without parameters and template arguments, the whole name at hand.
pub fn function_name(function: &str) -> String {
    format!("<code title=\"{}\">{}</code>", Escaped(function), Escaped(&short_function(function)))
}

/// Both tables.
pub fn section(found: &Localization, names: &FileNames, lines: &Lines) -> String {
    if found.files.is_empty() && found.functions.is_empty() {
        return "<p>Nothing that was tried makes it pass, so nothing could be compared and there is no ranking. More time, \
                another technique or other options it passes with may help.</p>\n"
            .to_owned();
    }
    let directory = match names.directory() {
        "" => String::new(),
        directory => format!(" File names are relative to <code>{}</code>.", Escaped(directory)),
    };
    let files = table("Files", "File", &found.files, |file| {
        link(lines.file_anchor(&file.source), &file_name(names, &file.source))
    });
    let functions = table("Functions", "Function", &found.functions, |function| {
        let place = format!("{}:{}", names.short(&function.source), function.line);
        let name = function_name(&function.function);
        format!(
            "{}<br><span class=\"quiet\">{}</span>",
            link(lines.function_anchor(function), &name),
            Escaped(&place)
        )
    });
    format!(
        "<p>Bars compare with the first score; equal scores share the last rank.{directory}</p>\n\
         <div class=\"columns\">\n<div>{files}</div>\n<div>{functions}</div>\n</div>\n"
    )
}

fn table(caption: &str, kind: &str, suspects: &[Suspect], name: impl Fn(&Suspect) -> String) -> String {
    if suspects.is_empty() {
        return format!("<p>{caption}: none.</p>\n");
    }
    let highest = suspects.iter().map(|suspect| suspect.score).fold(0.0, f64::max);
    let rows: String = suspects
        .iter()
        .take(SHOWN)
        .map(|suspect| {
            format!(
                "<tr><td class=\"number\">{}</td>{}<th scope=\"row\">{}</th></tr>\n",
                suspect.rank,
                score(suspect.score, highest),
                name(suspect)
            )
        })
        .collect();
    let rest = match suspects.len().saturating_sub(SHOWN) {
        0 => String::new(),
        rest => format!("<p class=\"quiet\">{rest} more have lower ranks.</p>\n"),
    };
    format!(
        "<table class=\"suspects\">\n<caption>{caption}</caption>\n<thead><tr><th scope=\"col\" class=\"number\">Rank</th>\
         <th scope=\"col\">Score</th><th scope=\"col\">{kind}</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{rest}"
    )
}

/// A cell with a score, and a bar behind it.
pub fn score(score: f64, highest: f64) -> String {
    let part = if highest > 0.0 { (100.0 * score / highest).clamp(0.0, 100.0) } else { 0.0 };
    // Three digits of the highest one; votes are shared among many lines and may be small.
    let decimals = (2.0 - highest.max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("<td class=\"score\" style=\"--part:{part:.1}%\">{score:.decimals$}</td>")
}

fn link(anchor: Option<String>, what: &str) -> String {
    match anchor {
        Some(anchor) => format!("<a href=\"#{anchor}\">{what}</a>"),
        None => what.to_owned(),
    }
}
