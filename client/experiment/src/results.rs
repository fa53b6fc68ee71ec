//! What came of the tasks, as it is kept: a line for each, so that an experiment that was interrupted goes on.

use crate::bugs::{Bug, BugKind};
use crate::error::{Error, Result};
use hearth_client::protocol::Suspect;
use hearth_compiler::function_name::plain_function;
use hearth_localize::localization::Localization;
use hearth_localize::oracle::Verdict;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Changes with what techniques do: what was replayed before is then done again.
pub const VERSION: u32 = 1;

/// The rank of what was not localized.
const NOT_LOCALIZED: u32 = u32::MAX;

/// What came of all tasks so far.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    all: Vec<Replayed>,
}

impl Results {
    /// Reads what was done before; nothing if there is no such file. A line that was cut off is done again.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.map_err(|source| Error::Read { path: path.to_owned(), source })?,
        };
        let all = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { path: path.to_owned(), all })
    }

    /// Adds one, in the file, too.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, replayed: Replayed) -> Result<()> {
        let written = OpenOptions::new().create(true).append(true).open(&self.path).and_then(|mut file| {
            // A line that was cut off when the last replay was killed must not swallow this one.
            writeln!(file, "\n{}", serde_json::to_string(&replayed)?)
        });
        written.map_err(|source| Error::Write { path: self.path.clone(), source })?;
        self.all.push(replayed);
        Ok(())
    }

    /// Was a bug localized in this way?
    #[must_use]
    pub fn has(&self, bug: &Bug, setting: &Setting) -> bool {
        self.all.iter().any(|done| done.is_of(bug, setting))
    }

    /// Those of some bugs, each localized in some way; in the order they were done.
    #[must_use]
    pub fn of(&self, wanted: &[(&Bug, Setting)]) -> Vec<&Replayed> {
        let is_wanted = |done: &&Replayed| wanted.iter().any(|(bug, setting)| done.is_of(bug, setting));
        self.all.iter().filter(is_wanted).collect()
    }
}

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
    /// What was asked for beside, as it is shown: `formula Dstar, counts`.
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

    /// Is it what came of this bug, localized in this way?
    fn is_of(&self, bug: &Bug, setting: &Setting) -> bool {
        self.setting == *setting
            && (&self.program, &self.fail, &self.pass) == (&bug.program, &bug.fail, &bug.pass)
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
    pub(crate) fn goodness(&self) -> (u32, u64) {
        let sum: u64 = self.files.iter().copied().map(u64::from).sum();
        let mean = sum.checked_div(self.files.len() as u64).unwrap_or(u64::MAX);
        (self.files.first().copied().unwrap_or(NOT_LOCALIZED), mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Summary;
    use hearth_compiler::spent::Spent;
    use hearth_localize::oracle::Symptom;
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
            symptom: Symptom::WrongCode,
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
}
