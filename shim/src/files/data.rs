//! The data files that processes of a run write: the daemon reads their memory instead, but for what they had counted before they
//! set their counters back to zero.

use crate::serve::{channel, libraries};
use hearth_shim_abi::NOTE_RESET;
use hearth_shim_pure::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The hash of the path of the first data file that this process has written; 0 if there is none.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// In a process of a run that opens a data file to write it. gcov writes all of them at once, and does so again only if the
/// counters have been set back to zero.
pub fn note_writing(path: &Path) {
    // The library's own, which is told apart.
    if libraries::is_unloading() {
        return;
    }
    let hash = path.hash().max(1);
    match FIRST.load(Ordering::Relaxed) {
        0 => FIRST.store(hash, Ordering::Relaxed),
        first if first == hash => channel::tell(NOTE_RESET),
        _ => {}
    }
}

/// The process counts from zero on, and what it had counted is known.
pub fn begin_anew() {
    FIRST.store(0, Ordering::Relaxed);
}
