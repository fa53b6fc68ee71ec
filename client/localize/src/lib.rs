//! Finds the file and function of a compiler that is guilty of a bug.
//!
//! The failing program and things close to it that pass (other options, mutated programs) are compiled by the
//! daemon's warm compilers. What the failing compile executed and a passing one did not is where the bug may be.
//!
//! ```
//! use hearth_localize::mutate::{ParsedProgram, rules};
//!
//! let program = ParsedProgram::new(b"int a = 3; int main(void) { return a; }").expect("it is text");
//! let mut random = fastrand::Rng::with_seed(1);
//! let mutants = rules().into_iter().filter_map(|rule| program.mutate(rule, &mut random));
//! assert!(mutants.count() > 0);
//! ```
#![forbid(unsafe_code)]

pub mod assignment;
pub mod connections;
pub mod error;
mod investigation;
pub mod localization;
pub mod localize;
pub mod mutate;
pub mod oracle;
mod rank;
pub mod search;
pub mod technique;
mod witness;
