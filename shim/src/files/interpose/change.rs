//! Removes and renames files, and changes their permissions.

use super::{conclude, target};
use crate::files::table::Target;
use crate::files::{memory, path};
use crate::sys;
use std::ffi::{c_char, c_int};

/// Removes a file, or a directory with `AT_REMOVEDIR`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlinkat(directory: c_int, path: *const c_char, flags: c_int) -> c_int {
    let remove = || {
        let arguments = [directory as usize, path as usize, flags as usize, 0, 0, 0];
        // SAFETY: the path is the caller's; a bad one gives an error.
        unsafe { sys::call(libc::SYS_unlinkat, arguments) }.map(drop)
    };
    if memory::is_active()
        && flags == 0
        // SAFETY: the arguments are the caller's own.
        && let Ok(resolved) = unsafe { path::resolve(directory, path) }
    {
        let for_kernel = memory::is_for_kernel(&resolved).then(remove);
        let removed = match for_kernel {
            Some(removed) if !removed.is_err_and(memory::is_outside) => Some(removed),
            _ => memory::remove(&resolved),
        };
        if let Some(removed) = removed {
            return conclude(removed.map(|()| 0));
        }
    }
    conclude(remove().map(|()| 0))
}

/// Removes a file.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the arguments are the caller's own.
    unsafe { unlinkat(libc::AT_FDCWD, path, 0) }
}

/// Removes a file or a directory.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remove(path: *const c_char) -> c_int {
    // SAFETY: the arguments are the caller's own.
    let code = unsafe { unlinkat(libc::AT_FDCWD, path, 0) };
    if code == 0 || sys::errno() != libc::EISDIR {
        return code;
    }
    // SAFETY: as above.
    unsafe { unlinkat(libc::AT_FDCWD, path, libc::AT_REMOVEDIR) }
}

/// Renames a file.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn renameat(
    from_directory: c_int,
    from: *const c_char,
    to_directory: c_int,
    to: *const c_char,
) -> c_int {
    let rename = || {
        let arguments = [from_directory as usize, from as usize, to_directory as usize, to as usize, 0, 0];
        // SAFETY: the paths are the caller's; bad ones give an error.
        unsafe { sys::call(libc::SYS_renameat, arguments) }.map(drop)
    };
    if memory::is_active()
        // SAFETY: the arguments are the caller's own.
        && let Ok(old) = unsafe { path::resolve(from_directory, from) }
        // SAFETY: as above.
        && let Ok(new) = unsafe { path::resolve(to_directory, to) }
    {
        let for_kernel = (memory::is_for_kernel(&old) && memory::is_for_kernel(&new)).then(rename);
        let renamed = match for_kernel {
            Some(renamed) if !renamed.is_err_and(memory::is_outside) => Some(renamed),
            _ => memory::rename(&old, &new),
        };
        if let Some(renamed) = renamed {
            return conclude(renamed.map(|()| 0));
        }
    }
    conclude(rename().map(|()| 0))
}

/// Renames a file.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the arguments are the caller's own.
    unsafe { renameat(libc::AT_FDCWD, from, libc::AT_FDCWD, to) }
}

/// Changes a file's permissions.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chmod(path: *const c_char, mode: u32) -> c_int {
    // SAFETY: the arguments are the caller's own.
    let result = match unsafe { target(libc::AT_FDCWD, path) } {
        Target::Removed => Err(libc::ENOENT),
        Target::Memory(fd) => sys::change_mode(fd, mode).map(|()| 0),
        Target::Real => {
            // SAFETY: the path is the caller's; a bad one gives an error.
            unsafe { sys::call(libc::SYS_chmod, [path as usize, mode as usize, 0, 0, 0, 0]) }.map(|_| 0)
        }
    };
    conclude(result)
}
