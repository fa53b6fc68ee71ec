//! The control group that limits root's processes: no other limit of the kernel's holds for root.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where groups that can limit processes are made, in either version of control groups.
const PARENTS: &[&str] = &["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
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

/// The kernel makes the files of a group; none is created here.
fn open(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}

fn path(parent: &Path, launcher: u32) -> PathBuf {
    parent.join(format!("{PREFIX}{launcher}"))
}

/// Removes the group of a launcher that has ended, if it had one.
pub fn remove(launcher: u32) {
    for parent in PARENTS {
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
