//! Puts the files that a run has made onto the host.
//!
//! The run may have been hostile, and has seen what there is: it has chosen names, and has replaced in its own view what stands
//! in the way on the host. So no symbolic link is followed, nothing but files is opened, and other names of a file keep what
//! they have.

use super::show::printable;
use hearth_runner::run::OutputFile;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// For directories on the way: they may be ones that cannot be read, and are no symbolic links.
const ON_THE_WAY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// For new files.
const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// For files that are there. What else may have come in between is neither followed nor waited for.
const OLD: OFlags = OFlags::WRONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
/// The machine's own directories. What a run writes there besides its work stays in memory, so that no program of the machine is
/// changed by the way.
const SYSTEM: &[&str] = &["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr"];
/// The permissions of a file: who may read, write and execute it.
const PERMISSIONS: u32 = 0o777;

/// Why a file is not written.
#[derive(Debug, Error)]
enum Obstacle {
    #[error("it is no whole path; let the program name a file by its path from / on")]
    NoWholePath,
    #[error("there is a {0} in its place; remove it first")]
    Taken(&'static str),
    #[error("{} is a {kind}, and not followed; remove it first, or let the program write to where it leads", printable(.path.display()))]
    Link { path: PathBuf, kind: &'static str },
    #[error("{} is a {kind}, and no directory; remove it first", printable(.path.display()))]
    NoDirectory { path: PathBuf, kind: &'static str },
    #[error("cannot enter or make the directory {}: {error}", printable(.path.display()))]
    Directory { path: PathBuf, error: io::Error },
    #[error("it is the machine's own; name it among the program's arguments, or run in {0}")]
    Systems(&'static str),
    #[error("it has changed just now; see who else writes it")]
    Changed,
    #[error("{0}")]
    System(#[from] io::Error),
}

impl From<Errno> for Obstacle {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// Puts a file where the run has made it, which ran in a directory with some arguments.
///
/// # Errors
/// What stands in the way, and what to do about it.
pub fn put(file: &OutputFile, directory: &Path, arguments: &[OsString]) -> Result<(), String> {
    let systems = SYSTEM.iter().find(|system| file.path.starts_with(system));
    let is_meant = |system: &str| {
        directory.starts_with(system) || arguments.iter().any(|argument| file.path == Path::new(argument))
    };
    let allowed =
        systems.filter(|system| !is_meant(system)).map_or(Ok(()), |system| Err(Obstacle::Systems(system)));
    allowed
        .and_then(|()| put_in_place(file))
        .map_err(|obstacle| format!("cannot write {}: {obstacle}", printable(file.path.display())))
}

fn put_in_place(file: &OutputFile) -> Result<(), Obstacle> {
    let (directory, name) = directory_and_name(&file.path).ok_or(Obstacle::NoWholePath)?;
    let directory = enter(directory)?;
    let old = match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return create(&directory, name, file),
        old => old?,
    };
    match FileType::from_raw_mode(old.st_mode) {
        FileType::RegularFile if is_same(&directory, name, file, &old) => Ok(()),
        FileType::RegularFile if old.st_nlink == 1 => overwrite(&directory, name, file),
        FileType::RegularFile => replace(&directory, name, file, &old),
        other => Err(Obstacle::Taken(describe(other))),
    }
}

/// The two parts of an absolute path in which nothing leads up again.
fn directory_and_name(path: &Path) -> Option<(&Path, &OsStr)> {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    let is_whole = path.is_absolute() && path.components().all(is_plain);
    path.parent().zip(path.file_name()).filter(|_| is_whole)
}

/// Opens a directory, step by step from `/` on, and makes what is missing of it.
fn enter(directory: &Path) -> Result<OwnedFd, Obstacle> {
    let mut path = PathBuf::from("/");
    let mut opened = rustix::fs::open(&path, ON_THE_WAY, Mode::empty())?;
    for name in directory.iter().skip(1) {
        path.push(name);
        opened = step(&opened, name).map_err(|error| blocked(&opened, name, &path, error))?;
    }
    Ok(opened)
}

/// Opens a directory in a directory; makes it if it is missing.
fn step(above: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let open = || rustix::fs::openat(above, name, ON_THE_WAY, Mode::empty());
    match open() {
        Err(Errno::NOENT) => match rustix::fs::mkdirat(above, name, Mode::from_raw_mode(PERMISSIONS)) {
            Ok(()) | Err(Errno::EXIST) => open(),
            Err(error) => Err(error),
        },
        opened => opened,
    }
}

/// Why there is no way on.
fn blocked(above: &OwnedFd, name: &OsStr, path: &Path, error: Errno) -> Obstacle {
    let path = path.to_owned();
    let kind = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)
        .map(|data| FileType::from_raw_mode(data.st_mode));
    match kind {
        Ok(kind @ FileType::Symlink) => Obstacle::Link { path, kind: describe(kind) },
        Ok(kind) if kind != FileType::Directory => Obstacle::NoDirectory { path, kind: describe(kind) },
        _ => Obstacle::Directory { path, error: error.into() },
    }
}

/// Writes a file where there is none.
fn create(directory: &OwnedFd, name: &OsStr, file: &OutputFile) -> Result<(), Obstacle> {
    let mode = Mode::from_raw_mode(file.mode & PERMISSIONS);
    let mut new = File::from(rustix::fs::openat(directory, name, NEW, mode)?);
    Ok(new.write_all(&file.bytes)?)
}

/// Is a file already what the run has made of it? Whoever uses it is not to notice.
fn is_same(directory: &OwnedFd, name: &OsStr, file: &OutputFile, old: &Stat) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let opened = File::from(rustix::fs::openat(directory, name, flags, Mode::empty())?);
        opened.take(file.bytes.len() as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    old.st_size.unsigned_abs() == file.bytes.len() as u64
        && executable(old.st_mode, file.mode).is_none()
        && read().is_ok_and(|bytes| bytes == file.bytes)
}

/// Writes over a file that has no other name.
fn overwrite(directory: &OwnedFd, name: &OsStr, file: &OutputFile) -> Result<(), Obstacle> {
    let mut old = File::from(rustix::fs::openat(directory, name, OLD, Mode::empty())?);
    let data = rustix::fs::fstat(&old)?;
    if FileType::from_raw_mode(data.st_mode) != FileType::RegularFile || data.st_nlink != 1 {
        return Err(Obstacle::Changed);
    }
    old.set_len(0)?;
    old.write_all(&file.bytes)?;
    if let Some(mode) = executable(data.st_mode, file.mode) {
        rustix::fs::fchmod(&old, Mode::from_raw_mode(mode))?;
    }
    Ok(())
}

/// Puts a new file in place of one that has other names, too.
fn replace(directory: &OwnedFd, name: &OsStr, file: &OutputFile, old: &Stat) -> Result<(), Obstacle> {
    let mode = executable(old.st_mode, file.mode).unwrap_or(old.st_mode & PERMISSIONS);
    let temporary = format!(".hearth-{:016x}", RandomState::new().build_hasher().finish());
    let new = rustix::fs::openat(directory, &temporary, NEW, Mode::RUSR | Mode::WUSR)?;
    let put = fill(new.into(), &file.bytes, mode)
        .and_then(|()| Ok(rustix::fs::renameat(directory, &temporary, directory, name)?));
    if put.is_err() {
        let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
    }
    Ok(put?)
}

fn fill(mut new: File, bytes: &[u8], mode: u32) -> io::Result<()> {
    new.write_all(bytes)?;
    Ok(rustix::fs::fchmod(&new, Mode::from_raw_mode(mode))?)
}

/// The permissions of a file that becomes executable: who may read it may execute it, as far as the run has it so. `None` if it
/// stays as it is.
fn executable(old: u32, new: u32) -> Option<u32> {
    let added = new & 0o111 & ((old & 0o444) >> 2);
    (old & 0o111 == 0 && added != 0).then_some(old & PERMISSIONS | added)
}

fn describe(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "file of an unknown kind",
    }
}
