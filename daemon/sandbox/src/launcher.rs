//! The launcher: makes the sandbox, and the subject in it. It runs in a process of its own, with one thread.
//!
//! The subject becomes the first process of a process namespace: whatever a run leaves behind is in it, the
//! subject can kill it all at once, and no run can kill the subject. There is no network, everything mounted is
//! read-only or an area, and secrets are hidden. The launcher stays above it, makes areas fresh for each run, ends the
//! subject when the daemon is gone, and ends as it does.

#[expect(unsafe_code, reason = "no crate installs a filter and leaves speculation on")]
mod filter;
pub(crate) mod group;
mod guard;
mod hidden;
#[expect(unsafe_code, reason = "the C library has no call to change a mount")]
mod mounts;
#[expect(unsafe_code, reason = "it forks, and enters namespaces, with one thread")]
mod namespaces;
pub(crate) mod overlay;
mod plan;

use crate::launched::{environment, fix_addresses};
use crate::limits::{COMMAND_BYTES, PENDING_SIGNALS, RUN_NICENESS, START_FILE_BYTES, most_processes};
use crate::packet::{self, Received};
use crate::word::{DAEMON_FD, Launch, LauncherReport, ORDER_FD, Ready, Refresh, Word};
use hearth_shim_abi::{CONTROL_FD, SHIM_FD, UNREAD_TIME_S};
use overlay::Overlays;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, pidfd_open, pidfd_send_signal, setrlimit, waitpid,
};
use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Numbers of processes that the kernel gives once only; all later ones are above them.
const RESERVED_PIDS: u64 = 300;
/// The highest number a capability can have.
const LAST_CAPABILITY: i32 = 63;

pub(crate) use hidden::named;

/// Runs as the launcher, in a program that was started with [`LAUNCH_ARGUMENT`](crate::LAUNCH_ARGUMENT).
#[must_use]
pub fn main() -> ExitCode {
    let Some((daemon, subject)) = take_order() else {
        eprintln!("hearth: this is for Hearth's own use");
        return ExitCode::FAILURE;
    };
    match launch(&daemon, &subject) {
        Ok(code) => code,
        Err(problem) => {
            report(&daemon, &LauncherReport::Failed(problem), &[]);
            ExitCode::FAILURE
        }
    }
}

#[expect(unsafe_code, reason = "the daemon hands over descriptors by their numbers")]
fn take_order() -> Option<(OwnedFd, Launch)> {
    // Somebody who types the argument has none of the descriptors.
    for fd in [DAEMON_FD, ORDER_FD] {
        fs::symlink_metadata(format!("/proc/self/fd/{fd}")).ok()?;
    }
    close_others();
    // SAFETY: the daemon has opened it for this process, and nothing else in it knows of it.
    let daemon = unsafe { OwnedFd::from_raw_fd(DAEMON_FD) };
    // SAFETY: as above.
    let mut file = File::from(unsafe { OwnedFd::from_raw_fd(ORDER_FD) });
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    Some((daemon, serde_json::from_slice(&text).ok()?))
}

fn report(daemon: &OwnedFd, report: &LauncherReport, fds: &[BorrowedFd<'_>]) {
    let text = serde_json::to_vec(report).unwrap_or_default();
    // A daemon that is gone needs no report.
    let _ = packet::send(daemon, &Word, &text, fds);
}

#[expect(unsafe_code, reason = "it forks, with one thread")]
fn launch(daemon: &OwnedFd, subject: &Launch) -> Result<ExitCode, String> {
    for fd in [DAEMON_FD, ORDER_FD] {
        set_close_on_exec(fd);
    }
    let mut sandbox = Sandbox::enter(subject);
    sandbox.seal(subject);
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(format!("cannot fork: {}", std::io::Error::last_os_error())),
        0 => match start(daemon, subject, sandbox) {
            Ok(never) => match never {},
            Err(problem) => {
                // Once the sandbox stands, the daemon listens to the subject's output only.
                eprintln!("{problem}");
                report(daemon, &LauncherReport::Failed(problem), &[]);
                // SAFETY: ends the process; there is nothing to clean up.
                unsafe { libc::_exit(libc::EXIT_FAILURE) }
            }
        },
        pid => {
            if let Some(members) = &mut sandbox.memory_group {
                // Without it memory is added up process by process.
                let _ = members.write_all(pid.to_string().as_bytes());
            }
            report(daemon, &LauncherReport::Process(pid), &[]);
            watch(daemon, pid, sandbox.areas)
        }
    }
}

