//! Starting a subject: the daemon's side. A launcher is started, which makes the sandbox and the subject in it.

use crate::error::{During, Error, Result};
use crate::limits::{EARLY_OUTPUT_BYTES, START_OUTPUT_BYTES};
use crate::stage::contents;
use crate::zygote::ZygoteKey;
use crate::{packet, program, sandbox, shim};
use command_fds::{CommandFdExt, FdMapping};
use hearth_client::address::Place;
use hearth_shim_abi::{CONTROL_FD, CONTROL_VARIABLE, INACTIVE, SHIM_FD};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The launcher's descriptors: the socket to the daemon, and the order.
pub(crate) const DAEMON_FD: i32 = 202;
/// See [`DAEMON_FD`].
pub(crate) const ORDER_FD: i32 = 203;
/// The argument that makes a program a launcher.
pub const LAUNCH_ARGUMENT: &str = "__launch";
/// How long a launcher may take to end its subject.
const ENDING_DEADLINE: Duration = Duration::from_secs(1);
/// How long a launcher may take to say what it has done.
const LAUNCH_DEADLINE: Duration = Duration::from_secs(10);

/// What the daemon orders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub binary: PathBuf,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub directory: PathBuf,
    /// A library that is loaded before the shim.
    pub first_library: Option<String>,
    /// Processes that runs may have at a time.
    pub processes: u64,
    /// Paths that runs do not see, besides those that are always hidden.
    pub hidden: Vec<PathBuf>,
    /// Paths that runs see although they would be hidden.
    pub shown: Vec<PathBuf>,
}

/// What starts subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// A program that becomes a launcher when started with [`LAUNCH_ARGUMENT`].
    pub program: PathBuf,
    /// Paths that no subject sees.
    pub hidden: Vec<PathBuf>,
}

impl From<PathBuf> for Launcher {
    /// A launcher that hides the directory of the user's daemon.
    fn from(program: PathBuf) -> Self {
        Self { program, hidden: vec![Place::of_user().directory().to_owned()] }
    }
}

/// What the launcher says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The subject's process, as the daemon numbers it.
    Process(i32),
    /// The sandbox stands, without these.
    Ready { missing: Vec<String>, limits_processes_by_user: bool },
    /// It failed.
    Failed(String),
}

/// What becomes of a machine that lacks something the sandbox needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum SandboxPolicy {
    /// Nothing is run.
    #[default]
    Required,
    /// Runs are kept apart as far as the machine can.
    BestEffort,
}

/// A subject's process and the launcher above it.
#[derive(Debug)]
pub(crate) struct Launched {
    launcher: Child,
    /// The launcher kills the subject when this closes.
    alive: UnixStream,
    /// The socket to the shim.
    pub control: OwnedFd,
    /// What the subject writes to standard output and standard error before its warm point.
    output: [File; 2],
    /// The subject's process.
    pub process: Option<i32>,
    /// What the sandbox lacks.
    pub missing: Vec<String>,
    /// The processes of a run are limited by the user's.
    pub limits_processes_by_user: bool,
}

/// The environment of a subject under Hearth, `control` being the shim's variable. A library that must be the first is
/// loaded before the shim.
#[must_use]
pub fn environment(
    given: &[(OsString, OsString)],
    control: &str,
    first_library: Option<&str>,
) -> Vec<(OsString, OsString)> {
    let mut environment = given.to_vec();
    environment.retain(|(name, _)| hearth_shim_abi::OWN_VARIABLES.iter().all(|own| name != own));
    let first = first_library.map(|library| format!("{library}:")).unwrap_or_default();
    environment.push(("LD_PRELOAD".into(), format!("{first}/proc/self/fd/{SHIM_FD}").into()));
    environment.push(("LD_BIND_NOW".into(), "1".into()));
    environment.push((CONTROL_VARIABLE.into(), control.into()));
    environment
}

/// A plain run of what a zygote would be, laid out in memory as the zygote is: the shim is loaded and stays
/// inactive, addresses are fixed, and arguments and environment are as long.
///
/// # Errors
/// If there is no memory for the shim.
pub fn plain_command(key: &ZygoteKey) -> io::Result<Command> {
    let program = program::inspect(&key.binary, None).map_err(io::Error::other)?;
    let first_library = program.first_library;
    let mut command = Command::new(&key.binary);
    // SAFETY: the function makes one system call, which is all that may be done there.
    unsafe { command.pre_exec(fix_addresses) };
    command
        .arg0(key.arguments.first().map_or(key.binary.as_os_str(), |name| name))
        .args(key.arguments.iter().skip(1))
        .env_clear()
        .envs(environment(&key.environment, INACTIVE, first_library.as_deref()))
        .current_dir(&key.directory)
        .fd_mappings(vec![FdMapping { parent_fd: shim::file()?.into(), child_fd: SHIM_FD }])
        .map_err(io::Error::other)?;
    Ok(command)
}

