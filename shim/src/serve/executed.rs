//! Programs that a run executes: they get the shim, too, which has their memory kept, and tells the daemon.
//!
//! The shim gets into them by the environment, which they do not see any more when they begin. In a plain run the inactive
//! shim goes along in the same way, so that addresses are alike.

use crate::serve::{channel, libraries, server};
use crate::start::config::has_areas;
use crate::start::elf;
use crate::start::main::resolve;
use crate::sys::{self, allocator};
use hearth_shim_abi::{
    CHANNEL_FD, CHILD_EXECUTED, CHILD_FORKED, CHILD_OF_EXECUTED, EXECUTED, INACTIVE, NOTE_ARRIVED,
    NOTE_EXECUTED, NOTE_NOT_EXECUTED, PATH_LIMIT, SHIM_FD, SHIM_PATH,
};
use hearth_shim_pure::elf::NAME_LIMIT;
use hearth_shim_pure::path::descriptor_path;
use hearth_shim_pure::program;
use hearth_shim_pure::variables::{self, CONTROL_LENGTH, PRELOAD, control};
use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Variables that a program's environment can have; with more it is executed without the shim.
const LIMIT: usize = 4096;
/// Most have fewer.
const FEW: usize = 200;
/// The longest list of libraries to preload, in bytes; with a longer one a program is executed without the shim.
const PRELOAD_LIMIT: usize = 512;
/// The path of an inactive shim.
const PLAIN_PATH: &str = "/proc/self/fd/201";
const _: () = assert!(PLAIN_PATH.len() == SHIM_PATH.len() && SHIM_FD == 201);

/// What the shim is in this process.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// It has not begun, or nobody counts.
    None = 0,
    /// It does nothing, and goes along.
    Inactive = 1,
    /// A run whose counters are wanted, or a process of one.
    Counted = 2,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::None as u8);
/// Has this process something that could count?
static IS_KEPT: AtomicBool = AtomicBool::new(true);
/// Was it executed, not forked?
static IS_EXECUTED: AtomicBool = AtomicBool::new(false);

/// Sets what the shim is in this process.
pub fn set_mode(mode: Mode) {
    MODE.store(mode as u8, Ordering::Relaxed);
}

/// Could this process have counters?
pub fn is_kept() -> bool {
    IS_KEPT.load(Ordering::Relaxed)
}

fn is(mode: Mode) -> bool {
    MODE.load(Ordering::Relaxed) == mode as u8
}

/// Is this a program that a run has executed, or a process of one?
pub fn is_executed() -> bool {
    IS_EXECUTED.load(Ordering::Relaxed)
}

/// What a process is that is forked here.
pub fn forked() -> u32 {
    if is_executed() { CHILD_OF_EXECUTED } else { CHILD_FORKED }
}

/// In a program that a run has executed, before it begins.
pub fn begin() {
    let is_socket =
        sys::describe(CHANNEL_FD).is_ok_and(|record| record.st_mode & libc::S_IFMT == libc::S_IFSOCK);
    if !is_socket {
        // Who executed it has closed everything. The daemon will notice that it was never heard of.
        return;
    }
    IS_EXECUTED.store(true, Ordering::Relaxed);
    set_mode(Mode::Counted);
    server::become_run();
    channel::begin_executed(CHANNEL_FD);
    resolve();
    IS_KEPT.store(elf::has_process_symbols(libraries::paths()), Ordering::Relaxed);
    allocator::close();
    if is_kept() {
        channel::note_child(CHILD_EXECUTED);
    }
    channel::tell(NOTE_ARRIVED);
}

/// Executes a program: `execute` gets the environment to give it, and returns only if it fails.
///
/// # Safety
/// Name, search path and environment must be what the functions of the C library expect.
pub unsafe fn execute<T: Copy>(
    program: Executable<'_>,
    variables: *const *const c_char,
    has_failed: impl Fn(T) -> bool,
    execute: impl Fn(*const *const c_char) -> T,
) -> T {
    if is(Mode::None) || (is(Mode::Inactive) && !sys::is_open(SHIM_FD)) {
        return execute(variables);
    }
    // SAFETY: the caller hands over an environment.
    match unsafe { count(variables) } {
        // SAFETY: as above. Few programs have more; the stack may be small.
        count if count < FEW => unsafe {
            extend_and_execute::<T, FEW>(program, variables, has_failed, execute)
        },
        // SAFETY: as above.
        _ => unsafe { extend_and_execute::<T, LIMIT>(program, variables, has_failed, execute) },
    }
}

