//! The tasks of an experiment: each bug by each technique with each seed.

use crate::bugs::Bug;
use crate::results::{Setting, VERSION};
use hearth_localize::assignment::{Assignment, Way};
use hearth_localize::technique::Technique;
use std::path::Path;

/// What all tasks of an experiment have in common.
#[derive(Debug, Clone)]
pub struct Experiment<'a> {
    /// The compiler.
    pub subject: &'a str,
    /// How bugs are localized.
    pub way: Way<'a>,
    /// What of this is asked for beside a budget, as it is shown: `formula Dstar, counts`.
    pub beside: String,
}

/// A bug to be localized by a technique with a seed.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The technique.
    pub technique: Technique,
    /// Where random choices begin.
    pub seed: u64,
    /// The bug.
    pub bug: &'a Bug,
}

impl<'a> Task<'a> {
    /// All tasks in their order: techniques in turn, each with seeds that follow one another, at least one.
    #[must_use]
    pub fn all(techniques: &[Technique], seed: u64, repeat: u64, bugs: &[&'a Bug]) -> Vec<Self> {
        let mut tasks = Vec::new();
        for &technique in techniques {
            for number in 0..repeat.max(1) {
                tasks.extend(bugs.iter().map(|&bug| Self { technique, seed: seed + number, bug }));
            }
        }
        tasks
    }

    /// How it is done, as it is remembered with what came of it.
    #[must_use]
    pub fn setting(&self, experiment: &Experiment<'_>) -> Setting {
        Setting {
            version: VERSION,
            technique: self.technique.name().to_owned(),
            seed: self.seed,
            budget_s: experiment.way.budget.as_secs(),
            subject: experiment.subject.to_owned(),
            beside: experiment.beside.clone(),
        }
    }

    /// What is asked for, given the program and its text.
    pub(crate) fn assignment<'b>(
        &self,
        experiment: &Experiment<'b>,
        program: &'b Path,
        text: &'b [u8],
    ) -> Assignment<'b> {
        Assignment {
            subject: experiment.subject,
            program,
            text,
            fail: self.bug.fail.clone(),
            pass: self.bug.pass.clone(),
            reference: None,
            technique: self.technique,
            seed: self.seed,
            count: usize::MAX,
            limit: 0,
            way: experiment.way,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bugs::BugKind;

    #[test]
    fn techniques_and_seeds_come_in_turn() {
        let bug = |report| Bug {
            report,
            program: format!("pr{report}.c"),
            kind: BugKind::Crash,
            fail: Vec::new(),
            pass: None,
            crash: None,
            files: Vec::new(),
            functions: Vec::new(),
        };
        let bugs = [bug(1), bug(2)];
        let bugs: Vec<&Bug> = bugs.iter().collect();
        let order = |repeat| {
            let tasks = Task::all(&[Technique::Options, Technique::Fused], 5, repeat, &bugs);
            tasks.iter().map(|task| (task.technique, task.seed, task.bug.report)).collect::<Vec<_>>()
        };
        let (options, fused) = (Technique::Options, Technique::Fused);
        assert_eq!(order(0), [(options, 5, 1), (options, 5, 2), (fused, 5, 1), (fused, 5, 2)]);
        assert_eq!(order(2)[..4], [(options, 5, 1), (options, 5, 2), (options, 6, 1), (options, 6, 2)]);
    }
}
