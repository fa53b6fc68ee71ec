//! The C library's functions that take a path.
//!
//! Each asks `files` first, in a run, and else does what the C library's own does. All are the subject's to
//! call at any time, from any thread and from constructors before the shim has started.

use crate::files::memory::{self, Target};
use crate::files::path::Path;
use crate::start::real::{Real, real};
use crate::sys::{self, Result};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

static FOPEN: Real = Real::new(c"fopen");
static FREOPEN: Real = Real::new(c"freopen");
static TMPFILE: Real = Real::new(c"tmpfile");
static MKOSTEMPS: Real = Real::new(c"mkostemps");
static REALPATH: Real = Real::new(c"realpath");

/// Finds the functions before the warm point: looking them up may allocate.
pub fn resolve() {
    for real in [&FOPEN, &FREOPEN, &TMPFILE, &MKOSTEMPS, &REALPATH] {
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

/// Opens a file as `openat` would.
unsafe fn open_at(directory: c_int, path: *const c_char, flags: c_int, mode: u32) -> Result<c_int> {
    if memory::is_active()
        // SAFETY: the caller hands over what it was called with.
        && let Ok(resolved) = unsafe { Path::resolve(directory, path) }
    {
        memory::before_open(&resolved);
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

/// What the mode of `fopen` means for `open`.
fn flags_of(mode: &[u8]) -> Option<c_int> {
    let plus = mode.contains(&b'+');
    let access = |plain| if plus { libc::O_RDWR } else { plain };
    let flags = match mode.first()? {
        b'r' => access(libc::O_RDONLY),
        b'w' => access(libc::O_WRONLY) | libc::O_CREAT | libc::O_TRUNC,
        b'a' => access(libc::O_WRONLY) | libc::O_CREAT | libc::O_APPEND,
        _ => return None,
    };
    let exclusive = if mode.contains(&b'x') { libc::O_EXCL } else { 0 };
    let close = if mode.contains(&b'e') { libc::O_CLOEXEC } else { 0 };
    Some(flags | exclusive | close)
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
    let resolved = unsafe { Path::resolve(libc::AT_FDCWD, path) }.ok()?;
    // SAFETY: as above.
    let flags = flags_of(unsafe { CStr::from_ptr(mode) }.to_bytes())?;
    memory::before_open(&resolved);
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
    if memory::is_for_kernel(&resolved) && !(writes && memory::is_read_only(&resolved)) {
        return None;
    }
    if memory::is_active() { memory::open(&resolved, flags, 0o666) } else { None }
}

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
            let result = reopen(crate::files::path::descriptor_path(fd).as_ptr().cast(), mode);
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

unsafe fn make_temporary(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
    if !memory::is_active() {
        return real!(MKOSTEMPS, fn(*mut c_char, c_int, c_int) -> c_int, template, suffix, flags);
    }
    // SAFETY: the caller hands over a C string that may be written to.
    let length = unsafe { CStr::from_ptr(template) }.count_bytes();
    // SAFETY: as above.
    let name = unsafe { std::slice::from_raw_parts_mut(template.cast::<u8>(), length) };
    conclude(memory::open_temporary(name, suffix.max(0) as usize, flags))
}

macro_rules! temporary_functions {
    ($($name:ident($($argument:ident),*) = ($suffix:expr, $flags:expr)),*) => {$(
        /// Makes a temporary file.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(template: *mut c_char, $($argument: c_int),*) -> c_int {
            // SAFETY: the arguments are the caller's own.
            unsafe { make_temporary(template, $suffix, $flags) }
        }
    )*};
}

temporary_functions!(
    mkstemp() = (0, 0),
    mkstemp64() = (0, 0),
    mkostemp(flags) = (0, flags),
    mkostemp64(flags) = (0, flags),
    mkstemps(suffix) = (suffix, 0),
    mkstemps64(suffix) = (suffix, 0),
    mkostemps(suffix, flags) = (suffix, flags),
    mkostemps64(suffix, flags) = (suffix, flags)
);

/// What a path stands for in a run.
unsafe fn target(directory: c_int, path: *const c_char) -> Target {
    if !memory::is_active() {
        return Target::Real;
    }
    // SAFETY: the caller hands over what it was called with.
    unsafe { Path::resolve(directory, path) }.map_or(Target::Real, |path| memory::find(&path))
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
        && let Ok(resolved) = unsafe { Path::resolve(directory, path) }
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
        && let Ok(old) = unsafe { Path::resolve(from_directory, from) }
        // SAFETY: as above.
        && let Ok(new) = unsafe { Path::resolve(to_directory, to) }
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
        Target::Memory(_) => match unsafe { Path::resolve(libc::AT_FDCWD, path) } {
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
    let name = path.as_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let mut end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
    // Only the root ends with a slash.
    if end > 1 && end < buffer.len() {
        buffer[end] = b'/';
        end += 1;
    }
    let length = end + name.len();
    let Some((last, place)) = buffer.get_mut(end..=length).and_then(<[u8]>::split_last_mut) else {
        sys::set_errno(libc::ENAMETOOLONG);
        return ptr::null_mut();
    };
    place.copy_from_slice(name);
    *last = 0;
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
