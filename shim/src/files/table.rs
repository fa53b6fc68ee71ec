//! What is known of a run's files: the paths that were written or removed, and what they stand for.

use crate::sys::Result;
use hearth_shim_abi::FILE_LIMIT;
use hearth_shim_pure::path::Path;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a path stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The real file system.
    Real,
    /// A file in memory, by descriptor.
    Memory(c_int),
    /// Nothing: it was removed.
    Removed,
}

/// What a path was set to stand for; `None` if it was not set.
pub fn get(path: &Path) -> Option<Target> {
    with_table(|entries, count| {
        entries[..*count]
            .iter()
            .find(|entry| entry.path.as_bytes() == path.as_bytes())
            .map(|entry| entry.target)
    })
}

/// Sets what a path stands for.
pub fn set(path: &Path, target: Target) -> Result<()> {
    with_table(|entries, count| {
        let known = entries[..*count].iter_mut().find(|entry| entry.path.as_bytes() == path.as_bytes());
        match known {
            Some(entry) => entry.target = target,
            None => {
                *entries.get_mut(*count).ok_or(libc::ENFILE)? = Entry { path: *path, target };
                *count += 1;
            }
        }
        Ok(())
    })
}

/// Takes a path out of the table.
pub fn unset(path: &Path) {
    with_table(|entries, count| {
        let known = entries[..*count].iter().position(|entry| entry.path.as_bytes() == path.as_bytes());
        if let Some(index) = known {
            *count -= 1;
            entries[index] = entries[*count];
        }
    });
}

/// How many paths there are.
pub fn count() -> usize {
    with_table(|_, count| *count)
}

/// A path by its place, and what it stands for.
pub fn entry(index: usize) -> (Path, Target) {
    with_table(|entries, _| (entries[index].path, entries[index].target))
}

/// How many paths stand for a file in memory.
pub fn name_count(fd: c_int) -> usize {
    with_table(|entries, count| {
        entries[..*count].iter().filter(|entry| entry.target == Target::Memory(fd)).count()
    })
}

#[derive(Clone, Copy)]
struct Entry {
    path: Path,
    target: Target,
}

/// The files written or removed so far.
struct Table {
    locked: AtomicBool,
    entries: UnsafeCell<[Entry; FILE_LIMIT]>,
    count: UnsafeCell<usize>,
}

// SAFETY: entries and count are used with the lock held only.
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    locked: AtomicBool::new(false),
    entries: UnsafeCell::new([Entry { path: Path::EMPTY, target: Target::Real }; FILE_LIMIT]),
    count: UnsafeCell::new(0),
};

fn with_table<T>(body: impl FnOnce(&mut [Entry; FILE_LIMIT], &mut usize) -> T) -> T {
    while TABLE.locked.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    // SAFETY: the lock is held, and `body` cannot reach the table another way.
    let entries = unsafe { &mut *TABLE.entries.get() };
    // SAFETY: as above.
    let count = unsafe { &mut *TABLE.count.get() };
    let result = body(entries, count);
    TABLE.locked.store(false, Ordering::Release);
    result
}
