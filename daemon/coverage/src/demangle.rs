//! C++ names in readable form.

use cpp_demangle::Symbol;

/// Appends a mangled name in readable form, and any other name as it is.
pub type Demangle = fn(&[u8], &mut Vec<u8>);

/// Demangles without help from outside. Some names come out unlike gcov's, or not at all.
pub fn demangle(name: &[u8], out: &mut Vec<u8>) {
    let readable = || Symbol::new(name).ok()?.demangle().ok();
    match name.starts_with(b"_Z").then(readable).flatten() {
        Some(readable) => out.extend_from_slice(readable.as_bytes()),
        None => out.extend_from_slice(name),
    }
}
