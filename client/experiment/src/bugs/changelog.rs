//! What a GCC ChangeLog says about each fix: its bug reports, and the files and functions it changed.

use std::collections::{BTreeMap, BTreeSet};

/// What the fixes of a bug report changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fix {
    /// Files, relative to the directory of the ChangeLog.
    pub files: BTreeSet<String>,
    /// Functions.
    pub functions: BTreeSet<String>,
}

/// The fixes in a ChangeLog, by the number of the bug report. `since` is a date as the ChangeLog writes it, 2021-04-27:
/// older entries are left out.
#[must_use]
pub fn fixes(text: &str, since: &str) -> BTreeMap<u32, Fix> {
    let mut fixes: BTreeMap<u32, Fix> = BTreeMap::new();
    for entry in entries(text).filter(|entry| entry.date >= since) {
        // An entry may hold several commits, each with its reports above its files.
        for (reports, changed) in commits(&entry.lines) {
            for report in reports {
                let fix = fixes.entry(report).or_default();
                fix.files.extend(changed.files.iter().cloned());
                fix.functions.extend(changed.functions.iter().cloned());
            }
        }
    }
    fixes
}

struct Entry<'a> {
    date: &'a str,
    lines: Vec<&'a str>,
}

/// The entries: each begins with a line that begins with a date.
fn entries(text: &str) -> impl Iterator<Item = Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for line in text.lines() {
        let date = line.get(..10).filter(|date| {
            date.bytes()
                .enumerate()
                .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() })
        });
        match (date, entries.last_mut()) {
            (Some(date), _) => entries.push(Entry { date, lines: Vec::new() }),
            (None, Some(entry)) => entry.lines.push(line.trim()),
            (None, None) => {}
        }
    }
    entries.into_iter()
}

/// The commits of an entry: reports, and what was changed for them.
fn commits(lines: &[&str]) -> Vec<(BTreeSet<u32>, Fix)> {
    let mut commits: Vec<(BTreeSet<u32>, Fix)> = Vec::new();
    let mut item = String::new();
    let ends_item = |item: &mut String, commits: &mut Vec<(BTreeSet<u32>, Fix)>| {
        if let Some((_, fix)) = commits.last_mut() {
            read_item(item, fix);
        }
        item.clear();
    };
    let mut was_report = false;
    for line in lines {
        let report = report(line);
        if report.is_some() || line.starts_with("* ") || line.is_empty() {
            ends_item(&mut item, &mut commits);
        }
        if let Some(report) = report {
            if !was_report {
                commits.push((BTreeSet::new(), Fix::default()));
            }
            if let Some((reports, _)) = commits.last_mut() {
                reports.insert(report);
            }
        } else if let Some(text) = line.strip_prefix("* ") {
            item.push_str(text);
        } else if !line.is_empty() && !item.is_empty() {
            item.push(' ');
            item.push_str(line);
        }
        was_report = report.is_some() || (was_report && line.is_empty());
    }
    ends_item(&mut item, &mut commits);
    commits
}

/// The report in a line like `PR tree-optimization/100740`.
fn report(line: &str) -> Option<u32> {
    let (component, number) = line.strip_prefix("PR ")?.split_once('/')?;
    let is_word = component.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-".contains(&byte));
    number.split_whitespace().next()?.parse().ok().filter(|_| is_word)
}

/// Reads an item: files, functions in parentheses, a colon, and what was done.
fn read_item(item: &str, fix: &mut Fix) {
    let mut rest = item;
    // The files, up to the parenthesis or the colon.
    let end = rest.find(['(', ':']).unwrap_or(rest.len());
    for file in rest[..end].split([',', ' ']).map(str::trim).filter(|file| file.contains('.')) {
        fix.files.insert(file.to_owned());
    }
    rest = &rest[end..];
    // More lists may follow what was done to the first functions: "(one): Do this. (two): Do that."
    while let Some(open) = rest.find('(') {
        let Some(close) = rest[open..].find(')') else { return };
        let list = &rest[open + 1..open + close];
        let after = &rest[open + close + 1..];
        let is_list = after.trim_start().starts_with(':') || after.trim_start().starts_with('<');
        if is_list {
            for name in list.split(',').map(str::trim).filter(|name| is_name(name)) {
                // Methods are named as the coverage names them: without their class.
                fix.functions.insert(name.rsplit("::").next().unwrap_or(name).to_owned());
            }
        }
        rest = after;
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_files_and_functions_are_read() {
        let text = "2021-06-01  A Person  <a@b>\n\n\tPR tree-optimization/1000\n\tPR c/1001\n\t* one.c \
            (first, second): Do\n\tthis.\n\t(klass::third): Do that.\n\t* two.cc, two.h: Likewise (or so).\n\n\
            2021-05-30  B Person  <b@b>\n\n\t* match.pd: Nothing.\n\n\tPR middle-end/1002\n\t* match.pd \
            ((a - b) -> c): New.\n\n2020-01-01  C Person  <c@b>\n\n\tPR c/1001\n\t* old.c: Old.\n";
        let fixes = fixes(text, "2021-01-01");
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(fixes[&1000].files, set(&["one.c", "two.cc", "two.h"]));
        assert_eq!(fixes[&1000].functions, set(&["first", "second", "third"]));
        assert_eq!(fixes[&1001], fixes[&1000]);
        assert_eq!(fixes[&1002].files, set(&["match.pd"]));
        assert_eq!(fixes.len(), 3);
    }
}
