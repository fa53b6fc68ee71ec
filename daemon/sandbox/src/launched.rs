//! Starting a subject: the daemon's side. A launcher is started, which makes the sandbox and the subject in it.

use crate::areas::Areas;
use crate::error::{During, Error, Result};
use crate::launcher::group;
use crate::limits::{
    EARLY_OUTPUT_BYTES, ENDING_DEADLINE, KERNEL_BYTES_EACH, LAUNCH_DEADLINE, REPORT_BYTES,
    START_OUTPUT_BYTES, most_processes,
};
use crate::memory_file::{self, contents};
use crate::packet::{self, Received};
use crate::shim;
use crate::word::{DAEMON_FD, Launch, LauncherReport, ORDER_FD, Refresh, Word};
use command_fds::{CommandFdExt, FdMapping};
use hearth_protocol::Address;
use hearth_shim_abi::{CONTROL_FD, CONTROL_VARIABLE, SHIM_FD};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The argument that makes a program a launcher.
pub const LAUNCH_ARGUMENT: &str = "__launch";

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
        Self { program, hidden: vec![Address::of_user().directory().to_owned()] }
    }
}

/// What becomes of a machine that lacks something the sandbox needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Policy {
    /// Nothing is run.
    #[default]
    Required,
    /// Runs are kept apart as far as the machine can.
    BestEffort,
}

/// A subject's process and the launcher above it.
#[derive(Debug)]
pub struct Launched {
    launcher: Child,
    /// The launcher kills the subject when this closes.
    alive: OwnedFd,
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
    /// The control group that tells what memory the subject and its runs take, if there is one.
    memory_group: Option<PathBuf>,
    /// What the kernel may have for as many processes as there may be, in bytes.
    kernel_bytes: u64,
    /// The sandbox's `/proc`, if it has one of its own.
    proc: Option<OwnedFd>,
    /// What runs do not see.
    pub hidden: Vec<PathBuf>,
    /// Why there are no areas.
    pub areas_problem: Option<String>,
    /// What runs write to, if the machine has areas; else the shim keeps files in memory.
    pub areas: Option<Areas>,
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

/// Turns off the randomization of addresses for the program that is started next.
#[expect(unsafe_code, reason = "no crate has this call")]
pub fn fix_addresses() -> io::Result<()> {
    // SAFETY: the call takes a number.
    match unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

impl Launched {
    /// Starts a subject in a sandbox.
    pub fn start(launcher: &Launcher, subject: &Launch, policy: Policy) -> Result<Self> {
        let failed = |problem: String| Error::Launch { path: subject.binary.clone(), problem };
        let (control, shim_end) = packet::pair().during("make a socket")?;
        let (alive, launcher_end) = packet::pair().during("make a socket")?;
        let output = [memory_file::growing()?, memory_file::growing()?];
        let text = serde_json::to_vec(subject).map_err(|error| failed(error.to_string()))?;
        let mut order_file = memory_file::empty()?;
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
                mapping(launcher_end, DAEMON_FD),
                mapping(order_file.into(), ORDER_FD),
            ])
            .map_err(|error| failed(error.to_string()))?;
        let child =
            command.spawn().map_err(|error| failed(format!("{}: {error}", launcher.program.display())))?;
        drop(command);
        let mut launched = Self {
            launcher: child,
            alive,
            control,
            output,
            process: None,
            missing: Vec::new(),
            limits_processes_by_user: false,
            memory_group: None,
            kernel_bytes: most_processes(subject.processes).saturating_mul(KERNEL_BYTES_EACH),
            proc: None,
            hidden: Vec::new(),
            areas_problem: None,
            areas: None,
        };
        launched.wait_until_ready(subject)?;
        launched.memory_group = group::of_memory(launched.launcher.id());
        match policy {
            Policy::Required if !launched.missing.is_empty() => {
                Err(Error::Lacking { missing: launched.missing.clone() })
            }
            Policy::Required | Policy::BestEffort => Ok(launched),
        }
    }

