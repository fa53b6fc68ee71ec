//! The launcher: makes the sandbox, and the subject in it. It runs in a process of its own, with one thread.
//!
//! The subject becomes the first process of a process namespace: whatever a run leaves behind is in it, the
//! subject can kill it all at once, and no run can kill the subject. There is no network, and everything
//! mounted is read-only. The launcher stays above it, ends it when the daemon is gone, and ends as it does.

use crate::launch::{DAEMON_FD, ORDER_FD, Order, Report, environment, fix_addresses};
use crate::limits::RUN_NICENESS;
use hearth_shim_abi::{CONTROL_FD, SHIM_FD};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

/// The smallest limit on process numbers that the kernel takes in a namespace.
const SMALLEST_PID_LIMIT: u64 = 301;
/// What a subject may write before its warm point.
const START_FILE_BYTES: u64 = 16 << 20;
/// The highest number a capability can have.
const LAST_CAPABILITY: i32 = 63;

/// Runs as the launcher, in a program that was started with [`LAUNCH_ARGUMENT`](crate::launch::LAUNCH_ARGUMENT).
#[must_use]
pub fn main() -> ExitCode {
    let Some((mut daemon, order)) = take_order() else {
        eprintln!("hearth: this is for Hearth's own use");
        return ExitCode::FAILURE;
    };
    match launch(&mut daemon, &order) {
        Ok(code) => code,
        Err(problem) => {
            report(&mut daemon, &Report::Failed(problem));
            ExitCode::FAILURE
        }
    }
}

fn take_order() -> Option<(UnixStream, Order)> {
    // Somebody who types the argument has none of the descriptors.
    for fd in [DAEMON_FD, ORDER_FD] {
        fs::symlink_metadata(format!("/proc/self/fd/{fd}")).ok()?;
    }
    // SAFETY: the daemon has opened it for this process, and nothing else in it knows of it.
    let daemon = UnixStream::from(unsafe { OwnedFd::from_raw_fd(DAEMON_FD) });
    // SAFETY: as above.
    let mut file = File::from(unsafe { OwnedFd::from_raw_fd(ORDER_FD) });
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    Some((daemon, serde_json::from_slice(&text).ok()?))
}

fn report(daemon: &mut UnixStream, report: &Report) {
    let mut line = serde_json::to_vec(report).unwrap_or_default();
    line.push(b'\n');
    // A daemon that is gone needs no report.
    let _ = daemon.write_all(&line);
}

fn launch(daemon: &mut UnixStream, order: &Order) -> Result<ExitCode, String> {
    for fd in [DAEMON_FD, ORDER_FD] {
        set_close_on_exec(fd);
    }
    let mut missing = Vec::new();
    enter_namespaces(&mut missing);
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(format!("cannot fork: {}", std::io::Error::last_os_error())),
        0 => match start(daemon, order, missing) {
            Ok(never) => match never {},
            Err(problem) => {
                // Once the sandbox stands, the daemon listens to the subject's output only.
                eprintln!("{problem}");
                report(daemon, &Report::Failed(problem));
                // SAFETY: ends the process; there is nothing to clean up.
                unsafe { libc::_exit(libc::EXIT_FAILURE) }
            }
        },
        pid => {
            report(daemon, &Report::Process(pid));
            watch(daemon, pid)
        }
    }
}

/// Waits for the subject to end, or for the daemon to be gone.
fn watch(daemon: &UnixStream, pid: i32) -> Result<ExitCode, String> {
    let pid = Pid::from_raw(pid).ok_or("fork returned no process")?;
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| format!("no pidfd: {error}"))?;
    loop {
        let mut fds = [
            PollFd::new(&process, PollFlags::IN),
            PollFd::from_borrowed_fd(daemon.as_fd(), PollFlags::RDHUP),
        ];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(format!("cannot wait: {error}")),
            Ok(_) => {}
        }
        let (ended, gone) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
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
        if gone {
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    }
}

