//! Keeps subjects warm and runs them.
//!
//! A [`Zygote`] is a subject's process at its warm point; each run is forked from it, and its
//! counters are read from its memory however it ended. A [`Pool`] keeps zygotes. The
//! crate `hearth-sandbox` starts them.
//!
//! Where a subject waits is written as users write it:
//!
//! ```
//! use hearth_runner::WarmPoint;
//!
//! let point: WarmPoint = "symbol:compile_file".parse()?;
//! assert_eq!(point, WarmPoint::Symbol("compile_file".to_owned()));
//! assert_eq!(point.to_string(), "symbol:compile_file");
//! # Ok::<(), String>(())
//! ```

#![deny(unsafe_code)]

pub mod binary_layout;
pub mod cores;
pub mod error;
#[expect(
    unsafe_code,
    reason = "a process is killed by the descriptor of its directory, for which no crate has a call"
)]
mod inside;
mod library_point;
pub mod limits;
pub mod mappings;
#[expect(
    unsafe_code,
    reason = "it maps a file of its own twice, to see whether the kernel tells whose pages are whose"
)]
pub mod memory;
pub mod observe;
pub mod order;
#[expect(unsafe_code, reason = "it does something between fork and exec")]
pub mod plain;
pub mod pool;
pub mod revision;
pub mod run;
mod stage;
pub mod subject_map;
pub mod subject_places;
pub mod usage;
pub mod worker;
pub mod zygote;

pub use error::Error;
pub use observe::Observation;
pub use pool::Pool;
pub use run::{Observe, Outcome, Run, RunRequest};
pub use subject_map::SubjectMap;
pub use worker::{CoveredRun, Worker};
pub use zygote::{WarmPoint, Zygote, ZygoteKey};
