//! Areas as the daemon sees them: what a run has written, and which of them the next run needs fresh.
//!
//! A run may have made anything there: links, FIFOs, directories that nobody may enter. It is looked at when all of the run's
//! processes are stopped, and nothing is followed.

use crate::launcher::overlay::{Owner, WRITTEN, memory_of};
use crate::limits::{AREA_AGE, AREA_DEPTH, FILES, MISSING_NAMED};
use crate::word::Refresh;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The mark by which an overlay does not show what is below a directory.
const OPAQUE: &str = "user.overlay.opaque";
/// The links of a directory without directories in it.
const EMPTY_LINKS: u64 = 2;

/// The areas of a sandbox.
#[derive(Debug)]
pub struct Areas {
    staging: OwnedFd,
    list: Vec<Area>,
    is_refreshing: bool,
    /// What runs do not see, and may have made anew.
    hidden: Vec<PathBuf>,
    /// What the subject has written before its warm point: every run has it that has not removed it.
    early: Vec<WrittenFile>,
}

#[derive(Debug)]
struct Area {
    path: PathBuf,
    /// The order names something in it.
    is_wanted: bool,
    /// Something may have looked at it since it was fresh.
    is_used: bool,
    fresh_since: Instant,
    /// What is to be seen of the directory of what a run has written while that is fresh.
    fresh: Option<Top>,
}

/// What is to be seen of a directory itself: kind and permissions, owner, group, times of change, length.
type Attributes = [i64; 8];

/// What is to be seen of the directory of what a run has written, while it is fresh.
#[derive(Debug, Clone, Copy)]
struct Top {
    attributes: Attributes,
    /// A directory in memory is longer the more there is in it: that of the file system itself, in which there are two, shows
    /// whether this is so. Where the way to what an ordinary user wants is made already, there are directories in it, and all of
    /// it has to be looked at.
    tells_entries: bool,
}

/// Names and kinds of what is in a directory.
type Entries = Vec<(Vec<u8>, FileType)>;

/// A file that a run has written.
#[derive(Debug, Clone)]
pub struct WrittenFile {
    /// Where it is for the run.
    pub path: PathBuf,
    /// Its length in bytes.
    pub size: u64,
    /// The area it is in.
    area: usize,
    /// Where it is in the staging.
    staged: PathBuf,
}

/// What a run has written.
#[derive(Debug, Default)]
pub struct Written {
    /// Files.
    pub files: Vec<WrittenFile>,
    /// There are more files than a run may leave behind.
    pub has_too_many: bool,
    /// What else there is that cannot be told: the first few, and how many there are besides.
    missing: Vec<String>,
    unnamed: usize,
    when: When,
    /// The areas in which there is anything.
    areas: Vec<usize>,
}

impl Areas {
    /// The areas at some paths, of which an order wants some.
    pub fn new(staging: OwnedFd, paths: Vec<PathBuf>, wanted: &[PathBuf], hidden: Vec<PathBuf>) -> Self {
        let area = |path: PathBuf| Area {
            is_wanted: wanted.iter().any(|wanted| wanted.starts_with(&path)),
            path,
            is_used: true,
            fresh_since: Instant::now(),
            fresh: None,
        };
        Self {
            staging,
            list: paths.into_iter().map(area).collect(),
            is_refreshing: false,
            hidden,
            early: Vec::new(),
        }
    }

    /// The subject is warm. All areas are made anew for its runs; in some it has written.
    pub fn first(&self, early: Vec<usize>) -> Refresh {
        Refresh { written: (0..self.list.len()).collect(), read: Vec::new(), early }
    }

    /// Has a launcher been asked for fresh ones?
    pub fn is_refreshing(&self) -> bool {
        self.is_refreshing
    }

    /// A launcher has been asked to make these fresh.
    pub fn begin_refreshing(&mut self, asked: &Refresh) {
        self.is_refreshing = true;
        for &area in asked.written.iter().chain(&asked.read) {
            self.list[area].is_used = false;
        }
    }

    /// It has answered.
    pub fn end_refreshing(&mut self) {
        self.is_refreshing = false;
        let fresh: Vec<usize> = (0..self.list.len()).filter(|&index| !self.list[index].is_used).collect();
        for index in fresh {
            self.list[index].fresh_since = Instant::now();
            self.list[index].fresh = self.top(index).ok();
        }
    }

    /// What is to be seen of the directory of what a run has written in an area that is fresh.
    fn top(&self, area: usize) -> io::Result<Top> {
        let memory = memory_of(Owner::Run, area);
        let written = self.data_of(&memory.join(WRITTEN))?;
        let above = self.data_of(&memory)?;
        Ok(Top {
            attributes: attributes(&written),
            tells_entries: written.st_nlink == EMPTY_LINKS && above.st_size > written.st_size,
        })
    }

