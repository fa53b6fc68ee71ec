//! What a run is given, and what it says and writes.

use crate::error::{During, Error, Result};
use crate::inside::Inside;
use crate::limits::{CHILDREN, NOTES_AT_ONCE};
use crate::memory::{Memory, tells_own_pages};
use crate::observe::harvest::Additions;
use crate::run::{OutputFile, RunRequest};
use hearth_sandbox::areas::{Areas, When, Written, WrittenFile};
use hearth_sandbox::limits::{FILES, MISSING_NAMED};
use hearth_sandbox::memory_file::{self, contents};
use hearth_sandbox::packet::{self, Packet, Received};
use hearth_shim_abi::{
    ARGUMENT_LIMIT, CHILD_EXECUTED, CHILD_FORKED, CHILD_OF_EXECUTED, NOTE_ARRIVED, NOTE_BEGIN, NOTE_CHILD,
    NOTE_COPY, NOTE_CROWDED, NOTE_EXECUTED, NOTE_FAILED, NOTE_FILE, NOTE_FORKED, NOTE_LIMIT,
    NOTE_NOT_EXECUTED, NOTE_REMOVED, NOTE_RESET, NOTE_UNKEPT, NOTE_UNLOADED, Note, REQUEST_LIMIT,
    REQUEST_RUN, ZygoteRequest,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What lies there is the kernel's.
const KERNELS: &[&str] = &["/dev", "/proc", "/sys"];

/// What a run is given.
#[derive(Debug)]
pub struct Stage {
    pub head: ZygoteRequest,
    pub text: Vec<u8>,
    channel: OwnedFd,
    pub channel_end: OwnedFd,
    pub stdin: File,
    pub stdout: File,
    pub stderr: File,
    pub input: Option<File>,
    /// What the run has said so far.
    pub notes: RunNotes,
    /// The input's path and bytes.
    given: Option<(PathBuf, Vec<u8>)>,
    /// What it has written in areas.
    pub written: Written,
}

impl Stage {
    /// Makes all of it.
    pub fn new(request: &RunRequest, input: Option<&PathBuf>) -> Result<Self> {
        let limits = &request.limits;
        let mut text = Vec::new();
        if let Some(directory) = &request.directory {
            text.extend_from_slice(directory.as_os_str().as_bytes());
            text.push(0);
        }
        let directory_length = text.len() as u32;
        for (name, value) in &request.environment {
            for part in [name.as_os_str(), OsStr::new("="), value, OsStr::new("\0")] {
                text.extend_from_slice(part.as_bytes());
            }
        }
        let arguments = request.arguments.as_deref().unwrap_or_default();
        for argument in arguments {
            text.extend_from_slice(argument.as_bytes());
            text.push(0);
        }
        let size = size_of::<ZygoteRequest>() + text.len();
        if size > REQUEST_LIMIT {
            let what = "the run's environment and arguments";
            return Err(Error::TooLarge { what, size, limit: REQUEST_LIMIT });
        }
        if arguments.len() > ARGUMENT_LIMIT {
            let what = "the number of the run's arguments";
            return Err(Error::TooLarge { what, size: arguments.len(), limit: ARGUMENT_LIMIT });
        }
        let head = ZygoteRequest {
            kind: REQUEST_RUN,
            argument_count: arguments.len() as u32,
            cpu_s: limits.cpu_s,
            file_bytes: limits.output_bytes,
            processes: limits.processes,
            directory_length,
            addition_count: request.environment.len() as u32,
            hides_program: u32::from(request.hides_program),
            ..ZygoteRequest::default()
        };
        let (channel, channel_end) = packet::pair().during("make a socket")?;
        Ok(Self {
            head,
            text,
            channel,
            channel_end,
            stdin: memory_file::sealed(&request.stdin)?,
            stdout: memory_file::growing()?,
            stderr: memory_file::growing()?,
            input: request.input.as_deref().map(memory_file::sealed).transpose()?,
            notes: RunNotes::default(),
            given: input.cloned().zip(request.input.clone()),
            written: Written::default(),
        })
    }

    /// The socket on which the run says things.
    pub fn channel(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Takes what the run has said so far, of which nothing is believed that it could have made up.
    ///
    /// # Errors
    /// If its socket fails.
    pub fn take_notes(&mut self) -> Result<()> {
        for _ in 0..NOTES_AT_ONCE {
            match packet::receive::<Note>(&self.channel, NOTE_LIMIT, Instant::now())
                .during("read a run's notes")?
            {
                Received::Packet(packet) => self.notes.take(packet),
                Received::Garbage => {}
                Received::Nothing | Received::Closed => break,
            }
        }
        Ok(())
    }

    /// Finds what the run has written in areas.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn look_for_files(&mut self, areas: &Areas, when: When) -> Result<()> {
        let mut written = areas.written(when).during("look for a run's files")?;
        // What it was given is not its own, unless it has changed it.
        written.files.retain(|file| !self.is_given(areas, file));
        self.written = written;
        Ok(())
    }

    fn is_given(&self, areas: &Areas, file: &WrittenFile) -> bool {
        let Some((path, input)) = &self.given else { return false };
        let is_equal = |file: File| {
            contents(&file, file.metadata().map_or(0, |data| data.len())).is_ok_and(|bytes| bytes == *input)
        };
        file.path == *path && file.size == input.len() as u64 && areas.open_written(file).is_ok_and(is_equal)
    }

    /// Has the run written more than it may: so many bytes to all streams and files together, or too many files?
    pub fn is_above(&self, bytes: u64) -> bool {
        let size = |file: &File| file.metadata().map_or(0, |data| data.len());
        let streams = [&self.stdout, &self.stderr].into_iter();
        let in_areas = self.written.files.iter().map(|file| file.size);
        let written =
            streams.chain(self.notes.files.values()).map(size).chain(in_areas).fold(0, u64::saturating_add);
        written > bytes || self.notes.has_too_many_files || self.written.has_too_many
    }

    /// What the run has written: standard output, standard error and files, together at most so many bytes. Of `hidden` it may
    /// have written nothing.
    ///
    /// # Errors
    /// If its streams cannot be read.
    pub fn output(&mut self, areas: Option<&Areas>, hidden: &[PathBuf], bytes: u64) -> Result<Output> {
        let mut left = bytes;
        let mut read = |file: &File| {
            let contents = contents(file, left)?;
            left -= contents.len() as u64;
            Ok::<_, Error>(contents)
        };
        let (stdout, stderr) = (read(&self.stdout)?, read(&self.stderr)?);
        let mut output = Output { stdout, stderr, files: Vec::new(), missing: self.written.take_missing() };
        let mut take = |path: &PathBuf, file: io::Result<File>| {
            let read = file.map_err(|error| error.to_string()).and_then(|file| {
                let mode = file.metadata().map_err(|error| error.to_string())?.mode() & 0o777;
                Ok((mode, read(&file).map_err(|error| error.to_string())?))
            });
            match read {
                Ok((mode, bytes)) => output.files.push(OutputFile { path: path.clone(), mode, bytes }),
                Err(problem) => output.missing.push(format!("the file {} ({problem})", path.display())),
            }
        };
        for (path, file) in &self.notes.files {
            // The run names these itself: it could name anything.
            match foreign(path, hidden) {
                Some(why) => take(path, Err(io::Error::other(why))),
                None => take(path, file.try_clone()),
            }
        }
        for (file, areas) in self.written.files.iter().flat_map(|file| Some((file, areas?))) {
            take(&file.path, areas.open_written(file));
        }
        output.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(output)
    }
}

/// Why a path that a run names is not one of its files: whoever puts it there would write where no run may.
fn foreign(path: &Path, hidden: &[PathBuf]) -> Option<&'static str> {
    let is_plain = path.is_absolute()
        && !path.as_os_str().as_bytes().split(|&byte| byte == b'/').any(|part| part == b".." || part == b".");
    if !is_plain {
        return Some("it is no whole path");
    }
    if KERNELS.iter().any(|place| path.starts_with(place)) {
        return Some("it is the kernel's");
    }
    let is_hidden = hidden.iter().any(|hidden| path.starts_with(hidden));
    is_hidden.then_some("runs do not see what is there; see --show")
}

