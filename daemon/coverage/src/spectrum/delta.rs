//! What differs between two runs.

use super::Spectrum;
use super::block::{BLOCK, Block, set_bits};
use super::counts::Counts;
use super::places::Places;
use crate::atlas::LineId;
use rustc_hash::FxHashMap;

/// Where two runs of one subject differ.
#[derive(Debug, Clone, Copy)]
pub struct Delta<'a> {
    /// The one run.
    pub one: &'a Spectrum,
    /// The other.
    pub other: &'a Spectrum,
    /// Counts matter; else what ran counts 1, and only what one of them alone executed differs.
    pub counts: bool,
}

/// What differs, a line's number say, and both its counts.
pub type Difference = (u32, i64, i64);

impl Delta<'_> {
    /// The lines that differ, by source and number; `lines` are those of the atlas.
    #[must_use]
    pub fn lines(&self, lines: &[LineId]) -> Vec<(u32, Vec<Difference>)> {
        let mut by_source: FxHashMap<u32, Vec<Difference>> = FxHashMap::default();
        let mut add = |id: u32, one: i64, other: i64| {
            if let Some(line) = lines.get(id as usize) {
                by_source.entry(line.source).or_default().push((line.number, one, other));
            }
        };
        let (one, other) = (&self.one.lines, &self.other.lines);
        if self.counts {
            one.differences(other).for_each(|(id, one, other)| add(id, one, other));
        } else {
            one.exclusive(other).for_each(|(id, is_one)| add(id, i64::from(is_one), i64::from(!is_one)));
        }
        let mut by_source: Vec<(u32, Vec<Difference>)> = by_source.into_iter().collect();
        by_source.iter_mut().for_each(|(_, lines)| lines.sort_unstable());
        by_source.sort_unstable_by_key(|&(source, _)| source);
        by_source
    }

    /// The functions whose calls differ; `places` has one for all functions that are one in the source.
    #[must_use]
    pub fn functions(&self, places: &Places<'_>) -> Vec<Difference> {
        let (one, other) = (places.totals(&self.one.functions), places.totals(&self.other.functions));
        let shown = |count: i64| if self.counts { count } else { i64::from(count != 0) };
        (0..)
            .zip(one.into_iter().zip(other))
            .map(|(place, (one, other))| (place, shown(one), shown(other)))
            .filter(|(_, one, other)| one != other)
            .collect()
    }

    /// The sources of which the runs executed different lines: how many lines of each the one alone executed, and
    /// how many the other. `lines` are those of the atlas.
    #[must_use]
    pub fn sources(&self, lines: &[LineId]) -> Vec<(u32, u64, u64)> {
        let mut by_source: FxHashMap<u32, (u64, u64)> = FxHashMap::default();
        for (id, is_one) in self.one.lines.exclusive(&self.other.lines) {
            let Some(line) = lines.get(id as usize) else { continue };
            let (only_one, only_other) = by_source.entry(line.source).or_default();
            *(if is_one { only_one } else { only_other }) += 1;
        }
        let mut sources: Vec<(u32, u64, u64)> =
            by_source.into_iter().map(|(source, (one, other))| (source, one, other)).collect();
        sources.sort_unstable();
        sources
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectrum::handmade::counted;

    /// Three lines of one source, the last first, and two of another.
    const LINES: [LineId; 5] = [
        LineId { source: 4, number: 3 },
        LineId { source: 4, number: 2 },
        LineId { source: 4, number: 1 },
        LineId { source: 2, number: 1 },
        LineId { source: 2, number: 2 },
    ];
    /// Two that are one function of the source, one that is nowhere, one by itself.
    const FUNCTIONS: Places<'static> = Places { of_ids: &[1, 1, crate::spectrum::NOWHERE, 0], count: 2 };

    fn check(counts: bool, lines: &[(u32, Vec<Difference>)], functions: &[Difference]) {
        let spectrum = |lines: &[i64], functions: &[i64]| Spectrum {
            lines: counted(lines),
            functions: counted(functions),
        };
        let one = spectrum(&[5, 1, 0, 7, 0], &[2, 1, 9, 0]);
        let other = spectrum(&[6, 0, 3, 7, 1], &[1, 3, 0, 4]);
        let delta = Delta { one: &one, other: &other, counts };
        assert_eq!(delta.lines(&LINES), lines);
        assert_eq!(delta.functions(&FUNCTIONS), functions);
        assert_eq!(delta.sources(&LINES), [(2, 0, 1), (4, 1, 1)]);
    }

    #[test]
    fn counts_differ() {
        let lines = [(2, vec![(2, 0, 1)]), (4, vec![(1, 0, 3), (2, 1, 0), (3, 5, 6)])];
        check(true, &lines, &[(0, 0, 4), (1, 3, 4)]);
    }

    #[test]
    fn without_counts_only_what_one_alone_executed_differs() {
        check(false, &[(2, vec![(2, 0, 1)]), (4, vec![(1, 0, 1), (2, 1, 0)])], &[(0, 0, 1)]);
    }
}