/// How many variables there are.
///
/// # Safety
/// It must be an environment, or null.
unsafe fn count(variables: *const *const c_char) -> usize {
    let mut count = 0;
    // SAFETY: the list ends with a null pointer, at which the loop ends.
    while !variables.is_null() && !unsafe { *variables.wrapping_add(count) }.is_null() {
        count += 1;
    }
    count
}

/// Executes a program with the shim, if it can be had and there are fewer variables than `ROOM`.
///
/// # Safety
/// As for [`execute`].
#[inline(never)]
unsafe fn extend_and_execute<T: Copy, const ROOM: usize>(
    program: Executable<'_>,
    variables: *const *const c_char,
    has_failed: impl Fn(T) -> bool,
    execute: impl Fn(*const *const c_char) -> T,
) -> T {
    // Without areas the shim is nowhere to be found.
    let is_reached = is(Mode::Inactive) || has_areas();
    let (can_preload, first, first_length) = inspect(program);
    let mut list = [ptr::null(); ROOM];
    let mut preload = [0_u8; PRELOAD_LIMIT];
    let first = &first[..first_length];
    // SAFETY: the caller hands over an environment.
    let is_listed = is_reached && can_preload && unsafe { extend(variables, first, &mut list, &mut preload) };
    if is(Mode::Counted) {
        channel::tell(NOTE_EXECUTED);
    }
    let result = execute(if is_listed { list.as_ptr() } else { variables });
    if is(Mode::Counted) && has_failed(result) {
        let error = sys::errno();
        channel::tell(NOTE_NOT_EXECUTED);
        if is_kept() {
            channel::note_copy();
        }
        sys::set_errno(error);
    }
    result
}

/// Can libraries be preloaded into a program, and which must be the first?
#[inline(never)]
fn inspect(program: Executable<'_>) -> (bool, [u8; NAME_LIMIT], usize) {
    let mut buffer = [0_u8; PATH_LIMIT + 1];
    let mut name = [0; NAME_LIMIT];
    // What is no program of this machine's is a script, or fails.
    let Some(file) = program.find(&mut buffer).and_then(elf::File::open) else { return (true, name, 0) };
    let contents = file.contents();
    let first = contents.first_library().unwrap_or_default();
    name[..first.len()].copy_from_slice(first);
    (contents.is_dynamic(), name, first.len())
}

/// Which program is executed.
#[derive(Clone, Copy)]
pub enum Executable<'p> {
    /// The one at a path, or that is found by a name.
    Named(&'p CStr, &'p [u8]),
    /// One that is open.
    Open(c_int),
    /// The shell.
    Shell,
}

impl Executable<'_> {
    fn find(self, buffer: &mut [u8]) -> Option<&[u8]> {
        match self {
            Self::Named(name, search) => program::find(name.to_bytes(), search, buffer, sys::may_execute),
            Self::Open(fd) => {
                let path = descriptor_path(fd);
                buffer.get_mut(..path.len())?.copy_from_slice(&path);
                Some(&buffer[..path.len()])
            }
            Self::Shell => None,
        }
    }
}

/// Copies an environment, with what brings the shim along. False if it does not fit.
///
/// # Safety
/// It must be an environment, or null.
unsafe fn extend(
    environment: *const *const c_char,
    first: &[u8],
    list: &mut [*const c_char],
    preload: &mut [u8; PRELOAD_LIMIT],
) -> bool {
    let mut count = 0;
    let mut given: &[u8] = b"";
    let mut next = environment;
    // SAFETY: the list ends with a null pointer, at which the loop ends.
    while !next.is_null() && !unsafe { *next }.is_null() {
        // SAFETY: it is one of the list.
        let variable = unsafe { *next };
        // SAFETY: the list consists of C strings.
        match unsafe { CStr::from_ptr(variable) }.to_bytes().strip_prefix(PRELOAD) {
            Some(value) => given = value,
            None if count + 3 >= list.len() => return false,
            None => {
                list[count] = variable;
                count += 1;
            }
        }
        // SAFETY: the entry was not the last.
        next = unsafe { next.add(1) };
    }
    let (path, control) = if is(Mode::Inactive) { (PLAIN_PATH, &OFF) } else { (SHIM_PATH, &ON) };
    if variables::write_preload(first, path, given, preload).is_none() {
        return false;
    }
    list[count] = preload.as_ptr().cast();
    list[count + 1] = control.as_ptr().cast();
    list[count + 2] = ptr::null();
    true
}

static ON: [u8; CONTROL_LENGTH] = control(EXECUTED);
static OFF: [u8; CONTROL_LENGTH] = control(INACTIVE);
