//! What a subject has open at its warm point. A fork shares positions in files with its parent, so each run opens everything
//! anew, in its own areas and where the subject stands in it; and its working directory.

use crate::files;
use crate::path::descriptor_path;
use crate::sys::{self, Result};
use hearth_shim_abi::{FIRST_OWN_FD, PATH_LIMIT};
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// Descriptors that are opened anew, at the most; others stay shared.
const LIMIT: usize = 256;
/// How the kernel marks the path of a file that was removed.
const REMOVED: &[u8] = b" (deleted)";

/// Descriptors of files and directories at the warm point; the rest is -1.
static OPEN: [AtomicI32; LIMIT] = [const { AtomicI32::new(-1) }; LIMIT];
/// What the subject's streams were at its start: device and inode.
static STREAMS: [[AtomicU64; 2]; 3] = [const { [const { AtomicU64::new(0) }; 2] }; 3];
/// The subject has put something else at a stream's number.
static IS_OWN: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// The working directory at the warm point, followed by a NUL; empty if it is not known.
struct Directory(UnsafeCell<[u8; PATH_LIMIT + 1]>);

// SAFETY: written at the warm point, where the process has one thread, and only read after that.
unsafe impl Sync for Directory {}

static DIRECTORY: Directory = Directory(UnsafeCell::new([0; PATH_LIMIT + 1]));

fn identity(fd: c_int) -> [u64; 2] {
    sys::describe(fd).map_or([0; 2], |record| [record.st_dev, record.st_ino])
}

/// Takes note of the streams, before the subject begins.
pub fn remember_streams() {
    for (number, stream) in STREAMS.iter().enumerate() {
        for (place, value) in stream.iter().zip(identity(number as c_int)) {
            place.store(value, Ordering::Relaxed);
        }
    }
}

/// Has the subject put something else at the number of a stream? Then it is not to be replaced.
pub fn is_own_stream(number: usize) -> bool {
    IS_OWN[number].load(Ordering::Relaxed)
}

/// Takes note of all that is open, at the warm point.
pub fn remember() {
    for (number, (stream, is_own)) in STREAMS.iter().zip(&IS_OWN).enumerate() {
        let known = [0, 1].map(|index| stream[index].load(Ordering::Relaxed));
        let now = identity(number as c_int);
        is_own.store(now != known && now != [0; 2], Ordering::Relaxed);
    }
    let mut count = 0;
    // Where /proc cannot be read, nothing is opened anew.
    let _ = sys::for_each_number(b"/proc/self/fd\0", |fd| {
        let is_stream = usize::try_from(fd).is_ok_and(|fd| fd < STREAMS.len() && !is_own_stream(fd));
        let kind = sys::describe(fd).map_or(0, |record| record.st_mode & libc::S_IFMT);
        let is_file = kind == libc::S_IFREG || kind == libc::S_IFDIR;
        // Files that the shim keeps are copied with what it knows of them.
        let is_shims = fd >= FIRST_OWN_FD || files::is_early_descriptor(fd);
        if count < LIMIT && is_file && !is_shims && !is_stream {
            OPEN[count].store(fd, Ordering::Relaxed);
            count += 1;
        }
    });
    // SAFETY: the process has one thread, and nothing else uses it at this time.
    let directory = unsafe { &mut *DIRECTORY.0.get() };
    let length = sys::working_directory(&mut directory[..PATH_LIMIT]).unwrap_or(0);
    directory[length] = 0;
}

/// In a run: opens all of it anew. What cannot be opened stays as it is.
pub fn renew() {
    for fd in OPEN.iter().map(|fd| fd.load(Ordering::Relaxed)).take_while(|&fd| fd >= 0) {
        let _ = renew_one(fd);
    }
}

fn renew_one(fd: c_int) -> Result<()> {
    let (flags, position) = sys::open_state(fd)?;
    let mut path = [0_u8; PATH_LIMIT + 1];
    let length = sys::read_link(&descriptor_path(fd), &mut path[..PATH_LIMIT])?;
    let opened = match path[..length].ends_with(REMOVED) {
        true => copy(fd)?,
        false => sys::open_at(libc::AT_FDCWD, &path[..=length], flags & !libc::O_NOFOLLOW, 0)?,
    };
    // A directory's position cannot be set by everybody's file system, and is mostly its beginning.
    let _ = sys::set_position(opened, position);
    let flags = if sys::is_closed_on_exec(fd) { libc::O_CLOEXEC } else { 0 };
    sys::replace(opened, fd, flags)
}

/// A copy of a file that has no path any more.
fn copy(fd: c_int) -> Result<c_int> {
    let own = sys::memory_file()?;
    let from = sys::open_at(libc::AT_FDCWD, &descriptor_path(fd), libc::O_RDONLY | libc::O_CLOEXEC, 0)?;
    let copied = sys::copy(from, own);
    sys::close(from);
    match copied {
        Ok(()) => Ok(own),
        Err(error) => {
            sys::close(own);
            Err(error)
        }
    }
}

/// In a run: goes to the working directory anew.
pub fn renew_directory() {
    // SAFETY: nobody writes it after the warm point.
    let directory = unsafe { &*DIRECTORY.0.get() };
    if let Some(end) = directory.iter().position(|&byte| byte == 0).filter(|&end| end > 0) {
        // One that was removed stays what it was.
        let _ = sys::change_directory(&directory[..=end]);
    }
}
