//! What a subject sees of the file system: everything read-only but for areas, a `/proc` and a `/dev` of its own, secrets
//! hidden.

use super::hidden::Hidden;
use super::overlay::{NOTHING, Overlays};
use super::plan::{self, Plan};
use crate::shim;
use hearth_shim_abi::SHIM_PATH;
use rustix::fs::{AtFlags, CWD};
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
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};

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
/// Where they are.
const DEV: &str = "/dev";
/// Where the C library makes shared memory, below it.
const SHARED_MEMORY: &str = "shm";

/// Makes mounts that nobody else sees.
///
/// # Errors
/// If the machine has none.
pub fn make_private() -> io::Result<()> {
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Mounts a `/proc` of the process namespace that this process is in, and has `before` write to it before it is sealed.
/// Says whether that is possible.
pub fn make_proc(before: impl FnOnce(), missing: &mut Vec<String>) -> bool {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if let Err(error) = mount("proc", "/proc", "proc", flags, None) {
        missing.push(format!("a /proc of its own, so that a run sees no other process ({error})"));
        return false;
    }
    before();
    if let Err(error) = restrict(Path::new("/proc"), SEALED, libc::AT_RECURSIVE) {
        missing.push(format!("a read-only /proc, so that a run changes nothing there ({error})"));
    }
    true
}

/// Makes everything read-only, makes `/dev` and areas, and hides what is hidden. What cannot be made is added to `missing`,
/// areas aside, which the shim can do without in part.
///
/// # Errors
/// Why there are no areas.
pub fn seal(hidden: &[Hidden], wanted: &[PathBuf], missing: &mut Vec<String>) -> io::Result<Overlays> {
    let devices = DEVICES.iter().map(|name| (*name, clone_of(&Path::new(DEV).join(name))));
    let devices: Vec<(&str, Result<OwnedFd, Errno>)> = devices.collect();
    let plan =
        fs::read("/proc/self/mountinfo").map(|table| plan::plan(&plan::mounts(&table), wanted, &directories));
    if let Err(error) = restrict(Path::new("/"), SEALED, libc::AT_RECURSIVE) {
        missing.push(format!("read-only mounts (Linux 5.12), so that a run writes no file ({error})"));
    }
    let areas = Overlays::begin(DEV.as_ref(), wanted).and_then(|areas| Ok((areas, plan?)));
    let staged = areas.and_then(|(areas, plan)| stage(areas, plan, hidden, wanted));
    if let Err(error) = make_devices(devices) {
        missing.push(format!("a /dev of its own, so that a run uses no device ({error})"));
        return Err(error);
    }
    let areas = staged.and_then(mount_areas);
    let is_in_area = |path: &Path| {
        let paths = areas.as_ref().map(Overlays::paths).unwrap_or_default();
        paths.iter().any(|area| path.starts_with(area))
    };
    for hidden in hidden.iter().filter(|hidden| !is_in_area(&hidden.path)) {
        if let Err(error) = hide(hidden) {
            let path = hidden.path.display();
            missing.push(format!("a way to hide {path}, so that no run reads it ({error})"));
        }
    }
    if let Err(error) = restrict(Path::new(DEV), libc::MOUNT_ATTR_RDONLY, 0) {
        missing.push(format!("a read-only /dev, so that runs leave nothing there ({error})"));
    }
    areas
}

/// The directories in a directory.
fn directories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut found: Vec<PathBuf> = entries.filter(is_directory).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Overlays that are prepared, and what has to be hidden where there are some.
struct Staged {
    areas: Overlays,
    plan: Plan,
    wanted: Vec<PathBuf>,
}

/// Prepares areas, while the machine's `/dev` is still there to be covered.
fn stage(mut areas: Overlays, mut plan: Plan, hidden: &[Hidden], wanted: &[PathBuf]) -> io::Result<Staged> {
    // What is hidden as a whole is no area.
    plan.areas.retain(|path| !hidden.iter().any(|hidden| path.starts_with(&hidden.path)));
    for path in &plan.areas {
        let inside = hidden.iter().filter(|hidden| hidden.path.starts_with(path)).cloned().collect();
        areas.prepare(path.clone(), inside)?;
    }
    Ok(Staged { areas, plan, wanted: wanted.to_vec() })
}

/// Mounts all areas. One that cannot be mounted is hidden, or stays as it is if no program could start without it; if the order
/// names something in it, there are none.
fn mount_areas(staged: Staged) -> io::Result<Overlays> {
    let Staged { mut areas, mut plan, wanted } = staged;
    let shared_memory = Path::new(DEV).join(SHARED_MEMORY);
    areas.prepare(shared_memory.clone(), Vec::new())?;
    plan.areas.push(shared_memory);
    let mut mounted = Vec::new();
    let mut problem = None;
    for (index, path) in plan.areas.iter().enumerate() {
        match areas.mount(index) {
            Ok(()) => mounted.push(index),
            Err(error) if wanted.iter().any(|wanted| wanted.starts_with(path)) => problem = Some(error),
            Err(_) if plan::is_systems(path) => {}
            Err(_) => hide(&Hidden::directory(path.clone()))?,
        }
    }
    let cover = || -> io::Result<()> {
        plan.hidden.iter().try_for_each(|path| hide(&Hidden::directory(path.clone())))?;
        plan.spines.iter().try_for_each(|spine| cover_fifos(spine))
    };
    match problem.map_or_else(cover, Err) {
        Ok(()) => Ok(areas),
        Err(error) => {
            mounted.into_iter().try_for_each(|area| areas.unmount(area))?;
            Err(error)
        }
    }
}

/// Covers FIFOs in a directory that is no area: they lead to whoever reads from them, and can be written to whatever the
/// mount says. In an area they lead nowhere.
fn cover_fifos(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)?.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_fifo()) {
            cover(&entry.path())?;
        }
    }
    Ok(())
}

