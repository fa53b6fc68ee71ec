//! Forking a run from a zygote, and what is there when it has ended.

use super::{Zygote, lost, watch};
use crate::error::{Error, Result};
use crate::inside::Inside;
use crate::limits::{ANSWER_DEADLINE, CHILDREN_KEPT};
use crate::observe::Observer;
use crate::run::{Outcome, Run, RunRequest, Times};
use crate::stage::{RunNotes, Stage};
use crate::usage::mapped_bytes;
use hearth_sandbox::areas::When;
use hearth_sandbox::limits::most_processes;
use hearth_sandbox::packet;
use hearth_shim_abi::{EVENT_FORKED, EVENT_NOT_FORKED, Event};
use std::fs::File;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// A run that has ended. Its memory is still there, and what it started is stopped: when this is dropped, all of that is
/// cleared away.
#[derive(Debug)]
pub struct EndedRun<'z> {
    zygote: &'z mut Zygote,
    stage: Stage,
    started: Instant,
    forked: Event,
    ended: Event,
    /// When the end was known.
    known: Instant,
    /// The outcome, if a limit decided it.
    verdict: Option<Outcome>,
    /// So many bytes of its output are read.
    output_bytes: u64,
    memory_bytes: u64,
    cpu_s: u64,
    is_cleared: bool,
    /// What it has written in areas is known.
    knows_files: bool,
    /// So many of its processes still ran when it ended by itself.
    left_over: usize,
}

impl Zygote {
    /// Forks a run and waits for its end, while the observer takes note of processes of it that come and go.
    ///
    /// # Errors
    /// If the request is too large, or the zygote does not answer; it is then of no further use.
    pub fn run(&mut self, request: &RunRequest, observer: &mut Observer) -> Result<EndedRun<'_>> {
        let started = Instant::now();
        if request.input.is_some() && self.frozen_input.is_some() && request.input != self.frozen_input {
            return Err(Error::InputFrozen { warm: self.warm.to_string() });
        }
        self.finish_clearing()?;
        self.have_fresh_areas()?;
        self.move_to_seat();
        let mut stage = Stage::new(request, self.input.as_ref())?;
        let forked = self.fork(&mut stage, request, observer.in_processes(request.observe))?;
        self.settles_at = CHILDREN_KEPT;
        let (ended, verdict) = self.wait_for_end(&mut stage, request, &forked, observer)?;
        let mut run = EndedRun {
            zygote: self,
            stage,
            started,
            forked,
            ended,
            known: Instant::now(),
            verdict,
            output_bytes: request.limits.output_bytes,
            memory_bytes: request.limits.memory_bytes,
            cpu_s: request.limits.cpu_s,
            is_cleared: false,
            knows_files: false,
            left_over: 0,
        };
        run.take_last_words()?;
        Ok(run)
    }

    /// Has the standby become a run.
    fn fork(&mut self, stage: &mut Stage, request: &RunRequest, observe: u32) -> Result<Event> {
        let mut head = stage.head;
        head.processes = match self.launched.limits_processes_by_user {
            true => most_processes(request.limits.processes),
            false => 0,
        };
        head.observe = observe;
        let mut fds =
            vec![stage.channel_end.as_fd(), stage.stdin.as_fd(), stage.stdout.as_fd(), stage.stderr.as_fd()];
        fds.extend(stage.input.as_ref().map(File::as_fd));
        packet::send(&self.launched.control, &head, &stage.text, &fds)
            .map_err(lost("it takes no requests"))?;
        let event = self.event(Instant::now() + ANSWER_DEADLINE)?;
        match event.kind {
            EVENT_FORKED => Ok(event),
            EVENT_NOT_FORKED => {
                let error = std::io::Error::from_raw_os_error(event.value);
                Err(Error::System { what: "fork a run", error })
            }
            kind => Err(Error::ZygoteLost(format!("it said {kind} where a fork was expected"))),
        }
    }
}

