//! C++ names in readable form.

use cpp_demangle::Symbol;
use std::borrow::Cow;

/// Turns a mangled name into a readable one, and any other name into itself.
pub type Demangle = for<'a> fn(&'a [u8]) -> Cow<'a, [u8]>;

/// Demangles without help from outside. Some names come out unlike gcov's, or not at all.
#[must_use]
pub fn demangle(name: &[u8]) -> Cow<'_, [u8]> {
    let readable = || Symbol::new(name).ok()?.demangle().ok();
    match name.starts_with(b"_Z").then(readable).flatten() {
        Some(readable) => Cow::Owned(readable.into_bytes()),
        None => Cow::Borrowed(name),
    }
}
