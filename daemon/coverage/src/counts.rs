//! Counts by dense id, in blocks that equal tables share.
//!
//! Runs of one zygote differ in a few thousand of a million lines. A run's counts are made from those of the run
//! before by replacing the blocks that differ, so keeping another spectrum costs what differs, and so does
//! comparing two.

use std::sync::Arc;

/// Counts in a block.
pub const BLOCK: usize = 64;
/// Blocks in a group. A changed block costs its group's list of blocks, an unchanged group a pointer.
const GROUP: usize = 8;

/// Counts by id. A copy shares everything.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    groups: Vec<Arc<Group>>,
    length: usize,
}

#[derive(Debug, Clone)]
struct Group {
    /// `None` where all counts are zero.
    blocks: [Option<Block>; GROUP],
    /// How many counts are not zero.
    executed: u32,
}

/// Counts next to each other, in as few bytes as the largest needs: first a bit for each that is not zero, then
/// the counts, each in 1, 2, 4 or 8 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block(Arc<[u8]>);

/// Where the counts begin.
const HEAD: usize = 8;

impl Block {
    /// A block of these counts; `None` if all are zero.
    fn new(values: &[i64; BLOCK]) -> Option<Self> {
        let mut bits = 0_u64;
        let mut all = 0;
        for (index, &value) in values.iter().enumerate() {
            bits |= u64::from(value != 0) << index;
            all |= value.cast_unsigned();
        }
        let width = match all {
            0 => return None,
            1..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 4,
            _ => 8,
        };
        let mut bytes = [0; HEAD + 8 * BLOCK];
        bytes[..HEAD].copy_from_slice(&bits.to_le_bytes());
        for (place, value) in bytes[HEAD..].chunks_exact_mut(width).zip(values) {
            place.copy_from_slice(&value.to_le_bytes()[..width]);
        }
        Some(Self(bytes[..HEAD + width * BLOCK].into()))
    }

    fn bits(&self) -> u64 {
        self.0.first_chunk().map_or(0, |&bits| u64::from_le_bytes(bits))
    }

    /// All counts.
    fn values(&self) -> [i64; BLOCK] {
        let mut values = [0; BLOCK];
        let bytes = &self.0[HEAD..];
        match bytes.len() / BLOCK {
            1 => values.iter_mut().zip(bytes).for_each(|(value, &byte)| *value = i64::from(byte)),
            2 => widen(&mut values, bytes, |word| i64::from(u16::from_le_bytes(word))),
            4 => widen(&mut values, bytes, |word| i64::from(u32::from_le_bytes(word))),
            _ => widen(&mut values, bytes, i64::from_le_bytes),
        }
        values
    }

    fn value(&self, index: usize) -> i64 {
        let values = &self.0[HEAD..];
        let width = values.len() / BLOCK;
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(&values[index * width..][..width]);
        i64::from_le_bytes(bytes)
    }

    /// What it takes, in bytes, the counts of references included, if one group has it alone.
    fn own_bytes(&self) -> usize {
        if Arc::strong_count(&self.0) == 1 { size_of::<[usize; 2]>() + self.0.len() } else { 0 }
    }
}

fn widen<const WIDTH: usize>(values: &mut [i64; BLOCK], bytes: &[u8], widened: impl Fn([u8; WIDTH]) -> i64) {
    for (value, &word) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = widened(word);
    }
}

/// Are they the same memory?
fn is_same(one: Option<&Block>, other: Option<&Block>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(&one.0, &other.0),
        (None, None) => true,
        _ => false,
    }
}

/// A block of two tables in which they may differ.
struct Pair<'a> {
    first_id: u32,
    blocks: [Option<&'a Block>; 2],
}

impl Counts {
    /// Zeros.
    #[must_use]
    pub fn zeros(length: usize) -> Self {
        let group = Arc::new(Group { blocks: [const { None }; GROUP], executed: 0 });
        Self { groups: vec![group; length.div_ceil(BLOCK * GROUP)], length }
    }

    /// How many ids there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Are there no ids?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The count of an id; 0 if there is no such id.
    #[must_use]
    pub fn get(&self, id: u32) -> i64 {
        let (block, index) = (id as usize / BLOCK, id as usize % BLOCK);
        self.block(block).map_or(0, |block| block.value(index))
    }

    /// How many counts are not zero.
    #[must_use]
    pub fn executed(&self) -> usize {
        self.groups.iter().map(|group| group.executed as usize).sum()
    }

