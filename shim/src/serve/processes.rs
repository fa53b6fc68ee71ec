//! The C library's functions that make processes, and what a subject asks about its own.

use crate::files::memory;
use crate::serve::{channel, executed, keeper, server};
use crate::start::real::{Real, real};
use crate::sys;
use hearth_shim_abi::NOTE_UNKEPT;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

static FORK: Real = Real::new(c"fork");
static RAW_FORK: Real = Real::new(c"_Fork");
static DAEMON: Real = Real::new(c"daemon");
static CLONE: Real = Real::new(c"clone");
/// See [`were_others_made`].
static OTHERS_MADE: AtomicBool = AtomicBool::new(false);
/// See [`was_pid_asked`].
static PID_ASKED: AtomicBool = AtomicBool::new(false);

/// Finds the functions before the warm point: looking them up may allocate.
pub fn resolve() {
    for real in [&FORK, &RAW_FORK, &DAEMON, &CLONE] {
        real.address();
    }
}

/// What a process tells the one that it was made of if it cannot tell the daemon anything.
const UNTOLD: u8 = u8::MAX;

/// Forks. The counters of the new process count, too: its memory is kept as the run's is. All have keepers, also those that
/// cannot count: a run has as many processes as it may have, and no bomb goes off faster than it can be ended.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> c_int {
    note_early();
    if !memory::is_active() || !server::is_run() {
        return real!(FORK, fn() -> c_int,);
    }
    // The keeper counts as a process, so the next fork waits until this one's is there.
    let pipe = sys::pipe();
    let tries_before = keeper::tries_left();
    let pid = real!(FORK, fn() -> c_int,);
    match pid {
        0 => channel::note_child(executed::forked()),
        -1 => {}
        _ => channel::note_fork(),
    }
    if let Ok([reader, writer]) = pipe {
        let error = sys::errno();
        if pid == 0 {
            // It tells how often it has tried, or that it cannot tell the daemon anything.
            let tries = tries_before.saturating_sub(keeper::tries_left());
            let tries = if channel::is_untold() { UNTOLD } else { u8::try_from(tries).unwrap_or(UNTOLD - 1) };
            let _ = sys::write(writer, &[tries]);
        }
        sys::close(writer);
        if pid > 0 {
            let mut tries = [0];
            while sys::read(reader, &mut tries) == Err(libc::EINTR) {}
            match tries[0] {
                UNTOLD => channel::set_untold(),
                tries => keeper::spend_tries(tries.into()),
            }
        }
        sys::close(reader);
        sys::set_errno(error);
    }
    pid
}

/// Where the C library's `_Fork` is; 0 if it has none.
pub fn raw_fork() -> usize {
    RAW_FORK.address()
}

/// Tells the daemon of a process that is made without [`fork`]: its memory is not kept.
fn note_unkept() {
    note_early();
    if memory::is_active() && server::is_run() {
        channel::tell(NOTE_UNKEPT);
    }
}

/// Forks without calling handlers.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Fork() -> c_int {
    note_unkept();
    real!(RAW_FORK, fn() -> c_int,)
}

/// Goes on in a process without a terminal.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daemon(stays: c_int, keeps_streams: c_int) -> c_int {
    note_unkept();
    real!(DAEMON, fn(c_int, c_int) -> c_int, stays, keeps_streams)
}

/// Makes a thread or a process. The last three arguments need not be there; then nobody looks at them.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clone(
    function: *mut c_void,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: *mut c_void,
    storage: *mut c_void,
    child: *mut c_void,
) -> c_int {
    if flags & libc::CLONE_VM == 0 {
        note_unkept();
    }
    real!(
        CLONE,
        fn(*mut c_void, *mut c_void, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int,
        function,
        stack,
        flags,
        argument,
        parent,
        storage,
        child
    )
}

/// Tells the number of the process, and notices when that is asked before the warm point: runs have other numbers.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpid() -> c_int {
    if server::is_early() {
        PID_ASKED.store(true, Ordering::Relaxed);
    }
    sys::pid()
}

/// Was the number of the process asked for before the warm point?
pub fn was_pid_asked() -> bool {
    PID_ASKED.load(Ordering::Relaxed)
}

/// Were processes made, or programs executed, before the warm point?
pub fn were_others_made() -> bool {
    OTHERS_MADE.load(Ordering::Relaxed)
}

/// Takes note of what is done before the warm point.
pub fn note_early() {
    if server::is_early() {
        OTHERS_MADE.store(true, Ordering::Relaxed);
    }
}
