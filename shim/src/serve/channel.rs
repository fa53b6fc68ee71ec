//! The channel of a run: what it, and the processes that it makes, tell the daemon.

use crate::files::data;
use crate::serve::{executed, keeper, server};
use crate::sys::{self, Result, message};
use hearth_shim_abi::{NOTE_CHILD, NOTE_COPY, NOTE_FORKED, NOTE_UNKEPT, Note};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// The socket for notes; -1 outside of a run.
static CHANNEL: AtomicI32 = AtomicI32::new(-1);
/// Has a fork been told?
static FORKED: AtomicBool = AtomicBool::new(false);
/// Is this a process that a run has made of itself?
static IS_CHILD: AtomicBool = AtomicBool::new(false);
/// Has it been told that a process could not be kept?
static UNKEPT: AtomicBool = AtomicBool::new(false);

/// See [`untold`].
static UNTOLD: AtomicU64 = AtomicU64::new(0);

/// Where a word is that is zero until this process, or one that it has made, cannot tell the daemon something: the daemon reads
/// it in their memory.
pub fn untold() -> u64 {
    &raw const UNTOLD as u64
}

/// Is there something that could not be told?
pub fn is_untold() -> bool {
    UNTOLD.load(Ordering::Relaxed) != 0
}

/// There is.
pub fn set_untold() {
    UNTOLD.store(1, Ordering::Relaxed);
}

/// Makes a socket the channel of a run.
pub fn begin(channel: c_int) {
    CHANNEL.store(channel, Ordering::Relaxed);
}

/// Makes a socket the channel of a program that a run has executed. It sees the run's files, in areas.
pub fn begin_executed(channel: c_int) {
    IS_CHILD.store(true, Ordering::Relaxed);
    CHANNEL.store(channel, Ordering::Relaxed);
}

/// Is there one?
pub fn is_there() -> bool {
    CHANNEL.load(Ordering::Relaxed) >= 0
}

/// Is it at this descriptor?
pub fn is_at(fd: c_int) -> bool {
    CHANNEL.load(Ordering::Relaxed) == fd
}

/// Is this a process that a run has made of itself, or a program that it has executed?
pub fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// Tells the daemon something that is said by its kind alone.
pub fn tell(kind: u32) {
    if note(kind, &[], &[]).is_err() {
        set_untold();
    }
}

/// Tells the daemon something, with text and descriptors.
pub fn note(kind: u32, text: &[u8], fds: &[c_int]) -> Result<()> {
    if server::is_early() {
        // Runs will tell of their copies.
        return Ok(());
    }
    message::send(CHANNEL.load(Ordering::Relaxed), &Note { kind, ..Note::default() }, text, fds)
}

/// Tells the daemon, once, that the run has made another process of itself.
pub fn note_fork() {
    if !FORKED.swap(true, Ordering::Relaxed) {
        // A run that closed the channel goes without.
        tell(NOTE_FORKED);
    }
}

/// In a process that has just begun: has its memory kept, and tells the daemon by whom.
pub fn note_child(value: u32) {
    IS_CHILD.store(true, Ordering::Relaxed);
    data::begin_anew();
    note_keeper(|| {
        let keeper = keeper::keep_child()?;
        Ok(Note { kind: NOTE_CHILD, value, process: sys::pid().cast_unsigned(), keeper })
    });
}

/// Has a copy of the memory kept: gcov may be about to set the counters back to zero.
pub fn note_copy() {
    data::begin_anew();
    note_keeper(|| {
        let keeper = keeper::keep_copy()?;
        let value = u32::from(executed::is_executed());
        Ok(Note { kind: NOTE_COPY, value, process: keeper::own(), keeper })
    });
}

/// Starts a keeper with all signals blocked, and tells the daemon of it; or, once, that there is none.
fn note_keeper(start: impl FnOnce() -> Result<Note>) {
    let mask = sys::set_signal_mask(u64::MAX);
    let kept = start().and_then(|note| message::send(CHANNEL.load(Ordering::Relaxed), &note, &[], &[]));
    if kept.is_err() && !UNKEPT.swap(true, Ordering::Relaxed) {
        tell(NOTE_UNKEPT);
    }
    sys::set_signal_mask(mask);
}
