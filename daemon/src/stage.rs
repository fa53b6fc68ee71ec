//! What a run is given, and what it says and writes.

use crate::error::{During, Error, Result};
use crate::memory::{Memory, PAGE_BYTES};
use crate::packet::{self, Packet, Received};
use crate::run::{OutputFile, RunRequest};
use hearth_shim_abi::{
    ARGUMENT_LIMIT, NOTE_BEGIN, NOTE_FAILED, NOTE_FILE, NOTE_FORKED, NOTE_LIMIT, NOTE_REMOVED, NOTES_LIMIT,
    Note, REQUEST_LIMIT, REQUEST_RUN, Request,
};
use rustix::fs::{MemfdFlags, OFlags, SealFlags, fcntl_add_seals, fcntl_setfl, memfd_create};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Instant;

/// What a run is given.
pub struct Stage {
    pub head: Request,
    pub text: Vec<u8>,
    channel: OwnedFd,
    pub channel_end: OwnedFd,
    pub stdin: File,
    pub stdout: File,
    pub stderr: File,
    pub input: Option<File>,
    begun: Option<Begun>,
    early: Notes,
}

/// What a run hands over when it begins.
struct Begun {
    memory: Memory,
    statm: File,
}

impl Stage {
    /// Makes all of it.
    pub fn new(request: &RunRequest) -> Result<Self> {
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
        let size = size_of::<Request>() + text.len();
        if size > REQUEST_LIMIT {
            let what = "the run's environment and arguments";
            return Err(Error::TooLarge { what, size, limit: REQUEST_LIMIT });
        }
        if arguments.len() > ARGUMENT_LIMIT {
            let what = "the number of the run's arguments";
            return Err(Error::TooLarge { what, size: arguments.len(), limit: ARGUMENT_LIMIT });
        }
        let head = Request {
            kind: REQUEST_RUN,
            argument_count: arguments.len() as u32,
            cpu_s: limits.cpu_s,
            file_bytes: limits.output_bytes,
            processes: limits.processes,
            directory_length,
            addition_count: request.environment.len() as u32,
            hides_program: u32::from(request.hides_program),
            ..Request::default()
        };
        let (channel, channel_end) = packet::pair().during("make a socket")?;
        Ok(Self {
            head,
            text,
            channel,
            channel_end,
            stdin: sealed_file(&request.stdin)?,
            stdout: output_file()?,
            stderr: output_file()?,
            input: request.input.as_deref().map(sealed_file).transpose()?,
            begun: None,
            early: Notes::default(),
        })
    }

    /// Takes what the run hands over when it begins, if it has.
    fn receive_begin(&mut self) {
        if self.begun.is_none()
            && let Ok(Received::Packet(mut packet)) =
                packet::receive::<Note>(&self.channel, NOTE_LIMIT, Instant::now())
        {
            // Nothing comes before this but the news that preparing the run failed.
            if packet.head.kind == NOTE_BEGIN && packet.fds.len() == 3 {
                let mut file = || File::from(packet.fds.remove(0));
                let (memory, pages, statm) = (file(), file(), file());
                self.early.prepared_us = u64::from(packet.head.value);
                self.begun = Some(Begun { memory: Memory::new(memory, pages), statm });
            } else {
                self.early.take(packet);
            }
        }
    }

    /// The run's own memory in bytes; 0 if it has none (yet, or any more).
    pub fn memory_bytes(&mut self) -> u64 {
        self.receive_begin();
        self.begun.as_ref().map_or(0, |begun| resident_bytes(&begun.statm))
    }

    /// What the run said, of which nothing is believed that it could have made up.
    pub fn notes(&mut self) -> Result<Notes> {
        self.receive_begin();
        let mut notes = std::mem::take(&mut self.early);
        notes.memory = self.begun.take().map(|begun| begun.memory);
        for _ in 0..NOTES_LIMIT {
            match packet::receive::<Note>(&self.channel, NOTE_LIMIT, Instant::now())
                .during("read a run's notes")?
            {
                Received::Packet(packet) => notes.take(packet),
                Received::Garbage => {}
                Received::Nothing | Received::Closed => break,
            }
        }
        Ok(notes)
    }
}

/// Memory of a process that no file is behind, in bytes; 0 when it has ended.
fn resident_bytes(statm: &File) -> u64 {
    let mut text = [0; 128];
    let length = statm.read_at(&mut text, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&text[..length]);
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (fields.nth(1).unwrap_or(0), fields.next().unwrap_or(0));
    resident.saturating_sub(shared) * PAGE_BYTES
}

/// What a run said.
#[derive(Default)]
pub struct Notes {
    pub memory: Option<Memory>,
    files: BTreeMap<PathBuf, File>,
    pub forked: bool,
    pub failed: Option<i32>,
    /// Processor time the kernel had spent on the run when it began.
    pub prepared_us: u64,
}

impl Notes {
    fn take(&mut self, mut packet: Packet<Note>) {
        let path = PathBuf::from(OsStr::from_bytes(&packet.text));
        match packet.head.kind {
            NOTE_FILE if packet.fds.len() == 1 => {
                self.files.insert(path, packet.fds.remove(0).into());
            }
            NOTE_REMOVED => {
                self.files.remove(&path);
            }
            NOTE_FORKED => self.forked = true,
            NOTE_FAILED => self.failed = Some(packet.head.value.cast_signed()),
            _ => {}
        }
    }

    /// The files it wrote, each up to a limit.
    pub fn files(self, limit: u64) -> Result<Vec<OutputFile>> {
        let file = |(path, file): (PathBuf, File)| Ok(OutputFile { path, bytes: contents(&file, limit)? });
        self.files.into_iter().map(file).collect()
    }
}

/// A file in memory that a run can read and nobody can change.
fn sealed_file(bytes: &[u8]) -> Result<File> {
    let fd = memfd_create("hearth", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
    let mut file = fd.map(File::from).during("make a file in memory")?;
    file.write_all(bytes).and_then(|()| file.rewind()).during("write to memory")?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals).during("seal a file in memory")?;
    Ok(file)
}

/// A file in memory that grows with what is written to it.
fn output_file() -> Result<File> {
    let fd = memfd_create("hearth", MemfdFlags::CLOEXEC).during("make a file in memory")?;
    fcntl_setfl(&fd, OFlags::APPEND).during("make a file in memory")?;
    Ok(File::from(fd))
}

/// What was written to a file, up to a limit. It is copied: a run may still change its size.
pub fn contents(file: &File, limit: u64) -> Result<Vec<u8>> {
    let size = file.metadata().during("look at an output")?.len().min(limit);
    let mut bytes = vec![0; size as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64).during("read an output")? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
