//! Why bugs cannot be found, listed or replayed.

use crate::bugs::FORMAT;
use std::io;
use std::path::PathBuf;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no list of bugs, or it cannot be read.
    #[error("cannot read {0}; write it with: hearth bench bugs --output {0}", path.display())]
    NoBugs {
        /// Where it should be.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is something else than a list of bugs.
    #[error("{} is no manifest of bugs", path.display())]
    NotBugs {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A list of bugs is of another version.
    #[error(
        "{0} is of format {format}, this hearth reads {FORMAT}; write it anew with: hearth bench bugs --output {0}",
        path.display()
    )]
    Format {
        /// The list.
        path: PathBuf,
        /// Its version.
        format: u32,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory cannot be listed.
    #[error("cannot list {}", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program of the test suite cannot be tried.
    #[error("trying {program}")]
    Trying {
        /// The program.
        program: String,
        /// Why not.
        source: Box<Self>,
    },
    /// The driver of the newer compiler is missing.
    #[error("{driver} is needed; install the package {driver}")]
    NoDriver {
        /// Its name.
        driver: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program of the test suite was compiled and cannot be run.
    #[error("cannot run a test program")]
    NotRun(#[source] io::Error),
    /// A file or directory at hand cannot be used.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The compiler and its tools cannot be used.
    #[error(transparent)]
    Compiler(#[from] hearth_compiler::error::Error),
    /// The bug cannot be localized, for no reason of its own.
    #[error(transparent)]
    Localize(#[from] hearth_localize::error::Error),
}
