//! What a subject sees of the file system: everything read-only, a `/proc` and a `/dev` of its own, secrets hidden.

use super::hidden::Hidden;
use rustix::fs::{AtFlags, CWD, Mode, unlinkat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount,
    open_tree,
};
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The devices that do no harm.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
/// Names that programs expect beside them.
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// What is taken from every mount of the machine's.
const SEALED: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOSUID;
/// An empty file that nobody may read, while mounts are made.
const NOTHING: &str = "/dev/nothing";

/// Mounts a `/proc`, which can be written to until the mounts are sealed, in a mount namespace that nobody else is in.
pub fn make_proc(missing: &mut Vec<String>) {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    if let Err(error) = mount_change("/", private) {
        missing.push(format!("mounts of its own ({error})"));
        return;
    }
    let proc_flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if let Err(error) = mount("proc", "/proc", "proc", proc_flags, None) {
        missing.push(format!("a /proc of its own, so that a run sees no other process ({error})"));
    }
}

/// Makes everything read-only, makes `/dev`, and hides what is hidden. What cannot be made is added to `missing`.
pub fn seal(hidden: &[Hidden], missing: &mut Vec<String>) {
    let devices = DEVICES.iter().map(|name| (*name, clone_of(&Path::new("/dev").join(name))));
    let devices: Vec<(&str, Result<OwnedFd, Errno>)> = devices.collect();
    // Below what is hidden, as it is before it is.
    let kept = hidden.iter().flat_map(|hidden| &hidden.kept).map(|path| (path.as_path(), clone_of(path)));
    let kept: Vec<(&Path, Result<OwnedFd, Errno>)> = kept.collect();
    if let Err(error) = restrict(Path::new("/"), SEALED, libc::AT_RECURSIVE) {
        missing.push(format!("read-only mounts (Linux 5.12), so that a run writes no file ({error})"));
    }
    if let Err(error) = make_devices(devices) {
        missing.push(format!("a /dev of its own, so that a run uses no device ({error})"));
        return;
    }
    for hidden in hidden {
        if let Err(error) = hide(hidden, &kept) {
            let path = hidden.path.display();
            missing.push(format!("a way to hide {path}, so that no run reads it ({error})"));
        }
    }
    let _ = unlinkat(CWD, NOTHING, AtFlags::empty());
    if let Err(error) = restrict(Path::new("/dev"), libc::MOUNT_ATTR_RDONLY, 0) {
        missing.push(format!("a read-only /dev, so that runs leave nothing there ({error})"));
    }
}

/// A mount of its own for a path and all below it, not attached anywhere yet.
fn clone_of(path: &Path) -> Result<OwnedFd, Errno> {
    let recursive = OpenTreeFlags::AT_RECURSIVE;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | recursive;
    open_tree(CWD, path, flags)
}

fn attach(tree: &OwnedFd, path: &Path) -> Result<(), Errno> {
    move_mount(tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn small_file_system(path: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("tmpfs", path, "tmpfs", flags, Some(options.as_c_str()))?)
}

fn make_devices(devices: Vec<(&str, Result<OwnedFd, Errno>)>) -> io::Result<()> {
    let directory = Path::new("/dev");
    small_file_system(directory, "mode=755,size=64k,nr_inodes=64")?;
    for (name, device) in devices {
        // A machine may lack one of them.
        let Ok(device) = device else { continue };
        let path = directory.join(name);
        File::create(&path)?;
        attach(&device, &path)?;
    }
    for (name, target) in LINKS {
        symlink(target, directory.join(name))?;
    }
    fs::create_dir(directory.join("shm"))?;
    File::create(NOTHING)?;
    Ok(rustix::fs::chmod(NOTHING, Mode::empty())?)
}

/// Covers a path, so that it can be neither read nor listed.
fn hide(hidden: &Hidden, kept: &[(&Path, Result<OwnedFd, Errno>)]) -> io::Result<()> {
    let path = &hidden.path;
    if !hidden.is_directory {
        return Ok(attach(&clone_of(Path::new(NOTHING))?, path)?);
    }
    let mode = if hidden.kept.is_empty() { "mode=000" } else { "mode=711" };
    small_file_system(path, &format!("{mode},size=64k,nr_inodes=1k"))?;
    for (kept, tree) in kept.iter().filter(|(kept, _)| hidden.kept.iter().any(|own| own == kept)) {
        let tree = tree.as_ref().map_err(|&error| error)?;
        if rustix::fs::statat(tree, "", AtFlags::EMPTY_PATH)?.st_mode & libc::S_IFMT == libc::S_IFDIR {
            fs::create_dir_all(kept)?;
        } else {
            fs::create_dir_all(kept.parent().unwrap_or(path))?;
            File::create(kept)?;
        }
        attach(tree, kept)?;
        restrict(kept, SEALED, libc::AT_RECURSIVE)?;
    }
    restrict(path, libc::MOUNT_ATTR_RDONLY, 0)
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace_fd: u64,
}

/// Takes rights away from a mount, and with `AT_RECURSIVE` from all below it.
fn restrict(path: &Path, set: u64, flags: i32) -> io::Result<()> {
    let path = CString::new(OsStr::as_bytes(path.as_os_str()))?;
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace_fd: 0 };
    // SAFETY: the path is terminated, and the kernel reads the attributes, whose size is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
