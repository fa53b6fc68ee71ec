//! What comes of a localization: rankings, witnesses, and how far it is while it lasts.

use crate::oracle::{Symptom, Verdict};
use hearth_client::protocol::Suspect;
use hearth_compiler::spent::Spent;
use std::time::Duration;

/// What was found.
#[derive(Debug)]
pub struct Localization {
    /// How the bug shows.
    pub symptom: Symptom,
    /// Files, the most suspicious first.
    pub files: Vec<Suspect>,
    /// Functions, the most suspicious first.
    pub functions: Vec<Suspect>,
    /// Lines of the compiler, the most suspicious first.
    pub lines: Vec<Suspect>,
    /// The rankings on the way, the last one last.
    pub samples: Vec<Sample>,
    /// Where the time went.
    pub spent: Spent,
    /// Everything that was judged.
    pub witnesses: Vec<Witness>,
    /// Was everything judged before the time was over?
    pub is_complete: bool,
    /// How many files the failing compile executed.
    pub executed_files: u32,
    /// How many functions the failing compile executed.
    pub executed_functions: u32,
    /// Until the failure was seen.
    pub prepared: Duration,
    /// All of it.
    pub total: Duration,
}

impl Localization {
    /// How many witnesses have a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.witnesses.iter().filter(|witness| witness.verdict == verdict).count()
    }
}

/// Something close to the failing compile that was judged.
#[derive(Debug, Clone)]
pub struct Witness {
    /// What was changed, as it is shown: `-fno-ivopts`, `replace + by -`.
    pub change: String,
    /// What came of it.
    pub verdict: Verdict,
    /// The program, if it was changed and passes.
    pub program: Option<String>,
    /// When it was judged, since the beginning.
    pub at: Duration,
    /// How many lines of the compiler the failing compile executed and this one did not; only of those that pass.
    pub lacks: Option<u64>,
}

/// The ranking as it was at some moment.
#[derive(Debug, Clone)]
pub struct Sample {
    /// When, since the beginning.
    pub at: Duration,
    /// How many candidates were judged.
    pub judged: usize,
    /// How many of them pass.
    pub passing: usize,
    /// The first files.
    pub files: Vec<Suspect>,
}

/// How far it is.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Candidates judged.
    pub judged: usize,
    /// All candidates, if they are known.
    pub all: Option<usize>,
    /// Those that pass.
    pub passing: usize,
    /// Those that fail.
    pub failing: usize,
    /// How long it has taken.
    pub elapsed: Duration,
    /// The files that are the most suspicious so far.
    pub first: Vec<String>,
}
