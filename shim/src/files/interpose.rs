//! The C library's functions that take a path.
//!
//! Each asks `memory` first, in a run, and else does what the C library's own does. All are the subject's to
//! call at any time, from any thread and from constructors before the shim has started.

mod change;
mod describe;
mod open;
mod real_path;
mod stream;
mod temporary;

use crate::files::table::Target;
use crate::files::{memory, path};
use crate::sys::{self, Result};
use std::ffi::{c_char, c_int};

/// Finds the functions before the warm point: looking them up may allocate.
pub fn resolve() {
    let all =
        [&stream::FOPEN, &stream::FREOPEN, &stream::TMPFILE, &temporary::MKOSTEMPS, &real_path::REALPATH];
    for real in all {
        real.address();
    }
}

/// Returns as the C library does: -1 and `errno` for an error.
fn conclude(result: Result<c_int>) -> c_int {
    result.unwrap_or_else(|error| {
        sys::set_errno(error);
        -1
    })
}

/// What a path stands for in a run.
unsafe fn target(directory: c_int, path: *const c_char) -> Target {
    if !memory::is_active() {
        return Target::Real;
    }
    // SAFETY: the caller hands over what it was called with.
    unsafe { path::resolve(directory, path) }.map_or(Target::Real, |path| memory::find(&path))
}