/// What a run has written.
pub struct Output {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub files: Vec<OutputFile>,
    /// What of it could not be read.
    pub missing: Vec<String>,
}

/// What a run said: its notes, as far as they were taken.
#[derive(Debug, Default)]
pub struct RunNotes {
    /// Its memory.
    pub memory: Option<Memory>,
    /// Its process and its keeper's, as its namespace numbers them.
    pub process: Option<u32>,
    pub keeper: Option<u32>,
    files: BTreeMap<PathBuf, File>,
    has_too_many_files: bool,
    /// It made other processes of itself.
    pub forked: bool,
    /// Those of which the memory is kept.
    pub children: Vec<Child>,
    /// A process waits for others to be let go.
    pub is_crowded: bool,
    /// What those of them counted that have ended, as far as it was added up.
    pub settled: Additions,
    /// What of that is missing.
    pub settled_missing: Vec<String>,
    /// Copies of their memory.
    pub copies: Vec<MemoryCopy>,
    /// The memory of another one could not be kept, or there were too many.
    pub has_lost_children: bool,
    /// A process of it has set its counters back to zero, and what it had counted is lost.
    pub has_reset: bool,
    /// Data files of libraries that were unloaded: the first few.
    pub unloaded: BTreeSet<PathBuf>,
    /// Programs that it had executed, without those that could not be.
    pub executed: i64,
    /// Those of them that were heard of.
    pub arrived: i64,
    pub failed: Option<i32>,
    /// Processor time the kernel had spent on the run when it began.
    pub prepared_us: u64,
    /// Page faults it had had by then.
    pub prepared_faults: u64,
}

/// What a process of a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildKind {
    /// The run has forked it.
    Forked,
    /// A program that the run has executed.
    Executed,
    /// Such a program has forked it.
    OfExecuted,
}

