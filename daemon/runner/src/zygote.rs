//! A subject's process at its warm point, and the runs forked from it.

mod expect;
mod key;
mod run;
mod start;
mod watch;

use crate::cores::{Binding, Idle, Seat};
use crate::error::{Error, Result};
use crate::limits::ANSWER_DEADLINE;
use crate::mappings::Mappings;
use crate::memory::Memory;
use crate::observe::children;
use crate::revision::Files;
use hearth_sandbox::Launched;
use hearth_sandbox::areas::Areas;
use hearth_sandbox::packet::{self, Packet, Received};
use hearth_shim_abi::{EVENT_CLEARED, Event, REQUEST_CLEAR, REQUEST_MARK, ZygoteRequest};
pub use key::{WarmPoint, ZygoteKey};
use nix::unistd::Pid;
pub use run::EndedRun;
pub(crate) use run::Remains;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A zygote.
#[derive(Debug)]
pub struct Zygote {
    launched: Launched,
    binary: PathBuf,
    memory: Memory,
    mappings: Mappings,
    /// A word that is no longer zero once a run has loaded libraries; 0 if there is none.
    last_library: u64,
    /// A word that is no longer zero once a process of a run could not tell the daemon something.
    untold: u64,
    /// Runs so far.
    runs: u64,
    /// So many processes of a run are kept before those that have ended are let go.
    settles_at: usize,
    warm: WarmPoint,
    /// What it wrote to standard output and standard error before the warm point: every run begins with it.
    early_output: [Vec<u8>; 2],
    /// What all runs lack because of what it did before the warm point.
    early_missing: Vec<String>,
    /// The program and the libraries it has loaded.
    programs: Files,
    /// Something of the run before may be left.
    unclear: bool,
    /// Where the input is.
    input: Option<PathBuf>,
    /// The input that all runs have, if the subject opened it before the warm point.
    frozen_input: Option<Vec<u8>>,
    memory_bytes: u64,
    /// Says whether there is a core beside that of the run.
    idle: Idle,
    /// Where it is.
    binding: Binding,
    /// It is still to be bound there.
    is_to_move: bool,
}

impl Zygote {
    /// What the sandbox lacks, and what runs do.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        [&self.launched.missing[..], &self.early_missing].concat()
    }

    /// Its memory that no file is behind, at the warm point, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Are its program and its libraries still those that are there?
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.programs.are_the_same()
    }

    /// The core it stays on, if it is a certain one.
    #[must_use]
    pub fn core(&self) -> Option<usize> {
        self.binding.core
    }

    /// Serves its next run at a seat.
    pub fn stay_at(&mut self, seat: &Seat<'_>) {
        self.idle = seat.idle();
        if self.binding.core != seat.core() {
            self.binding = seat.binding();
            self.is_to_move = true;
        }
    }

    /// Moves to where the next run is to be served, with the standby. Nothing else is left of the run before, whose number
    /// could be another process's by now.
    fn move_to_seat(&mut self) {
        let process = self.launched.process.filter(|_| std::mem::take(&mut self.is_to_move));
        if let Some(process) = process {
            self.binding.bind(Pid::from_raw(process));
            // One that is forked at this moment stays where it is.
            children(process).into_iter().for_each(|child| self.binding.bind(child));
        }
    }

    /// Its program.
    #[must_use]
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Its memory, and what it has mapped.
    #[must_use]
    pub fn image(&self) -> (&Memory, &Mappings) {
        (&self.memory, &self.mappings)
    }

    /// A word that is no longer zero once a run has loaded libraries; 0 if there is none.
    #[must_use]
    pub fn last_library(&self) -> u64 {
        self.last_library
    }

    /// A word that is no longer zero once a process of a run could not tell the daemon something.
    #[must_use]
    pub fn untold(&self) -> u64 {
        self.untold
    }

    /// Sets a byte of the zygote to one, and so of all its runs.
    ///
    /// # Errors
    /// If the zygote takes no requests.
    pub fn mark(&self, address: u64) -> Result<()> {
        let mark = ZygoteRequest { kind: REQUEST_MARK, address, ..ZygoteRequest::default() };
        packet::send(&self.launched.control, &mark, &[], &[]).map_err(lost("it takes no requests"))
    }

    /// Waits until all areas are as on the machine.
    fn have_fresh_areas(&mut self) -> Result<()> {
        self.launched.finish_refreshing()?;
        let old = self.launched.areas.as_ref().map(Areas::old).unwrap_or_default();
        self.launched.refresh(&old)?;
        Ok(self.launched.finish_refreshing()?)
    }

    fn event(&mut self, deadline: Instant) -> Result<Event> {
        match receive_event(&self.launched.control, deadline)? {
            Some(packet) => Ok(packet.head),
            None => Err(Error::ZygoteLost("it does not answer".to_owned())),
        }
    }

    /// Waits until nothing is left of the run before.
    fn finish_clearing(&mut self) -> Result<()> {
        while self.unclear {
            if self.event(Instant::now() + ANSWER_DEADLINE)?.kind == EVENT_CLEARED {
                self.unclear = false;
            }
        }
        Ok(())
    }

    /// Has the run killed, with all that it started, so that its memory goes and the next one can be forked.
    fn clear(&mut self) -> Result<()> {
        let clear = ZygoteRequest { kind: REQUEST_CLEAR, ..ZygoteRequest::default() };
        packet::send(&self.launched.control, &clear, &[], &[]).map_err(lost("it takes no requests"))?;
        self.unclear = true;
        Ok(())
    }
}

fn lost(why: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::ZygoteLost(format!("{why}: {error}"))
}

pub(crate) fn receive_event(control: &OwnedFd, deadline: Instant) -> Result<Option<Packet<Event>>> {
    match packet::receive::<Event>(control, size_of::<Event>(), deadline).map_err(lost("its socket fails"))? {
        Received::Packet(packet) => Ok(Some(packet)),
        Received::Nothing => Ok(None),
        Received::Closed => Err(Error::ZygoteLost("it has ended".to_owned())),
        Received::Garbage => Err(Error::ZygoteLost("it talks nonsense".to_owned())),
    }
}
