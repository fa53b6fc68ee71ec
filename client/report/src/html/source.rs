//! Suspicious lines of the compiler, with the code around them.

use super::code;
use super::rankings::{file_name, function_name, score};
use crate::names::FileNames;
use hearth_client::protocol::Suspect;
use hearth_localize::localization::Localization;
use std::collections::BTreeMap;

/// Suspicious lines that are shown.
const SHOWN: usize = 60;
/// Lines shown before and after each.
const CONTEXT: usize = 3;

/// The lines that are shown, by file and function, the most suspicious first.
pub struct Lines {
    files: Vec<File>,
}

struct File {
    source: String,
    /// Its text, if it can be read.
    text: Option<Vec<String>>,
    groups: Vec<Group>,
}

/// Lines of one function, or of none that is known.
struct Group {
    function: Option<Suspect>,
    scores: BTreeMap<usize, f64>,
}

impl Lines {
    pub fn new(found: &Localization, source_of: impl Fn(&str) -> Option<String>) -> Self {
        let mut files: Vec<File> = Vec::new();
        // Of lines with equal scores, which are many, those of the first files.
        let file_place = |line: &Suspect| found.files.iter().position(|file| file.source == line.source);
        let mut lines: Vec<&Suspect> = found.lines.iter().collect();
        lines.sort_by_cached_key(|line| (line.rank, file_place(line).unwrap_or(usize::MAX)));
        for line in lines.into_iter().take(SHOWN) {
            let place = files.iter().position(|file| file.source == line.source).unwrap_or_else(|| {
                let text = source_of(&line.source).map(|text| text.lines().map(str::to_owned).collect());
                files.push(File { source: line.source.clone(), text, groups: Vec::new() });
                files.len() - 1
            });
            let file = &mut files[place];
            let function = file.function_at(line.line as usize, &found.functions);
            let groups = &mut file.groups;
            let place = groups.iter().position(|group| group.function == function).unwrap_or_else(|| {
                groups.push(Group { function, scores: BTreeMap::new() });
                groups.len() - 1
            });
            groups[place].scores.insert(line.line as usize, line.score);
        }
        Self { files }
    }

    /// Where the lines of a file are on the page, if some are.
    pub fn file_anchor(&self, source: &str) -> Option<String> {
        self.files.iter().position(|file| file.source == source).map(|place| format!("file-{place}"))
    }

    /// Where the lines of a function are on the page, if some are.
    pub fn function_anchor(&self, function: &Suspect) -> Option<String> {
        let place = self.files.iter().position(|file| file.source == function.source)?;
        let is_it = |group: &Group| group.function.as_ref() == Some(function);
        Some(format!("file-{place}-{}", self.files[place].groups.iter().position(is_it)?))
    }

    pub fn section(&self, found: &Localization, names: &FileNames) -> String {
        if self.files.is_empty() {
            return "<p>No lines are suspicious: there is no ranking of lines.</p>\n".to_owned();
        }
        let highest = found.lines.iter().map(|line| line.score).fold(0.0, f64::max);
        let count = match found.lines.len() {
            all if all > SHOWN => format!("The first {SHOWN} of the {all} most suspicious lines"),
            1 => "One suspicious line".to_owned(),
            all => format!("{all} suspicious lines"),
        };
        let files: String =
            self.files.iter().enumerate().map(|(place, file)| file.shown(place, highest, names)).collect();
        format!("<p>{count}, with scores and the code around.</p>\n{files}")
    }
}

impl File {
    /// The ranked function that a line is in, if that can be seen.
    fn function_at(&self, line: usize, functions: &[Suspect]) -> Option<Suspect> {
        let text = self.text.as_ref()?;
        let before = functions
            .iter()
            .filter(|function| function.source == self.source && (function.line as usize) <= line);
        let function = before.max_by_key(|function| function.line)?;
        // A brace in the first column ends a function: what follows is another one, which is not ranked.
        let between = text.get(function.line as usize..line.saturating_sub(1)).unwrap_or_default();
        (!between.iter().any(|line| line.starts_with('}'))).then(|| function.clone())
    }

    fn shown(&self, place: usize, highest: f64, names: &FileNames) -> String {
        let missing = match self.text {
            Some(_) => "",
            None => {
                "<p>The text of this file cannot be read, so only the numbers of its lines are shown.</p>\n"
            }
        };
        let groups: String = self
            .groups
            .iter()
            .enumerate()
            .map(|(group_place, group)| {
                let heading = match &group.function {
                    Some(function) => function_name(&function.function),
                    None if self.text.is_some() => "In functions of lower rank".to_owned(),
                    None => "Lines".to_owned(),
                };
                let rows = self.rows(group, highest);
                format!(
                    "<h4 id=\"file-{place}-{group_place}\">{heading}</h4>\n<table class=\"code\">\n\
                     <thead><tr><th scope=\"col\">Line</th><th scope=\"col\">Score</th><th scope=\"col\">Code</th></tr></thead>\n\
                     <tbody>\n{rows}</tbody>\n</table>\n"
                )
            })
            .collect();
        format!("<h3 id=\"file-{place}\">{}</h3>\n{missing}{groups}", file_name(names, &self.source))
    }

    fn rows(&self, group: &Group, highest: f64) -> String {
        let text = self.text.as_deref().unwrap_or_default();
        let context = if self.text.is_some() { CONTEXT } else { 0 };
        let mut rows = String::new();
        let mut next = 0;
        for &line in group.scores.keys() {
            let first = line.saturating_sub(context).max(1).max(next);
            if next > 0 && first > next {
                rows.push_str("<tr class=\"gap\"><td colspan=\"3\">⋯</td></tr>\n");
            }
            let last = (line + context).min(text.len().max(line));
            for number in first..=last {
                let marked = group.scores.get(&number);
                // The context of a suspicious line ends where the next one's begins.
                if number > line && marked.is_some() {
                    break;
                }
                next = number + 1;
                let content = text.get(number - 1).map_or_else(String::new, |line| code(line));
                let (class, cell) = match marked {
                    Some(&value) => (" class=\"hot\"", score(value, highest)),
                    None => ("", "<td></td>".to_owned()),
                };
                rows.push_str(&format!(
                    "<tr{class}><th scope=\"row\">{number}</th>{cell}<td>{content}</td></tr>\n"
                ));
            }
        }
        rows
    }
}