impl ChildKind {
    /// The kind that a note names; `None` if there is no such kind.
    fn of(value: u32) -> Option<Self> {
        match value {
            CHILD_FORKED => Some(Self::Forked),
            CHILD_EXECUTED => Some(Self::Executed),
            CHILD_OF_EXECUTED => Some(Self::OfExecuted),
            _ => None,
        }
    }

    /// Is it of the run's own program?
    fn is_of_the_run(self) -> bool {
        match self {
            Self::Forked => true,
            Self::Executed | Self::OfExecuted => false,
        }
    }
}

/// A process that a run made of itself.
#[derive(Debug, Clone, Copy)]
pub struct Child {
    /// Its number in its namespace.
    pub process: u32,
    /// Its keeper's.
    pub keeper: u32,
    /// What it is.
    pub kind: ChildKind,
    /// What it counted has been added up, while the run went on.
    pub is_settled: bool,
}

/// A copy of a process's memory, made before gcov may have set its counters back to zero.
#[derive(Debug)]
pub struct MemoryCopy {
    /// The keeper of the memory itself.
    pub of: u32,
    /// The copy's.
    pub keeper: u32,
    /// What the process is.
    pub kind: ChildKind,
}

impl RunNotes {
    /// Processes that have ended and are not settled.
    pub fn ended(&self, inside: &Inside<'_>) -> Vec<usize> {
        let has_ended = |child: &Child| !child.is_settled && inside.has_ended(child.process);
        (0..self.children.len()).filter(|&index| has_ended(&self.children[index])).collect()
    }

    /// How many processes have not ended, where that can be known.
    pub fn living(&self, inside: &Inside<'_>) -> usize {
        let living = |child: &&Child| !child.is_settled && !inside.has_ended(child.process);
        match inside {
            Inside::Own(_) => self
                .children
                .iter()
                .filter(living)
                .map(|child| child.process)
                .collect::<BTreeSet<u32>>()
                .len(),
            Inside::Machine(_) => 0,
        }
    }

    /// Processes of which the memory is still kept.
    pub fn unsettled(&self) -> usize {
        self.children.iter().filter(|child| !child.is_settled).count()
    }

    /// Processes and their keepers.
    pub fn kept(&self) -> Vec<(u32, u32)> {
        let own = self.process.zip(self.keeper);
        own.into_iter().chain(self.children.iter().map(|child| (child.process, child.keeper))).collect()
    }

    fn take(&mut self, mut packet: Packet<Note>) {
        let path = PathBuf::from(OsStr::from_bytes(&packet.text));
        match packet.head.kind {
            // Nothing comes before this but the news that preparing the run failed.
            NOTE_BEGIN if packet.fds.len() == 2 && self.keeper.is_none() => {
                let mut file = || File::from(packet.fds.remove(0));
                let (memory, pages) = (file(), file());
                self.memory = Some(match tells_own_pages() {
                    true => Memory::new(memory, pages),
                    false => Memory::without_pages(memory),
                });
                self.keeper = Some(packet.head.keeper);
                self.process = Some(packet.head.process);
                self.prepared_us = u64::from(packet.head.value);
                let faults = packet.text.first_chunk().copied().map_or(0, u32::from_le_bytes);
                self.prepared_faults = u64::from(faults);
            }
            NOTE_FILE if packet.fds.len() == 1 && self.files.len() < FILES => {
                let file = File::from(packet.fds.remove(0));
                // Whatever else it may be, reading it could take for ever.
                if file.metadata().is_ok_and(|data| data.is_file()) {
                    self.files.insert(path, file);
                }
            }
            NOTE_FILE => self.has_too_many_files = true,
            NOTE_REMOVED => {
                self.files.remove(&path);
            }
            NOTE_FORKED => self.forked = true,
            NOTE_CHILD | NOTE_COPY => self.take_child(&packet.head),
            NOTE_UNKEPT => self.has_lost_children = true,
            NOTE_CROWDED => self.is_crowded = true,
            NOTE_UNLOADED if self.unloaded.len() < MISSING_NAMED => {
                self.unloaded.insert(path);
            }
            NOTE_RESET => self.has_reset = true,
            NOTE_EXECUTED => self.executed += 1,
            NOTE_NOT_EXECUTED => self.executed -= 1,
            NOTE_ARRIVED => self.arrived += 1,
            NOTE_FAILED => self.failed = Some(packet.head.value.cast_signed()),
            _ => {}
        }
    }

    /// Takes the news of a process, or of the copy of one's memory.
    fn take_child(&mut self, note: &Note) {
        let Note { process, keeper, .. } = *note;
        match ChildKind::of(note.value) {
            Some(kind) if note.kind == NOTE_CHILD && self.children.len() < CHILDREN => {
                self.forked |= kind.is_of_the_run();
                self.children.push(Child { process, keeper, kind, is_settled: false });
            }
            Some(kind) if note.kind == NOTE_COPY && self.copies.len() < CHILDREN => {
                self.copies.push(MemoryCopy { of: process, keeper, kind });
            }
            Some(_) | None => self.has_lost_children = true,
        }
    }
}
