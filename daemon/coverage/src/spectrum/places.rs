//! Where lines are: the file or the function that each belongs to.

use super::counts::Counts;
use super::distance::share;

/// A line that belongs to no place.
pub const NOWHERE: u32 = u32::MAX;

/// The place of each line: its file, its function.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// By line id; [`NOWHERE`] if it has none.
    pub of_lines: &'a [u32],
    /// How many places there are.
    pub count: usize,
}

impl Places<'_> {
    pub(super) fn of(&self, line: u32) -> u32 {
        self.of_lines.get(line as usize).copied().unwrap_or(NOWHERE)
    }

    /// The places a run was in.
    pub(super) fn touched(&self, run: &Counts) -> Vec<bool> {
        let mut touched = vec![false; self.count];
        for (line, _) in run.iter() {
            if let Some(place) = touched.get_mut(self.of(line) as usize) {
                *place = true;
            }
        }
        touched
    }

    pub(super) fn similarity(&self, one: &[bool], other: &[bool]) -> f64 {
        let count = |is: fn(bool, bool) -> bool| {
            one.iter().zip(other).filter(|&(&one, &other)| is(one, other)).count()
        };
        share(count(|one, other| one && other), count(|one, other| one || other))
    }
}
