//! Gives each (space, line) pair of an object a slot, numbered in order of space and line.
//!
//! A space is a source file, or one of several functions that begin on the same line (gcov keeps the
//! lines of those apart).

/// Lines per entry beyond which a table indexed by line number wastes too much memory.
const DENSE_LINES_PER_ENTRY: u64 = 64;
/// Tables up to this many lines are always indexed by line number.
const DENSE_LINES_ALWAYS: u64 = 1 << 20;

/// A finished numbering of lines.
pub(crate) struct LineTable {
    /// The line of each slot.
    pub lines: Vec<u32>,
    /// The first slot of each space, and one past the last slot at the end.
    pub first_slots: Vec<u32>,
    index: Index,
}

enum Index {
    /// Slot by `base[space] + line`, where `base` accounts for the space's smallest line.
    Dense { bases: Vec<i64>, slots: Vec<u32> },
    /// Binary search in `lines`.
    Sparse,
}

/// The lines to number, which may repeat and come in any order.
pub(crate) struct Entries {
    /// (space, line).
    pairs: Vec<(u32, u32)>,
    /// The smallest and the largest line of each space.
    spans: Vec<(u32, u32)>,
}

impl Entries {
    /// No lines yet; about `expected` will come.
    pub fn new(space_count: usize, expected: usize) -> Self {
        Self { pairs: Vec::with_capacity(expected), spans: vec![(u32::MAX, 0); space_count] }
    }

    /// Adds lines of a space.
    #[inline]
    pub fn add(&mut self, space: u32, lines: &[u32]) {
        let span = &mut self.spans[space as usize];
        for &line in lines {
            *span = (span.0.min(line), span.1.max(line));
        }
        self.pairs.extend(lines.iter().map(|&line| (space, line)));
    }
}

impl LineTable {
    /// Numbers the lines.
    pub fn new(entries: &Entries) -> Self {
        let total: u64 = entries.spans.iter().map(|&(low, high)| span_length(low, high)).sum();
        if total <= DENSE_LINES_ALWAYS.max(entries.pairs.len() as u64 * DENSE_LINES_PER_ENTRY) {
            Self::dense(&entries.spans, total as usize, &entries.pairs)
        } else {
            Self::sparse(entries.spans.len(), &entries.pairs)
        }
    }

    fn dense(spans: &[(u32, u32)], total: usize, entries: &[(u32, u32)]) -> Self {
        let mut bases = Vec::with_capacity(spans.len());
        let mut next = 0_i64;
        for &(low, high) in spans {
            bases.push(next - i64::from(low));
            next += span_length(low, high) as i64;
        }
        let mut slots = vec![u32::MAX; total];
        for &(space, line) in entries {
            slots[(bases[space as usize] + i64::from(line)) as usize] = 0;
        }
        let mut lines = Vec::new();
        let mut first_slots = Vec::with_capacity(spans.len() + 1);
        let mut position = 0;
        for &(low, high) in spans {
            first_slots.push(lines.len() as u32);
            for offset in 0..span_length(low, high) as u32 {
                let slot = &mut slots[position];
                position += 1;
                if *slot == 0 {
                    *slot = lines.len() as u32;
                    lines.push(low + offset);
                }
            }
        }
        first_slots.push(lines.len() as u32);
        Self { lines, first_slots, index: Index::Dense { bases, slots } }
    }

    fn sparse(space_count: usize, entries: &[(u32, u32)]) -> Self {
        let mut sorted = entries.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut first_slots = Vec::with_capacity(space_count + 1);
        for space in 0..=space_count as u32 {
            first_slots.push(sorted.partition_point(|&(other, _)| other < space) as u32);
        }
        let lines = sorted.iter().map(|&(_, line)| line).collect();
        Self { lines, first_slots, index: Index::Sparse }
    }

    /// The slot of a pair that was among the entries.
    #[inline]
    pub fn slot(&self, space: u32, line: u32) -> u32 {
        match &self.index {
            Index::Dense { bases, slots } => slots[(bases[space as usize] + i64::from(line)) as usize],
            Index::Sparse => {
                let first = self.first_slots[space as usize];
                let last = self.first_slots[space as usize + 1];
                let own = &self.lines[first as usize..last as usize];
                first + own.partition_point(|&other| other < line) as u32
            }
        }
    }
}

fn span_length(low: u32, high: u32) -> u64 {
    if low > high { 0 } else { u64::from(high - low) + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(space_count: usize, pairs: &[(u32, u32)]) -> Entries {
        let mut entries = Entries::new(space_count, pairs.len());
        for &(space, line) in pairs {
            entries.add(space, &[line]);
        }
        entries
    }

    #[test]
    fn dense_and_sparse_agree() {
        let pairs = [(0, 7), (2, 1), (0, 3), (0, 7), (2, 900), (2, 1)];
        let dense = LineTable::new(&entries(4, &pairs));
        let sparse = LineTable::sparse(4, &pairs);
        assert!(matches!(dense.index, Index::Dense { .. }));
        for table in [&dense, &sparse] {
            assert_eq!(table.lines, [3, 7, 1, 900]);
            assert_eq!(table.first_slots, [0, 2, 2, 4, 4]);
            assert_eq!(table.slot(0, 7), 1);
            assert_eq!(table.slot(2, 900), 3);
        }
    }

    #[test]
    fn a_huge_line_number_is_sparse() {
        let table = LineTable::new(&entries(1, &[(0, u32::MAX), (0, 1)]));
        assert!(matches!(table.index, Index::Sparse));
        assert_eq!(table.slot(0, u32::MAX), 1);
    }
}
