//! What is to be localized, and how.

use crate::technique::Technique;
use hearth_client::protocol::{Aggregation, Formula};
use std::path::Path;
use std::time::Duration;

/// What is to be localized.
#[derive(Debug, Clone)]
pub struct Assignment<'a> {
    /// The compiler.
    pub subject: &'a str,
    /// Where the program is; headers are searched beside it.
    pub program: &'a Path,
    /// Its text.
    pub text: &'a [u8],
    /// Options it fails with.
    pub fail: Vec<String>,
    /// Options it passes with; a crash may have none.
    pub pass: Option<Vec<String>>,
    /// Another compiler, whose code is right.
    pub reference: Option<&'a str>,
    /// How witnesses are found.
    pub technique: Technique,
    /// Where random choices begin.
    pub seed: u64,
    /// How many mutants are judged at the most.
    pub count: usize,
    /// How many suspects of each kind are wanted.
    pub limit: u32,
    /// How it is localized, beside that.
    pub way: Way<'a>,
}

/// How bugs are localized, whatever the bug, the technique and the seed.
#[derive(Debug, Clone, Copy)]
pub struct Way<'a> {
    /// How long a bug may take.
    pub budget: Duration,
    /// The search ends when the first five files have been the same for this long.
    pub settled: Option<Duration>,
    /// How lines are scored, if not in the technique's own way.
    pub formula: Option<Formula>,
    /// How the scores of lines make those of places, if not in the technique's own way.
    pub aggregation: Option<Aggregation>,
    /// Are programs left out that do what C leaves undefined?
    pub screen: bool,
    /// Do execution counts decide between equals?
    pub counts: bool,
    /// A directory of C programs, whose parts RecBi inserts; only the program itself if there is none.
    pub ingredients: Option<&'a Path>,
    /// A `hearth`.
    pub launcher: &'a Path,
}

impl<'a> Way<'a> {
    /// The technique's own way in all, within a time; `launcher` is a `hearth`.
    #[must_use]
    pub fn new(budget: Duration, launcher: &'a Path) -> Self {
        Self {
            budget,
            settled: None,
            formula: None,
            aggregation: None,
            screen: false,
            counts: false,
            ingredients: None,
            launcher,
        }
    }
}
