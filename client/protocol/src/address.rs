//! Where the daemon's socket is, and getting there.

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::getuid;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that names the directory of the daemon's socket.
pub const DIRECTORY_VARIABLE: &str = "HEARTH_RUNTIME_DIR";

/// The file of the log in that directory.
pub const LOG: &str = "daemon.log";

/// What the daemon writes to standard output when it listens, or finds that another one does.
pub const READY: &str = "ready";

/// A daemon takes a client at once; one that has not by then hangs.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// The directory of the daemon's socket, which only its user can enter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    directory: PathBuf,
}

impl Address {
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

    /// A directory of one's own.
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
    pub fn prepare(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
            }
            result => result?,
        }
        let data = fs::symlink_metadata(&self.directory)?;
        let is_own = data.is_dir() && data.uid() == getuid().as_raw();
        if is_own && data.mode() & 0o077 == 0 {
            return Ok(());
        }
        let problem = if is_own { "others can enter it" } else { "it is not a directory of yours" };
        let message = format!(
            "{}: {problem}; remove it, or set {DIRECTORY_VARIABLE} to another one",
            self.directory.display()
        );
        Err(io::Error::other(message))
    }
    /// A stream to a daemon that listens already.
    ///
    /// # Errors
    /// If none does, or it has not taken anybody for long.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // Where many wait to be taken already, connecting waits.
        set_socket_timeout(&socket, Timeout::Send, Some(CONNECT_DEADLINE))?;
        match rustix::net::connect(&socket, &SocketAddrUnix::new(self.socket())?) {
            Err(rustix::io::Errno::AGAIN) => return Err(self.hangs()),
            result => result?,
        }
        set_socket_timeout(&socket, Timeout::Send, None)?;
        Ok(UnixStream::from(socket))
    }

    /// The daemon is there and does nothing.
    #[must_use]
    pub fn hangs(&self) -> io::Error {
        let problem = format!(
            "the daemon takes no clients, so it hangs; end its process, whose number is in {}",
            self.lock().display()
        );
        io::Error::new(io::ErrorKind::TimedOut, problem)
    }
}
