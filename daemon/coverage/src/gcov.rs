//! gcov's format: its files read, its flow graphs solved, its lines counted.
//!
//! ```text
//! .gcno ─ records ─> Notes ─ builder ─> ObjectMap ─┐
//!                                                  ├─ solve · cycles ─> ObjectCoverage
//! .gcda ─ records ─> Data ──> Counters ────────────┘
//! ```

mod builder;
pub mod canonical;
pub mod coverage;
mod cycles;
pub mod data;
pub mod data_name;
pub mod error;
mod exceptional;
mod line_table;
pub(crate) mod linear;
pub mod notes;
pub mod object_map;
mod records;
mod report;
mod solve;
pub(crate) mod sort;
pub mod version;

pub use coverage::{Counters, ObjectCoverage, Workspace};
pub use data::Data;
pub use error::Error;
pub use notes::Notes;
pub use object_map::ObjectMap;
pub use version::Version;
