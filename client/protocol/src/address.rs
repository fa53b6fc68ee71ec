//! Where the daemon's socket is.

use crate::error::{Error, Result};
use rustix::process::getuid;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The variable that names the directory of the daemon's socket.
pub const DIRECTORY_VARIABLE: &str = "HEARTH_RUNTIME_DIR";

/// The file of the log in that directory.
pub(crate) const LOG: &str = "daemon.log";

/// The directory of the daemon's socket, which only its user can enter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
}

impl Place {
    /// `$HEARTH_RUNTIME_DIR`, else `hearth` in `$XDG_RUNTIME_DIR`, else a directory of the user's in `/tmp`.
    #[must_use]
    pub fn of_user() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        let directory = match (variable(DIRECTORY_VARIABLE), variable("XDG_RUNTIME_DIR")) {
            (Some(directory), _) => PathBuf::from(directory),
            (None, Some(directory)) => Path::new(&directory).join("hearth"),
            (None, None) => PathBuf::from(format!("/tmp/hearth-{}", getuid().as_raw())),
        };
        Self { directory }
    }

    /// A place of one's own.
    #[must_use]
    pub fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.join("daemon.sock")
    }

    /// The file that the daemon holds locked.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.directory.join("daemon.lock")
    }

    /// What the daemon writes down.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.directory.join(LOG)
    }

    /// Makes the directory, or makes sure that it is the user's and nobody else's.
    ///
    /// # Errors
    /// If it cannot be made, or others can write to it.
    pub fn prepare(&self) -> Result<()> {
        let system = |error| Error::System { what: "make the directory of the daemon's socket", error };
        match DirBuilder::new().mode(0o700).create(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(system)?;
            }
            result => result.map_err(system)?,
        }
        let data = fs::symlink_metadata(&self.directory).map_err(system)?;
        let is_own = data.is_dir() && data.uid() == getuid().as_raw();
        if is_own && data.mode() & 0o077 == 0 {
            return Ok(());
        }
        let problem = if is_own { "others can enter it" } else { "it is not a directory of yours" };
        let message = format!(
            "{}: {problem}; remove it, or set {DIRECTORY_VARIABLE} to another one",
            self.directory.display()
        );
        Err(system(io::Error::other(message)))
    }
}
