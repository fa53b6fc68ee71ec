//! Runs written down by hand, for tests.

use super::block::{BLOCK, Known};
use super::counts::Counts;
use super::places::Places;

/// Files: lines 0 to 3, 4 to 7, 8 to 9.
pub(super) const FILES: Places<'static> = Places { of_ids: &[0, 0, 0, 0, 1, 1, 1, 1, 2, 2], count: 3 };

/// A run that executed these lines.
pub(super) fn run(lines: &[u32]) -> Counts {
    let mut counts = [0; BLOCK];
    lines.iter().for_each(|&line| counts[line as usize] = 2);
    counted(&counts)
}

/// A run with these counts of the first lines.
pub(super) fn counted(counts: &[i64]) -> Counts {
    let mut block = [0; BLOCK];
    block[..counts.len()].copy_from_slice(counts);
    let mut run = Counts::zeros(BLOCK);
    run.set_block(0, &block, &Known::new(BLOCK));
    run
}

/// They differ by no more than the last digits.
#[track_caller]
pub(super) fn assert_close(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-12, "{one} and {other}");
}
