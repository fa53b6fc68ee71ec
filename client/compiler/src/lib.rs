//! Compilers that are kept warm: what is known of each, and the way from a program to what it does.
//!
//! What differs between compilers stands behind the trait [`Compiler`](compiler::Compiler): a new one is a file that
//! implements it and a line that chooses it. A [`Toolchain`](toolchain::Toolchain) compiles, assembles, links and executes.
//!
//! ```
//! use hearth_compiler::options::levels;
//!
//! let sets = levels(&["-O2".to_owned(), "-fwrapv".to_owned()]);
//! assert_eq!(sets[0], ["-O3", "-fwrapv"]);
//! ```
#![forbid(unsafe_code)]

pub mod compiled;
pub mod compiler;
pub mod error;
pub mod function_name;
mod machine;
pub mod options;
pub mod spent;
pub mod stack;
pub mod toolchain;
