//! What differs between two runs.

use super::block::{BLOCK, Block, set_bits};
use super::counts::Counts;

impl Counts {
    /// The ids whose counts differ, with both counts, in order. The tables are of one atlas.
    pub fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (u32, i64, i64)> + 'a {
        self.pairs(other).flat_map(|pair| {
            let [one, other] = pair.blocks.map(|block| block.map_or([0; BLOCK], Block::values));
            let differing =
                (0..BLOCK).fold(0, |bits, index| bits | u64::from(one[index] != other[index]) << index);
            set_bits(differing).map(move |index| (pair.first_id + index as u32, one[index], other[index]))
        })
    }

    /// The ids that ran in one and not in the other, and whether it is this one, in order.
    pub fn exclusive<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (u32, bool)> + 'a {
        self.pairs(other).flat_map(|pair| {
            let [one, other] = pair.bits;
            set_bits(one ^ other).map(move |index| (pair.first_id + index as u32, one >> index & 1 == 1))
        })
    }

    /// How many ids ran in both, and how many in either.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> (usize, usize) {
        let (mut only_self, mut only_other) = (0, 0);
        for pair in self.pairs(other) {
            let [one, other] = pair.bits;
            only_self += (one & !other).count_ones() as usize;
            only_other += (other & !one).count_ones() as usize;
        }
        let both = self.executed() - only_self;
        (both, both + only_self + only_other)
    }
}
