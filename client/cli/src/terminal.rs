//! What the terminal can do: colours, lines that are drawn anew, its width.

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget};
use std::io::{self, IsTerminal};

/// The width of lines where there is no terminal to ask.
const COLUMNS: usize = 120;

/// May there be colours, and lines that are drawn anew?
pub fn is_fancy(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && !is_plain(|name| std::env::var(name).ok())
}

/// Does the user want plain text? A terminal without a name is taken for one that can do it all.
fn is_plain(variable: impl Fn(&str) -> Option<String>) -> bool {
    let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    no_color || variable("TERM").is_some_and(|name| name == "dumb")
}

/// A bar for progress on standard error, which is not drawn where lines cannot be drawn anew.
pub fn progress_bar() -> ProgressBar {
    let target =
        if is_fancy(&io::stderr()) { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    ProgressBar::with_draw_target(None, target)
}

/// How many columns standard output has.
pub fn columns() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|&width| width > 0);
    told.or_else(|| Term::stdout().size_checked().map(|(_, width)| usize::from(width))).unwrap_or(COLUMNS)
}

/// A text cut to so many columns, with a mark where it was cut.
pub fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_for_dumb_terminals_and_those_who_want_it() {
        for (name, value, plain) in [
            ("TERM", "dumb", true),
            ("TERM", "xterm", false),
            ("NO_COLOR", "1", true),
            ("NO_COLOR", "", false),
            ("OTHER", "dumb", false),
        ] {
            let variable = |asked: &str| (asked == name).then(|| value.to_owned());
            assert_eq!(is_plain(variable), plain, "{name}={value}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        for (text, columns, expected) in
            [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("äöüß", 3, "äö…"), ("a", 0, "…")]
        {
            assert_eq!(cut(text, columns), expected);
        }
    }
}
