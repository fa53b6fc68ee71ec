//! The input of a run: its bytes stand in for those of the file at the input path.

use crate::serve::server;
use crate::start::config::config;
use crate::sys;
use hearth_shim_abi::{CRASH_PATH, WARM_INPUT};
use hearth_shim_pure::path::Path;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The input's bytes; -1 if there are none.
static INPUT: AtomicI32 = AtomicI32::new(-1);
/// See [`was_opened`].
static OPENED: AtomicBool = AtomicBool::new(false);

/// Gives a run its input: bytes in memory, or -1 if it has none of its own.
pub fn begin(input: c_int) {
    if input >= 0 && !put(input) {
        INPUT.store(input, Ordering::Relaxed);
    }
}

/// The descriptor of the input's bytes; -1 if there are none, or if they are where the run finds them by itself.
pub fn descriptor() -> c_int {
    INPUT.load(Ordering::Relaxed)
}

/// Is it the path of the input?
pub fn is_at(path: &Path) -> bool {
    config().is_some_and(|config| {
        config.input_length > 0 && path.as_bytes() == &config.input[..config.input_length as usize]
    })
}

/// Waits for runs if a path that is about to be opened is the input, and that is the warm point. A run that opens
/// [`CRASH_PATH`] crashes.
pub fn before_open(path: &Path) {
    if server::is_run() && path.as_bytes() == CRASH_PATH.as_bytes() {
        sys::kill(sys::pid(), libc::SIGSEGV);
    }
    if !server::is_warm()
        && let Some(config) = config()
        && is_at(path)
    {
        if config.warm == WARM_INPUT {
            server::serve();
        } else {
            OPENED.store(true, Ordering::Relaxed);
        }
    }
}

/// Was the input opened before the warm point? Then no run can have another one.
pub fn was_opened() -> bool {
    OPENED.load(Ordering::Relaxed)
}

/// Writes the input where the run, and all that it executes, will find it. Says whether that is possible.
fn put(input: c_int) -> bool {
    let Some(config) = config().filter(|config| config.has_areas != 0) else { return false };
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
