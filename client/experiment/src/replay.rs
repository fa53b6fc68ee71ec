//! Localizes all bugs of a manifest, and says how well.

use crate::bugs::{Bug, BugKind};
use hearth_client::protocol::Suspect;
use hearth_compiler::function_name::plain_function;
use hearth_localize::localization::Localization;
use hearth_localize::oracle::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Changes with what techniques do: what was replayed before is then done again.
pub const VERSION: u32 = 1;

/// The rank of what was not localized.
const NOT_LOCALIZED: u32 = u32::MAX;

/// How bugs are localized.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// [`VERSION`].
    pub version: u32,
    /// The technique's name.
    pub technique: String,
    /// Where random choices begin.
    pub seed: u64,
    /// The time for each, in seconds.
    pub budget_s: u64,
    /// The compiler.
    pub subject: String,
    /// What was asked for beside, as it is shown: `formula dstar, counts`.
    pub beside: String,
}

/// What came of one bug.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    /// The number of the bug's report.
    pub report: u32,
    /// The program.
    pub program: String,
    /// What goes wrong.
    pub kind: BugKind,
    /// Options it fails with.
    pub fail: Vec<String>,
    /// Options it passes with.
    pub pass: Option<Vec<String>>,
    /// How it was done.
    pub setting: Setting,
    /// Why it was not localized, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The ranks of the true files; equals have their worst.
    pub files: Vec<u32>,
    /// The ranks of the true functions; equals have their worst. None if the change logs name none.
    pub functions: Vec<u32>,
    /// How many files and functions the failing compile executed; 0 if it was not localized.
    pub executed: [u32; 2],
    /// What was judged, and what of it passes.
    pub judged: usize,
    /// See `judged`.
    pub passing: usize,
    /// How long it took.
    pub total_s: f64,
    /// The first five files.
    pub first: Vec<String>,
    /// The rank of the first true file on the way, with the seconds; none if it was not among the first.
    pub course: Vec<(f64, Option<u32>)>,
}

impl Replayed {
    /// Finds the true files and functions in the rankings.
    #[must_use]
    pub fn new(bug: &Bug, setting: &Setting, found: &Localization) -> Self {
        let is_true_file = |suspect: &Suspect| {
            bug.files.iter().any(|file| {
                suspect.source.strip_suffix(file.as_str()).is_some_and(|directory| directory.ends_with('/'))
            })
        };
        let is_true_function = |suspect: &Suspect| {
            let name = plain_function(&suspect.function);
            is_true_file(suspect) && bug.functions.contains(&name)
        };
        // What nobody voted for ties with everything else that was executed.
        let ranks = |suspects: &[Suspect], is_true: &dyn Fn(&Suspect) -> bool, wanted: usize, last: u32| {
            let mut ranks: Vec<u32> =
                suspects.iter().filter(|suspect| is_true(suspect)).map(|suspect| suspect.rank).collect();
            ranks.sort_unstable();
            ranks.resize(ranks.len().max(wanted), last);
            ranks
        };
        Self {
            files: ranks(&found.files, &is_true_file, bug.files.len(), found.executed_files),
            functions: ranks(
                &found.functions,
                &is_true_function,
                bug.functions.len(),
                found.executed_functions,
            ),
            executed: [found.executed_files, found.executed_functions],
            judged: found.witnesses.len(),
            passing: found.count(Verdict::Pass),
            total_s: found.total.as_secs_f64(),
            first: found.files.iter().take(5).map(|file| file.source.clone()).collect(),
            course: found
                .samples
                .iter()
                .map(|sample| {
                    let first = sample.files.iter().find(|suspect| is_true_file(suspect));
                    (sample.at.as_secs_f64(), first.map(|suspect| suspect.rank))
                })
                .collect(),
            ..Self::refused(bug, setting, None)
        }
    }

    /// Is it what came of this bug?
    #[must_use]
    pub fn is_of(&self, bug: &Bug) -> bool {
        (&self.program, &self.fail, &self.pass) == (&bug.program, &bug.fail, &bug.pass)
    }

