//! What can be asked.

use super::{Order, RunInput};
use crate::limited;
use hearth_coverage::spectrum::{Aggregation, Formula};
use serde::{Deserialize, Serialize};

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Which subjects there are.
    Subjects {},
    /// Have a zygote ready.
    Warm {
        /// For runs of this order.
        order: Order,
    },
    /// Run once.
    Run {
        /// What to run.
        order: Order,
        /// On what.
        #[serde(default)]
        input: RunInput,
    },
    /// Run on many inputs; each answer comes when its run is done.
    Batch {
        /// What to run.
        order: Order,
        /// On what, in turn; at most [`INPUTS_LIMIT`](crate::INPUTS_LIMIT).
        #[serde(deserialize_with = "limited::inputs")]
        inputs: Vec<RunInput>,
    },
    /// What a run executed.
    Spectrum {
        /// Which run.
        run: RunRef,
        /// Lines, functions or files.
        #[serde(default)]
        level: Level,
        /// Counts; else 1 for what ran.
        #[serde(default)]
        counts: bool,
    },
    /// Where a run differs from another.
    Delta {
        /// The run.
        run: RunRef,
        /// The other one.
        against: RunRef,
        /// Lines, functions or files.
        #[serde(default)]
        level: Level,
        /// Differences of counts; else only of what ran.
        #[serde(default)]
        counts: bool,
    },
    /// How far a run is from another.
    Distance {
        /// The run; for LocSeq's measure, the passing one.
        run: RunRef,
        /// The other one; for LocSeq's measure, the failing one.
        against: RunRef,
        /// By which measure.
        #[serde(default)]
        measure: Measure,
    },
    /// How good a set of passing runs is for localizing, by RecBi's formulas.
    Quality {
        /// The failing run.
        failing: RunRef,
        /// The passing ones.
        #[serde(deserialize_with = "limited::runs")]
        passing: Vec<RunRef>,
        /// The weight of diversity against similarity.
        #[serde(default = "default_alpha")]
        alpha: f64,
    },
    /// What failing and passing runs make suspicious.
    Rank {
        /// The failing runs.
        #[serde(deserialize_with = "limited::runs")]
        failing: Vec<RunRef>,
        /// The passing ones.
        #[serde(deserialize_with = "limited::runs")]
        passing: Vec<RunRef>,
        /// Runs whose lines are not suspicious, whatever else executed them: what every crash executes, say.
        #[serde(default, deserialize_with = "limited::runs")]
        innocent: Vec<RunRef>,
        /// The formula for lines.
        #[serde(default)]
        formula: Formula,
        /// How lines make functions and files.
        #[serde(default)]
        aggregation: Aggregation,
        /// Lines, functions or files.
        #[serde(default = "default_rank_level")]
        level: Level,
        /// At most so many, the most suspicious ones; 0 for all.
        #[serde(default)]
        limit: u32,
        /// Do execution counts decide between equals: the more they differ in passing runs, the more suspicious?
        #[serde(default)]
        counts: bool,
        /// Sources whose names contain one of these are left out, and what is behind them moves up; with a `^` before it, a
        /// text must be at the beginning of the name.
        #[serde(default, deserialize_with = "limited::words")]
        without: Vec<String>,
    },
    /// Give a run a name. It is then kept until it is forgotten; another run of that name loses it.
    Name {
        /// The run.
        run: RunRef,
        /// The name.
        name: String,
    },
    /// Forget runs.
    Forget {
        /// Which ones; nothing for all that have no name.
        #[serde(default, deserialize_with = "limited::runs")]
        runs: Vec<RunRef>,
    },
    /// Which runs are kept.
    Runs {},
    /// How the daemon is.
    Status {},
    /// End the daemon, when the runs under way are done.
    Stop {},
}

fn default_alpha() -> f64 {
    0.8
}

fn default_rank_level() -> Level {
    Level::Files
}

impl Ask {
    /// The request's name, as in the protocol.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Subjects {} => "subjects",
            Self::Warm { .. } => "warm",
            Self::Run { .. } => "run",
            Self::Batch { .. } => "batch",
            Self::Spectrum { .. } => "spectrum",
            Self::Delta { .. } => "delta",
            Self::Distance { .. } => "distance",
            Self::Quality { .. } => "quality",
            Self::Rank { .. } => "rank",
            Self::Name { .. } => "name",
            Self::Forget { .. } => "forget",
            Self::Runs {} => "runs",
            Self::Status {} => "status",
            Self::Stop {} => "stop",
        }
    }
}

/// A run that is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunRef {
    /// By the number it was given.
    Id(u64),
    /// By its name.
    Name(String),
    /// In a delta or distance: what the other run's zygote had executed at its warm point.
    Baseline,
}

impl From<u64> for RunRef {
    fn from(id: u64) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for RunRef {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Lines.
    #[default]
    Lines,
    /// Functions.
    Functions,
    /// Source files: how many of their lines ran.
    Files,
}

/// A measure of distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Jaccard's distance of the lines: DiWi's and RecBi's.
    #[default]
    JaccardLines,
    /// Jaccard's distance of the files.
    JaccardFiles,
    /// LocSeq's similarity: the larger, the closer.
    Locseq,
}