/// Does what the daemon asks. Says whether it is still there.
fn serve(daemon: &OwnedFd, areas: Option<&mut Overlays>) -> bool {
    let packet = match packet::receive::<Word>(daemon, COMMAND_BYTES, Instant::now()) {
        Ok(Received::Packet(packet)) => packet,
        Ok(Received::Nothing | Received::Garbage) => return true,
        Ok(Received::Closed) | Err(_) => return false,
    };
    if let (Ok(asked), Some(areas)) = (serde_json::from_slice::<Refresh>(&packet.text), areas) {
        let problem = areas.refresh(&asked).err().map(|error| error.to_string());
        report(daemon, &LauncherReport::Refreshed(problem), &[]);
    }
    true
}

/// Serves the daemon until the subject has ended, which it does when the daemon is gone.
fn watch(daemon: &OwnedFd, pid: i32, mut areas: Option<Overlays>) -> Result<ExitCode, String> {
    let pid = Pid::from_raw(pid).ok_or("fork returned no process")?;
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| format!("no pidfd: {error}"))?;
    loop {
        let mut fds = [
            PollFd::new(&process, PollFlags::IN),
            PollFd::from_borrowed_fd(daemon.as_fd(), PollFlags::IN | PollFlags::RDHUP),
        ];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(format!("cannot wait: {error}")),
            Ok(_) => {}
        }
        let (ended, asked) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if ended {
            let status = waitpid(Some(pid), WaitOptions::empty()).ok().flatten().map(|(_, status)| status);
            let code = status.map_or(1, |status| {
                status
                    .exit_status()
                    .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
                    .unwrap_or(1)
            });
            return Ok(ExitCode::from(code as u8));
        }
        if asked && !serve(daemon, areas.as_mut()) {
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    }
}

/// Where cores are scarce, answers to other clients come before runs; it costs a run nothing where they are not. Nothing
/// depends on it.
fn stand_back() {
    let _ = rustix::process::nice(RUN_NICENESS);
    // Where the kernel shares cores among sessions first, niceness counts within a session only; the session has its own.
    let _ = fs::write("/proc/self/autogroup", RUN_NICENESS.to_string());
}

