//! The C library's own functions, behind those that stand in for them.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function of the C library that one of these stands in for.
pub struct Real {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Real {
    /// The one of a name.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// Where it is; looking it up for the first time may allocate.
    pub fn address(&self) -> usize {
        if self.address.load(Ordering::Relaxed) == 0 {
            // SAFETY: the name is terminated.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.address.store(found as usize, Ordering::Relaxed);
        }
        self.address.load(Ordering::Relaxed)
    }
}

/// Calls a function of the C library.
macro_rules! real {
    ($real:expr, fn($($type:ty),*) -> $result:ty, $($argument:expr),*) => {{
        // SAFETY: the C library's function of this name has this type.
        let function = unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $result>($real.address())
        };
        // SAFETY: the arguments are the caller's own.
        unsafe { function($($argument),*) }
    }};
}

pub(crate) use real;
