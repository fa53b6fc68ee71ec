//! The descriptors that a subject has open at its warm point. A fork shares the position in an open file, so every run has its
//! files opened anew, where the zygote was in them.

use crate::path::descriptor_path;
use crate::sys::{self, Result};
use hearth_shim_abi::FIRST_OWN_FD;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Files that can be open at the warm point.
const OPEN_LIMIT: usize = 256;

/// What the standard streams were when the subject began: device and number of each.
static STANDARD: [[AtomicU64; 2]; 3] = [const { [const { AtomicU64::new(0) }; 2] }; 3];
/// The numbers of files that the subject has open; the rest is -1.
static OPEN: [AtomicI32; OPEN_LIMIT] = [const { AtomicI32::new(-1) }; OPEN_LIMIT];

/// Which file a descriptor is for.
pub fn identity(number: c_int) -> Result<[u64; 2]> {
    sys::describe(number).map(|record| [record.st_dev, record.st_ino])
}

/// Takes note of the standard streams that the subject is given.
pub fn remember_standard() {
    for (number, known) in (0..).zip(&STANDARD) {
        for (word, found) in known.iter().zip(identity(number).unwrap_or_default()) {
            word.store(found, Ordering::Relaxed);
        }
    }
}

/// Has the subject closed a standard stream that it was given, or another one in its place?
pub fn is_replaced(number: c_int) -> bool {
    STANDARD.get(number as usize).is_some_and(|known| {
        identity(number) != Ok([known[0].load(Ordering::Relaxed), known[1].load(Ordering::Relaxed)])
    })
}

/// Takes note of the files that are open at the warm point.
pub fn remember_open() {
    let is_file = |number: &c_int| {
        sys::describe(*number).is_ok_and(|record| record.st_mode & libc::S_IFMT == libc::S_IFREG)
            && (*number >= STANDARD.len() as c_int || is_replaced(*number))
    };
    let mut places = OPEN.iter();
    for number in (0..FIRST_OWN_FD).filter(is_file) {
        match places.next() {
            Some(place) => place.store(number, Ordering::Relaxed),
            None => sys::die("hearth: too many files are open at the warm point; choose an earlier one\n"),
        }
    }
}

/// Puts a file of the run's own at all descriptors of another; `open` opens it with some flags.
pub fn replace(file: [u64; 2], open: impl Fn(c_int) -> Result<c_int>) -> Result<()> {
    for place in &OPEN {
        let number = place.load(Ordering::Relaxed);
        if number >= 0 && identity(number) == Ok(file) {
            move_anew(number, &open)?;
            place.store(-1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Opens all other files anew: those that are read, and those in memory that have no name, of which the run gets a copy. One
/// that cannot be, because it may not be opened here, stays shared.
pub fn open_anew() {
    for place in &OPEN {
        let number = place.load(Ordering::Relaxed);
        if number >= 0 {
            let _ = move_anew(number, &|flags| match flags & libc::O_ACCMODE {
                libc::O_RDONLY => open_again(number, flags),
                _ => copy(number).and_then(|copy| {
                    let own = open_again(copy, flags);
                    sys::close(copy);
                    own
                }),
            });
        }
    }
}

fn open_again(number: c_int, flags: c_int) -> Result<c_int> {
    let flags = flags & !(libc::O_TMPFILE | libc::O_EXCL);
    sys::open_at(libc::AT_FDCWD, &descriptor_path(number), flags, 0)
}

/// A copy of a file, in memory.
fn copy(number: c_int) -> Result<c_int> {
    let from = open_again(number, libc::O_RDONLY | libc::O_CLOEXEC)?;
    let copied = sys::memory_file().and_then(|own| sys::copy(from, own).map(|()| own));
    sys::close(from);
    copied
}

/// Opens a file with the flags and at the position of a descriptor, in its place.
fn move_anew(number: c_int, open: &impl Fn(c_int) -> Result<c_int>) -> Result<()> {
    let (flags, position) = sys::open_state(number)?;
    let own = open(flags)?;
    sys::set_position(own, position)?;
    sys::move_to(own, number, flags)
}
