//! Opens files.

use super::conclude;
use crate::files::{input, memory, path};
use crate::sys::{self, Result};
use std::ffi::{c_char, c_int};

macro_rules! open_functions {
    ($($name:ident, $name_at:ident: $extra:expr;)*) => {$(
        /// Opens a file. The mode is there only if the flags say so; an argument too many is harmless.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: u32) -> c_int {
            // SAFETY: the arguments are the caller's own.
            conclude(unsafe { open_at(libc::AT_FDCWD, path, flags | $extra, mode) })
        }

        /// Opens a file, as above.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name_at(
            directory: c_int, path: *const c_char, flags: c_int, mode: u32,
        ) -> c_int {
            // SAFETY: the arguments are the caller's own.
            conclude(unsafe { open_at(directory, path, flags | $extra, mode) })
        }
    )*};
}

open_functions!(
    open, openat: 0;
    open64, openat64: libc::O_LARGEFILE;
    __open_2, __openat_2: 0;
    __open64_2, __openat64_2: libc::O_LARGEFILE;
);

/// Creates a file.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn creat(path: *const c_char, mode: u32) -> c_int {
    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
    // SAFETY: the arguments are the caller's own.
    conclude(unsafe { open_at(libc::AT_FDCWD, path, flags, mode) })
}

/// Creates a file.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn creat64(path: *const c_char, mode: u32) -> c_int {
    // SAFETY: the arguments are the caller's own.
    unsafe { creat(path, mode) }
}

/// Opens a file as `openat` would.
unsafe fn open_at(directory: c_int, path: *const c_char, flags: c_int, mode: u32) -> Result<c_int> {
    if memory::is_active()
        // SAFETY: the caller hands over what it was called with.
        && let Ok(resolved) = unsafe { path::resolve(directory, path) }
    {
        input::before_open(&resolved);
        if memory::is_for_kernel(&resolved) {
            // SAFETY: as above.
            let opened = unsafe { sys::open_raw(directory, path, flags, mode) };
            if !opened.is_err_and(memory::is_outside) {
                return opened;
            }
        }
        if memory::is_active()
            && let Some(opened) = memory::open(&resolved, flags, mode)
        {
            return opened;
        }
    }
    // SAFETY: as above.
    unsafe { sys::open_raw(directory, path, flags, mode) }
}
