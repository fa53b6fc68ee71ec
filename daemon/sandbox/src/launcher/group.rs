//! Control groups of root's subjects: one limits processes, for which no other limit of the kernel's holds, and one tells what
//! memory they take, whoever has it mapped.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where groups that can limit processes are made, in either version of control groups.
const PARENTS: &[&str] = &["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
/// Where groups that tell of memory are made.
const MEMORY_PARENTS: &[&str] = &["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
/// The file of a group that tells what its memory is.
const MEMORY: &str = "memory.stat";
/// What of it nothing on a disk is behind: memory, and shared memory with files in memory; as either version of control groups
/// calls it.
const MEMORY_FIELDS: [[&str; 2]; 2] = [["rss", "shmem"], ["anon", "shmem"]];
/// The kernel's own memory for a group: a field in the second version, a file in the first.
const KERNEL_FIELD: &str = "kernel";
/// See [`KERNEL_FIELD`].
const KERNEL_FILE: &str = "memory.kmem.usage_in_bytes";
/// Groups are called this and the number of their launcher.
const PREFIX: &str = "hearth-";
/// The file with a group's limit.
const LIMIT: &str = "pids.max";
/// The file that a process joins a group by.
const MEMBERS: &str = "cgroup.procs";

/// Joins a new group that may have so many processes.
///
/// # Errors
/// If there is no such kind of groups, or this process may not make one.
pub fn join(processes: u64) -> io::Result<()> {
    let mut last = io::Error::other("no control groups for processes");
    for parent in PARENTS.iter().map(Path::new) {
        remove_left_over(parent);
        match join_below(parent, processes) {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn join_below(parent: &Path, processes: u64) -> io::Result<()> {
    let group = path(parent, std::process::id());
    fs::create_dir(&group)?;
    // A group without this file limits nothing, and a process would be in it for nothing.
    let joined = open(&group.join(LIMIT))
        .and_then(|mut limit| limit.write_all(processes.to_string().as_bytes()))
        .and_then(|()| open(&group.join(MEMBERS)))
        .and_then(|mut members| members.write_all(b"0"));
    if joined.is_err() {
        fs::remove_dir(&group)?;
    }
    joined
}

/// Makes a group that tells what memory its members take, and returns the file that processes are added by. The machine may have
/// no such groups.
pub fn make_for_memory() -> Option<File> {
    let of_parent = |parent: &&str| {
        let parent = Path::new(parent);
        remove_left_over(parent);
        let group = path(parent, std::process::id());
        // In the second version it is that of the processes.
        let is_new = fs::create_dir(&group).is_ok();
        let members = memory_below(&group).and_then(|_| open(&group.join(MEMBERS)).ok());
        if members.is_none() && is_new {
            let _ = fs::remove_dir(&group);
        }
        members
    };
    MEMORY_PARENTS.iter().find_map(of_parent)
}

/// The group of a launcher that tells of memory.
pub fn of_memory(launcher: u32) -> Option<PathBuf> {
    let groups = MEMORY_PARENTS.iter().map(|parent| path(Path::new(parent), launcher));
    groups.into_iter().find(|group| memory_below(group).is_some())
}

/// What the members of a group take.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Memory, shared memory and files in memory, in bytes.
    pub own: u64,
    /// What the kernel has for them, in bytes.
    pub kernel: u64,
}

/// What the members of a group take.
pub fn memory_below(group: &Path) -> Option<Memory> {
    let table = fs::read_to_string(group.join(MEMORY)).ok()?;
    let field = |name: &str| {
        let value = table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.parse::<u64>().ok()
    };
    let own = MEMORY_FIELDS.iter().find_map(|[first, second]| Some(field(first)? + field(second)?))?;
    let file = || fs::read_to_string(group.join(KERNEL_FILE)).ok()?.trim().parse().ok();
    Some(Memory { own, kernel: field(KERNEL_FIELD).or_else(file).unwrap_or(0) })
}

/// The kernel makes the files of a group; none is created here.
fn open(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}

fn path(parent: &Path, launcher: u32) -> PathBuf {
    parent.join(format!("{PREFIX}{launcher}"))
}

/// Removes the group of a launcher that has ended, if it had one.
pub fn remove(launcher: u32) {
    for parent in PARENTS.iter().chain(MEMORY_PARENTS) {
        // Most have none.
        let _ = fs::remove_dir(path(Path::new(parent), launcher));
    }
}

/// Removes the groups of launchers whose daemon was killed. A group with processes cannot be removed.
fn remove_left_over(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let launcher = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if launcher.is_some_and(|launcher| !Path::new("/proc").join(launcher.to_string()).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
