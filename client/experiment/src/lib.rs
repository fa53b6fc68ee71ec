//! Real bugs of a compiler, and how well techniques localize them.
//!
//! ```
//! use hearth_experiment::summary::Summary;
//!
//! let ranks = [[1, 7], [3, 30]];
//! let summary = Summary::new(ranks.iter().map(|ranks| &ranks[..]), 100);
//! assert_eq!(summary.top, [1, 2, 2, 2]);
//! assert_eq!(summary.mean_first_rank, 2.0);
//! ```
#![forbid(unsafe_code)]

pub mod bugs;
pub mod local;
pub mod results;
pub mod summary;
pub mod tasks;
