//! How well techniques localize: of each bug the median of the repeats, and all bugs together.

use crate::bugs::BugKind;
use crate::results::Replayed;
use hearth_localize::technique::Technique;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// What came of a technique: of each bug the median of the repeats.
#[derive(Debug)]
pub struct Row<'a> {
    /// The technique.
    pub technique: Technique,
    /// The medians.
    pub bugs: Vec<&'a Replayed>,
    overlap: Option<f64>,
    /// The last ranks there are, of files and functions.
    last: [u32; 2],
}

impl<'a> Row<'a> {
    /// Of all bugs of a kind.
    #[must_use]
    pub fn new(technique: Technique, kind: BugKind, done: &[&'a Replayed]) -> Self {
        let own = |done: &&Replayed| done.kind == kind && done.setting.technique == technique.name();
        let all: Vec<&Replayed> = done.iter().copied().filter(own).collect();
        let last = [0, 1].map(|level| done.iter().map(|done| done.executed[level]).max().unwrap_or(0));
        Self { technique, bugs: medians(&all), overlap: overlap(&all), last }
    }

    /// How well files are found.
    #[must_use]
    pub fn files(&self) -> Summary {
        Summary::new(self.bugs.iter().map(|bug| &bug.files[..]), self.last[0])
    }

    /// How well functions are found, of bugs whose functions are known.
    #[must_use]
    pub fn functions(&self) -> Summary {
        let known = self.bugs.iter().filter(|bug| !bug.functions.is_empty());
        Summary::new(known.map(|bug| &bug.functions[..]), self.last[1])
    }
}

/// How well bugs were localized; all of them count.
///
/// ```
/// use hearth_experiment::summary::Summary;
///
/// let ranks = [[1, 7], [3, 30]];
/// let summary = Summary::new(ranks.iter().map(|ranks| &ranks[..]), 100);
/// assert_eq!(summary.top, [1, 2, 2, 2]);
/// assert_eq!(summary.mean_first_rank, 2.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many bugs.
    pub bugs: usize,
    /// How many have a true one among the first 1, 5, 10 and 20.
    pub top: [usize; 4],
    /// The mean of the first true one's rank. A bug that was not localized has the last rank there is.
    pub mean_first_rank: f64,
    /// The mean of the mean rank of all true ones.
    pub mean_average_rank: f64,
}

impl Summary {
    /// Of lists of ranks, each sorted and none empty; `last` is the last rank there is.
    #[must_use]
    pub fn new<'a>(ranks: impl Iterator<Item = &'a [u32]>, last: u32) -> Self {
        let ranks: Vec<&[u32]> = ranks.collect();
        let firsts: Vec<u32> = ranks.iter().filter_map(|ranks| ranks.first().copied()).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let rank = |&rank: &u32| f64::from(rank.min(last));
        let mean_of = |ranks: &[u32]| mean(&ranks.iter().map(rank).collect::<Vec<_>>());
        Self {
            bugs: ranks.len(),
            top: [1, 5, 10, 20].map(|limit| firsts.iter().filter(|&&rank| rank <= limit).count()),
            mean_first_rank: mean_of(&firsts),
            mean_average_rank: mean(&ranks.iter().map(|ranks| mean_of(ranks)).collect::<Vec<_>>()),
        }
    }
}

