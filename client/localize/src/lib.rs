//! Finds the file and function of a compiler that is guilty of a bug.
//!
//! The failing program and things close to it that pass (other options, mutated programs) are compiled by the
//! daemon's warm compilers. What the failing compile executed and a passing one did not is where the bug may be.
//!
//! ```no_run
//! use hearth_client::protocol::Address;
//! use hearth_localize::assignment::{Assignment, Way};
//! use hearth_localize::connections::Connections;
//! use hearth_localize::localize::localize;
//! use hearth_localize::technique::Technique;
//! use std::path::Path;
//! use std::time::Duration;
//!
//! let program = Path::new("wrong.c");
//! let assignment = Assignment {
//!     subject: "gcc-11",
//!     program,
//!     text: &std::fs::read(program)?,
//!     fail: vec!["-O2".to_owned()],
//!     pass: Some(vec!["-O0".to_owned()]),
//!     reference: None,
//!     technique: Technique::Fused,
//!     seed: 1,
//!     count: 1000,
//!     limit: 10,
//!     way: Way::new(Duration::from_secs(60), Path::new("/usr/bin/hearth")),
//! };
//! let mut connections = Connections::open(&Address::of_user())?;
//! let found = localize(&mut connections, &assignment, |_| {})?;
//! for file in &found.files {
//!     println!("{:>3}  {}", file.rank, file.source);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
