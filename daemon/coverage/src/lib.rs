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
mod builder;
pub mod canonical;
pub mod counts;
pub mod coverage;
mod cycles;
pub mod data;
pub mod data_name;
pub mod demangle;
pub mod error;
pub mod format;
mod gcov_sort;
mod line_table;
pub mod linear;
pub mod name_text;
pub mod notes;
pub mod object_map;
mod records;
pub mod score;
mod solve;
pub mod spectrum;
pub mod tree;
pub mod version;

pub use coverage::ObjectCoverage;
pub use data::Data;
pub use error::Error;
pub use notes::Notes;
pub use object_map::ObjectMap;
pub use version::Version;
