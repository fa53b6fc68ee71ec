//! The ranked files and functions.

use super::source::Lines;
use crate::localize::Localization;
use crate::markup::Escaped;
use hearth_client::protocol::Suspect;
use std::collections::BTreeMap;

/// Suspects of each kind that are shown; `--json` has more.
const SHOWN: usize = 25;
/// Of a hundred files, those that are in the directory that is left out of names.
const MOST: usize = 80;

/// How files are named: without the directory that most of them are in.
pub struct Names {
    directory: String,
}

impl Names {
    pub fn new(found: &Localization) -> Self {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for file in &found.files {
            for (place, _) in file.source.match_indices('/') {
                *counts.entry(&file.source[..=place]).or_default() += 1;
            }
        }
        let most = counts.iter().filter(|(_, count)| **count * 100 >= found.files.len() * MOST);
        let directory = most.map(|(directory, _)| *directory).max_by_key(|directory| directory.len());
        Self { directory: directory.filter(|directory| directory.len() > 1).unwrap_or_default().to_owned() }
    }

    /// A file's name; elsewhere, that of the way from where the directories part.
    pub fn short(&self, source: &str) -> String {
        if let Some(name) = source.strip_prefix(&self.directory) {
            return name.to_owned();
        }
        let shared =
            self.directory.bytes().zip(source.bytes()).take_while(|(one, other)| one == other).count();
        match self.directory.as_bytes()[..shared].iter().rposition(|&byte| byte == b'/') {
            // A slash begins a character, so the text can be cut there.
            Some(slash) if slash > 0 => format!("…{}", &source[slash..]),
            _ => source.to_owned(),
        }
    }

    /// A file's name, with the whole path at hand.
    pub fn file(&self, source: &str) -> String {
        format!("<code title=\"{}\">{}</code>", Escaped(source), Escaped(&self.short(source)))
    }
}

/// A function's name without parameters and template arguments, the whole name at hand.
pub fn function_name(function: &str) -> String {
    let text = function.replace("(anonymous namespace)::", "");
    let mut name = String::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' if depth == 0 && !name.is_empty() => break,
            '<' => {
                name.push_str(if depth == 0 { "<…>" } else { "" });
                depth += 1;
            }
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => name.push(c),
            _ => {}
        }
    }
    format!("<code title=\"{}\">{}</code>", Escaped(function), Escaped(&name))
}

/// Both tables.
pub fn section(found: &Localization, names: &Names, lines: &Lines) -> String {
    if found.files.is_empty() && found.functions.is_empty() {
        return "<p>Nothing that was tried makes it pass, so nothing could be compared and there is no ranking. More time, \
                another technique or other options it passes with may help.</p>\n"
            .to_owned();
    }
    let directory = match names.directory.as_str() {
        "" => String::new(),
        directory => format!(" File names are relative to <code>{}</code>.", Escaped(directory)),
    };
    let files = table("Files", "File", &found.files, |file| {
        link(lines.file_anchor(&file.source), &names.file(&file.source))
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