/// Enters the namespaces that its children will be in.
fn enter_namespaces(missing: &mut Vec<String>) {
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    if !uid.is_root() {
        // SAFETY: this process has one thread, and no descriptors or memory that the change would affect.
        match unsafe { unshare_unsafe(UnshareFlags::NEWUSER) } {
            Ok(()) => {
                let map = |path: &str, text: String| fs::write(path, text);
                let mapped = map("/proc/self/setgroups", "deny".to_owned())
                    .and_then(|()| map("/proc/self/uid_map", format!("{0} {0} 1", uid.as_raw())))
                    .and_then(|()| map("/proc/self/gid_map", format!("{0} {0} 1", gid.as_raw())));
                if let Err(error) = mapped {
                    missing.push(format!("a user namespace ({error})"));
                }
            }
            Err(error) => missing.push(format!("user namespaces for ordinary users ({error})")),
        }
    }
    for (flag, what) in [
        (UnshareFlags::NEWPID, "process namespaces, so that nothing of a run stays behind"),
        (UnshareFlags::NEWNET, "network namespaces, so that a run reaches no network"),
        (UnshareFlags::NEWIPC, "IPC namespaces, so that a run leaves no shared memory"),
        (UnshareFlags::NEWNS, "mount namespaces, so that a run writes no file"),
    ] {
        // SAFETY: as above.
        if let Err(error) = unsafe { unshare_unsafe(flag) } {
            missing.push(format!("{what} ({error})"));
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
fn start(daemon: &mut UnixStream, order: &Order, mut missing: Vec<String>) -> Result<Infallible, String> {
    let at = |what: &'static str| move |error: rustix::io::Errno| format!("{what}: {error}");
    // The subject ends with its launcher.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(at("set a death signal"))?;
    let _ = rustix::process::setsid();
    stand_back();
    let limited = seal_mounts(order.processes, &mut missing);
    let is_root = rustix::process::getuid().is_root();
    if !limited && is_root {
        missing.push(
            "a limit on process numbers in a namespace (Linux 6.14), so that a run's processes are few"
                .into(),
        );
    }
    rustix::thread::set_no_new_privs(true).map_err(at("forbid new privileges"))?;
    for capability in 0..=LAST_CAPABILITY {
        // SAFETY: the call takes numbers. One that does not exist cannot be had either.
        let _ = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    if fix_addresses().is_err() {
        missing.push("fixed addresses, so that equal runs have equal counts".into());
    }
    // What it writes before its warm point is kept in memory; a run has a limit of its own.
    let start_output = libc::rlimit { rlim_cur: START_FILE_BYTES, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel reads one record.
    unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const start_output) };
    // SAFETY: the call takes numbers; what is closed is nobody's but this process's.
    unsafe { libc::syscall(libc::SYS_close_range, 3, CONTROL_FD - 1, 0) };
    report(daemon, &Report::Ready { missing, limits_processes_by_user: !limited && !is_root });
    let mut command = Command::new(&order.binary);
    command
        .arg0(order.arguments.first().map_or(order.binary.as_os_str(), |argument| argument))
        .args(order.arguments.iter().skip(1))
        .env_clear()
        .envs(environment(&order.environment, &CONTROL_FD.to_string()))
        .current_dir(&order.directory)
        .stdin(Stdio::null());
    for fd in [CONTROL_FD, SHIM_FD] {
        clear_close_on_exec(fd);
    }
    Err(format!("{}: {}", order.binary.display(), command.exec()))
}

/// Makes everything read-only, and limits process numbers on the way. Returns whether that worked.
fn seal_mounts(processes: u64, missing: &mut Vec<String>) -> bool {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    if let Err(error) = mount_change("/", private) {
        missing.push(format!("mounts of its own ({error})"));
        return false;
    }
    // Where it cannot be mounted anew, the old one does: it knows the processes by other numbers.
    let proc_flags = rustix::mount::MountFlags::NOSUID
        | rustix::mount::MountFlags::NODEV
        | rustix::mount::MountFlags::NOEXEC;
    let limited = rustix::mount::mount("proc", "/proc", "proc", proc_flags, None).is_ok()
        && fs::write("/proc/sys/kernel/pid_max", processes.max(SMALLEST_PID_LIMIT).to_string()).is_ok();
    if let Err(error) = make_read_only() {
        missing.push(format!("read-only mounts (Linux 5.12), so that a run writes no file ({error})"));
    }
    limited
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace_fd: u64,
}

fn make_read_only() -> std::io::Result<()> {
    let attributes =
        MountAttributes { set: libc::MOUNT_ATTR_RDONLY, clear: 0, propagation: 0, user_namespace_fd: 0 };
    // SAFETY: the path is terminated, and the kernel reads the attributes, whose size is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn set_close_on_exec(fd: i32) {
    // SAFETY: the call takes numbers.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

fn clear_close_on_exec(fd: i32) {
    // SAFETY: the call takes numbers.
    unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
}
