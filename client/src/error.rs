//! What can go wrong between a client and the daemon.

use crate::protocol::{Failure, PROTOCOL};
use std::io;
use std::path::PathBuf;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The daemon says why it does not answer the request.
    #[error("{}", .0.message)]
    Failed(Failure),
    /// The daemon speaks another version of the protocol.
    #[error(
        "the daemon at {socket} speaks protocol {theirs}, this program {PROTOCOL}; stop the daemon (`hearth stop`), \
         and a new one of this program's version is started"
    )]
    Version {
        /// The daemon's version.
        theirs: u32,
        /// Where it listens.
        socket: PathBuf,
    },
    /// What is on the socket is not the daemon.
    #[error("{socket} is not Hearth's daemon: {problem}")]
    NotHearth {
        /// Where it listens.
        socket: PathBuf,
        /// What it said.
        problem: String,
    },
    /// No daemon could be started.
    #[error("cannot start the daemon ({program}): {problem}")]
    NoDaemon {
        /// The program that was tried.
        program: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The connection broke.
    #[error("the connection to the daemon broke: {0}")]
    Broken(io::Error),
    /// The daemon said something unexpected.
    #[error("the daemon answered something else than was asked: {0}")]
    Unexpected(String),
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        error: io::Error,
    },
}
