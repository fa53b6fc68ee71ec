//! Describes files, and says whether they may be used.

use super::{conclude, target};
use crate::files::memory;
use crate::files::table::Target;
use crate::sys;
use std::ffi::{c_char, c_int, c_void};

macro_rules! stat_functions {
    ($($name:ident($($before:ident: $type:ty),*) = $flags:expr),*) => {$(
        /// Describes a file.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($before: $type,)* path: *const c_char, record: *mut c_void) -> c_int {
            $(let _ = $before;)*
            // SAFETY: the arguments are the caller's own.
            unsafe { describe(libc::AT_FDCWD, path, record, $flags) }
        }
    )*};
}

stat_functions!(
    stat() = 0, stat64() = 0, lstat() = libc::AT_SYMLINK_NOFOLLOW, lstat64() = libc::AT_SYMLINK_NOFOLLOW,
    __xstat(version: c_int) = 0, __xstat64(version: c_int) = 0,
    __lxstat(version: c_int) = libc::AT_SYMLINK_NOFOLLOW, __lxstat64(version: c_int) = libc::AT_SYMLINK_NOFOLLOW
);

/// Describes a file.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstatat(
    directory: c_int,
    path: *const c_char,
    record: *mut c_void,
    flags: c_int,
) -> c_int {
    // SAFETY: the arguments are the caller's own.
    unsafe { describe(directory, path, record, flags) }
}

/// Describes a file.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstatat64(
    directory: c_int,
    path: *const c_char,
    record: *mut c_void,
    flags: c_int,
) -> c_int {
    // SAFETY: the arguments are the caller's own.
    unsafe { fstatat(directory, path, record, flags) }
}

/// Describes a file, what is asked for alone.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn statx(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mask: u32,
    record: *mut c_void,
) -> c_int {
    let ask = |directory: c_int, path: *const c_char, flags: c_int| {
        let arguments =
            [directory as usize, path as usize, flags as usize, mask as usize, record as usize, 0];
        // SAFETY: path and record are the caller's; bad ones give an error.
        unsafe { sys::call(libc::SYS_statx, arguments) }
    };
    // SAFETY: the arguments are the caller's own.
    let result = match unsafe { target(directory, path) } {
        Target::Removed => Err(libc::ENOENT),
        Target::Memory(fd) => ask(fd, c"".as_ptr(), libc::AT_EMPTY_PATH),
        Target::Real => ask(directory, path, flags),
    };
    conclude(result.map(|_| 0))
}

/// Says whether a file may be used.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the arguments are the caller's own.
    unsafe { faccessat(libc::AT_FDCWD, path, mode, 0) }
}

/// Says whether a file may be used.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn faccessat(
    directory: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: the arguments are the caller's own.
    let result = match unsafe { target(directory, path) } {
        Target::Removed => Err(libc::ENOENT),
        Target::Memory(_) if mode & libc::X_OK != 0 => Err(libc::EACCES),
        Target::Memory(_) => Ok(0),
        Target::Real => {
            let ask = |mode: c_int| {
                let arguments = [directory as usize, path as usize, mode as usize, flags as usize, 0, 0];
                // SAFETY: the path is the caller's; a bad one gives an error.
                unsafe { sys::call(libc::SYS_faccessat, arguments) }
            };
            match ask(mode) {
                // A run may write where it likes, as its files are in memory; the kernel would refuse.
                Err(libc::EROFS) if memory::is_active() => ask(mode & !libc::W_OK),
                answer => answer,
            }
        }
    };
    conclude(result.map(|_| 0))
}

/// Describes a file as `fstatat` would.
unsafe fn describe(directory: c_int, path: *const c_char, record: *mut c_void, flags: c_int) -> c_int {
    // SAFETY: the arguments are the caller's own.
    let result = match unsafe { target(directory, path) } {
        Target::Removed => Err(libc::ENOENT),
        // SAFETY: the caller's record has room for what the kernel writes.
        Target::Memory(fd) => unsafe {
            sys::call(libc::SYS_fstat, [fd as usize, record as usize, 0, 0, 0, 0])
        },
        Target::Real => {
            let arguments = [directory as usize, path as usize, record as usize, flags as usize, 0, 0];
            // SAFETY: as above.
            unsafe { sys::call(libc::SYS_newfstatat, arguments) }
        }
    };
    conclude(result.map(|_| 0))
}
