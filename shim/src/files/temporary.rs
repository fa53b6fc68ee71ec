//! Temporary files, with names that no other file of the run has.

use crate::files::{memory, path};
use crate::sys::{self, Result};
use hearth_shim_abi::PATH_LIMIT;
use hearth_shim_pure::temporary;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// Names that are tried for a temporary file.
const TRIES: usize = 100_000;

/// The number in the next name.
static NEXT: AtomicI32 = AtomicI32::new(0);

/// Opens a temporary file with a name of its own, written over the last six characters before `suffix`.
pub fn open(name: &mut [u8], suffix: usize, flags: c_int) -> Result<c_int> {
    let place = temporary::place(name, suffix)?;
    let mut terminated = [0_u8; PATH_LIMIT];
    let flags = flags | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    for _ in 0..TRIES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed).unsigned_abs();
        temporary::write_number(&mut name[place.clone()], number);
        let room = terminated.get_mut(..=name.len()).ok_or(libc::ENAMETOOLONG)?;
        room[..name.len()].copy_from_slice(name);
        // SAFETY: the path fits with at least one NUL behind it: there is room for one more byte.
        let path = unsafe { path::resolve(libc::AT_FDCWD, terminated.as_ptr().cast()) }?;
        let opened = match memory::is_for_kernel(&path) {
            true => sys::open_at(libc::AT_FDCWD, &terminated[..=name.len()], flags, 0o600),
            false => Err(libc::EROFS),
        };
        let opened = match opened {
            Err(error) if error == libc::EROFS || memory::is_outside(error) => {
                memory::open(&path, flags, 0o600)
            }
            opened => Some(opened),
        };
        match opened.unwrap_or(Err(libc::EEXIST)) {
            // Another process of the run has one of this name.
            Err(libc::EEXIST) => {}
            opened => return opened,
        }
    }
    Err(libc::EEXIST)
}
