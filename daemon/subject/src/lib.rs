//! Subjects: the coverage-instrumented programs Hearth keeps warm.
//!
//! A subject is a program, its notes (`.gcno`) and a record of how it was built. Subjects live in one cache directory,
//! the [`Store`]. [`build::build`] makes the built-in ones from their distribution source packages, by [`recipes`];
//! [`Store::add`] registers a program of the user's own without copying it.
//!
//! A directory of the store is a subject only once its `manifest.json` exists, and that file is written last, so an
//! interrupted build is never mistaken for a finished one.
//!
//! ```
//! use hearth_subject::{Level, Store, SubjectId, recipes};
//!
//! # let cache = tempfile::tempdir().unwrap();
//! let store = Store::at(cache.path().to_path_buf())?;
//! let (recipe, level) = recipes::parse("gcc-11-opt", None)?;
//! let id = SubjectId::built(recipe, level);
//! assert_eq!((recipe.version(), level, id.as_str()), ("11.3.0", Level::Opt, "gcc-11-opt"));
//!
//! // Nothing is built yet, and the error says how to.
//! let error = store.find("gcc-11-opt").unwrap_err();
//! assert!(error.to_string().contains("hearth subject build gcc-11 --level opt"));
//! # Ok::<(), hearth_subject::Error>(())
//! ```

#![deny(unsafe_code)]

mod add;
pub mod atlas;
pub mod build;
mod digest;
mod download;
pub mod elf;
mod error;
mod manifest;
mod mapped;
mod name;
mod program;
mod progress;
pub mod recipes;
pub mod source;
mod store;
mod tree;

pub use add::Addition;
pub use error::{Error, FailedBuild, Result};
pub use manifest::{FORMAT, FileRecord, Flags, Kind, Level, Manifest, NotesDirectories};
pub use name::SubjectId;
pub use program::{InstrumentedProgram, inspect};
pub use progress::{BuildStage, Progress, Silent};
pub use store::{Entry, Store, Subject};
