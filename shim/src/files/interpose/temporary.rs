//! Makes temporary files.

use super::conclude;
use crate::files::{memory, temporary};
use crate::start::real::{Real, real};
use std::ffi::{CStr, c_char, c_int};

pub static MKOSTEMPS: Real = Real::new(c"mkostemps");

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

unsafe fn make_temporary(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
    if !memory::is_active() {
        return real!(MKOSTEMPS, fn(*mut c_char, c_int, c_int) -> c_int, template, suffix, flags);
    }
    // SAFETY: the caller hands over a C string that may be written to.
    let length = unsafe { CStr::from_ptr(template) }.count_bytes();
    // SAFETY: as above.
    let name = unsafe { std::slice::from_raw_parts_mut(template.cast::<u8>(), length) };
    conclude(temporary::open(name, suffix.max(0) as usize, flags))
}