    /// The launcher names the process, and the process says that its sandbox stands, in any launch.
    fn wait_until_ready(&mut self, subject: &Launch) -> Result<()> {
        let failed = |problem: String| Error::Launch { path: subject.binary.clone(), problem };
        let mut ready = false;
        while self.process.is_none() || !ready {
            match self.report() {
                Some((LauncherReport::Process(pid), _)) => self.process = Some(pid),
                Some((LauncherReport::Ready(told), fds)) => {
                    ready = true;
                    (self.missing, self.limits_processes_by_user) =
                        (told.missing, told.limits_processes_by_user);
                    self.areas_problem = told.areas_problem;
                    let mut fds = fds.into_iter();
                    self.proc = fds.next().filter(|_| told.has_proc);
                    self.hidden = told.hidden.clone();
                    let areas = |staging| Areas::new(staging, told.areas, &subject.wanted(), told.hidden);
                    self.areas = fds.next().map(areas);
                }
                Some((LauncherReport::Failed(problem), _)) => return Err(failed(problem)),
                Some((LauncherReport::Refreshed(_), _)) | None => {
                    return Err(failed(format!("the launcher said nothing; {}", self.output())));
                }
            }
        }
        Ok(())
    }

    /// What the launcher says next, and the descriptors that come with it.
    fn report(&self) -> Option<(LauncherReport, Vec<OwnedFd>)> {
        let deadline = Instant::now() + LAUNCH_DEADLINE;
        match packet::receive::<Word>(&self.alive, REPORT_BYTES, deadline) {
            Ok(Received::Packet(packet)) => Some((serde_json::from_slice(&packet.text).ok()?, packet.fds)),
            _ => None,
        }
    }

    /// The memory of the subject and all its runs' processes, in bytes, if the machine tells. The kernel's own counts as far as
    /// it is more than processes need.
    pub fn memory_bytes(&self) -> Option<u64> {
        let memory = group::memory_below(self.memory_group.as_ref()?)?;
        Some(memory.own + memory.kernel.saturating_sub(self.kernel_bytes))
    }

    /// The sandbox's `/proc`, if it has one of its own.
    #[must_use]
    pub fn proc(&self) -> Option<&OwnedFd> {
        self.proc.as_ref()
    }

    /// Asks the launcher for fresh areas. It is done by the time that [`Self::finish_refreshing`] returns.
    pub fn refresh(&mut self, asked: &Refresh) -> Result<()> {
        let is_empty = asked.written.is_empty() && asked.read.is_empty();
        let Some(own) = self.areas.as_mut().filter(|_| !is_empty) else { return Ok(()) };
        own.begin_refreshing(asked);
        let text = serde_json::to_vec(asked).unwrap_or_default();
        packet::send(&self.alive, &Word, &text, &[])
            .map_err(|error| Error::Lost(format!("its launcher is gone: {error}")))
    }

    /// Waits until the areas are fresh.
    pub fn finish_refreshing(&mut self) -> Result<()> {
        if !self.areas.as_ref().is_some_and(Areas::is_refreshing) {
            return Ok(());
        }
        match self.report() {
            Some((LauncherReport::Refreshed(None), _)) => {
                self.areas.iter_mut().for_each(Areas::end_refreshing);
                Ok(())
            }
            Some((LauncherReport::Refreshed(Some(problem)), _)) => {
                Err(Error::Lost(format!("its files cannot be made fresh: {problem}")))
            }
            _ => Err(Error::Lost("its launcher does not answer".to_owned())),
        }
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
            let _ = rustix::net::shutdown(&self.alive, rustix::net::Shutdown::Both);
            if self.wait_for_end(ENDING_DEADLINE).is_none() {
                // The subject dies with its launcher, and its process namespace with it.
                let _ = self.launcher.kill();
                let _ = self.launcher.wait();
            }
        }
        group::remove(self.launcher.id());
        ended
    }

    /// Waits a moment for the launcher to end by itself: its subject has.
    pub fn wait_for_end(&mut self, limit: Duration) -> Option<String> {
        let started = Instant::now();
        while started.elapsed() < limit {
            if let Ok(Some(status)) = self.launcher.try_wait() {
                return Some(match (status.code(), status.signal()) {
                    (Some(code), _) if code > 128 => format!("it was killed by signal {}", code - 128),
                    // By `exit`, and from `main`, it would have said so itself.
                    (Some(code), _) => format!(
                        "it exited with code {code}, by _exit; or it has closed descriptor {CONTROL_FD}, by which Hearth hears of it"
                    ),
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
