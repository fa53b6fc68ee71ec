//! What the command writes: results to standard output, messages to standard error. Neither can make it panic or wait for ever.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use thiserror::Error;

/// The exit code of a command whose reader went away, as shells show the end by SIGPIPE.
const EXIT_CLOSED: u8 = 141;

/// Why a result could not be written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// Whoever reads has seen enough, as `head` does.
    #[error("nobody reads the output any more")]
    Closed,
    /// The disk is full, or the device broken.
    #[error("cannot write to {place}: {error}; free some space, or send the output elsewhere")]
    Failed {
        /// What is written to.
        place: String,
        /// What the system said.
        error: io::Error,
    },
}

impl OutputError {
    /// A failed write to `place`.
    pub fn new(place: impl Into<String>, error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Failed { place: place.into(), error },
        }
    }
}

/// Writes to standard output, all of it and at once.
pub fn write(bytes: &[u8]) -> Result<(), OutputError> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| OutputError::new("standard output", error))
}

/// Writes a line to standard output.
pub fn line(text: impl Display) -> Result<(), OutputError> {
    write(format!("{text}\n").as_bytes())
}

/// Writes what a program wrote to its standard error to this one's.
pub fn write_error(bytes: &[u8]) -> Result<(), OutputError> {
    io::stderr().write_all(bytes).map_err(|error| OutputError::new("standard error", error))
}

/// Tells the user something. Where nobody listens there is nobody to tell that.
pub fn tell(text: impl Display) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// A file that cannot be written, and the option that names it.
pub fn cannot_write(path: &Path, option: &str, error: &io::Error) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot write {}: {error}; give {option} a file in a directory that exists and may be written to",
        path.display()
    )
}

/// Sees that a file can be written, and leaves all as it was: the time is spent only then.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let is_new = !path.exists();
    File::options().write(true).create(true).truncate(false).open(path)?;
    if is_new { fs::remove_file(path) } else { Ok(()) }
}

/// Tells why the command failed, and how it ends.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    if let Some(OutputError::Closed) = error.downcast_ref() {
        return ExitCode::from(EXIT_CLOSED);
    }
    tell(format_args!("hearth: {error:#}"));
    ExitCode::FAILURE
}
