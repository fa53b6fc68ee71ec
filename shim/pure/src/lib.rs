//! What the shim works out from bytes alone: paths, flags, names, and what files of the kernel and of programs say.
//!
//! The shim's own functions replace the C library's, so it can only be tested inside a subject. What is here makes no system
//! call, is tested like any other code, and allocates nothing: there is no allocator to ask.
//!
//! ```
//! use hearth_shim_pure::path::Path;
//!
//! // The directory is asked for only if the path does not begin with a slash.
//! let path = Path::absolute(b"../b//./c.gcda", |buffer| {
//!     buffer[..5].copy_from_slice(b"/home");
//!     Ok(5)
//! })?;
//! assert_eq!(path.terminated(), b"/b/c.gcda\0");
//! assert!(path.is_data_file());
//! # Ok::<(), i32>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

pub mod elf;
pub mod flags;
pub mod mapping;
pub mod numbers;
pub mod path;
pub mod program;
pub mod request;
pub mod temporary;
pub mod text;
pub mod variables;

/// An error number or a result.
pub type Result<T> = core::result::Result<T, core::ffi::c_int>;
