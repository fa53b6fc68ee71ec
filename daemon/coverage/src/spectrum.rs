//! What runs executed, in atlas ids: how a run's counts are found and kept, how runs differ, and what they make
//! suspicious.

mod adder;
mod block;
mod counts;
mod delta;
pub mod distance;
mod formula;
#[cfg(test)]
mod handmade;
mod places;
pub mod rank;
pub mod score;

pub use adder::{Adder, Learned, NumberedMap};
pub use block::{BLOCK, Known};
pub use counts::Counts;
pub use delta::{Delta, Difference};
pub use distance::Quality;
pub use formula::{Formula, Tally};
pub use places::{NOWHERE, Places};
pub use score::Aggregation;

/// A run's counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spectrum {
    /// Of lines, by id.
    pub lines: Counts,
    /// How often each function was called, by id.
    pub functions: Counts,
}

impl Spectrum {
    /// Nothing was executed, of so many lines and functions.
    #[must_use]
    pub fn zeros(line_count: usize, function_count: usize) -> Self {
        Self { lines: Counts::zeros(line_count), functions: Counts::zeros(function_count) }
    }

    /// Keeps the spectrum: the bytes of what no kept spectrum had.
    #[must_use]
    pub fn keep(&self) -> usize {
        self.lines.keep() + self.functions.keep()
    }

    /// Releases a kept spectrum: the bytes of what no kept spectrum has any more.
    #[must_use]
    pub fn release(&self) -> usize {
        self.lines.release() + self.functions.release()
    }

    /// All its pieces of memory: where they are and what they take, in bytes.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, usize)> {
        self.lines.pieces().chain(self.functions.pieces())
    }
}

/// What spectra of a subject had lately, so that equal ones share it.
#[derive(Debug)]
pub struct KnownBlocks {
    lines: Known,
    functions: Known,
}

impl KnownBlocks {
    /// None yet, for an atlas of so many lines and functions.
    #[must_use]
    pub fn new(line_count: usize, function_count: usize) -> Self {
        Self { lines: Known::new(line_count), functions: Known::new(function_count) }
    }
}