    /// Is an area as it was when it was fresh, and nothing in it? Nothing can be put into it, nor its own attributes be changed,
    /// without its showing.
    fn is_fresh(&self, area: usize) -> bool {
        self.list[area].fresh.is_some_and(|fresh| fresh.tells_entries && self.is_top_fresh(area))
    }

    /// Are the attributes of an area's top as they were when it was fresh?
    fn is_top_fresh(&self, area: usize) -> bool {
        let written = self.data_of(&memory_of(Owner::Run, area).join(WRITTEN));
        let now = written.ok().map(|data| attributes(&data));
        now.is_some() && now == self.list[area].fresh.map(|fresh| fresh.attributes)
    }

    fn data_of(&self, path: &Path) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.staging, path, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// A run begins. Which areas have to be made fresh before that, because they were used and are old?
    pub fn old(&self) -> Refresh {
        let is_old = |area: &Area| area.is_used && area.fresh_since.elapsed() > AREA_AGE;
        let read = (0..self.list.len()).filter(|&area| is_old(&self.list[area])).collect();
        Refresh { read, ..Refresh::default() }
    }

    /// A run has ended. Which areas does the next one need fresh? If it is not known what was written, it may be any.
    pub fn used(&mut self, written: Option<&Written>) -> Refresh {
        self.list.iter_mut().for_each(|area| area.is_used = true);
        let is_written = |area: &usize| written.is_none_or(|written| written.areas.contains(area));
        let (written, other): (Vec<usize>, Vec<usize>) = (0..self.list.len()).partition(is_written);
        let read = other.into_iter().filter(|&area| self.list[area].is_wanted).collect();
        Refresh { written, read, early: Vec::new() }
    }

    /// Bytes of all files in memory.
    pub fn bytes(&self) -> u64 {
        let used = |area: usize| {
            let memory = self.open(&memory_of(Owner::Run, area), OFlags::PATH)?;
            let data = rustix::fs::fstatfs(memory)?;
            Ok::<_, io::Error>((data.f_blocks - data.f_bfree) * data.f_bsize.unsigned_abs())
        };
        (0..self.list.len()).map(|area| used(area).unwrap_or(0)).sum()
    }

    fn open(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        Ok(rustix::fs::openat2(&self.staging, path, flags | OFlags::CLOEXEC, Mode::empty(), how)?)
    }

    /// Opens a file that was written, also if it may not be read: it is the user's own.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_written(&self, file: &WrittenFile) -> io::Result<File> {
        let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        let open = |flags: OFlags| {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat2(&self.staging, &file.staged, flags, Mode::empty(), how)
        };
        let opened = open(OFlags::RDONLY | OFlags::NONBLOCK).or_else(|error| match error {
            Errno::ACCESS => {
                let place = open(OFlags::PATH)?;
                rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RUSR)?;
                open(OFlags::RDONLY | OFlags::NONBLOCK)
            }
            error => Err(error),
        })?;
        Ok(opened.into())
    }

    /// Finds what the subject has written, at its warm point: it is every run's. Returns the areas it has written in, and what
    /// of it cannot be told.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn remember_early(&mut self) -> io::Result<(Vec<usize>, Vec<String>)> {
        let mut written = self.look(Owner::Subject, When::Ended)?;
        self.early = std::mem::take(&mut written.files);
        let missing = written.take_missing();
        Ok((written.areas, missing))
    }

    /// Finds what a run has written since the areas were fresh, and the subject before its warm point.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn written(&self, when: When) -> io::Result<Written> {
        let mut written = self.look(Owner::Run, when)?;
        written.files.extend(self.early.iter().filter(|file| self.is_untouched(file)).cloned());
        written.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(written)
    }

    /// Has the run neither removed a file, or a directory above it, nor written it itself?
    fn is_untouched(&self, file: &WrittenFile) -> bool {
        let Ok(below) = file.path.strip_prefix(&self.list[file.area].path) else { return false };
        let mut place = memory_of(Owner::Run, file.area).join(WRITTEN);
        for name in below {
            place.push(name);
            let kind = rustix::fs::statat(&self.staging, &place, AtFlags::SYMLINK_NOFOLLOW)
                .map(|data| FileType::from_raw_mode(data.st_mode));
            match kind {
                Err(_) => return true,
                Ok(FileType::Directory) if !self.hides_what_is_below(&place) => {}
                Ok(_) => return false,
            }
        }
        false
    }

    /// Does a directory stand in place of one that was removed?
    fn hides_what_is_below(&self, directory: &Path) -> bool {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let mut value = [0_u8; 1];
        self.open(directory, flags).is_ok_and(|opened| {
            rustix::fs::fgetxattr(opened, OPAQUE, &mut value[..]).is_ok_and(|length| length > 0)
        })
    }

    fn look(&self, owner: Owner, when: When) -> io::Result<Written> {
        let mut written = Written { when, ..Written::default() };
        for (index, area) in self.list.iter().enumerate() {
            if owner == Owner::Run && self.is_fresh(index) {
                continue;
            }
            let staged = memory_of(owner, index).join(WRITTEN);
            let (top, entries) = match enter(&self.staging, staged.as_os_str().as_bytes(), when) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied && when == When::UnderWay => {
                    continue;
                }
                entered => entered?,
            };
            if entries.is_empty() && owner == Owner::Run && !self.is_top_fresh(index) {
                // The next run is not to find its owner, permissions, times or attributes.
                written.areas.push(index);
            }
            if !entries.is_empty() {
                written.areas.push(index);
                written.look_through(
                    &top,
                    entries,
                    Place { area: index, path: &area.path, staged: &staged, depth: 0 },
                );
            }
        }
        // Who would put them where they belong would write over what no run may see.
        let is_hidden = |file: &WrittenFile| self.hidden.iter().any(|hidden| file.path.starts_with(hidden));
        let hidden: Vec<WrittenFile> = written.files.extract_if(.., |file| is_hidden(file)).collect();
        for file in hidden {
            let path = file.path.display();
            written.miss(format!(
                "what the run has written at {path} (runs do not see what is there; see --show)"
            ));
        }
        Ok(written)
    }
}

