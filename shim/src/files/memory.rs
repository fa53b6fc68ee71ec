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

use crate::files::path::{Path, descriptor_path};
use crate::serve::{executed, keeper, server};
use crate::start::main;
use crate::sys::{self, Result, message};
use hearth_shim_abi::{
    CRASH_PATH, FILE_LIMIT, NOTE_CHILD, NOTE_COPY, NOTE_FILE, NOTE_FORKED, NOTE_REMOVED, NOTE_UNKEPT,
    NOTE_UNLOADED, Note, PROGRAM_PATH, WARM_INPUT,
};
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// How the names of gcov's data files end.
const DATA_EXTENSION: &[u8] = b".gcda";

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

/// Descriptors of files in memory that were opened before the warm point; the rest is -1.
static EARLY: [AtomicI32; FILE_LIMIT] = [const { AtomicI32::new(-1) }; FILE_LIMIT];

/// The socket for notes; -1 outside of a run.
static CHANNEL: AtomicI32 = AtomicI32::new(-1);
/// The input's bytes; -1 if there are none.
static INPUT: AtomicI32 = AtomicI32::new(-1);
/// See [`was_input_opened`].
static INPUT_OPENED: AtomicBool = AtomicBool::new(false);
/// Has a fork been told?
static FORKED: AtomicBool = AtomicBool::new(false);
/// Is this a process that a run has made of itself?
static IS_CHILD: AtomicBool = AtomicBool::new(false);
/// Is a library being unloaded?
static UNLOADING: AtomicBool = AtomicBool::new(false);
/// Has it been told that a process could not be kept?
static UNKEPT: AtomicBool = AtomicBool::new(false);
/// Names that are tried for a temporary file.
const TEMPORARY_TRIES: usize = 100_000;

/// For names of temporary files.
static TEMPORARY: AtomicI32 = AtomicI32::new(0);

/// Makes the files a run's own. It may be one that does not find the file of its own program.
pub fn begin(channel: c_int, input: c_int, hides_program: bool) -> Result<()> {
    CHANNEL.store(channel, Ordering::Relaxed);
    if input >= 0 && !put_input(input) {
        INPUT.store(input, Ordering::Relaxed);
    }
    // A run that begins has one thread, so the table can be used in parts.
    let count = with_table(|_, count| *count);
    for index in 0..count {
        if let Entry { path, target: Target::Memory(old) } = with_table(|entries, _| entries[index]) {
            copy_early_file(&path, old)?;
        }
    }
    if hides_program {
        // SAFETY: it is a C string.
        let program = unsafe { Path::resolve(libc::AT_FDCWD, PROGRAM_PATH.as_ptr()) }?;
        set(&program, Target::Removed)?;
    }
    Ok(())
}

/// Writes the input where the run, and all that it executes, will find it. Says whether that is possible.
fn put_input(input: c_int) -> bool {
    let Some(config) = main::config().filter(|config| config.has_areas != 0) else { return false };
    let Some(path) = config.input.get(..=config.input_length as usize) else { return false };
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
    let is_new = sys::mode_of(path).is_err();
    let Ok(fd) = sys::open_at(libc::AT_FDCWD, path, flags, 0o644) else { return false };
    let copied = sys::copy(input, fd);
    if is_new {
        // Whatever mask the subject has set for its own.
        let _ = sys::change_mode(fd, 0o644);
    }
    sys::close(fd);
    if copied.is_ok() {
        sys::close(input);
    }
    copied.is_ok()
}

/// Gives the run its own copy of a file that was opened before the warm point, at all its descriptors.
fn copy_early_file(path: &Path, old: c_int) -> Result<()> {
    let fd = create(path, sys::describe(old)?.st_mode)?;
    let from = reopen(old, libc::O_RDONLY)?;
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
        let own = reopen(fd, flags)?;
        sys::set_position(own, position)?;
        sys::move_to(own, number)?;
    }
    sys::close(old);
    Ok(())
}

/// Is this the socket for notes?
pub fn is_channel(fd: c_int) -> bool {
    CHANNEL.load(Ordering::Relaxed) == fd
}

/// Is this a descriptor of a file in memory that was opened before the warm point?
pub fn is_early_descriptor(fd: c_int) -> bool {
    EARLY.iter().any(|early| early.load(Ordering::Relaxed) == fd)
}

/// Are files kept in memory?
pub fn is_active() -> bool {
    CHANNEL.load(Ordering::Relaxed) >= 0 || is_early()
}

/// Is this a subject under Hearth that has not reached its warm point?
fn is_early() -> bool {
    main::config().is_some() && !server::is_warm()
}

/// Waits for runs if a path that is about to be opened is the input, and that is the warm point. A run that opens
/// [`CRASH_PATH`] crashes.
pub fn before_open(path: &Path) {
    if server::is_run() && path.as_bytes() == CRASH_PATH.as_bytes() {
        sys::kill(sys::pid(), libc::SIGSEGV);
    }
    if !server::is_warm()
        && let Some(config) = main::config()
        && is_input(path)
    {
        if config.warm == WARM_INPUT {
            server::serve();
        } else {
            INPUT_OPENED.store(true, Ordering::Relaxed);
        }
    }
}