/// Turns off the randomization of addresses for the program that is started next.
pub(crate) fn fix_addresses() -> io::Result<()> {
    // SAFETY: the call takes a number.
    match unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

impl Launched {
    /// Starts a subject in a sandbox.
    pub fn start(launcher: &Launcher, order: &Order, policy: SandboxPolicy) -> Result<Self> {
        let failed = |problem: String| Error::Launch { path: order.binary.clone(), problem };
        let (control, shim_end) = packet::pair().during("make a socket")?;
        let (alive, launcher_end) = UnixStream::pair().during("make a socket")?;
        let output = [memory_file()?, memory_file()?];
        for file in &output {
            fcntl_setfl(file, OFlags::APPEND).during("make a file in memory")?;
        }
        let text = serde_json::to_vec(order).map_err(|error| failed(error.to_string()))?;
        let mut order_file = memory_file()?;
        order_file.write_all(&text).and_then(|()| order_file.rewind()).during("write to memory")?;
        let shim = shim::file().during("load the shim")?;
        let mapping = |parent_fd: OwnedFd, child_fd| FdMapping { parent_fd, child_fd };
        let mut command = Command::new(&launcher.program);
        command
            .arg(LAUNCH_ARGUMENT)
            .stdin(Stdio::null())
            .stdout(output[0].try_clone().during("copy a descriptor")?)
            .stderr(output[1].try_clone().during("copy a descriptor")?)
            .fd_mappings(vec![
                mapping(shim_end, CONTROL_FD),
                mapping(shim.into(), SHIM_FD),
                mapping(launcher_end.into(), DAEMON_FD),
                mapping(order_file.into(), ORDER_FD),
            ])
            .map_err(|error| failed(error.to_string()))?;
        let child =
            command.spawn().map_err(|error| failed(format!("{}: {error}", launcher.program.display())))?;
        drop(command);
        alive.set_read_timeout(Some(LAUNCH_DEADLINE)).during("set a timeout")?;
        let mut launched = Self {
            launcher: child,
            alive,
            control,
            output,
            process: None,
            missing: Vec::new(),
            limits_processes_by_user: false,
        };
        // The launcher names the process, and the process says that its sandbox stands, in any order.
        let mut ready = false;
        while launched.process.is_none() || !ready {
            match read_report(&mut launched.alive) {
                Some(Report::Process(pid)) => launched.process = Some(pid),
                Some(Report::Ready { missing, limits_processes_by_user }) => {
                    ready = true;
                    (launched.missing, launched.limits_processes_by_user) =
                        (missing, limits_processes_by_user);
                }
                Some(Report::Failed(problem)) => return Err(failed(problem)),
                None => return Err(failed(format!("the launcher said nothing; {}", launched.output()))),
            }
        }
        if !launched.missing.is_empty() && policy == SandboxPolicy::Required {
            return Err(Error::Sandbox { missing: launched.missing.clone() });
        }
        Ok(launched)
    }

    /// What the subject has written, cut to a limit.
    pub fn output(&self) -> String {
        let read = |file: &File| contents(file, START_OUTPUT_BYTES as u64);
        let [stdout, stderr] = &self.output;
        match read(stdout).and_then(|stdout| Ok([stdout, read(stderr)?].concat())) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("(its output cannot be read: {error})"),
        }
    }

    /// What the subject has written to standard output and standard error, for its runs to begin with. What is too much is
    /// added to `missing`.
    pub fn early_output(&self, missing: &mut Vec<String>) -> Result<[Vec<u8>; 2]> {
        let [stdout, stderr] = &self.output;
        let is_more = |file: &File| file.metadata().is_ok_and(|data| data.len() > EARLY_OUTPUT_BYTES);
        if is_more(stdout) || is_more(stderr) {
            missing.push("a part of what the subject wrote before its warm point: it is too much".to_owned());
        }
        Ok([contents(stdout, EARLY_OUTPUT_BYTES)?, contents(stderr, EARLY_OUTPUT_BYTES)?])
    }

    /// Ends the subject and everything under it, and says how it had ended if it had.
    pub fn end(&mut self) -> Option<ExitStatus> {
        // Given a moment, a launcher whose subject has ended says how.
        let ended = self.launcher.try_wait().ok().flatten();
        if ended.is_none() {
            // A launcher whose daemon is gone kills its subject, waits for it, and ends.
            let _ = self.alive.shutdown(Shutdown::Both);
            if self.wait_for_end(ENDING_DEADLINE).is_none() {
                // The subject dies with its launcher, and its process namespace with it.
                let _ = self.launcher.kill();
                let _ = self.launcher.wait();
            }
        }
        sandbox::remove_group(self.launcher.id());
        ended
    }

    /// Waits a moment for the launcher to end by itself: its subject has.
    pub fn wait_for_end(&mut self, limit: Duration) -> Option<String> {
        let started = std::time::Instant::now();
        while started.elapsed() < limit {
            if let Ok(Some(status)) = self.launcher.try_wait() {
                return Some(match (status.code(), status.signal()) {
                    (Some(code), _) if code > 128 => format!("it was killed by signal {}", code - 128),
                    (Some(code), _) => format!("it exited with code {code}"),
                    (None, signal) => format!("its launcher was killed by signal {}", signal.unwrap_or(0)),
                });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.end();
    }
}

fn memory_file() -> Result<File> {
    memfd_create("hearth", MemfdFlags::CLOEXEC).map(File::from).during("make a file in memory")
}

/// One line of JSON.
fn read_report(socket: &mut UnixStream) -> Option<Report> {
    let mut line = Vec::new();
    let mut byte = [0];
    while socket.read(&mut byte).ok()? == 1 && byte[0] != b'\n' && line.len() < 1 << 16 {
        line.push(byte[0]);
    }
    serde_json::from_slice(&line).ok()
}