fn attributes(data: &Stat) -> Attributes {
    [
        i64::from(data.st_mode),
        i64::from(data.st_uid),
        i64::from(data.st_gid),
        data.st_ctime,
        data.st_ctime_nsec.cast_signed(),
        data.st_mtime,
        data.st_mtime_nsec.cast_signed(),
        data.st_size,
    ]
}

/// When areas are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum When {
    /// The run goes on: nothing is changed, and what may not be read is passed over.
    UnderWay,
    /// All of the run's processes are stopped: it is read whatever its permissions are.
    #[default]
    Ended,
}

impl Written {
    fn miss(&mut self, what: String) {
        if self.missing.len() < MISSING_NAMED {
            self.missing.push(what);
        } else {
            self.unnamed += 1;
        }
    }

    /// What there is that cannot be told.
    pub fn take_missing(&mut self) -> Vec<String> {
        let mut missing = std::mem::take(&mut self.missing);
        let unnamed = std::mem::take(&mut self.unnamed);
        if unnamed > 0 {
            missing.push(format!("{unnamed} more of the kind"));
        }
        missing
    }

    fn look_through(&mut self, directory: &OwnedFd, entries: Entries, place: Place<'_>) {
        for (name, kind) in entries {
            let (path, staged) =
                (place.path.join(OsStr::from_bytes(&name)), place.staged.join(OsStr::from_bytes(&name)));
            let looked = match kind {
                FileType::RegularFile if self.files.len() == FILES => {
                    if !self.has_too_many {
                        self.miss(format!("files that the run has written beyond the first {FILES}"));
                    }
                    self.has_too_many = true;
                    return;
                }
                FileType::RegularFile => {
                    let data = rustix::fs::statat(directory, &name[..], AtFlags::SYMLINK_NOFOLLOW);
                    data.map_err(io::Error::from).map(|data| {
                        self.files.push(WrittenFile {
                            path: path.clone(),
                            size: data.st_size.unsigned_abs(),
                            area: place.area,
                            staged,
                        });
                    })
                }
                FileType::Directory if place.depth == AREA_DEPTH => {
                    Err(io::Error::other("too many directories below each other"))
                }
                FileType::Directory => enter(directory, &name, self.when).map(|(inner, entries)| {
                    self.look_through(
                        &inner,
                        entries,
                        Place { path: &path, staged: &staged, depth: place.depth + 1, ..place },
                    );
                }),
                FileType::Symlink => Err(io::Error::other("a symbolic link; only files are kept")),
                // FIFOs and marks of what was removed are not told of.
                _ => Ok(()),
            };
            if let Err(error) = looked {
                self.miss(format!("what the run has written at {} ({error})", path.display()));
            }
        }
    }
}

/// Where a directory is, for the run and in the staging, and how far down in its area.
#[derive(Clone, Copy)]
struct Place<'p> {
    area: usize,
    path: &'p Path,
    staged: &'p Path,
    depth: usize,
}

/// Opens a directory in a directory. When the run has ended, also one that may not be entered: it is the user's own.
fn enter(directory: &OwnedFd, name: &[u8], when: When) -> io::Result<(OwnedFd, Entries)> {
    let open = |flags: OFlags| {
        let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(directory, name, flags, Mode::empty())
    };
    let opened = open(OFlags::RDONLY).or_else(|error| match error {
        Errno::ACCESS if when == When::Ended => {
            // By the descriptor, so that nothing can come in between that leads elsewhere.
            let place = open(OFlags::PATH)?;
            rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?;
            open(OFlags::RDONLY)
        }
        error => Err(error),
    })?;
    let entries = entries(&opened)?;
    Ok((opened, entries))
}

/// What is in a directory, with the kinds.
fn entries(directory: &impl AsFd) -> io::Result<Entries> {
    let mut found = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            found.push((name.to_vec(), entry.file_type()));
        }
    }
    Ok(found)
}