/// Covers a file, with one that nobody can change: all runs see the same.
fn cover(path: &Path) -> io::Result<()> {
    attach(&clone_of(Path::new(NOTHING))?, path)?;
    restrict(path, libc::MOUNT_ATTR_RDONLY, 0)
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

/// Mounts a new, empty file system in memory.
pub fn new_file_system(path: &Path, flags: MountFlags, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | flags;
    Ok(mount("tmpfs", path, "tmpfs", flags, Some(options.as_c_str()))?)
}

fn make_devices(devices: Vec<(&str, Result<OwnedFd, Errno>)>) -> io::Result<()> {
    let directory = Path::new(DEV);
    new_file_system(directory, MountFlags::empty(), "mode=755,size=16m,nr_inodes=64")?;
    for (name, device) in devices {
        // A machine may lack one of them.
        let Ok(device) = device else { continue };
        let path = directory.join(name);
        File::create(&path)?;
        attach(&device, &path)?;
        // It can be written to all the same, but its permissions and times are the machine's.
        restrict(&path, libc::MOUNT_ATTR_RDONLY, 0)?;
    }
    for (name, target) in LINKS {
        symlink(target, directory.join(name))?;
    }
    // For programs that runs execute.
    shim::write_to(Path::new(SHIM_PATH))?;
    fs::create_dir(directory.join(SHARED_MEMORY))
}

/// Covers a path, so that it can be neither read nor listed; but for what is kept below it.
pub fn hide(hidden: &Hidden) -> io::Result<()> {
    let path = &hidden.path;
    if !hidden.is_directory {
        return cover(path);
    }
    // As they are before they are covered.
    let kept: Vec<(&Path, OwnedFd)> =
        hidden.kept.iter().map(|kept| Ok((kept.as_path(), clone_of(kept)?))).collect::<io::Result<_>>()?;
    let mode = if kept.is_empty() { "mode=000" } else { "mode=711" };
    new_file_system(path, MountFlags::NOEXEC, &format!("{mode},size=64k,nr_inodes=1k"))?;
    for (kept, tree) in kept {
        if rustix::fs::statat(&tree, "", AtFlags::EMPTY_PATH)?.st_mode & libc::S_IFMT == libc::S_IFDIR {
            fs::create_dir_all(kept)?;
        } else {
            fs::create_dir_all(kept.parent().unwrap_or(path))?;
            File::create(kept)?;
        }
        attach(&tree, kept)?;
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