/// Becomes the subject.
#[expect(unsafe_code, reason = "what is done before exec has no safe call")]
fn start(daemon: &OwnedFd, subject: &Launch, mut sandbox: Sandbox) -> Result<Infallible, String> {
    let at = |what: &'static str| move |error: rustix::io::Errno| format!("{what}: {error}");
    // The subject ends with its launcher.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(at("set a death signal"))?;
    let _ = rustix::process::setsid();
    stand_back();
    sandbox.see_own_processes(subject);
    rustix::thread::set_no_new_privs(true).map_err(at("forbid new privileges"))?;
    for capability in 0..=LAST_CAPABILITY {
        // SAFETY: the call takes numbers. One that does not exist cannot be had either.
        let _ = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    let missing = &mut sandbox.missing;
    if fix_addresses().is_err() {
        missing.push("fixed addresses, so that equal runs have equal counts".into());
    }
    // In areas there is nothing that leads anywhere, and there the guard would forbid all writing.
    if sandbox.areas.is_none()
        && let Err(error) = guard::apply()
    {
        missing.push(format!("Landlock (Linux 5.13), so that a run writes to no FIFO ({error})"));
    }
    if let Err(error) = filter::apply() {
        missing.push(format!("system-call filters, so that a run connects to nothing ({error})"));
    }
    // What it writes before its warm point is kept in memory; a run has a limit of its own.
    let start_output = Rlimit { current: Some(START_FILE_BYTES), maximum: None };
    let _ = setrlimit(Resource::Fsize, start_output);
    // Signals that nobody takes count against its user everywhere.
    let pending = Rlimit { current: Some(PENDING_SIGNALS), maximum: Some(PENDING_SIGNALS) };
    let _ = setrlimit(Resource::Sigpending, pending);
    let limits_processes_by_user = sandbox.limits_processes_by_user;
    let areas = sandbox.areas.as_ref().map(Overlays::paths).unwrap_or_default();
    let proc = File::open("/proc").map_err(|error| format!("/proc: {error}"))?;
    let mut fds = vec![proc.as_fd()];
    fds.extend(sandbox.areas.as_ref().map(|areas| areas.staging().as_fd()));
    let Sandbox { missing, has_proc, areas_problem, hidden, .. } = &sandbox;
    let ready = Ready {
        missing: missing.clone(),
        limits_processes_by_user,
        has_proc: *has_proc,
        areas,
        areas_problem: areas_problem.clone(),
        hidden: hidden.clone(),
    };
    report(daemon, &LauncherReport::Ready(ready), &fds);
    let mut command = Command::new(&subject.binary);
    command
        .arg0(subject.arguments.first().map_or(subject.binary.as_os_str(), |argument| argument))
        .args(subject.arguments.iter().skip(1))
        .env_clear()
        .envs(environment(&subject.environment, &CONTROL_FD.to_string(), subject.first_library.as_deref()))
        .current_dir(&subject.directory)
        .stdin(unread_file().map_err(|error| format!("standard input: {error}"))?);
    for fd in [CONTROL_FD, SHIM_FD] {
        clear_close_on_exec(fd);
    }
    Err(format!("{}: {}", subject.binary.display(), command.exec()))
}

/// An empty file in memory; when it is read shows in its time of access.
fn unread_file() -> std::io::Result<File> {
    let file = File::from(rustix::fs::memfd_create("hearth", rustix::fs::MemfdFlags::CLOEXEC)?);
    let time = |tv_sec| rustix::fs::Timespec { tv_sec, tv_nsec: 0 };
    let times = rustix::fs::Timestamps {
        last_access: time(UNREAD_TIME_S),
        last_modification: time(UNREAD_TIME_S + 1),
    };
    rustix::fs::futimens(&file, &times)?;
    Ok(file)
}

/// What keeps a subject apart.
struct Sandbox {
    /// What the machine lacks.
    missing: Vec<String>,
    /// Mounts can be changed without anybody's noticing.
    has_mounts: bool,
    /// Processes are added to a group by this, which tells what memory they take.
    memory_group: Option<File>,
    /// Each run limits its processes by the number that its user has in the namespace.
    limits_processes_by_user: bool,
    /// It has a `/proc` of its own.
    has_proc: bool,
    /// Where runs can write, if the machine can do that.
    areas: Option<Overlays>,
    /// Why it cannot.
    areas_problem: Option<String>,
    /// What runs do not see.
    hidden: Vec<PathBuf>,
}

impl Sandbox {
    /// Enters groups and namespaces, for its children.
    fn enter(subject: &Launch) -> Self {
        let mut missing = Vec::new();
        let is_root = rustix::process::getuid().is_root();
        let most = most_processes(subject.processes);
        if is_root && let Err(error) = group::join(most) {
            missing.push(format!("control groups, so that a run of root's has few processes ({error})"));
        }
        let memory_group = if is_root { group::make_for_memory() } else { None };
        let has_mounts = namespaces::enter(&mut missing);
        Self {
            missing,
            has_mounts,
            memory_group,
            limits_processes_by_user: !is_root,
            has_proc: false,
            areas: None,
            areas_problem: None,
            hidden: Vec::new(),
        }
    }

    /// Changes the mounts.
    fn seal(&mut self, subject: &Launch) {
        if !self.has_mounts {
            return;
        }
        if let Err(error) = mounts::make_private() {
            self.missing.push(format!("mounts of its own ({error})"));
            self.has_mounts = false;
            return;
        }
        let mut named = named(&subject.directory, &subject.arguments);
        named.extend([subject.directory.clone(), subject.binary.clone()]);
        let is_root = rustix::process::getuid().is_root();
        let hidden = hidden::find(&subject.hidden, &subject.shown, &named, is_root);
        match mounts::seal(&hidden, &subject.wanted(), &mut self.missing) {
            Ok(areas) => self.areas = Some(areas),
            Err(error) => self.areas_problem = Some(error.to_string()),
        }
        self.hidden = hidden.into_iter().map(|hidden| hidden.path).collect();
    }

    /// In the process namespace: mounts its `/proc`, and limits process numbers on the way.
    fn see_own_processes(&mut self, subject: &Launch) {
        if !self.has_mounts {
            return;
        }
        // A second limit, for machines that have it (Linux 6.14): a bomb takes no numbers from the rest of the machine.
        let most = most_processes(subject.processes).saturating_add(RESERVED_PIDS);
        let limit = || {
            let _ = fs::write("/proc/sys/kernel/pid_max", most.to_string());
        };
        self.has_proc = mounts::make_proc(limit, &mut self.missing);
    }
}

/// Closes what the starting process had open and forgot to keep to itself.
#[expect(unsafe_code, reason = "it closes descriptors that nobody owns")]
fn close_others() {
    let own = [CONTROL_FD, SHIM_FD, DAEMON_FD, ORDER_FD];
    let (first, last) = (own.into_iter().min(), own.into_iter().max());
    for (from, to) in [(Some(3), first.map(|fd| fd - 1)), (last.map(|fd| fd + 1), Some(i32::MAX))] {
        let (Some(from), Some(to)) = (from, to) else { continue };
        // SAFETY: the call takes numbers; nothing in this process has opened anything yet.
        unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
    }
}

#[expect(unsafe_code, reason = "the descriptor is known by its number")]
fn set_close_on_exec(fd: i32) {
    // SAFETY: the call takes numbers.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

#[expect(unsafe_code, reason = "the descriptor is known by its number")]
fn clear_close_on_exec(fd: i32) {
    // SAFETY: the call takes numbers.
    unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
}
