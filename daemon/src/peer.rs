//! Who a client is, as the kernel says.
//!
//! A client is served if it is of the daemon's own user, and of its own process and user namespaces: a program in
//! Hearth's sandbox that finds the socket must not be able to ask for what the sandbox denies it.

use hearth_protocol::address::DIRECTORY_VARIABLE;
use hearth_protocol::{Failure, FailureKind};
use nix::sys::socket::{getsockopt, sockopt::PeerPidfd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, getuid, pidfd_open};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::{fs, io};
use tokio::net::UnixStream;

/// Namespaces that a client shares with the daemon: what they are called, and their names in `/proc`.
const SHARED: [(&str, &str); 2] = [("process", "pid"), ("user", "user")];

/// Why a client is not served.
#[derive(Debug, thiserror::Error)]
pub enum Stranger {
    /// It is another user's.
    #[error("this daemon is another user's (the client's user is {0}); start one of your own")]
    OtherUser(u32),
    /// It is in a sandbox or a container.
    #[error(
        "this client is in another {0} namespace than the daemon, in a sandbox or a container; clients there need \
         a daemon of their own ({DIRECTORY_VARIABLE} names its directory)"
    )]
    OtherNamespace(&'static str),
    /// The kernel does not say, or the client has ended.
    #[error(
        "the kernel does not say whose client this is, or in which namespaces: {0}; connect through the socket in \
         the file system, from a process that stays until it is greeted"
    )]
    Unknown(#[from] io::Error),
}

impl From<&Stranger> for Failure {
    fn from(stranger: &Stranger) -> Self {
        Self::new(FailureKind::Foreign, stranger.to_string())
    }
}

/// Sees whether a client may be served. Nothing is read from it.
///
/// # Errors
/// If not, or if that cannot be told.
pub fn check(stream: &UnixStream) -> Result<(), Stranger> {
    let peer = stream.peer_cred()?;
    if peer.uid() != getuid().as_raw() {
        return Err(Stranger::OtherUser(peer.uid()));
    }
    // Who is in a namespace above or beside the daemon's has no number here.
    let pid = peer.pid().and_then(Pid::from_raw).ok_or(Stranger::OtherNamespace("process"))?;
    let process = process_of(stream, pid)?;
    for (called, name) in SHARED {
        if namespace(&pid.as_raw_nonzero().to_string(), name)? != namespace("self", name)? {
            return Err(Stranger::OtherNamespace(called));
        }
    }
    // As long as the process has not ended, its number is nobody else's: what was read is about it.
    if has_ended(&process)? {
        return Err(io::Error::other("it has ended").into());
    }
    Ok(())
}

/// The process that connected. Kernels before 6.5 know only its number, which may be another's by now.
fn process_of(stream: &UnixStream, pid: Pid) -> io::Result<OwnedFd> {
    match getsockopt(stream, PeerPidfd) {
        Err(nix::errno::Errno::ENOPROTOOPT) => Ok(pidfd_open(pid, PidfdFlags::empty())?),
        result => Ok(result?),
    }
}

/// What tells a namespace from others: its device and inode.
fn namespace(process: &str, name: &str) -> io::Result<(u64, u64)> {
    let data = fs::metadata(format!("/proc/{process}/ns/{name}"))?;
    Ok((data.dev(), data.ino()))
}

fn has_ended(process: &OwnedFd) -> io::Result<bool> {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default()))?;
    Ok(!polled[0].revents().is_empty())
}
