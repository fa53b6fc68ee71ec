//! Connects to the daemon, and starts it if there is none.

use crate::address::Place;
use crate::error::{Error, Result};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The variable that names the daemon's program.
pub const PROGRAM_VARIABLE: &str = "HEARTH_DAEMON";
/// The daemon's program.
const PROGRAM: &str = "hearthd";
/// What the daemon writes to standard output when it listens, or finds that another one does.
pub const READY: &str = "ready";
/// A daemon takes a client at once; one that has not by then hangs.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
/// A daemon can end just when a client finds it; more often than this it is no coincidence.
const TRIES: usize = 3;

/// A stream to the daemon, which is started if none listens.
///
/// # Errors
/// If there is none and none can be started, or it hangs.
pub fn connect_or_start(place: &Place) -> Result<UnixStream> {
    let mut last = None;
    for _ in 0..TRIES {
        match connect(place) {
            Ok(stream) => return Ok(stream),
            // No other one could serve while it has the lock.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Err(Error::broken(&place.socket())(error));
            }
            Err(error) => last = Some(error),
        }
        start(place)?;
    }
    connect(place).map_err(|error| Error::broken(&place.socket())(last.unwrap_or(error)))
}

/// A stream to a daemon that listens already.
///
/// # Errors
/// If none does, or it has not taken anybody for long.
pub fn connect(place: &Place) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // Where many wait to be taken already, connecting waits.
    set_socket_timeout(&socket, Timeout::Send, Some(CONNECT_DEADLINE))?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(place.socket())?) {
        Err(rustix::io::Errno::AGAIN) => return Err(hangs(place)),
        result => result?,
    }
    set_socket_timeout(&socket, Timeout::Send, None)?;
    Ok(UnixStream::from(socket))
}

/// The daemon is there and does nothing.
pub(crate) fn hangs(place: &Place) -> io::Error {
    let problem = format!(
        "the daemon takes no clients, so it hangs; end its process, whose number is in {}",
        place.lock().display()
    );
    io::Error::new(io::ErrorKind::TimedOut, problem)
}

/// The daemon's program: the variable's, the one beside this program, or the one on the path.
#[must_use]
pub fn program() -> PathBuf {
    if let Some(program) = std::env::var_os(PROGRAM_VARIABLE) {
        return program.into();
    }
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    beside.filter(|program| program.exists()).unwrap_or_else(|| PROGRAM.into())
}

/// Starts a daemon and waits until it, or another one, listens.
fn start(place: &Place) -> Result<()> {
    place.prepare()?;
    let program = program();
    let no_daemon = |problem: String| Error::NoDaemon { program: program.clone(), problem };
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(place.log());
    let log = log.map_err(|error| Error::System { what: "write the daemon's log", error })?;
    let mut child = Command::new(&program)
        .arg("--directory")
        .arg(place.directory())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| no_daemon(format!("{error}; set {PROGRAM_VARIABLE} to its path")))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        // The daemon says one line and closes its end, and so does one that fails.
        let _ = BufReader::new(output).read_line(&mut line);
    }
    // The daemon lives on; somebody has to take note of its end if that comes before this process's.
    std::thread::spawn(move || child.wait());
    match line.trim() {
        READY => Ok(()),
        "" => Err(no_daemon(format!("it ended at once; {} tells why", place.log().display()))),
        problem => Err(no_daemon(problem.to_owned())),
    }
}