    /// A bug that could not be localized.
    #[must_use]
    pub fn refused(bug: &Bug, setting: &Setting, refusal: Option<String>) -> Self {
        Self {
            report: bug.report,
            program: bug.program.clone(),
            kind: bug.kind,
            fail: bug.fail.clone(),
            pass: bug.pass.clone(),
            setting: setting.clone(),
            refusal,
            files: vec![NOT_LOCALIZED],
            functions: if bug.functions.is_empty() { Vec::new() } else { vec![NOT_LOCALIZED] },
            executed: [0; 2],
            judged: 0,
            passing: 0,
            total_s: 0.0,
            first: Vec::new(),
            course: Vec::new(),
        }
    }

    /// The first true file's rank, and the mean rank of all, to compare by; a bug that was not localized is last.
    fn goodness(&self) -> (u32, u64) {
        let sum: u64 = self.files.iter().copied().map(u64::from).sum();
        let mean = sum.checked_div(self.files.len() as u64).unwrap_or(u64::MAX);
        (self.files.first().copied().unwrap_or(NOT_LOCALIZED), mean)
    }
}

/// The median of each bug's repeats, the worse of two in the middle.
#[must_use]
pub fn medians<'a>(all: &[&'a Replayed]) -> Vec<&'a Replayed> {
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
#[must_use]
pub fn overlap(all: &[&Replayed]) -> Option<f64> {
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

/// One program of each report: the first.
#[must_use]
pub fn first_programs(bugs: &[Bug]) -> Vec<&Bug> {
    let mut known = BTreeSet::new();
    bugs.iter().filter(|bug| known.insert(bug.report)).collect()
}

/// How well bugs were localized; all of them count.
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

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_compiler::spent::Spent;
    use hearth_localize::oracle::Kind;
    use std::time::Duration;

    fn suspect(rank: u32, source: &str, function: &str) -> Suspect {
        Suspect { rank, score: 1.0, source: source.to_owned(), line: 1, function: function.to_owned() }
    }

    #[test]
    fn true_ones_are_found_and_what_nobody_voted_for_is_last() {
        let bug = Bug {
            report: 7,
            program: "p.c".to_owned(),
            kind: BugKind::WrongCode,
            fail: Vec::new(),
            pass: None,
            crash: None,
            files: vec!["gcc/one.c".to_owned(), "gcc/two.c".to_owned()],
            functions: vec!["fold".to_owned()],
        };
        let found = Localization {
            kind: Kind::WrongCode,
            files: vec![suspect(1, "/s/gcc/gone.c", ""), suspect(3, "/s/gcc/one.c", "")],
            functions: vec![
                suspect(2, "/s/gcc/x.c", "fold(int)"),
                suspect(4, "/s/gcc/one.c", "a::fold(int)"),
            ],
            lines: Vec::new(),
            samples: Vec::new(),
            spent: Spent::default(),
            witnesses: Vec::new(),
            is_complete: true,
            executed_files: 90,
            executed_functions: 900,
            prepared: Duration::ZERO,
            total: Duration::ZERO,
        };
        let setting =
            Setting { technique: "options".to_owned(), seed: 1, budget_s: 60, ..Setting::default() };
        let replayed = Replayed::new(&bug, &setting, &found);
        assert_eq!(replayed.files, [3, 90]);
        assert_eq!(replayed.functions, [4]);
        let none = Replayed::refused(&bug, &setting, Some("no".to_owned()));
        assert_eq!(replayed.executed, [90, 900]);
        // What was not localized is last among all that there is, however well the others are.
        let summary = Summary::new([&replayed.files[..], &[1], &none.files].into_iter(), 120);
        assert_eq!((summary.bugs, summary.top), (3, [1, 2, 2, 2]));
        assert!((summary.mean_first_rank - (3.0 + 1.0 + 120.0) / 3.0).abs() < 1e-9);
        assert!((summary.mean_average_rank - (46.5 + 1.0 + 120.0) / 3.0).abs() < 1e-9);
        assert_eq!(none.functions.len(), 1, "its functions are known");
    }

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
