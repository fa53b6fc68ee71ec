//! Counts by dense id, in blocks that equal tables share.
//!
//! Runs of one zygote differ in a few thousand of a million lines. A run's counts are made from those of the run
//! before by replacing the blocks that differ, so keeping another spectrum costs what differs, and so does
//! comparing two. Each piece of memory knows how many tables are kept that have it, so that what all kept tables
//! take together is known without a look at all of them.

use super::block::{BLOCK, Block, Keepers, Known, set_bits};
use triomphe::Arc;

/// Blocks in a group. A changed block costs its group's list of blocks, an unchanged group a pointer.
const GROUP: usize = 4;

/// Counts by id. A copy shares everything.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    groups: Vec<Arc<Group>>,
    length: usize,
    /// How many counts are not zero.
    executed: usize,
}

#[derive(Debug)]
struct Group {
    /// One bit for each count of each block that is not zero.
    bits: [u64; GROUP],
    /// `None` where all counts are zero.
    blocks: [Option<Block>; GROUP],
    /// How many times kept tables have it.
    keepers: Keepers,
}

impl Group {
    /// What it takes, in bytes, the count of references included, without its blocks.
    const BYTES: usize = size_of::<usize>() + size_of::<Self>();

    fn new(bits: [u64; GROUP], blocks: [Option<Block>; GROUP]) -> Self {
        Self { bits, blocks, keepers: Keepers::default() }
    }
}

impl Clone for Group {
    /// A copy of the counts, which nobody keeps.
    fn clone(&self) -> Self {
        Self::new(self.bits, self.blocks.clone())
    }
}

/// A block of two tables in which they may differ.
pub(super) struct Pair<'a> {
    /// The id of its first count.
    pub first_id: u32,
    /// One bit for each count that is not zero.
    pub bits: [u64; 2],
    /// `None` where all counts are zero.
    pub blocks: [Option<&'a Block>; 2],
}

impl Counts {
    /// Zeros.
    #[must_use]
    pub fn zeros(length: usize) -> Self {
        let group = Arc::new(Group::new([0; GROUP], [const { None }; GROUP]));
        Self { groups: vec![group; length.div_ceil(BLOCK * GROUP)], length, executed: 0 }
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
        self.executed
    }

    /// Replaces a block's counts.
    pub fn set_block(&mut self, block: usize, values: &[i64; BLOCK], known: &Known) {
        let group = Arc::make_mut(&mut self.groups[block / GROUP]);
        let bits = (0..BLOCK).fold(0, |bits, index| bits | (u64::from(values[index] != 0) << index));
        group.blocks[block % GROUP] = (bits != 0).then(|| Block::new(values, block, known));
        let before = std::mem::replace(&mut group.bits[block % GROUP], bits);
        self.executed = self.executed + bits.count_ones() as usize - before.count_ones() as usize;
    }

