//! Demangling by GCC's C++ runtime, whose demangler is the one gcov itself uses.
//!
//! The library is loaded when first needed; without it [`hearth_coverage::demangle::demangle`] does.

use hearth_coverage::demangle;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

/// `char* __cxa_demangle(const char* name, char* buffer, size_t* length, int* status)`, and `free`.
type CxaDemangle = unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char;
type Free = unsafe extern "C" fn(*mut c_void);

struct Runtime {
    demangle: CxaDemangle,
    free: Free,
}

/// Demangles as gcov does, if the C++ runtime is on this machine.
pub fn demangle(name: &[u8], out: &mut Vec<u8>) {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    if !name.starts_with(b"_Z") {
        out.extend_from_slice(name);
        return;
    }
    match RUNTIME.get_or_init(load) {
        Some(runtime) if runtime.demangle(name, out) => {}
        Some(_) => out.extend_from_slice(name),
        None => demangle::demangle(name, out),
    }
}

fn load() -> Option<Runtime> {
    // SAFETY: the initializers of libstdc++ and libc have no requirements on the caller.
    let library = unsafe { Library::new("libstdc++.so.6") }.ok()?;
    // Functions of the library are called until the process ends.
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: the C++ ABI fixes this function's type.
    let demangle = unsafe { library.get::<CxaDemangle>(b"__cxa_demangle\0") }.ok()?;
    // SAFETY: the C standard fixes this function's type; libstdc++ depends on libc, so its search finds it.
    let free = unsafe { library.get::<Free>(b"free\0") }.ok()?;
    Some(Runtime { demangle: *demangle, free: *free })
}

impl Runtime {
    /// Appends the readable form, if there is one.
    fn demangle(&self, name: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(name) = CString::new(name) else { return false };
        // SAFETY: the name is terminated; null for buffer, length and status is allowed.
        let readable =
            unsafe { (self.demangle)(name.as_ptr(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut()) };
        if readable.is_null() {
            return false;
        }
        // SAFETY: a result that is not null is a terminated string.
        out.extend_from_slice(unsafe { CStr::from_ptr(readable) }.to_bytes());
        // SAFETY: the result was allocated with malloc for the caller to free, and is not used after this.
        unsafe { (self.free)(readable.cast()) };
        true
    }
}