/// Was the input opened before the warm point? Then no run can have another one.
pub fn was_input_opened() -> bool {
    INPUT_OPENED.load(Ordering::Relaxed)
}

fn is_input(path: &Path) -> bool {
    main::config().is_some_and(|config| {
        config.input_length > 0 && path.as_bytes() == &config.input[..config.input_length as usize]
    })
}

/// Tells the daemon, once, that the run has made another process of itself.
pub fn note_fork() {
    if !FORKED.swap(true, Ordering::Relaxed) {
        // A run that closed the channel goes without.
        let _ = note(NOTE_FORKED, &[], &[]);
    }
}

/// Tells the daemon something that is said by its kind alone.
pub fn tell(kind: u32) {
    let _ = note(kind, &[], &[]);
}

/// Makes the files those of a program that a run has executed. It sees the run's, in areas.
pub fn begin_executed(channel: c_int) {
    IS_CHILD.store(true, Ordering::Relaxed);
    CHANNEL.store(channel, Ordering::Relaxed);
}

/// In a process that has just begun: has its memory kept, and tells the daemon by whom.
pub fn note_child(value: u32) {
    IS_CHILD.store(true, Ordering::Relaxed);
    let mask = sys::set_signal_mask(u64::MAX);
    let kept = keeper::keep_child().and_then(|keeper| {
        let note = Note { kind: NOTE_CHILD, value, process: sys::pid().cast_unsigned(), keeper };
        message::send(CHANNEL.load(Ordering::Relaxed), &note, &[], &[])
    });
    if kept.is_err() && !UNKEPT.swap(true, Ordering::Relaxed) {
        let _ = note(NOTE_UNKEPT, &[], &[]);
    }
    sys::set_signal_mask(mask);
}

/// Has a copy of the memory kept: gcov may be about to set the counters back to zero.
pub fn note_copy() {
    let mask = sys::set_signal_mask(u64::MAX);
    let kept = keeper::keep_copy().and_then(|keeper| {
        let value = u32::from(executed::is_executed());
        let note = Note { kind: NOTE_COPY, value, process: keeper::own(), keeper };
        message::send(CHANNEL.load(Ordering::Relaxed), &note, &[], &[])
    });
    if kept.is_err() && !UNKEPT.swap(true, Ordering::Relaxed) {
        tell(NOTE_UNKEPT);
    }
    sys::set_signal_mask(mask);
}

fn note(kind: u32, text: &[u8], fds: &[c_int]) -> Result<()> {
    if is_early() {
        // Runs will tell of their copies.
        return Ok(());
    }
    message::send(CHANNEL.load(Ordering::Relaxed), &Note { kind, ..Note::default() }, text, fds)
}

/// A library is being unloaded from now on, or is not; says whether one was before.
pub fn set_unloading(is_unloading: bool) -> bool {
    UNLOADING.swap(is_unloading, Ordering::Relaxed)
}

/// What a path stands for.
pub fn find(path: &Path) -> Target {
    let known = with_table(|entries, count| {
        entries[..*count]
            .iter()
            .find(|entry| entry.path.as_bytes() == path.as_bytes())
            .map(|entry| entry.target)
    });
    let input = INPUT.load(Ordering::Relaxed);
    match known {
        Some(target) => target,
        None if input >= 0 && is_input(path) => Target::Memory(input),
        None => Target::Real,
    }
}

/// Is it for the kernel to do something to a path, areas being what they are? It may still refuse; see [`is_outside`].
pub fn is_for_kernel(path: &Path) -> bool {
    main::has_areas() && find(path) == Target::Real && !is_data(path)
}

/// Does the kernel refuse for this reason, so that the shim has to keep the file? It is not in an area, or in a directory that
/// the user cannot have in one.
pub fn is_outside(error: c_int) -> bool {
    main::has_areas() && matches!(error, libc::EROFS | libc::EOVERFLOW)
}

