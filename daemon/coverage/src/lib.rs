//! Coverage as gcov computes it, without gcov and without IO.
//!
//! Bytes come in, counts go out. The path of one object file:
//!
//! ```text
//! .gcno ─> Notes ─> ObjectMap ─┐
//!                              ├─> ObjectCoverage ─> format::{gcov_json, lcov, cobertura, text}
//! .gcda ─> Data ───────────────┘
//! ```
//!
//! An [`Atlas`](atlas::Atlas) joins the maps of all objects of a subject, gives every function, counter and
//! line a dense id, and has a form on disk that is used in place.
//!
//! No function of this crate panics on any input bytes, and none allocates more than a small multiple of
//! its input's size.
#![forbid(unsafe_code)]

pub mod atlas;
pub mod demangle;
pub mod format;
pub mod gcov;
pub mod name_text;
pub mod spectrum;

pub use gcov::Error;
