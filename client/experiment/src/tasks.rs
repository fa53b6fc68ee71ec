//! The tasks of an experiment: each bug by each technique with each seed.

use crate::bugs::Bug;
use crate::results::{Setting, VERSION};
use hearth_client::protocol::{Aggregation, Formula};
use hearth_localize::request::Request;
use hearth_localize::technique::Technique;
use std::path::Path;
use std::time::Duration;

/// How all bugs of an experiment are localized.
#[derive(Debug, Clone)]
pub struct Way<'a> {
    /// The compiler.
    pub subject: &'a str,
    /// How long each may take.
    pub budget: Duration,
    /// A search ends when the first five files have been the same for this long.
    pub settled: Option<Duration>,
    /// How lines are scored, if not in the technique's own way.
    pub formula: Option<Formula>,
    /// How the scores of lines make those of places, if not in the technique's own way.
    pub aggregation: Option<Aggregation>,
    /// Are programs left out that do what C leaves undefined?
    pub screen: bool,
    /// Do execution counts decide between equals?
    pub counts: bool,
    /// A directory of C programs, whose parts RecBi inserts.
    pub ingredients: Option<&'a Path>,
    /// What of this is asked for beside a subject and a budget, as it is shown: `formula dstar, counts`.
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
    pub fn setting(&self, way: &Way<'_>) -> Setting {
        Setting {
            version: VERSION,
            technique: self.technique.name().to_owned(),
            seed: self.seed,
            budget_s: way.budget.as_secs(),
            subject: way.subject.to_owned(),
            beside: way.beside.clone(),
        }
    }

    /// What is asked for, given the program and its text. `launcher` is a `hearth`.
    pub(crate) fn request<'b>(
        &self,
        way: &Way<'b>,
        program: &'b Path,
        text: &'b [u8],
        launcher: &'b Path,
    ) -> Request<'b> {
        Request {
            subject: way.subject,
            program,
            text,
            fail: self.bug.fail.clone(),
            pass: self.bug.pass.clone(),
            reference: None,
            technique: self.technique,
            seed: self.seed,
            count: usize::MAX,
            budget: way.budget,
            settled: way.settled,
            formula: way.formula,
            aggregation: way.aggregation,
            screen: way.screen,
            counts: way.counts,
            ingredients: way.ingredients,
            limit: 0,
            launcher,
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
