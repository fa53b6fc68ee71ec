//! What can go wrong between a client and the daemon.

use crate::protocol::address::LOG;
use crate::protocol::{Failure, PROTOCOL};
use std::io;
use std::path::{Path, PathBuf};

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
    #[error(
        "the daemon at {} broke off the connection: {}; do it again, and another daemon is started; {} has \
         what it said last",
        socket.display(),
        cause(error),
        socket.with_file_name(LOG).display()
    )]
    Broken {
        /// Where it listened.
        socket: PathBuf,
        /// What the system said.
        error: io::Error,
    },
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

impl Error {
    /// The error of a connection that broke.
    pub(crate) fn broken(socket: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let socket = socket.to_owned();
        move |error| Self::Broken { socket: socket.clone(), error }
    }
}

/// An end that comes too early has no message of its own that says anything.
fn cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
            "it has ended".to_owned()
        }
        _ => error.to_string(),
    }
}
