//! Where lines and functions are: the file, or the function of the source, that each belongs to.

use super::counts::Counts;

/// What belongs to no place.
pub const NOWHERE: u32 = u32::MAX;

/// The place of each line or function of an atlas: the file or function a line is in, the function of the source that
/// those of several objects stand for.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// By line or function id; [`NOWHERE`] if it has none.
    pub of_ids: &'a [u32],
    /// How many places there are.
    pub count: usize,
}

impl Places<'_> {
    /// The place of an id.
    pub(super) fn of(&self, id: u32) -> u32 {
        self.of_ids.get(id as usize).copied().unwrap_or(NOWHERE)
    }

    /// The places a run was in.
    pub(super) fn touched(&self, run: &Counts) -> Vec<bool> {
        let mut touched = vec![false; self.count];
        for (id, _) in run.iter() {
            if let Some(place) = touched.get_mut(self.of(id) as usize) {
                *place = true;
            }
        }
        touched
    }

    /// The sum of the counts of each place.
    pub(super) fn totals(&self, counts: &Counts) -> Vec<i64> {
        let mut totals = vec![0_i64; self.count];
        for (id, count) in counts.iter() {
            if let Some(total) = totals.get_mut(self.of(id) as usize) {
                *total = total.wrapping_add(count);
            }
        }
        totals
    }
}
