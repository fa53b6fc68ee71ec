//! Zygotes, kept warm by what makes them alike: started on demand, as many of a kind as there are runs at a
//! time, ended when they were not used for long or take too much memory, and left alone for a while when they
//! keep dying.

mod quarantine;
mod shelf;

use crate::cores::Cores;
use crate::error::{Error, Result};
use crate::run::RunRequest;
use crate::subject_map::SubjectMap;
use crate::worker::{CoveredRun, Worker};
use crate::zygote::ZygoteKey;
use hearth_sandbox::Launcher;
use quarantine::Quarantine;
use shelf::Shelf;
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
    shelf: Shelf<Worker>,
    quarantine: Quarantine,
    /// Zygotes started so far.
    started: u64,
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
        let waiting = state.shelf.iter();
        waiting.map(|(key, worker, since)| (key.clone(), worker.memory_bytes(), since)).collect()
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
    ) -> Result<CoveredRun> {
        match self.with_worker(key, map, |worker| worker.run(request)) {
            Err(Error::ZygoteLost(why)) => Ok(CoveredRun::lost(&why)),
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
        let seat = self.cores.enter();
        loop {
            tries -= 1;
            let mut worker = self.take(key, map, seat.core())?;
            worker.stay_at(&seat);
            let bound = seat.bind_thread();
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
            state.quarantine.check(key, Instant::now())?;
            // Their program was built anew since, or a library of it.
            stale =
                state.shelf.take_stale(|of, worker| of.binary == key.binary && !worker.zygote().is_current());
            let found =
                state.shelf.take(key, |worker| worker.is_of(map), |worker| worker.zygote().core() == core);
            if let Some(worker) = found {
                return Ok(worker);
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
            state.quarantine.forgive(key);
        }
        state.shelf.put(key.clone(), worker, Instant::now());
        let evicted = state.shelf.evict(Instant::now(), Worker::memory_bytes);
        drop(state);
        // Ending a zygote takes a moment, in which others can use the pool.
        drop(evicted);
    }

    fn note_loss(&self, key: &ZygoteKey, why: &str) {
        tracing::warn!(binary = %key.binary.display(), why, "a zygote was lost");
        self.lock().quarantine.note_loss(key, why, Instant::now());
    }

    /// Ends the zygotes that were not used for long. To be called now and then.
    pub fn tidy(&self) {
        let evicted = self.lock().shelf.evict(Instant::now(), Worker::memory_bytes);
        drop(evicted);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between statements, so a thread that died with the lock did no harm to it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::limits::RunLimits;
    use crate::zygote::{WarmPoint, ZygoteKey};
    use hearth_sandbox::Policy;

    /// A kind of zygote, told from others by its program.
    pub fn key(binary: &str) -> ZygoteKey {
        ZygoteKey {
            revision: 0,
            binary: binary.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: "/".into(),
            input: None,
            warm: WarmPoint::Main,
            sandbox: Policy::Required,
            processes: RunLimits::default().processes,
            shown: Vec::new(),
        }
    }
}
