//! The namespaces that a subject is in.

use rustix::process::{Gid, Uid, getgid, getpid, getuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// All numbers of users and groups.
const ALL: &str = "0 0 4294967295";

/// Enters the namespaces that its children will be in. What cannot be had is added to `missing`. Says whether mounts are its
/// own.
pub fn enter(missing: &mut Vec<String>) -> bool {
    let user_names = if getuid().is_root() { enter_as_root() } else { enter_as_user(getuid(), getgid()) };
    if let Err(error) = user_names {
        missing.push(format!("user namespaces, so that a run has no rights beyond its own files ({error})"));
    }
    let mut has_mounts = false;
    for (flag, what) in [
        (UnshareFlags::NEWPID, "process namespaces, so that nothing of a run stays behind"),
        (UnshareFlags::NEWNET, "network namespaces, so that a run reaches no network"),
        (UnshareFlags::NEWIPC, "IPC namespaces, so that a run leaves no shared memory"),
        (UnshareFlags::NEWNS, "mount namespaces, so that a run writes no file"),
    ] {
        // SAFETY: this process has one thread, and no descriptors or memory that the change would affect.
        match unsafe { unshare_unsafe(flag) } {
            Ok(()) => has_mounts |= flag == UnshareFlags::NEWNS,
            Err(error) => missing.push(format!("{what} ({error})")),
        }
    }
    has_mounts
}

/// An ordinary user is the only one of its namespace; all others look like nobody.
fn enter_as_user(user: Uid, group: Gid) -> io::Result<()> {
    unshare_users()?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))
}

/// Root keeps all users as they are. Only a process outside of the namespace may say so.
fn enter_as_root() -> io::Result<()> {
    let (mut own, mut its) = UnixStream::pair()?;
    let process = getpid().as_raw_nonzero();
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(own);
            let is_done = its.read_exact(&mut [0]).is_ok()
                && fs::write(format!("/proc/{process}/uid_map"), ALL).is_ok()
                && fs::write(format!("/proc/{process}/gid_map"), ALL).is_ok();
            // SAFETY: ends the process; there is nothing to clean up.
            unsafe { libc::_exit(i32::from(!is_done)) }
        }
        helper => {
            drop(its);
            let entered = unshare_users();
            if entered.is_ok() {
                own.write_all(&[0])?;
            }
            // Without a word the helper ends.
            drop(own);
            let mut status = 0;
            // SAFETY: waits for the process just made; the status is written to.
            let waited = unsafe { libc::waitpid(helper, &raw mut status, 0) };
            entered?;
            match waited == helper && status == 0 {
                true => Ok(()),
                false => Err(io::Error::other("its users cannot be set")),
            }
        }
    }
}

fn unshare_users() -> io::Result<()> {
    // SAFETY: this process has one thread, and no descriptors or memory that the change would affect.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }?)
}
