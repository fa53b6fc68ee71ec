//! The files of a run: its input, substituted, and whatever it writes, kept in memory.
//!
//! A file is known by its absolute path. The first time a path is opened for writing it gets a file in
//! memory, with the contents of the real one if there is one; the daemon is handed a descriptor of it at once,
//! so nothing is lost however the run ends. A removed file is remembered as such.
//!
//! What a subject opens before its warm point is a file in memory, too; each run begins with copies of its own.
//!
//! Where the sandbox has areas, in which the kernel itself keeps in memory what is written, all this is for what lies outside
//! of them: the shim stands in where the kernel refuses.

use crate::files::table::{self, Target};
use crate::files::{data, early, input, path};
use crate::serve::{channel, libraries, server};
use crate::start::config::has_areas;
use crate::sys::{self, Result};
use hearth_shim_abi::{NOTE_FILE, NOTE_REMOVED, NOTE_UNLOADED, PROGRAM_PATH};
use hearth_shim_pure::flags::{can_change, is_nameless, must_create};
use hearth_shim_pure::path::{Path, descriptor_path};
use std::ffi::c_int;

/// Makes the files a run's own. It may be one that does not find the file of its own program.
pub fn begin(channel: c_int, input: c_int, hides_program: bool) -> Result<()> {
    channel::begin(channel);
    input::begin(input);
    // A run that begins has one thread, so the table can be used in parts.
    for index in 0..table::count() {
        if let (path, Target::Memory(old)) = table::entry(index) {
            early::copy(&path, old)?;
        }
    }
    if hides_program {
        // SAFETY: it is a C string.
        let program = unsafe { path::resolve(libc::AT_FDCWD, PROGRAM_PATH.as_ptr()) }?;
        table::set(&program, Target::Removed)?;
    }
    Ok(())
}

/// Are files kept in memory?
pub fn is_active() -> bool {
    channel::is_there() || server::is_early()
}

/// What a path stands for.
pub fn find(path: &Path) -> Target {
    let known = table::get(path);
    let input = input::descriptor();
    match known {
        Some(target) => target,
        None if input >= 0 && input::is_at(path) => Target::Memory(input),
        None => Target::Real,
    }
}

/// Is it for the kernel to do something to a path, areas being what they are? It may still refuse; see [`is_outside`].
pub fn is_for_kernel(path: &Path) -> bool {
    has_areas() && find(path) == Target::Real && !path.is_data_file()
}

/// Does the kernel refuse for this reason, so that the shim has to keep the file? It is not in an area, or in a directory that
/// the user cannot have in one.
pub fn is_outside(error: c_int) -> bool {
    has_areas() && matches!(error, libc::EROFS | libc::EOVERFLOW)
}

/// Can the kernel not write a path, because it is not in an area?
pub fn is_read_only(path: &Path) -> bool {
    match sys::may_write(path.terminated()) {
        Err(libc::ENOENT) => sys::may_write(path.parent().terminated()),
        answer => answer,
    }
    .is_err_and(is_outside)
}

/// Opens a path that is not to be left to the kernel; `None` if it is.
pub fn open(path: &Path, flags: c_int, mode: u32) -> Option<Result<c_int>> {
    let writes = can_change(flags);
    if is_nameless(flags) {
        return Some(sys::memory_file());
    }
    if writes && path.is_data_file() && libraries::is_unloading() && server::is_run() {
        let _ = channel::note(NOTE_UNLOADED, path.as_bytes(), &[]);
    }
    // gcov starts anew in a process that was forked, and writes at its end what the daemon reads from its memory.
    if writes && channel::is_child() && path.is_data_file() {
        data::note_writing(path);
        return Some(sys::memory_file());
    }
    match find(path) {
        Target::Memory(fd) if fd == input::descriptor() && writes => Some(copy_and_open(path, flags, mode)),
        Target::Memory(_) if must_create(flags) => Some(Err(libc::EEXIST)),
        Target::Memory(_) if flags & libc::O_DIRECTORY != 0 => Some(Err(libc::ENOTDIR)),
        Target::Memory(fd) => Some(reopen(fd, flags)),
        Target::Removed if flags & libc::O_CREAT == 0 => Some(Err(libc::ENOENT)),
        Target::Removed => Some(create_and_open(path, flags, mode)),
        Target::Real if !writes => None,
        Target::Real => match sys::mode_of(path.terminated()).map(|mode| mode & libc::S_IFMT) {
            // Devices, pipes and sockets are no files; writing to a directory is an error the kernel knows.
            Ok(kind) if kind != libc::S_IFREG => None,
            Ok(_) if must_create(flags) => Some(Err(libc::EEXIST)),
            Ok(_) => Some(copy_and_open(path, flags, mode)),
            Err(_) if flags & libc::O_CREAT == 0 => Some(Err(libc::ENOENT)),
            Err(_) => match sys::mode_of(path.parent().terminated()) {
                Ok(_) => Some(create_and_open(path, flags, mode)),
                Err(error) => Some(Err(error)),
            },
        },
    }
}