impl EndedRun<'_> {
    /// Reads what the run has said and finds what it has written.
    fn take_last_words(&mut self) -> Result<()> {
        self.stage.take_notes()?;
        if let Some(areas) = &self.zygote.launched.areas {
            self.stage.look_for_files(areas, When::Ended)?;
            self.knows_files = true;
        }
        if self.verdict.is_none()
            && let Some(inside) = Inside::of(&self.zygote.launched)
        {
            self.left_over = self.stage.notes.living(&inside);
            self.verdict = self.was_above(&inside).then_some(Outcome::OutOfMemory);
        }
        let is_above = self.stage.is_above(self.output_bytes);
        self.verdict = self.verdict.or(is_above.then_some(Outcome::OutputLimit));
        Ok(())
    }

    /// Has it had more memory than it may, between two looks? What it has mapped of files on a disk is not its own. Of programs
    /// that it executed that is not known.
    fn was_above(&self, inside: &Inside<'_>) -> bool {
        let peak = self.ended.peak_kib << 10;
        let notes = &self.stage.notes;
        if peak <= self.memory_bytes || notes.executed > 0 {
            return false;
        }
        let status = notes.keeper.and_then(|keeper| inside.find(keeper)?.status().ok());
        status.is_some_and(|status| peak - mapped_bytes(&status).min(peak) > self.memory_bytes)
    }

    /// What is observed of it: the zygote's process, the processes of the sandbox, and what the run said.
    ///
    /// # Errors
    /// If the zygote's process is not known.
    pub(crate) fn remains(&mut self) -> Result<Remains<'_>> {
        let launched = &self.zygote.launched;
        let inside =
            Inside::of(launched).ok_or_else(|| Error::ZygoteLost("its process is not known".to_owned()))?;
        let has_idle_core = self.zygote.idle.is_there();
        Ok(Remains { zygote: launched.process, inside, has_idle_core, notes: &mut self.stage.notes })
    }

    /// Nobody needs the run's memory any more: the zygote learns from what it wrote, and has it cleared away while the rest is
    /// read.
    fn clear(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_cleared, true) {
            return Ok(());
        }
        if let Some(memory) = self.stage.notes.memory.as_ref().filter(|_| !self.stage.notes.forked) {
            self.zygote.expect_alike(memory);
        }
        self.zygote.clear()
    }

    /// What came of the run. What the observer has seen is added by whoever has it: it takes files of gcov's out, and adds to
    /// what is missing.
    ///
    /// # Errors
    /// If its output cannot be read, or preparing it failed.
    pub fn finish(mut self, observer: &Observer, mut missing: Vec<String>) -> Result<Run> {
        self.clear()?;
        let between = |from: u64, to: u64| Duration::from_nanos(to.saturating_sub(from));
        let (forked, ended, notes) = (&self.forked, &self.ended, &self.stage.notes);
        let times = Times {
            total: self.started.elapsed(),
            fork: between(forked.asked_ns, forked.time_ns),
            run: between(forked.time_ns, ended.time_ns),
            harvest: self.known.elapsed(),
            user: Duration::from_micros(ended.user_us),
            // What the kernel did for the standby was before the run.
            system: Duration::from_micros(ended.system_us.saturating_sub(notes.prepared_us)),
        };
        let launched = &self.zygote.launched;
        let mut output = self.stage.output(launched.areas.as_ref(), &launched.hidden, self.output_bytes)?;
        missing.append(&mut output.missing);
        if self.left_over > 0 {
            missing.push(format!(
                "what {} of the run's processes would have done: they still ran when the first one ended, and were stopped",
                self.left_over
            ));
        }
        if let Some(counters) = observer.counters() {
            counters.counted.take_data_files(&mut output.files, &self.stage.written.files, &mut missing);
        }
        if let Some(error) = self.stage.notes.failed {
            let error = std::io::Error::from_raw_os_error(error);
            return Err(Error::System { what: "prepare a run", error });
        }
        let [early_stdout, early_stderr] = &self.zygote.early_output;
        Ok(Run {
            outcome: self.verdict.unwrap_or_else(|| watch::outcome(&self.ended, self.cpu_s)),
            stdout: [&early_stdout[..], &output.stdout].concat(),
            stderr: [&early_stderr[..], &output.stderr].concat(),
            forked: self.stage.notes.forked,
            files: output.files,
            missing,
            page_faults: self.ended.faults.saturating_sub(self.stage.notes.prepared_faults),
            peak_kib: self.ended.peak_kib,
            times,
        })
    }
}

impl Drop for EndedRun<'_> {
    fn drop(&mut self) {
        // A zygote that takes no requests is noticed at the next one.
        let _ = self.clear();
        let launched = &mut self.zygote.launched;
        if let Some(areas) = &mut launched.areas {
            let written = self.knows_files.then_some(&self.stage.written);
            let used = areas.used(written);
            let _ = launched.refresh(&used);
        }
    }
}

/// What is left of a run for an observer to look at.
pub(crate) struct Remains<'r> {
    /// The zygote's process, as the daemon numbers it.
    pub zygote: Option<i32>,
    /// The processes of its sandbox.
    pub inside: Inside<'r>,
    /// There is a core beside that of the run.
    pub has_idle_core: bool,
    /// What the run said.
    pub notes: &'r mut RunNotes,
}