    /// How many blocks there are.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.length.div_ceil(BLOCK)
    }

    /// One bit for each count of a block that is not zero.
    #[must_use]
    pub fn bits(&self, block: usize) -> u64 {
        self.block(block).map_or(0, |block| block.bits())
    }

    /// Replaces a block's counts.
    pub fn set_block(&mut self, block: usize, values: &[i64; BLOCK]) {
        let group = Arc::make_mut(&mut self.groups[block / GROUP]);
        let place = &mut group.blocks[block % GROUP];
        let new = Block::new(values);
        let count = |block: Option<&Block>| block.map_or(0, |block| block.bits().count_ones());
        group.executed = group.executed + count(new.as_ref()) - count(place.as_ref());
        *place = new;
    }

    /// The ids whose counts are not zero, and the counts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, i64)> {
        let blocks = self.groups.iter().flat_map(|group| &group.blocks).enumerate();
        blocks.filter_map(|(number, block)| Some((number, block.as_ref()?))).flat_map(|(number, block)| {
            set_bits(block.bits()).map(move |index| ((number * BLOCK + index) as u32, block.value(index)))
        })
    }

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
            let [one, other] = pair.blocks.map(|block| block.map_or(0, Block::bits));
            set_bits(one ^ other).map(move |index| (pair.first_id + index as u32, one >> index & 1 == 1))
        })
    }

    /// How many ids ran in both, and how many in either.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> (usize, usize) {
        let (mut only_self, mut only_other) = (0, 0);
        for pair in self.pairs(other) {
            let [one, other] = pair.blocks.map(|block| block.map_or(0, |block| block.bits()));
            only_self += (one & !other).count_ones() as usize;
            only_other += (other & !one).count_ones() as usize;
        }
        let both = self.executed() - only_self;
        (both, both + only_self + only_other)
    }

    /// Calls a function with each block that is wanted and in how many of some tables each of its counts is not
    /// zero. Blocks that tables share are looked at once.
    pub fn tally(
        tables: &[&Self],
        wanted: impl Fn(usize) -> bool,
        mut visit: impl FnMut(usize, &[u32; BLOCK]),
    ) {
        let block_count = tables.iter().map(|table| table.block_count()).max().unwrap_or(0);
        for block in (0..block_count).filter(|&block| wanted(block)) {
            let mut sums = [0; BLOCK];
            let mut add = |block: Option<&Block>, times: u32| {
                set_bits(block.map_or(0, Block::bits)).for_each(|index| sums[index] += times);
            };
            let (mut current, mut times) = (None, 0);
            for table in tables {
                let next = table.block(block);
                if !is_same(current, next) {
                    add(current, std::mem::take(&mut times));
                    current = next;
                }
                times += 1;
            }
            add(current, times);
            visit(block, &sums);
        }
    }

    /// The blocks in which two tables may differ.
    fn pairs<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Pair<'a>> {
        let groups = self.groups.iter().zip(&other.groups).enumerate();
        let groups = groups.filter(|(_, (one, other))| !Arc::ptr_eq(one, other));
        groups.flat_map(|(group, (one, other))| {
            let blocks = one.blocks.iter().zip(&other.blocks).enumerate();
            blocks.filter_map(move |(block, (one, other))| {
                let first_id = ((group * GROUP + block) * BLOCK) as u32;
                let blocks = [one.as_ref(), other.as_ref()];
                (!is_same(blocks[0], blocks[1])).then_some(Pair { first_id, blocks })
            })
        })
    }

    /// The bytes of what at most so many tables hold, copies of one another, this one included.
    #[must_use]
    pub fn own_bytes(&self, holders: usize) -> usize {
        let own_groups = self.groups.iter().filter(|group| Arc::strong_count(group) <= holders);
        let of_group = |group: &Arc<Group>| {
            let blocks = group.blocks.iter().flatten();
            size_of::<Group>() + blocks.map(Block::own_bytes).sum::<usize>()
        };
        self.groups.len() * size_of::<Arc<Group>>() + own_groups.map(of_group).sum::<usize>()
    }

    fn block(&self, block: usize) -> Option<&Block> {
        self.groups.get(block / GROUP)?.blocks[block % GROUP].as_ref()
    }
}

impl PartialEq for Counts {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.pairs(other).all(|pair| pair.blocks[0] == pair.blocks[1])
    }
}

impl Eq for Counts {}

/// The numbers of the bits that are set, in order.
fn set_bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (index < u64::BITS as usize).then_some(index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from_values(values: &[i64]) -> Counts {
        let mut counts = Counts::zeros(values.len());
        set(&mut counts, values);
        counts
    }

    fn set(counts: &mut Counts, values: &[i64]) {
        for (number, part) in values.chunks(BLOCK).enumerate() {
            let mut block = [0; BLOCK];
            block[..part.len()].copy_from_slice(part);
            counts.set_block(number, &block);
        }
    }

    fn value() -> impl Strategy<Value = i64> {
        prop_oneof![5 => Just(0), 3 => 1..5_i64, 1 => 200..70_000_i64, 1 => any::<i64>()]
    }

    proptest! {
        #[test]
        fn a_table_is_the_plain_list_it_stands_for(
            before in prop::collection::vec(value(), 0..9000),
            changes in prop::collection::vec((any::<prop::sample::Index>(), value()), 0..40),
        ) {
            let mut after = before.clone();
            if !after.is_empty() {
                for (index, value) in changes {
                    let at = index.index(after.len());
                    after[at] = value;
                }
            }
            let old = from_values(&before);
            let mut new = old.clone();
            set(&mut new, &after);
            let kept: Vec<i64> = (0..before.len() as u32).map(|id| old.get(id)).collect();
            prop_assert_eq!(&kept, &before);
            let differing: Vec<(u32, i64, i64)> = (0..)
                .zip(before.iter().zip(&after))
                .filter(|(_, (one, other))| one != other)
                .map(|(id, (&one, &other))| (id, one, other))
                .collect();
            prop_assert_eq!(&old.differences(&new).collect::<Vec<_>>(), &differing);
            prop_assert_eq!(old == new, before == after);
            let exclusive: Vec<(u32, bool)> = differing
                .iter()
                .filter(|(_, one, other)| (*one != 0) != (*other != 0))
                .map(|&(id, one, _)| (id, one != 0))
                .collect();
            prop_assert_eq!(old.exclusive(&new).collect::<Vec<_>>(), exclusive);
            let ran: Vec<(u32, i64)> =
                (0..).zip(after.iter().copied()).filter(|&(_, value)| value != 0).collect();
            prop_assert_eq!(new.executed(), ran.len());
            prop_assert_eq!(new.iter().collect::<Vec<_>>(), ran);
            let pairs = || before.iter().zip(&after);
            let both = pairs().filter(|(one, other)| **one != 0 && **other != 0).count();
            let either = pairs().filter(|(one, other)| **one != 0 || **other != 0).count();
            prop_assert_eq!(old.overlap(&new), (both, either));
        }
    }
}
