//! Areas: directories in which all that is written goes to memory, by the kernel's own doing.
//!
//! Over each lies an overlay mount: what the machine has below, an empty file system in memory above. The subject gets one
//! that stays, because the paths of its program and its libraries lead through it. Each run finds a fresh one on top of that:
//! the launcher takes those away that were used, and mounts new ones. (What changes below a used one is not always seen
//! above, so one that a run has only read from is no longer fresh, either.) All is made in a directory that runs cannot
//! reach, the staging, which is under their `/dev`:
//!
//! - `l3`: the real directory of area 3; `m3`: marks that hide secrets in it
//! - `z3`: the subject's file system in memory, with `u`, what was written, and `w`, which the kernel works in
//! - `t3`: the same for the run

use super::hidden::Hidden;
use super::mounts::{hide, new_file_system};
use crate::limits::AREA_INODES;
use crate::word::Refresh;
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Timestamps, Uid};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_remount, unmount};
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What is written, below the file system in memory of an area.
pub const WRITTEN: &str = "u";

/// An empty file in the staging that nobody may read: it covers files. The launcher's working directory is the staging.
pub const NOTHING: &str = "nothing";

/// All areas.
#[derive(Debug)]
pub struct Overlays {
    list: Vec<Area>,
    staging: OwnedFd,
    /// What the order names.
    wanted: Vec<PathBuf>,
}

#[derive(Debug)]
struct Area {
    path: PathBuf,
    /// What is hidden in it and covered by mounts, because something below is kept.
    covered: Vec<Hidden>,
    /// There are marks that hide other things.
    has_marks: bool,
    /// The subject has written before its warm point.
    has_early: bool,
    /// There is a mount for runs.
    has_run: bool,
    /// What was to be seen of its top when that was made.
    top: Option<Top>,
}

/// What changes when somebody changes a directory itself: owner, permissions, times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Top([i64; 6]);

impl Top {
    fn of(directory: &Path) -> io::Result<Self> {
        let data = fs::metadata(directory)?;
        let owner = i64::from(data.uid()) << 32 | i64::from(data.gid());
        let changed = [data.ctime(), data.ctime_nsec(), data.mtime(), data.mtime_nsec()];
        Ok(Self([owner, i64::from(data.mode()), changed[0], changed[1], changed[2], changed[3]]))
    }
}

/// Whose file system in memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The subject's.
    Subject,
    /// The run's.
    Run,
}

/// Where the file system in memory of an area is, in the staging.
pub fn memory_of(owner: Owner, area: usize) -> PathBuf {
    match owner {
        Owner::Subject => format!("z{area}"),
        Owner::Run => format!("t{area}"),
    }
    .into()
}

impl Overlays {
    /// Makes the staging at a directory, and goes there.
    pub fn begin(place: &Path, wanted: &[PathBuf]) -> io::Result<Self> {
        new_file_system(place, MountFlags::NOEXEC, "mode=700,size=1m")?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let staging = rustix::fs::open(place, flags, Mode::empty())?;
        rustix::process::fchdir(&staging)?;
        File::create(NOTHING)?.set_permissions(fs::Permissions::from_mode(0o000))?;
        Ok(Self { list: Vec::new(), staging, wanted: wanted.to_vec() })
    }

    /// Prepares an area: the real directory in the staging, and marks in place of what is hidden.
    pub fn prepare(&mut self, path: PathBuf, hidden: Vec<Hidden>) -> io::Result<()> {
        let index = self.list.len();
        for name in ["l", "m", "t", "z"] {
            fs::create_dir(format!("{name}{index}"))?;
        }
        let real = PathBuf::from(format!("l{index}"));
        mount_bind(&path, &real)?;
        let (covered, marked): (Vec<Hidden>, Vec<Hidden>) =
            hidden.into_iter().partition(|hidden| !hidden.kept.is_empty());
        let marks = PathBuf::from(format!("m{index}"));
        for below in marked.iter().filter_map(|hidden| hidden.path.strip_prefix(&path).ok()) {
            mark(&real, &marks, below)?;
        }
        self.list.push(Area {
            path,
            covered,
            has_marks: !marked.is_empty(),
            has_early: false,
            has_run: false,
            top: None,
        });
        Ok(())
    }

