//! Finds the file and function of a compiler that is guilty of a bug.
//!
//! The failing program and things close to it that pass (other options, mutated programs) are compiled by the
//! daemon's warm compilers. What the failing compile executed and a passing one did not is where the bug may be.
#![forbid(unsafe_code)]

pub mod bugs;
mod fuse;
pub mod html;
pub mod localize;
mod markup;
pub mod mutate;
pub mod names;
pub mod options;
pub mod oracle;
pub mod parallel;
pub mod plot;
pub mod quality;
pub mod replay;
pub mod search;
mod session;
pub mod stack;
pub mod technique;
pub mod toolchain;
mod witnesses;
