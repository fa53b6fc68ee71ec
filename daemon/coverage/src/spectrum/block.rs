//! Blocks of counts: as small as their counts allow, shared by equal tables.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use triomphe::ThinArc;

/// Counts in a block.
pub const BLOCK: usize = 64;

/// Counts next to each other, each in 1, 2, 4 or 8 bytes, as few as the largest needs; and how many kept groups
/// have them.
#[derive(Debug, Clone)]
pub(super) struct Block(ThinArc<Keepers, u8>);

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.0.slice == other.0.slice
    }
}

impl Block {
    /// A block of these counts, not all of them zero; one that is known of its number if that has them.
    pub(super) fn new(values: &[i64; BLOCK], number: usize, known: &Known) -> Self {
        let all = values.iter().fold(0, |all, &value| all | value.cast_unsigned());
        let width = match all {
            0..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 4,
            _ => 8,
        };
        let mut bytes = [0; 8 * BLOCK];
        for (place, value) in bytes.chunks_exact_mut(width).zip(values) {
            place.copy_from_slice(&value.to_le_bytes()[..width]);
        }
        known.block(number, &bytes[..width * BLOCK])
    }

    /// All counts.
    pub(super) fn values(&self) -> [i64; BLOCK] {
        let mut values = [0; BLOCK];
        let bytes = &self.0.slice;
        match bytes.len() / BLOCK {
            1 => values.iter_mut().zip(bytes).for_each(|(value, &byte)| *value = i64::from(byte)),
            2 => widen(&mut values, bytes, |word| i64::from(u16::from_le_bytes(word))),
            4 => widen(&mut values, bytes, |word| i64::from(u32::from_le_bytes(word))),
            _ => widen(&mut values, bytes, i64::from_le_bytes),
        }
        values
    }

    /// One of the counts.
    pub(super) fn value(&self, index: usize) -> i64 {
        let values = &self.0.slice;
        let width = values.len() / BLOCK;
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(&values[index * width..][..width]);
        i64::from_le_bytes(bytes)
    }

    /// Are they the same memory?
    pub(super) fn is_same(one: Option<&Self>, other: Option<&Self>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => one.address() == other.address(),
            (None, None) => true,
            _ => false,
        }
    }

    /// Where it is in memory.
    pub(super) fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// Who keeps it.
    pub(super) fn keepers(&self) -> &Keepers {
        &self.0.header.header
    }

    /// What it takes, in bytes, the count of references, that of keepers and the length included.
    pub(super) fn bytes(&self) -> usize {
        size_of::<[u64; 3]>() + self.0.slice.len()
    }
}

fn widen<const WIDTH: usize>(values: &mut [i64; BLOCK], bytes: &[u8], widened: impl Fn([u8; WIDTH]) -> i64) {
    for (value, &word) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = widened(word);
    }
}

/// Blocks that some table had lately, by their number: runs come back to the same counts, on this zygote or another. Tables
/// that are made at a time wait for each other at single blocks only.
#[derive(Debug)]
pub struct Known {
    blocks: Vec<Mutex<Latest>>,
}

/// The last blocks of a number, and which of them is replaced next.
#[derive(Debug, Default)]
struct Latest {
    blocks: [Option<Block>; KNOWN],
    next: u8,
}

/// Blocks that are known of each number.
const KNOWN: usize = 6;

impl Known {
    /// None yet, for so many ids.
    #[must_use]
    pub fn new(length: usize) -> Self {
        Self { blocks: (0..length.div_ceil(BLOCK)).map(|_| Mutex::default()).collect() }
    }

    /// The known block of these bytes, or a new one, which is known from now on.
    fn block(&self, number: usize, bytes: &[u8]) -> Block {
        // Every entry is right at any time, so a thread that died with the lock did no harm.
        let mut latest = self.blocks[number].lock().unwrap_or_else(PoisonError::into_inner);
        let Latest { blocks, next } = &mut *latest;
        if let Some(known) = blocks.iter().flatten().find(|block| block.0.slice == *bytes) {
            return known.clone();
        }
        let block = Block(ThinArc::from_header_and_slice(Keepers::default(), bytes));
        blocks[usize::from(*next)] = Some(block.clone());
        *next = (*next + 1) % KNOWN as u8;
        block
    }
}

/// How many keep a piece of memory. Whoever keeps and releases does one after the other.
#[derive(Debug, Default)]
pub(super) struct Keepers(AtomicU64);

impl Keepers {
    /// One more: is it the first?
    pub(super) fn add(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// One less: was it the last?
    pub(super) fn take(&self) -> bool {
        let before = self.0.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "only what is kept can be released");
        before == 1
    }
}

/// The numbers of the bits that are set, in order.
pub(super) fn set_bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (index < u64::BITS as usize).then_some(index)
    })
}