fn is_data(path: &Path) -> bool {
    path.as_bytes().ends_with(DATA_EXTENSION)
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
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
    if flags & libc::O_TMPFILE == libc::O_TMPFILE {
        return Some(sys::memory_file());
    }
    if writes && is_data(path) && UNLOADING.load(Ordering::Relaxed) && server::is_run() {
        let _ = note(NOTE_UNLOADED, path.as_bytes(), &[]);
    }
    // gcov starts anew in a process that was forked, and writes at its end what the daemon reads from its memory.
    if writes && IS_CHILD.load(Ordering::Relaxed) && is_data(path) {
        return Some(sys::memory_file());
    }
    match find(path) {
        Target::Memory(fd) if fd == INPUT.load(Ordering::Relaxed) && writes => {
            Some(copy_and_open(path, flags, mode))
        }
        Target::Memory(_) if flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL => {
            Some(Err(libc::EEXIST))
        }
        Target::Memory(_) if flags & libc::O_DIRECTORY != 0 => Some(Err(libc::ENOTDIR)),
        Target::Memory(fd) => Some(reopen(fd, flags)),
        Target::Removed if flags & libc::O_CREAT == 0 => Some(Err(libc::ENOENT)),
        Target::Removed => Some(create_and_open(path, flags, mode)),
        Target::Real if !writes => None,
        Target::Real => match sys::mode_of(path.terminated()).map(|mode| mode & libc::S_IFMT) {
            // Devices, pipes and sockets are no files; writing to a directory is an error the kernel knows.
            Ok(kind) if kind != libc::S_IFREG => None,
            Ok(_) if flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL => {
                Some(Err(libc::EEXIST))
            }
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

/// Opens a temporary file with a name of its own, written over the last six characters before `suffix`.
pub fn open_temporary(name: &mut [u8], suffix: usize, flags: c_int) -> Result<c_int> {
    let end = name.len().checked_sub(suffix).ok_or(libc::EINVAL)?;
    let place = end.checked_sub(6).ok_or(libc::EINVAL)?;
    if &name[place..end] != b"XXXXXX" {
        return Err(libc::EINVAL);
    }
    let mut terminated = [0_u8; hearth_shim_abi::PATH_LIMIT];
    let flags = flags | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    for _ in 0..TEMPORARY_TRIES {
        let mut number = TEMPORARY.fetch_add(1, Ordering::Relaxed).unsigned_abs();
        for digit in name[place..end].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        terminated.get_mut(..name.len()).ok_or(libc::ENAMETOOLONG)?.copy_from_slice(name);
        // SAFETY: the path fits with at least one NUL behind it, as names are shorter than the limit.
        let path = unsafe { Path::resolve(libc::AT_FDCWD, terminated.as_ptr().cast()) }?;
        let opened = match is_for_kernel(&path) {
            true => sys::open_at(libc::AT_FDCWD, &terminated[..=name.len()], flags, 0o600),
            false => Err(libc::EROFS),
        };
        let opened = match opened {
            Err(error) if error == libc::EROFS || is_outside(error) => open(&path, flags, 0o600),
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

/// Opens a new file in memory. Who makes a file that nobody may write to can write to it.
fn create_and_open(path: &Path, flags: c_int, mode: u32) -> Result<c_int> {
    let fd = create(path, 0o600)?;
    let opened = reopen(fd, flags);
    let _ = sys::change_mode(fd, mode & 0o777 & !sys::creation_mask());
    opened
}

/// A new, empty file in memory at a path.
fn create(path: &Path, mode: u32) -> Result<c_int> {
    let fd = sys::memory_file().and_then(sys::move_up)?;
    let _ = sys::change_mode(fd, mode & 0o777 & !sys::creation_mask());
    // What the daemon cannot be told of would be lost.
    if let Err(error) = note(NOTE_FILE, path.as_bytes(), &[fd]).and_then(|()| set(path, Target::Memory(fd))) {
        sys::close(fd);
        return Err(error);
    }
    Ok(fd)
}

/// Opens a file in memory anew, with a position of its own.
fn reopen(fd: c_int, flags: c_int) -> Result<c_int> {
    let flags = flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW);
    let opened = sys::open_at(libc::AT_FDCWD, &descriptor_path(fd), flags, 0)?;
    if is_early() {
        let room = EARLY.iter().find(|early| early.load(Ordering::Relaxed) < 0).ok_or(libc::ENFILE)?;
        room.store(opened, Ordering::Relaxed);
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
        && fd != INPUT.load(Ordering::Relaxed)
    {
        // Who has it open keeps it; the daemon learns below that it is gone.
        release(fd);
    }
    match sys::mode_of(path.terminated()) {
        // What was never there needs no mark.
        Err(libc::ENOENT) if !is_input(path) => unset(path),
        _ => set(path, Target::Removed)?,
    }
    note(NOTE_REMOVED, path.as_bytes(), &[])
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
    let noted = note(NOTE_FILE, to.as_bytes(), &[fd]);
    Some(noted.and_then(|()| set(to, Target::Memory(fd))).and_then(|()| forget(from)))
}

/// Closes the descriptor of a file in memory that no other path stands for.
fn release(fd: c_int) {
    let names = with_table(|entries, count| {
        entries[..*count].iter().filter(|entry| entry.target == Target::Memory(fd)).count()
    });
    if names <= 1 && !is_early() {
        sys::close(fd);
    }
}

/// Takes a path out of the table.
fn unset(path: &Path) {
    with_table(|entries, count| {
        let known = entries[..*count].iter().position(|entry| entry.path.as_bytes() == path.as_bytes());
        if let Some(index) = known {
            *count -= 1;
            entries[index] = entries[*count];
        }
    });
}

fn set(path: &Path, target: Target) -> Result<()> {
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
