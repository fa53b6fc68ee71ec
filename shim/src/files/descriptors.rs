//! What a subject has open at its warm point. A fork shares positions in files with its parent, so each run opens everything
//! anew, in its own areas and where the subject stands in it; and its working directory.

use crate::files::early;
use crate::sys::{self, Result};
use hearth_shim_abi::{CONTROL_FD, FIRST_OWN_FD, PATH_LIMIT, SHIM_FD, UNREAD_TIME_S};
use hearth_shim_pure::path::descriptor_path;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// Descriptors that are opened anew, at the most; others stay shared.
const LIMIT: usize = 1024;
/// How the kernel marks the path of a file that was removed.
const REMOVED: &[u8] = b" (deleted)";

/// Descriptors of files and directories at the warm point, and of copies of the streams; the rest is -1.
static OPEN: [AtomicI32; LIMIT] = [const { AtomicI32::new(-1) }; LIMIT];
/// There are others, or more, which all runs share.
static SHARES: AtomicBool = AtomicBool::new(false);
/// What the subject's streams were at its start: device and inode.
static STREAMS: [[AtomicU64; 2]; 3] = [const { [const { AtomicU64::new(0) }; 2] }; 3];
/// The subject has put something else at a stream's number.
static IS_OWN: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// The working directory at the warm point, followed by a NUL; empty if it is not known.
struct Directory(UnsafeCell<[u8; PATH_LIMIT + 1]>);

// SAFETY: written at the warm point, where the process has one thread, and only read after that.
unsafe impl Sync for Directory {}

static DIRECTORY: Directory = Directory(UnsafeCell::new([0; PATH_LIMIT + 1]));

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
        // Files that the shim keeps are copied with what it knows of them.
        let is_shims = fd >= FIRST_OWN_FD || matches!(fd, CONTROL_FD | SHIM_FD) || early::is_one(fd);
        if is_shims || is_stream {
            return;
        }
        match sys::describe(fd).map_or(0, |record| record.st_mode & libc::S_IFMT) {
            libc::S_IFREG | libc::S_IFDIR if count < LIMIT => {
                OPEN[count].store(fd, Ordering::Relaxed);
                count += 1;
            }
            // They have nothing that could be shared.
            libc::S_IFCHR => {}
            _ => SHARES.store(true, Ordering::Relaxed),
        }
    });
    // SAFETY: the process has one thread, and nothing else uses it at this time.
    let directory = unsafe { &mut *DIRECTORY.0.get() };
    let length = sys::working_directory(&mut directory[..PATH_LIMIT]).unwrap_or(0);
    directory[length] = 0;
}

/// Has it something open that all runs share?
pub fn has_shared() -> bool {
    SHARES.load(Ordering::Relaxed)
}

/// Was standard input read before the warm point?
pub fn was_stdin_read() -> bool {
    !is_own_stream(0)
        && sys::describe(0).is_ok_and(|record| record.st_atime != UNREAD_TIME_S && is_first(0, &record))
}

/// What tells a file from others: device and inode.
fn identity(fd: c_int) -> [u64; 2] {
    sys::describe(fd).map_or([0; 2], |record| [record.st_dev, record.st_ino])
}

/// Is it what a stream was at the start?
fn is_first(stream: usize, record: &libc::stat) -> bool {
    [record.st_dev, record.st_ino] == [0, 1].map(|index| STREAMS[stream][index].load(Ordering::Relaxed))
}

/// The stream that a descriptor was copied from, in its first state.
fn copied_stream(record: &libc::stat) -> Option<c_int> {
    (0..STREAMS.len())
        .find(|&stream| is_first(stream, record) && !is_own_stream(stream))
        .map(|stream| stream as c_int)
}

/// In a run: opens all of it anew. What cannot be opened stays as it is.
pub fn renew() {
    for fd in OPEN.iter().map(|fd| fd.load(Ordering::Relaxed)).take_while(|&fd| fd >= 0) {
        let _ = renew_one(fd);
    }
}

fn renew_one(fd: c_int) -> Result<()> {
    let close_on_exec = if sys::is_closed_on_exec(fd) { libc::O_CLOEXEC } else { 0 };
    if let Some(stream) = copied_stream(&sys::describe(fd)?) {
        return sys::copy_to(stream, fd, close_on_exec);
    }
    let (flags, position) = sys::open_state(fd)?;
    let mut path = [0_u8; PATH_LIMIT + 1];
    let length = sys::read_link(&descriptor_path(fd), &mut path[..PATH_LIMIT])?;
    let opened = match path[..length].ends_with(REMOVED) {
        true => copy(fd)?,
        false => sys::open_at(libc::AT_FDCWD, &path[..=length], flags & !libc::O_NOFOLLOW, 0)?,
    };
    // A directory's position cannot be set by everybody's file system, and is mostly its beginning.
    let _ = sys::set_position(opened, position);
    sys::replace(opened, fd, close_on_exec)
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
