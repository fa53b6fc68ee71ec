//! Zygotes, kept warm by what makes them alike: started on demand, as many of a kind as there are runs at a
//! time, ended when they were not used for long or take too much memory, and left alone for a while when they
//! keep dying.

use crate::cores::Cores;
use crate::error::{Error, Result};
use crate::limits::{LOSSES, QUARANTINE, ZYGOTE_AGE, ZYGOTE_BYTES, ZYGOTES};
use crate::run::RunRequest;
use crate::subject_map::SubjectMap;
use crate::worker::{Answer, Worker};
use crate::zygote::ZygoteKey;
use hearth_sandbox::Launcher;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Keeps zygotes. Any number of threads may run on it at a time.
#[derive(Debug)]
pub struct Pool {
    launcher: Launcher,
    cores: Cores,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Idle>,
    losses: BTreeMap<ZygoteKey, Losses>,
    /// Zygotes started so far.
    started: u64,
}

#[derive(Debug)]
struct Idle {
    key: ZygoteKey,
    worker: Worker,
    since: Instant,
}

#[derive(Debug)]
struct Losses {
    count: u32,
    last: String,
    at: Instant,
}

impl Pool {
    /// An empty pool. The launcher is a program that calls [`launcher::main`](hearth_sandbox::launcher::main) when started
    /// with [`LAUNCH_ARGUMENT`](hearth_sandbox::LAUNCH_ARGUMENT).
    #[must_use]
    pub fn new(launcher: impl Into<Launcher>) -> Self {
        Self { launcher: launcher.into(), cores: Cores::default(), state: Mutex::default() }
    }

    /// How many zygotes were started so far.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.lock().started
    }

    /// The zygotes that wait for runs: what they are, their memory in bytes, and since when they wait.
    #[must_use]
    pub fn idle(&self) -> Vec<(ZygoteKey, u64, Duration)> {
        let state = self.lock();
        let of = |idle: &Idle| (idle.key.clone(), idle.worker.memory_bytes(), idle.since.elapsed());
        state.idle.iter().map(of).collect()
    }

    /// Runs once, on a zygote that is warm already if there is one. That the zygote is lost twice is an outcome.
    ///
    /// # Errors
    /// If the subject cannot be started, its zygotes keep dying, or the request is too large.
    pub fn run(
        &self,
        key: &ZygoteKey,
        map: Option<&Arc<SubjectMap>>,
        request: &RunRequest,
    ) -> Result<Answer> {
        match self.with_worker(key, map, |worker| worker.run(request)) {
            Err(Error::ZygoteLost(why)) => Ok(Answer::lost(&why)),
            result => result,
        }
    }

    /// Does something with a zygote of a kind. If the zygote turns out to be lost, it is done once more with a
    /// new one.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub fn with_worker<T>(
        &self,
        key: &ZygoteKey,
        map: Option<&Arc<SubjectMap>>,
        mut work: impl FnMut(&mut Worker) -> Result<T>,
    ) -> Result<T> {
        let mut tries = 2;
        let place = self.cores.enter();
        loop {
            tries -= 1;
            let mut worker = self.take(key, map, place.core())?;
            worker.stay_at(&place);
            let bound = place.bind_thread();
            let result = work(&mut worker);
            // What is started from now on may be anywhere.
            drop(bound);
            match result {
                Err(Error::ZygoteLost(why)) => {
                    self.note_loss(key, &why);
                    if tries == 0 {
                        return Err(Error::ZygoteLost(why));
                    }
                }
                // Of a run that went wrong something may be left. These are found out before there is one.
                Ok(_) | Err(Error::TooLarge { .. } | Error::InputFrozen { .. }) => {
                    self.give_back(key, worker, result.is_ok());
                    return result;
                }
                Err(_) => return result,
            }
        }
    }

    /// A zygote of a kind, warm already if there is one, and if there are several one that is on the core.
    fn take(&self, key: &ZygoteKey, map: Option<&Arc<SubjectMap>>, core: Option<usize>) -> Result<Worker> {
        let stale;
        {
            let mut state = self.lock();
            state.check_quarantine(key)?;
            stale = state.take_stale(&key.binary);
            let is_like = |idle: &Idle| idle.key == *key && idle.worker.is_of(map);
            let warm = || state.idle.iter().enumerate().rev().filter(|(_, idle)| is_like(idle));
            let there = warm().find(|(_, idle)| idle.worker.zygote().core() == core);
            if let Some((found, _)) = there.or_else(|| warm().next()) {
                return Ok(state.idle.remove(found).worker);
            }
            state.started += 1;
        }
        // Ending them takes a moment, in which others can use the pool.
        drop(stale);
        Worker::start(&self.launcher, key, map.cloned())
    }

    fn give_back(&self, key: &ZygoteKey, worker: Worker, is_well: bool) {
        let mut state = self.lock();
        if is_well {
            state.losses.remove(key);
        }
        state.idle.push(Idle { key: key.clone(), worker, since: Instant::now() });
        let evicted = state.evict();
        drop(state);
        // Ending a zygote takes a moment, in which others can use the pool.
        drop(evicted);
    }

    fn note_loss(&self, key: &ZygoteKey, why: &str) {
        let mut state = self.lock();
        let count = state.losses.get(key).map_or(0, |losses| losses.count) + 1;
        state.losses.insert(key.clone(), Losses { count, last: why.to_owned(), at: Instant::now() });
    }

    /// Ends the zygotes that were not used for long. To be called now and then.
    pub fn tidy(&self) {
        let evicted = self.lock().evict();
        drop(evicted);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between statements, so a thread that died with the lock did no harm to it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check_quarantine(&mut self, key: &ZygoteKey) -> Result<()> {
        let Some(losses) = self.losses.get(key) else { return Ok(()) };
        let left = QUARANTINE.saturating_sub(losses.at.elapsed());
        if losses.count < LOSSES {
            return Ok(());
        }
        if left.is_zero() {
            self.losses.remove(key);
            return Ok(());
        }
        Err(Error::Quarantined {
            losses: losses.count,
            last: losses.last.clone(),
            seconds: left.as_secs() + 1,
        })
    }

    /// Takes out the zygotes of a program that was built anew since, or a library of which was.
    fn take_stale(&mut self, binary: &Path) -> Vec<Idle> {
        let is_stale = |idle: &mut Idle| idle.key.binary == binary && !idle.worker.zygote().is_current();
        self.idle.extract_if(.., is_stale).collect()
    }

    /// Takes out what is too old or too much, the longest unused first.
    fn evict(&mut self) -> Vec<Idle> {
        let mut evicted: Vec<Idle> = Vec::new();
        let mut kept_bytes = 0;
        let mut kept = 0;
        // The last in the list was used last.
        for index in (0..self.idle.len()).rev() {
            let idle = &self.idle[index];
            kept_bytes += idle.worker.memory_bytes();
            kept += 1;
            if kept > ZYGOTES || kept_bytes > ZYGOTE_BYTES || idle.since.elapsed() > ZYGOTE_AGE {
                evicted.extend(self.idle.drain(..=index));
                break;
            }
        }
        evicted
    }
}
