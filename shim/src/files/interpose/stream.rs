//! Opens streams.

use crate::files::{input, memory, path};
use crate::start::real::{Real, real};
use crate::sys::{self, Result};
use hearth_shim_pure::flags;
use hearth_shim_pure::path::descriptor_path;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;

pub static FOPEN: Real = Real::new(c"fopen");
pub static FREOPEN: Real = Real::new(c"freopen");
pub static TMPFILE: Real = Real::new(c"tmpfile");

/// Opens a stream.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: the arguments are the caller's own.
    match unsafe { open_for_stream(path, mode) } {
        // SAFETY: the descriptor is open, and the mode a C string.
        Some(Ok(fd)) => unsafe { libc::fdopen(fd, mode) },
        Some(Err(error)) => {
            sys::set_errno(error);
            ptr::null_mut()
        }
        None => real!(FOPEN, fn(*const c_char, *const c_char) -> *mut libc::FILE, path, mode),
    }
}

/// Opens a stream.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: the arguments are the caller's own. On x86-64 the two functions are the same.
    unsafe { fopen(path, mode) }
}

/// Opens a stream in place of another.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn freopen(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut libc::FILE,
) -> *mut libc::FILE {
    let reopen = |path: *const c_char, mode: *const c_char| {
        real!(
            FREOPEN,
            fn(*const c_char, *const c_char, *mut libc::FILE) -> *mut libc::FILE,
            path,
            mode,
            stream
        )
    };
    // SAFETY: the arguments are the caller's own.
    match unsafe { open_for_stream(path, mode) } {
        None => reopen(path, mode),
        Some(Ok(fd)) => {
            // The C library opens a file in memory by its descriptor's path.
            let result = reopen(descriptor_path(fd).as_ptr().cast(), mode);
            sys::close(fd);
            result
        }
        Some(Err(error)) => {
            // A stream that cannot be opened is closed.
            reopen(c"".as_ptr(), c"r".as_ptr());
            sys::set_errno(error);
            ptr::null_mut()
        }
    }
}

/// Opens a stream in place of another.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn freopen64(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut libc::FILE,
) -> *mut libc::FILE {
    // SAFETY: the arguments are the caller's own. On x86-64 the two functions are the same.
    unsafe { freopen(path, mode, stream) }
}

/// Opens a stream on a file without a name.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tmpfile() -> *mut libc::FILE {
    if !memory::is_active() {
        return real!(TMPFILE, fn() -> *mut libc::FILE,);
    }
    match sys::memory_file() {
        // SAFETY: the descriptor is open and the mode terminated.
        Ok(fd) => unsafe { libc::fdopen(fd, c"w+".as_ptr()) },
        Err(error) => {
            sys::set_errno(error);
            ptr::null_mut()
        }
    }
}

/// Opens a file that is kept in memory, for a stream; `None` if the C library is to open it.
///
/// # Safety
/// Path and mode must be C strings, or null.
unsafe fn open_for_stream(path: *const c_char, mode: *const c_char) -> Option<Result<c_int>> {
    if !memory::is_active() || mode.is_null() {
        return None;
    }
    // SAFETY: the caller hands over C strings.
    let resolved = unsafe { path::resolve(libc::AT_FDCWD, path) }.ok()?;
    // SAFETY: as above.
    let flags = flags::of_mode(unsafe { CStr::from_ptr(mode) }.to_bytes())?;
    input::before_open(&resolved);
    if memory::is_for_kernel(&resolved) && !(flags::can_write(flags) && memory::is_read_only(&resolved)) {
        return None;
    }
    if memory::is_active() { memory::open(&resolved, flags, 0o666) } else { None }
}
