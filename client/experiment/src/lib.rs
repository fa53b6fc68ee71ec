//! Real bugs of a compiler, and how well techniques localize them.
//!
//! [`bugs`] finds them and lists them. Each by each technique with each seed is a [task](tasks::Task), which is
//! done [locally](local::Local); [`results`] keeps what comes of it, and [`summary`] says how well that is.
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
pub mod error;
pub mod local;
pub mod results;
pub mod summary;
pub mod tasks;
