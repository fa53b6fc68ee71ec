//! The environment of the process, out of which Hearth's own variables go before the subject begins.

use hearth_shim_pure::variables::{self, Control, PRELOAD};
use std::ffi::{CStr, c_char};

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// The process's environment.
pub fn current() -> *mut *mut c_char {
    // SAFETY: reading a pointer that only this thread changes at this time.
    unsafe { environ }
}

/// Makes a list of variables the process's environment.
///
/// # Safety
/// The list must end with a null pointer and stay as it is.
pub unsafe fn replace(list: *mut *mut c_char) {
    // SAFETY: the caller vouches for the list; a run has one thread when it begins.
    unsafe { environ = list };
}

/// Takes Hearth's variables out of the environment, so that neither the subject nor what it starts sees them. Says what the shim
/// is to be; `None` if nobody has said anything.
///
/// # Safety
/// `envp` must be the process's environment, and nothing else may use it meanwhile.
pub unsafe fn take_own_variables(envp: *mut *mut c_char) -> Option<Control> {
    let mut control = None;
    let mut kept = envp;
    let mut next = envp;
    loop {
        // SAFETY: the list ends with a null pointer, at which the loop ends.
        let variable = unsafe { *next };
        // SAFETY: `kept` is never ahead of `next`.
        unsafe { *kept = variable };
        if variable.is_null() {
            return control;
        }
        // SAFETY: the list consists of C strings.
        let text = unsafe { CStr::from_ptr(variable) }.to_bytes();
        control = Control::of(text).or(control);
        let others = variables::preloaded_by_others(text);
        if let Some(others) = others {
            // SAFETY: it begins behind as many bytes as the name has, and more, in memory that is the process's own.
            let variable = unsafe { others.as_ptr().sub(PRELOAD.len()) }.cast_mut();
            // SAFETY: as above; the bytes before it are not used any more.
            unsafe { std::ptr::copy(PRELOAD.as_ptr(), variable, PRELOAD.len()) };
            // SAFETY: `kept` is not ahead of `next`.
            unsafe { *kept = variable.cast() };
        }
        if others.is_some() || !variables::is_own(text) {
            // SAFETY: `kept` is before `next`, inside the list.
            kept = unsafe { kept.add(1) };
        }
        // SAFETY: the entry was not the last.
        next = unsafe { next.add(1) };
    }
}
