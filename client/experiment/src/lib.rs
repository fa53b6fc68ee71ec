//! Real bugs of a compiler, and how well techniques localize them.
//!
//! [`bugs`] finds them and lists them. Each by each technique with each seed is a [task](tasks::Task), which is
//! done [locally](local::Local); [`results`] keeps what comes of it, and [`summary`] says how well that is.
//!
//! ```no_run
//! use hearth_client::protocol::Address;
//! use hearth_experiment::bugs::BugList;
//! use hearth_experiment::local::Local;
//! use hearth_experiment::results::Results;
//! use hearth_experiment::tasks::{Experiment, Task};
//! use hearth_localize::assignment::Way;
//! use hearth_localize::connections::Connections;
//! use hearth_localize::technique::Technique;
//! use std::path::Path;
//! use std::time::Duration;
//!
//! let list = BugList::read(Path::new("bugs.json"))?;
//! let way = Way::new(Duration::from_secs(60), Path::new("/usr/bin/hearth"));
//! let experiment = Experiment { subject: &list.subject, way, beside: String::new() };
//! let mut connections = Connections::open(&Address::of_user())?;
//! let programs = Path::new("gcc-12.2.0");
//! let mut local = Local { connections: &mut connections, programs, experiment: &experiment };
//! let mut results = Results::read(Path::new("replay.jsonl"))?;
//! for task in Task::all(&[Technique::Fused], 1, 1, &list.first_programs()) {
//!     if !results.has(task.bug, &task.setting(&experiment)) {
//!         results.add(local.run(&task, |_| {})?)?;
//!     }
//! }
//! # Ok::<(), hearth_experiment::error::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod bugs;
pub mod error;
pub mod local;
pub mod results;
pub mod summary;
pub mod tasks;
