//! The C library's functions that close descriptors. Programs close all that they do not know, and would close the channel with
//! them; for them it is not there.

use crate::serve::channel;
use crate::serve::server;
use crate::start::real::{Real, real};
use crate::sys;
use hearth_shim_abi::CHANNEL_FD;
use std::ffi::{c_int, c_uint};

static CLOSE: Real = Real::new(c"close");
static CLOSE_RANGE: Real = Real::new(c"close_range");

/// Finds the functions before the warm point: looking them up may allocate.
pub fn resolve() {
    for real in [&CLOSE, &CLOSE_RANGE] {
        real.address();
    }
}

fn is_channel(fd: c_int) -> bool {
    fd == CHANNEL_FD && server::is_run() && channel::is_at(fd)
}

/// Closes a descriptor.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    if is_channel(fd) {
        sys::set_errno(libc::EBADF);
        return -1;
    }
    real!(CLOSE, fn(c_int) -> c_int, fd)
}

/// Closes all descriptors from one to another.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let close = |first: c_uint, last: c_uint| {
        real!(CLOSE_RANGE, fn(c_uint, c_uint, c_int) -> c_int, first, last, flags)
    };
    let channel = CHANNEL_FD.unsigned_abs();
    if !(first..=last).contains(&channel) || !is_channel(CHANNEL_FD) {
        return close(first, last);
    }
    let before = if first < channel { close(first, channel - 1) } else { 0 };
    let after = if channel < last { close(channel + 1, last) } else { 0 };
    if before == 0 { after } else { before }
}

/// Closes all descriptors from one on.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn closefrom(first: c_int) {
    // SAFETY: the call takes numbers, as the C library's own does.
    unsafe { close_range(first.max(0).unsigned_abs(), c_uint::MAX, 0) };
}
