//! How a program differs from the failing one, line by line, changed words marked.

use super::code;
use crate::markup::Escaped;
use similar::{ChangeTag, InlineChange, TextDiff};
use std::time::Duration;

/// Lines shown before and after a change.
const CONTEXT: usize = 3;
/// Lines of a difference that are shown.
const SHOWN: usize = 200;
/// How long finding one difference may take; after that it is a coarser one.
const LONGEST: Duration = Duration::from_millis(200);

/// The difference as a table.
pub fn table(failing: &str, passing: &str) -> String {
    let [failing, passing] = [failing, passing].map(lines);
    let diff = TextDiff::configure().timeout(LONGEST).diff_lines(&failing, &passing);
    let mut rows: Vec<String> = Vec::new();
    for (place, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if place > 0 {
            rows.push("<tr class=\"gap\"><td colspan=\"4\">⋯</td></tr>\n".to_owned());
        }
        rows.extend(group.iter().flat_map(|op| diff.iter_inline_changes(op)).map(|change| row(&change)));
    }
    if rows.is_empty() {
        return "<p>Its text is that of the failing program.</p>\n".to_owned();
    }
    let rest = match rows.len().saturating_sub(SHOWN) {
        0 => String::new(),
        rest => format!("<p>{rest} more lines of this difference are left out.</p>\n"),
    };
    rows.truncate(SHOWN);
    format!(
        "<table class=\"code diff\">\n<thead><tr><th scope=\"col\">Failing</th><th scope=\"col\">Passing</th>\
         <th scope=\"col\">±</th><th scope=\"col\">Code</th></tr></thead>\n<tbody>\n{}</tbody>\n</table>\n{rest}",
        rows.concat()
    )
}

/// Lines that all end, as the last one may not.
fn lines(text: &str) -> String {
    text.lines().flat_map(|line| [line, "\n"]).collect()
}

fn row(change: &InlineChange<'_, str>) -> String {
    let (class, sign, element) = match change.tag() {
        ChangeTag::Delete => ("removed", "−", "del"),
        ChangeTag::Insert => ("added", "+", "ins"),
        ChangeTag::Equal => ("same", "", "span"),
    };
    let number = |index: Option<usize>| index.map_or_else(String::new, |index| (index + 1).to_string());
    let words: String = change
        .iter_strings_lossy()
        .map(|(is_emphasized, text)| (is_emphasized, text.trim_end_matches('\n').to_owned()))
        .filter(|(_, text)| !text.is_empty())
        .map(|(is_emphasized, text)| match is_emphasized {
            true => format!("<{element}>{}</{element}>", Escaped(&text)),
            false => Escaped(&text).to_string(),
        })
        .collect();
    let content = if words.is_empty() { code("") } else { format!("<code>{words}</code>") };
    format!(
        "<tr class=\"{class}\"><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"sign\">{sign}</td>\
         <td>{content}</td></tr>\n",
        number(change.old_index()),
        number(change.new_index()),
    )
}
