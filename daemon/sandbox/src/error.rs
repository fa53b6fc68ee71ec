//! What can go wrong with a sandbox: one sentence each, saying what to do.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The result of starting a subject.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong.
#[derive(Debug, Error)]
pub enum Error {
    /// The sandbox could not be made.
    #[error("cannot start {}: {problem}", path.display())]
    Launch {
        /// The program.
        path: PathBuf,
        /// What failed.
        problem: String,
    },
    /// The machine lacks what keeps runs apart from everything else.
    #[error(
        "runs cannot be kept apart on this machine, it lacks: {}; \
         allow it all the same with --sandbox best-effort, for programs you trust",
        missing.join("; ")
    )]
    Lacking {
        /// What is missing.
        missing: Vec<String>,
    },
    /// The launcher does not answer as it should; its subject is of no further use.
    #[error("{0}")]
    Lost(String),
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// Why it was not.
        error: io::Error,
    },
}

/// Says what a failed system call was for.
pub(crate) trait During<T> {
    fn during(self, what: &'static str) -> Result<T>;
}

impl<T, E: Into<io::Error>> During<T> for std::result::Result<T, E> {
    fn during(self, what: &'static str) -> Result<T> {
        self.map_err(|error| Error::System { what, error: error.into() })
    }
}