    /// The areas' directories.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.list.iter().map(|area| area.path.clone()).collect()
    }

    /// The staging, for the daemon to read what was written.
    pub fn staging(&self) -> &OwnedFd {
        &self.staging
    }

    /// Mounts an area for the subject.
    pub fn mount(&self, index: usize) -> io::Result<()> {
        self.mount_for(Owner::Subject, index)
    }

    fn mount_for(&self, owner: Owner, index: usize) -> io::Result<()> {
        let area = self.list.get(index).ok_or(io::ErrorKind::NotFound)?;
        let memory = memory_of(owner, index);
        new_file_system(&memory, MountFlags::empty(), &format!("mode=700,nr_inodes={AREA_INODES}"))?;
        let written = memory.join(WRITTEN);
        fs::create_dir(&written)?;
        fs::create_dir(memory.join("w"))?;
        // Its top is what is seen of the directory itself.
        let real = PathBuf::from(format!("l{index}"));
        copy_attributes(&real, &written)?;
        if !rustix::process::getuid().is_root() {
            let below = self.wanted.iter().filter_map(|wanted| wanted.strip_prefix(&area.path).ok());
            below.into_iter().try_for_each(|below| make_way(&real, &written, below))?;
        }
        let early = memory_of(Owner::Subject, index);
        let early = if area.has_early { format!("{}/{WRITTEN}:", early.display()) } else { String::new() };
        let marks = if area.has_marks { format!("m{index}:") } else { String::new() };
        let memory = memory.display();
        let options = CString::new(format!(
            "lowerdir={early}{marks}l{index},upperdir={memory}/{WRITTEN},workdir={memory}/w,userxattr,index=off"
        ))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("overlay", &area.path, "overlay", flags, Some(options.as_c_str()))?;
        area.covered.iter().try_for_each(hide)
    }

    /// Takes the topmost mount of an area away.
    pub fn unmount(&self, index: usize) -> io::Result<()> {
        let area = self.list.get(index).ok_or(io::ErrorKind::NotFound)?;
        unmount(&area.path, UnmountFlags::DETACH)?;
        let owner = if area.has_run { Owner::Run } else { Owner::Subject };
        Ok(unmount(memory_of(owner, index), UnmountFlags::DETACH)?)
    }

    /// Makes areas fresh: those that were written to anew; of those that were only read the kernel forgets what it has seen
    /// there. In some the subject has written before its warm point.
    pub fn refresh(&mut self, asked: &Refresh) -> io::Result<()> {
        for &index in &asked.early {
            self.list.get_mut(index).ok_or(io::ErrorKind::NotFound)?.has_early = true;
        }
        let unforgotten = asked.read.iter().filter(|&&index| self.forget(index).is_err());
        let again: Vec<usize> = asked.written.iter().chain(unforgotten).copied().collect();
        for index in again {
            if self.list.get(index).is_some_and(|area| area.has_run) {
                self.unmount(index)?;
                self.list[index].has_run = false;
            }
            self.mount_for(Owner::Run, index)?;
            self.list[index].has_run = true;
            self.list[index].top = Some(Top::of(&memory_of(Owner::Run, index).join(WRITTEN))?);
        }
        Ok(())
    }

    /// Has the kernel forget which names it has looked up in an area that nobody uses: a change of its options does that. Not
    /// possible where its top was changed, in which nothing need have been written for that.
    fn forget(&self, index: usize) -> io::Result<()> {
        let area = self.list.get(index).filter(|area| area.has_run).ok_or(io::ErrorKind::NotFound)?;
        if area.top != Some(Top::of(&memory_of(Owner::Run, index).join(WRITTEN))?) {
            return Err(io::ErrorKind::Other.into());
        }
        Ok(mount_remount(&area.path, MountFlags::NOSUID | MountFlags::NODEV, c"")?)
    }
}

/// Makes a mark by which an overlay does not show what is below it, with the directories on the way as they are.
fn mark(real: &Path, marks: &Path, below: &Path) -> io::Result<()> {
    let mut on_the_way: Vec<&Path> = below.ancestors().skip(1).collect();
    on_the_way.reverse();
    for directory in &on_the_way {
        let made = marks.join(directory);
        if !made.is_dir() {
            fs::create_dir(&made)?;
        }
    }
    let kind = rustix::fs::FileType::CharacterDevice;
    rustix::fs::mknodat(CWD, marks.join(below), kind, Mode::empty(), rustix::fs::makedev(0, 0))?;
    on_the_way
        .iter()
        .rev()
        .try_for_each(|directory| copy_attributes(&real.join(directory), &marks.join(directory)))
}

/// Makes the directories on the way to a path as far as they are other users'. The kernel cannot do that when something is
/// written below them, because an ordinary user cannot give a directory away. Here they are the user's own, with the rights that
/// the user has to the real ones.
fn make_way(real: &Path, written: &Path, below: &Path) -> io::Result<()> {
    let own = rustix::process::getuid().as_raw();
    let is_foreign =
        |path: &Path| fs::metadata(real.join(path)).is_ok_and(|data| data.is_dir() && data.uid() != own);
    let Some(last) = below.ancestors().find(|path| path.parent().is_some() && is_foreign(path)) else {
        return Ok(());
    };
    let mut on_the_way: Vec<&Path> = last.ancestors().filter(|path| path.parent().is_some()).collect();
    on_the_way.reverse();
    for path in &on_the_way {
        if !written.join(path).is_dir() {
            fs::create_dir(written.join(path))?;
        }
    }
    // From below: one that cannot be written cannot get anything more.
    for path in on_the_way.iter().rev() {
        let (from, to) = (real.join(path), written.join(path));
        copy_attributes(&from, &to)?;
        if is_foreign(path) {
            let can_write = rustix::fs::access(&from, rustix::fs::Access::WRITE_OK).is_ok();
            fs::set_permissions(&to, fs::Permissions::from_mode(if can_write { 0o755 } else { 0o555 }))?;
        }
    }
    Ok(())
}

/// Gives a directory the permissions and times of another one, and its owner if that is possible.
fn copy_attributes(from: &Path, to: &Path) -> io::Result<()> {
    let data = fs::metadata(from)?;
    // An ordinary user has no other owners.
    let (user, group) = (Uid::from_raw(data.uid()), Gid::from_raw(data.gid()));
    let _ = rustix::fs::chown(to, Some(user), Some(group));
    fs::set_permissions(to, fs::Permissions::from_mode(data.mode() & 0o7777))?;
    let time = |seconds, nanoseconds| rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: time(data.atime(), data.atime_nsec()),
        last_modification: time(data.mtime(), data.mtime_nsec()),
    };
    Ok(rustix::fs::utimensat(CWD, to, &times, AtFlags::empty())?)
}