/// The table of a kind of bugs, for people.
///
/// # Errors
/// If it cannot be formatted.
pub fn table(kind: BugKind, rows: &[Row<'_>], repeat: u64) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let bugs = rows.iter().map(|row| row.bugs.len()).max().unwrap_or(0);
    let median = if repeat > 1 { format!(", medians of {repeat} repeats") } else { String::new() };
    writeln!(text, "\n{}: {bugs} bugs{median}", kind.plural())?;
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

/// How many bugs have a true file among the first so many after so many seconds, whenever that changes.
#[must_use]
pub fn over_time(bugs: &[&Replayed], limit: u32) -> Vec<(f64, f64)> {
    let is_found = |rank: &Option<u32>| rank.is_some_and(|rank| rank <= limit);
    let mut changes: Vec<(f64, i32)> = Vec::new();
    for bug in bugs {
        let mut before = false;
        for (at, rank) in &bug.course {
            let now = is_found(rank);
            if now != before {
                changes.push((*at, if now { 1 } else { -1 }));
            }
            before = now;
        }
    }
    changes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut count = 0;
    let mut points = vec![(0.0, 0.0)];
    for (at, change) in changes {
        points.push((at, f64::from(count)));
        count += change;
        points.push((at, f64::from(count)));
    }
    let end = bugs.iter().map(|bug| bug.total_s).fold(0.0, f64::max);
    points.push((end, f64::from(count)));
    points
}

/// The median of each bug's repeats, the worse of two in the middle.
fn medians<'a>(all: &[&'a Replayed]) -> Vec<&'a Replayed> {
    let mut by_bug: BTreeMap<&str, Vec<&'a Replayed>> = BTreeMap::new();
    for replayed in all {
        by_bug.entry(&replayed.program).or_default().push(replayed);
    }
    let median = |mut repeats: Vec<&'a Replayed>| {
        repeats.sort_by_key(|replayed| replayed.goodness());
        repeats.get(repeats.len() / 2).copied()
    };
    by_bug.into_values().filter_map(median).collect()
}

/// How much the first five files of two seeds have in common, on average over all pairs, from 0 to 1; `None` without
/// two seeds of a bug.
fn overlap(all: &[&Replayed]) -> Option<f64> {
    let mut shares = Vec::new();
    for (index, one) in all.iter().enumerate() {
        for other in all[index + 1..].iter().filter(|other| other.program == one.program) {
            let common = one.first.iter().filter(|file| other.first.contains(file)).count();
            let most = one.first.len().max(other.first.len());
            if most > 0 {
                shares.push(common as f64 / most as f64);
            }
        }
    }
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bugs::Bug;
    use crate::results::Setting;

    fn replayed(program: &str, files: &[u32], first: &[&str], course: &[(f64, Option<u32>)]) -> Replayed {
        let bug = Bug {
            report: 7,
            program: program.to_owned(),
            kind: BugKind::WrongCode,
            fail: Vec::new(),
            pass: None,
            crash: None,
            files: Vec::new(),
            functions: Vec::new(),
        };
        let setting = Setting { technique: "fused".to_owned(), seed: 1, budget_s: 60, ..Setting::default() };
        Replayed {
            files: files.to_vec(),
            first: first.iter().map(|&name| name.to_owned()).collect(),
            course: course.to_vec(),
            total_s: 10.0,
            ..Replayed::refused(&bug, &setting, None)
        }
    }

    #[test]
    fn of_repeats_the_median_counts_and_of_two_the_worse() {
        let all = [
            replayed("a", &[5], &["x", "y"], &[]),
            replayed("a", &[1], &["x", "z"], &[]),
            replayed("a", &[], &[], &[]),
            replayed("b", &[2, 9], &["x"], &[]),
            replayed("b", &[2, 3], &["x"], &[]),
        ];
        let all: Vec<&Replayed> = all.iter().collect();
        let files: Vec<&[u32]> = medians(&all).iter().map(|replayed| &replayed.files[..]).collect();
        assert_eq!(files, [&[5][..], &[2, 9]]);
        // Of a: x of two in common, and twice nothing with a list that is empty; of b all.
        assert!((overlap(&all).expect("two seeds") - (0.5 + 0.0 + 0.0 + 1.0) / 4.0).abs() < 1e-9);
        assert_eq!(overlap(&all[..1]), None);
    }

    #[test]
    fn bugs_are_found_over_the_time() {
        let one = replayed("a", &[1], &[], &[(1.0, None), (2.0, Some(4)), (3.0, Some(6)), (4.0, Some(1))]);
        let other = replayed("b", &[2], &[], &[(2.5, Some(5))]);
        let points = over_time(&[&one, &other], 5);
        let ends: Vec<(f64, f64)> = points.iter().skip(2).step_by(2).copied().collect();
        assert_eq!(ends, [(2.0, 1.0), (2.5, 2.0), (3.0, 1.0), (4.0, 2.0)]);
        assert_eq!(points.last(), Some(&(10.0, 2.0)));
    }
}