/// Opens a file in memory that begins as a copy of the real one, or of the input.
fn copy_and_open(path: &Path, flags: c_int, mode: u32) -> Result<c_int> {
    let from = match find(path) {
        Target::Memory(input) => reopen(input, libc::O_RDONLY)?,
        _ => sys::open_at(libc::AT_FDCWD, path.terminated(), libc::O_RDONLY | libc::O_CLOEXEC, 0)?,
    };
    let created = create(path, mode | 0o600);
    if let Ok(fd) = created
        && flags & libc::O_TRUNC == 0
    {
        sys::copy(from, fd)?;
    }
    sys::close(from);
    created.and_then(|fd| reopen(fd, flags))
}

/// Opens a new file in memory. Who makes a file that nobody may write to can write to it.
fn create_and_open(path: &Path, flags: c_int, mode: u32) -> Result<c_int> {
    let fd = create(path, 0o600)?;
    let opened = reopen(fd, flags);
    let _ = sys::change_mode(fd, mode & 0o777 & !sys::creation_mask());
    opened
}

/// A new, empty file in memory at a path.
pub fn create(path: &Path, mode: u32) -> Result<c_int> {
    let fd = sys::memory_file().and_then(sys::move_up)?;
    let _ = sys::change_mode(fd, mode & 0o777 & !sys::creation_mask());
    // What the daemon cannot be told of would be lost.
    if let Err(error) =
        channel::note(NOTE_FILE, path.as_bytes(), &[fd]).and_then(|()| table::set(path, Target::Memory(fd)))
    {
        sys::close(fd);
        return Err(error);
    }
    Ok(fd)
}

/// Opens a file in memory anew, with a position of its own.
pub fn reopen(fd: c_int, flags: c_int) -> Result<c_int> {
    let flags = flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW);
    let opened = sys::open_at(libc::AT_FDCWD, &descriptor_path(fd), flags, 0)?;
    if server::is_early() {
        early::remember(opened)?;
    }
    Ok(opened)
}

/// Removes a file; `None` if that is to be left to the kernel.
pub fn remove(path: &Path) -> Option<Result<()>> {
    match find(path) {
        Target::Removed => Some(Err(libc::ENOENT)),
        Target::Memory(_) => Some(forget(path)),
        Target::Real => match sys::mode_of(path.terminated()).map(|mode| mode & libc::S_IFMT) {
            Ok(libc::S_IFREG) => Some(forget(path)),
            _ => None,
        },
    }
}

fn forget(path: &Path) -> Result<()> {
    if let Target::Memory(fd) = find(path)
        && fd != input::descriptor()
    {
        // Who has it open keeps it; the daemon learns below that it is gone.
        release(fd);
    }
    match sys::mode_of(path.terminated()) {
        // What was never there needs no mark.
        Err(libc::ENOENT) if !input::is_at(path) => table::unset(path),
        _ => table::set(path, Target::Removed)?,
    }
    channel::note(NOTE_REMOVED, path.as_bytes(), &[])
}

/// Renames a file; `None` if that is to be left to the kernel.
pub fn rename(from: &Path, to: &Path) -> Option<Result<()>> {
    let fd = match find(from) {
        Target::Removed => return Some(Err(libc::ENOENT)),
        Target::Memory(fd) => fd,
        Target::Real => match sys::mode_of(from.terminated()).map(|mode| mode & libc::S_IFMT) {
            Ok(libc::S_IFREG) => match copy_and_open(from, libc::O_RDONLY, 0o644) {
                Ok(opened) => {
                    sys::close(opened);
                    match find(from) {
                        Target::Memory(fd) => fd,
                        _ => return Some(Err(libc::EIO)),
                    }
                }
                Err(error) => return Some(Err(error)),
            },
            _ => return None,
        },
    };
    let noted = channel::note(NOTE_FILE, to.as_bytes(), &[fd]);
    Some(noted.and_then(|()| table::set(to, Target::Memory(fd))).and_then(|()| forget(from)))
}

/// Closes the descriptor of a file in memory that no other path stands for.
fn release(fd: c_int) {
    if table::name_count(fd) <= 1 && !server::is_early() {
        sys::close(fd);
    }
}
