//! The cores that runs may be on: those of the zygote when it got warm, wherever the daemon has put it since.

use crate::sys;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A bit for each core.
static CORES: [AtomicU64; sys::CORE_WORDS] = [const { AtomicU64::new(0) }; sys::CORE_WORDS];
/// How many words of them the kernel has; 0 if it does not tell.
static WORD_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Takes note of the zygote's cores.
pub fn remember() {
    let mut set = [0; sys::CORE_WORDS];
    let count = sys::cores(&mut set).unwrap_or(0);
    for (word, bits) in CORES.iter().zip(set) {
        word.store(bits, Ordering::Relaxed);
    }
    WORD_COUNT.store(count, Ordering::Relaxed);
}

/// Gives a run those cores.
pub fn restore() {
    let set: [u64; sys::CORE_WORDS] = std::array::from_fn(|index| CORES[index].load(Ordering::Relaxed));
    let count = WORD_COUNT.load(Ordering::Relaxed).min(set.len());
    if count > 0 {
        // Cores that are gone since make no difference to what a run does.
        let _ = sys::set_cores(&set[..count]);
    }
}
