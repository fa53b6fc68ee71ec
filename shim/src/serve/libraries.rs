//! The libraries of the process: which are loaded, and that one is being unloaded.

use crate::start::real::{Real, real};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

static DLCLOSE: Real = Real::new(c"dlclose");
/// See [`is_unloading`].
static UNLOADING: AtomicBool = AtomicBool::new(false);

/// Finds the function before the warm point: looking it up may allocate.
pub fn resolve() {
    DLCLOSE.address();
}

/// Unloads a library, unless others use it. One with counters writes its data file then.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlclose(library: *mut c_void) -> c_int {
    let was_unloading = UNLOADING.swap(true, Ordering::Relaxed);
    let result = real!(DLCLOSE, fn(*mut c_void) -> c_int, library);
    UNLOADING.store(was_unloading, Ordering::Relaxed);
    result
}

/// Is a library being unloaded?
pub fn is_unloading() -> bool {
    UNLOADING.load(Ordering::Relaxed)
}

/// Where the pointer to the library behind the last one is; 0 if the loader does not say.
pub fn end() -> u64 {
    // SAFETY: the loader's list is of such records.
    loaded().last().map_or(0, |library| unsafe { &raw mut (*library).next } as u64)
}

/// The paths of the libraries that are loaded, each with a NUL behind it.
pub fn paths() -> impl Iterator<Item = &'static [u8]> {
    // SAFETY: the loader's list is of such records.
    let names = loaded().map(|library| unsafe { (*library).name });
    // SAFETY: the names are C strings, which stay as long as the libraries do.
    names.filter(|name| !name.is_null()).map(|name| unsafe { CStr::from_ptr(name) }.to_bytes_with_nul())
}

/// The loader's record for debuggers, as `link.h` has it.
#[repr(C)]
struct LoaderRecord {
    version: c_int,
    libraries: *mut Library,
}

/// A loaded library, as `link.h` has it.
#[repr(C)]
struct Library {
    address: usize,
    name: *const c_char,
    dynamic: *const c_void,
    next: *mut Library,
}

/// The libraries that are loaded.
fn loaded() -> impl Iterator<Item = *mut Library> {
    // SAFETY: the name is terminated.
    let record = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_r_debug".as_ptr()) }.cast::<LoaderRecord>();
    // SAFETY: the loader keeps the record under this name for debuggers; no other thread runs.
    let first = if record.is_null() { std::ptr::null_mut() } else { unsafe { (*record).libraries } };
    let existing = |library: *mut Library| (!library.is_null()).then_some(library);
    // SAFETY: the loader's list is of such records and ends with a null pointer.
    std::iter::successors(existing(first), move |library| existing(unsafe { (**library).next }))
}