    /// The ids whose counts are not zero, and the counts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, i64)> {
        let blocks = self.groups.iter().flat_map(|group| group.blocks.iter().zip(group.bits)).enumerate();
        let blocks = blocks.filter_map(|(number, (block, bits))| Some((number, block.as_ref()?, bits)));
        blocks.flat_map(|(number, block, bits)| {
            set_bits(bits).map(move |index| ((number * BLOCK + index) as u32, block.value(index)))
        })
    }

    /// For each block one bit for each count that is not zero.
    pub fn bits(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().flat_map(|group| group.bits)
    }

    /// Calls a function with the number of each block that some of `wanted` have run, and in how many of some
    /// tables each of its counts is not zero.
    pub fn tally(tables: &[&Self], wanted: &[&Self], mut visit: impl FnMut(usize, &[u32; BLOCK])) {
        let group_count = wanted.iter().map(|table| table.groups.len()).max().unwrap_or(0);
        for number in 0..group_count {
            let mut needed = [0; GROUP];
            for group in wanted.iter().filter_map(|table| table.groups.get(number)) {
                needed.iter_mut().zip(group.bits).for_each(|(needed, bits)| *needed |= bits);
            }
            if needed == [0; GROUP] {
                continue;
            }
            let mut sums = [[0; BLOCK]; GROUP];
            let mut current = [0; GROUP];
            let mut since = [0; GROUP];
            let mut add = |block: usize, bits: u64, times: u32| {
                set_bits(bits).for_each(|index| sums[block][index] += times);
            };
            // Most tables have what the one before has, so bits are added up with how often they come in turn.
            for (turn, table) in (0..).zip(tables) {
                let bits = table.groups.get(number).map_or([0; GROUP], |group| group.bits);
                for block in 0..GROUP {
                    let bits = bits[block] & needed[block];
                    if bits != current[block] {
                        add(block, current[block], turn - since[block]);
                        (current[block], since[block]) = (bits, turn);
                    }
                }
            }
            for block in 0..GROUP {
                add(block, current[block], tables.len() as u32 - since[block]);
            }
            for (block, sums) in sums.iter().enumerate().filter(|&(block, _)| needed[block] != 0) {
                visit(number * GROUP + block, sums);
            }
        }
    }

    /// The blocks in which two tables may differ.
    pub(super) fn pairs<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Pair<'a>> {
        let groups = self.groups.iter().zip(&other.groups).enumerate();
        let groups = groups.filter(|(_, (one, other))| !Arc::ptr_eq(one, other));
        groups.flat_map(|(group, (one, other))| {
            (0..GROUP).filter_map(move |block| {
                let first_id = ((group * GROUP + block) * BLOCK) as u32;
                let bits = [one.bits[block], other.bits[block]];
                let blocks = [one.blocks[block].as_ref(), other.blocks[block].as_ref()];
                (!Block::is_same(blocks[0], blocks[1])).then_some(Pair { first_id, bits, blocks })
            })
        })
    }

    /// Keeps the table: the bytes of what no kept table had.
    #[must_use]
    pub fn keep(&self) -> usize {
        self.list_bytes() + self.change_keepers(Keepers::add)
    }

    /// Releases a kept table: the bytes of what no kept table has any more.
    #[must_use]
    pub fn release(&self) -> usize {
        self.list_bytes() + self.change_keepers(Keepers::take)
    }

    /// The bytes of the pieces whose keepers begin or end with a change.
    fn change_keepers(&self, changes: fn(&Keepers) -> bool) -> usize {
        let of_group = |group: &Arc<Group>| {
            let blocks = group.blocks.iter().flatten().filter(|block| changes(block.keepers()));
            Group::BYTES + blocks.map(Block::bytes).sum::<usize>()
        };
        self.groups.iter().filter(|group| changes(&group.keepers)).map(of_group).sum()
    }

    /// All its pieces of memory: where they are and what they take, in bytes.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, usize)> {
        let list = (self.groups.as_ptr().addr(), self.list_bytes());
        let groups = self.groups.iter().map(|group| (Arc::as_ptr(group).addr(), Group::BYTES));
        let blocks = self.groups.iter().flat_map(|group| group.blocks.iter().flatten());
        let blocks = blocks.map(|block| (block.address(), block.bytes()));
        std::iter::once(list).chain(groups).chain(blocks)
    }

    /// What its own list of groups takes, in bytes.
    fn list_bytes(&self) -> usize {
        self.groups.len() * size_of::<Arc<Group>>()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from_values(values: &[i64], known: &Known) -> Counts {
        let mut counts = Counts::zeros(values.len());
        set(&mut counts, values, known);
        counts
    }

    fn set(counts: &mut Counts, values: &[i64], known: &Known) {
        for (number, part) in values.chunks(BLOCK).enumerate() {
            let mut block = [0; BLOCK];
            block[..part.len()].copy_from_slice(part);
            counts.set_block(number, &block, known);
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
            let known = Known::new(before.len());
            let old = from_values(&before, &known);
            let mut new = old.clone();
            set(&mut new, &after, &known);
            // Back to the same counts is back to the same memory.
            let mut back = new.clone();
            set(&mut back, &before, &known);
            prop_assert_eq!(old.pairs(&back).count(), 0);
            // How many of some tables ran what one of them ran.
            let tables = [&old, &new, &new, &old, &old];
            let mut sums = vec![0; before.len()];
            Counts::tally(&tables, &[&new], |block, found| {
                let first = block * BLOCK;
                let end = before.len().min(first + BLOCK);
                sums[first..end].copy_from_slice(&found[..end - first]);
            });
            for (id, sum) in sums.into_iter().enumerate() {
                let ran = |values: &[i64]| u32::from(values[id] != 0);
                if ran(&after) == 1 {
                    prop_assert_eq!(sum, 3 * ran(&before) + 2, "line {}", id);
                }
            }
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
