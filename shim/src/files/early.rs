//! Files in memory that the subject has opened before its warm point: each run begins with copies of its own.

use crate::files::memory;
use crate::sys::{self, Result};
use hearth_shim_abi::FILE_LIMIT;
use hearth_shim_pure::path::Path;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// Their descriptors; the rest is -1.
static EARLY: [AtomicI32; FILE_LIMIT] = [const { AtomicI32::new(-1) }; FILE_LIMIT];

/// Takes note of one.
pub fn remember(fd: c_int) -> Result<()> {
    let room = EARLY.iter().find(|early| early.load(Ordering::Relaxed) < 0).ok_or(libc::ENFILE)?;
    room.store(fd, Ordering::Relaxed);
    Ok(())
}

/// Is it at this descriptor?
pub fn is_one(fd: c_int) -> bool {
    EARLY.iter().any(|early| early.load(Ordering::Relaxed) == fd)
}

/// Gives the run its own copy of one, at all its descriptors.
pub fn copy(path: &Path, old: c_int) -> Result<()> {
    let fd = memory::create(path, sys::describe(old)?.st_mode)?;
    let from = memory::reopen(old, libc::O_RDONLY)?;
    sys::copy(from, fd)?;
    sys::close(from);
    let identity = |fd| sys::describe(fd).map(|record| (record.st_dev, record.st_ino));
    let known = identity(old)?;
    for early in &EARLY {
        let number = early.load(Ordering::Relaxed);
        // The subject may have closed it since, and the number may be another file's.
        if number < 0 || identity(number) != Ok(known) {
            continue;
        }
        let (flags, position) = sys::open_state(number)?;
        let own = memory::reopen(fd, flags)?;
        sys::set_position(own, position)?;
        sys::move_to(own, number)?;
    }
    sys::close(old);
    Ok(())
}
