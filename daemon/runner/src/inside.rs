//! The processes of a sandbox, by the numbers that they have in it.

use crate::memory::Memory;
use crate::usage::processes_inside;
use hearth_sandbox::Launched;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// What the kernel tells of a process: its directory below `/proc`, which is never another process's.
#[derive(Debug)]
pub struct Process(OwnedFd);

impl Process {
    fn open(&self, name: &str) -> io::Result<File> {
        Ok(rustix::fs::openat(&self.0, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?.into())
    }

    /// Its memory.
    ///
    /// # Errors
    /// If it is gone.
    pub fn memory(&self) -> io::Result<Memory> {
        self.open("mem").map(Memory::without_pages)
    }

    /// The list of what it has mapped.
    ///
    /// # Errors
    /// If it is gone.
    pub fn maps(&self) -> io::Result<String> {
        let mut maps = String::new();
        self.open("maps")?.read_to_string(&mut maps)?;
        Ok(maps)
    }

    /// Its program.
    ///
    /// # Errors
    /// If it is gone.
    pub fn program(&self) -> io::Result<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        let path = rustix::fs::readlinkat(&self.0, "exe", Vec::new())?;
        Ok(std::ffi::OsString::from_vec(path.into_bytes()).into())
    }

    /// The file of its program, which need not be where its path leads.
    ///
    /// # Errors
    /// If it is gone.
    pub fn program_file(&self) -> io::Result<File> {
        self.open("exe")
    }

    /// Has it ended? It may still be waited for.
    fn has_ended(&self) -> bool {
        let Ok(status) = self.status() else { return true };
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        state.is_some_and(|state| state.trim_start().starts_with(['Z', 'X']))
    }

    /// Its state, in lines.
    ///
    /// # Errors
    /// If it is gone.
    pub fn status(&self) -> io::Result<String> {
        let mut status = String::new();
        self.open("status")?.read_to_string(&mut status)?;
        Ok(status)
    }

    /// Kills it.
    pub fn kill(&self) {
        // SAFETY: the call takes numbers, and no more about the signal. A process's directory stands for it.
        let _ =
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), libc::SIGKILL, 0, 0) };
    }
}

/// The processes of a sandbox.
#[derive(Debug)]
pub enum Inside<'s> {
    /// Through the sandbox's own `/proc`.
    Own(&'s OwnedFd),
    /// Through the machine's, below a zygote; some may be missed while there are new ones.
    Machine(i32),
}

impl<'s> Inside<'s> {
    /// Those of a subject and its runs, if its process is known.
    #[must_use]
    pub fn of(launched: &'s Launched) -> Option<Self> {
        launched.proc().map(Self::Own).or(launched.process.map(Self::Machine))
    }

    /// The process of a number, if it is there. Runs name the numbers; that of the zygote, the first one, is never meant.
    #[must_use]
    pub fn find(&self, number: u32) -> Option<Process> {
        if number <= 1 {
            return None;
        }
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = match self {
            Self::Own(proc) => rustix::fs::openat(proc, number.to_string(), flags, Mode::empty()),
            Self::Machine(zygote) => {
                let process = processes_inside(*zygote).get(&number).copied()?;
                rustix::fs::open(format!("/proc/{process}"), flags, Mode::empty())
            }
        };
        opened.ok().map(Process)
    }

    /// Has the process of a number ended? Not if that cannot be known.
    #[must_use]
    pub fn has_ended(&self, number: u32) -> bool {
        match self {
            Self::Own(_) => self.find(number).is_none_or(|process| process.has_ended()),
            Self::Machine(_) => false,
        }
    }
}
