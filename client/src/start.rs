//! Connects to the daemon, and starts it if there is none.

use crate::error::{Error, Result};
use crate::protocol::Address;
use crate::protocol::address::READY;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The variable that names the daemon's program.
pub const PROGRAM_VARIABLE: &str = "HEARTH_DAEMON";
/// The daemon's program.
const PROGRAM: &str = "hearthd";
/// A daemon can end just when a client finds it; more often than this it is no coincidence.
const TRIES: usize = 3;

/// A stream to the daemon, which is started if none listens.
///
/// # Errors
/// If there is none and none can be started, or it hangs.
pub fn connect_or_start(address: &Address) -> Result<UnixStream> {
    let mut last = None;
    for _ in 0..TRIES {
        match address.connect() {
            Ok(stream) => return Ok(stream),
            // No other one could serve while it has the lock.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Err(Error::broken(&address.socket())(error));
            }
            Err(error) => last = Some(error),
        }
        start(address)?;
    }
    address.connect().map_err(|error| Error::broken(&address.socket())(last.unwrap_or(error)))
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
fn start(address: &Address) -> Result<()> {
    let prepared = address.prepare();
    prepared.map_err(|error| Error::System { what: "make the directory of the daemon's socket", error })?;
    let program = program();
    let no_daemon = |problem: String| Error::NoDaemon { program: program.clone(), problem };
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(address.log());
    let log = log.map_err(|error| Error::System { what: "write the daemon's log", error })?;
    let mut child = Command::new(&program)
        .arg("--directory")
        .arg(address.directory())
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
        "" => Err(no_daemon(format!("it ended at once; {} tells why", address.log().display()))),
        problem => Err(no_daemon(problem.to_owned())),
    }
}
