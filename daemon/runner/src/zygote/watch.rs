//! Watching a run: its end, its limits, and processes of it that have ended.

use super::{Zygote, lost, receive_event};
use crate::error::{During, Error, Result};
use crate::inside::Inside;
use crate::limits::{
    ANSWER_DEADLINE, CHILDREN_KEPT, GROUP_PATIENCE, LOOK_INTERVAL, LOOK_INTERVAL_MOST, LOOK_PAUSE,
};
use crate::observe::Observer;
use crate::run::{Outcome, RunRequest};
use crate::stage::Stage;
use crate::usage::{ProcessorTimes, Usage};
use hearth_sandbox::areas::{Areas, When};
use hearth_sandbox::packet;
use hearth_shim_abi::{EVENT_ENDED, Event, REQUEST_KILL, ZygoteRequest};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

impl Zygote {
    /// Waits for the run's end, and sees to its limits. Its time has begun when it was forked. Returns the outcome if a limit
    /// decided it.
    pub(super) fn wait_for_end(
        &mut self,
        stage: &mut Stage,
        request: &RunRequest,
        forked: &Event,
        observer: &mut Observer,
    ) -> Result<(Event, Option<Outcome>)> {
        let limits = &request.limits;
        let started = Instant::now();
        let deadline = started + Duration::from_millis(limits.wall_ms);
        let is_unwanted =
            || request.unwanted.as_ref().is_some_and(|unwanted| unwanted.load(Ordering::Relaxed));
        let mut next_look = started + LOOK_INTERVAL;
        let mut verdict = None;
        let mut is_late = false;
        let mut looks = Looks::default();
        loop {
            let until = if verdict.is_some() { started.max(next_look) } else { deadline.min(next_look) };
            packet::wait(&[self.launched.control.as_fd(), stage.channel()], until)
                .during("wait for a run")?;
            stage.take_notes()?;
            self.settle(stage, observer)?;
            match receive_event(&self.launched.control, Instant::now())?.map(|packet| packet.head) {
                Some(ended) if ended.kind == EVENT_ENDED => {
                    // A run that was faster than the news of its limit is not to blame for the daemon's being late.
                    let ran = Duration::from_nanos(ended.time_ns.saturating_sub(forked.time_ns));
                    let in_time = ran <= Duration::from_millis(limits.wall_ms) && !is_unwanted();
                    return Ok((ended, verdict.filter(|_| !is_late || !in_time)));
                }
                Some(event) => {
                    let problem = format!("it said {} while a run was under way", event.kind);
                    return Err(Error::ZygoteLost(problem));
                }
                None => {}
            }
            let now = Instant::now();
            if verdict.is_some() {
                if now >= next_look {
                    return Err(Error::ZygoteLost("its run cannot be killed".to_owned()));
                }
                continue;
            }
            if now >= deadline || is_unwanted() {
                verdict = Some(Outcome::TimedOut);
                is_late = true;
            } else if now >= next_look {
                verdict = self.look_at_limits(stage, request, &mut looks);
                let pause = (now.elapsed() * LOOK_PAUSE).clamp(LOOK_INTERVAL, LOOK_INTERVAL_MOST);
                next_look = Instant::now() + pause;
            }
            if verdict.is_some() {
                let kill = ZygoteRequest { kind: REQUEST_KILL, ..ZygoteRequest::default() };
                packet::send(&self.launched.control, &kill, &[], &[])
                    .map_err(lost("it takes no requests"))?;
                next_look = now + ANSWER_DEADLINE;
            }
        }
    }

    /// Lets go of processes of a run that have ended, if they are many.
    fn settle(&mut self, stage: &mut Stage, observer: &mut Observer) -> Result<()> {
        if let (Some(counters), Some(inside)) = (observer.counters_mut(), Inside::of(&self.launched))
            && (stage.notes.unsettled() >= self.settles_at || stage.notes.is_crowded)
        {
            stage.notes.is_crowded = false;
            let ended = stage.notes.ended(&inside);
            // What they have said before they ended: a socket holds fewer notes than are read at once.
            stage.take_notes()?;
            counters.counted.settle(&ended, &inside, &mut stage.notes);
            // Those that go on are not looked at again for each one that comes.
            self.settles_at = stage.notes.unsettled() + CHILDREN_KEPT;
        }
        Ok(())
    }

    /// Does the control group say that more memory is taken than may be, also what no process has mapped? For a while it says so
    /// of what the run before has left.
    fn is_group_above(&self, limit: u64, since: &mut Option<Instant>) -> bool {
        if self.launched.memory_bytes().is_none_or(|bytes| bytes <= limit) {
            *since = None;
            return false;
        }
        since.get_or_insert_with(Instant::now).elapsed() > GROUP_PATIENCE
    }

    /// The outcome of a run that has used more than it may.
    fn look_at_limits(&self, stage: &mut Stage, request: &RunRequest, looks: &mut Looks) -> Option<Outcome> {
        let usage = self.launched.process.map(|zygote| Usage::new(zygote, stage.notes.kept()));
        let in_areas = self.launched.areas.as_ref().map_or(0, Areas::bytes);
        let limit = request.limits.memory_bytes;
        let is_above = usage.is_some_and(|usage| usage.is_above(limit.saturating_sub(in_areas)))
            || self.is_group_above(limit, &mut looks.group_above);
        if is_above {
            return Some(Outcome::OutOfMemory);
        }
        // The kernel limits each process; together they may have no more.
        let has_others = stage.notes.forked || stage.notes.executed > 0;
        let cpu = Duration::from_secs(request.limits.cpu_s);
        if has_others && self.launched.process.is_some_and(|zygote| looks.times.look(zygote) > cpu) {
            return Some(Outcome::TimedOut);
        }
        // What lies in areas takes at least as much as its length, but for holes. It is looked at closely only if it is much.
        if let Some(areas) = self.launched.areas.as_ref().filter(|_| in_areas > request.limits.output_bytes) {
            stage.look_for_files(areas, When::UnderWay).ok()?;
        }
        stage.is_above(request.limits.output_bytes).then_some(Outcome::OutputLimit)
    }
}

/// What is remembered from one look at a run's limits to the next.
#[derive(Default)]
struct Looks {
    /// Since when its control group has been above its limit.
    group_above: Option<Instant>,
    times: ProcessorTimes,
}

/// The outcome of a run that ended by itself.
pub(super) fn outcome(ended: &Event, cpu_s: u64) -> Outcome {
    let status: std::process::ExitStatus = ExitStatusExt::from_raw(ended.value);
    let used_up = (ended.user_us + ended.system_us) / 1_000_000 >= cpu_s;
    match (status.code(), status.signal()) {
        (Some(code), _) => Outcome::Exited(code),
        (None, Some(libc::SIGXCPU)) => Outcome::TimedOut,
        (None, Some(libc::SIGKILL)) if used_up => Outcome::TimedOut,
        (None, Some(libc::SIGXFSZ)) => Outcome::OutputLimit,
        (None, signal) => Outcome::Signalled(signal.unwrap_or(0)),
    }
}
