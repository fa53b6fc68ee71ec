//! The paths that the C library's functions are called with.

use crate::sys::{self, Result};
use hearth_shim_pure::path::{Path, descriptor_path};
use std::ffi::{CStr, c_char, c_int};

/// The path that the C library's functions mean by a directory and a path.
///
/// # Safety
/// The path must be a C string.
pub unsafe fn resolve(directory: c_int, path: *const c_char) -> Result<Path> {
    if path.is_null() {
        return Err(libc::EFAULT);
    }
    // SAFETY: the caller hands over a C string.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    Path::absolute(path, |buffer| match directory {
        libc::AT_FDCWD => sys::working_directory(buffer),
        _ => sys::read_link(&descriptor_path(directory), buffer),
    })
}
