//! Finds the paths of files without symbolic links.

use super::target;
use crate::files::path;
use crate::files::table::Target;
use crate::start::real::{Real, real};
use crate::sys;
use hearth_shim_pure::path::{Path, append};
use std::ffi::c_char;
use std::ptr;

pub static REALPATH: Real = Real::new(c"realpath");

/// Finds the path of a file without symbolic links. A file in memory is found where its directory is; compilers
/// compare their input's path with their output's in this way.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realpath(path: *const c_char, result: *mut c_char) -> *mut c_char {
    // SAFETY: the arguments are the caller's own.
    match unsafe { target(libc::AT_FDCWD, path) } {
        Target::Real => return real!(REALPATH, fn(*const c_char, *mut c_char) -> *mut c_char, path, result),
        // SAFETY: as above.
        Target::Memory(_) => match unsafe { path::resolve(libc::AT_FDCWD, path) } {
            // SAFETY: the result has room for any path, or is null.
            Ok(resolved) => return unsafe { real_path_in_memory(&resolved, result) },
            Err(error) => sys::set_errno(error),
        },
        Target::Removed => sys::set_errno(libc::ENOENT),
    }
    ptr::null_mut()
}

/// The same as compilers call it that check sizes; a path is never longer than what they give.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __realpath_chk(
    path: *const c_char,
    result: *mut c_char,
    room: usize,
) -> *mut c_char {
    if room < libc::PATH_MAX as usize {
        sys::die("hearth: the subject gives realpath too little room\n");
    }
    // SAFETY: the arguments are the caller's own.
    unsafe { realpath(path, result) }
}

/// The same with a result that is allocated.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
    // SAFETY: the path is the caller's own.
    unsafe { realpath(path, ptr::null_mut()) }
}

/// The real path of a file in memory. Without a place for the result one is allocated for the subject, of the size that
/// the C library would have: addresses of what it allocates later show in counts.
unsafe fn real_path_in_memory(path: &Path, result: *mut c_char) -> *mut c_char {
    let mut buffer = [0_u8; libc::PATH_MAX as usize];
    let start: *mut c_char = buffer.as_mut_ptr().cast();
    let parent = path.parent();
    let directory: *const c_char = parent.terminated().as_ptr().cast();
    if real!(REALPATH, fn(*const c_char, *mut c_char) -> *mut c_char, directory, start).is_null() {
        return ptr::null_mut();
    }
    let Some(length) = append(&mut buffer, path.name()) else {
        sys::set_errno(libc::ENAMETOOLONG);
        return ptr::null_mut();
    };
    let result = match result.is_null() {
        // SAFETY: the subject allocates by this call, as it would inside of the C library's function.
        true => unsafe { libc::malloc(length + 1) }.cast(),
        false => result,
    };
    if !result.is_null() {
        // SAFETY: there is room for that many bytes, and nobody else knows the buffer.
        unsafe { ptr::copy_nonoverlapping(buffer.as_ptr().cast(), result, length + 1) };
    }
    result
}
