//! A zygote and what observes its runs.

use crate::cores::Seat;
use crate::error::Result;
use crate::observe::counters::Array;
use crate::observe::coverage::CounterObserver;
use crate::observe::{Observation, Observer};
use crate::run::{Run, RunRequest};
use crate::subject_map::SubjectMap;
use crate::zygote::{Zygote, ZygoteKey};
use hearth_sandbox::Launcher;
use std::sync::Arc;
use std::time::Instant;

/// A zygote and its observer.
#[derive(Debug)]
pub struct Worker {
    zygote: Zygote,
    observer: Observer,
    /// What is lacking: of the sandbox, and of the notes.
    missing: Vec<String>,
}

/// A run and what was observed of it.
#[derive(Debug)]
pub struct CoveredRun {
    /// The run.
    pub run: Run,
    /// What was observed, or why nothing was.
    pub observation: std::result::Result<Observation, String>,
    /// What is lacking: of the sandbox, of the notes, and of the run.
    pub missing: Vec<String>,
}

impl CoveredRun {
    /// The answer where the zygote was lost.
    pub(crate) fn lost(why: &str) -> Self {
        let observation = Err(format!("the zygote was lost: {why}"));
        Self { run: Run::lost(), observation, missing: Vec::new() }
    }
}

impl Worker {
    /// Starts a zygote. With a map, its runs have spectra.
    ///
    /// # Errors
    /// If it cannot be started, or its counters are not those of the map.
    pub fn start(launcher: &Launcher, key: &ZygoteKey, map: Option<Arc<SubjectMap>>) -> Result<Self> {
        let zygote = Zygote::start(launcher, key)?;
        let observer = Observer::new(&zygote, map)?;
        let mut missing = zygote.missing();
        missing.extend(observer.counters().into_iter().flat_map(CounterObserver::missing));
        Ok(Self { zygote, observer, missing })
    }

    /// The zygote.
    #[must_use]
    pub fn zygote(&self) -> &Zygote {
        &self.zygote
    }

    /// The zygote's memory that no file is behind, and what is kept here to read its runs' counters, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.zygote.memory_bytes() + self.observer.own_bytes() as u64
    }

    /// Where the counters of its runs are.
    #[must_use]
    pub fn arrays(&self) -> &[Array] {
        self.observer.counters().map_or(&[], CounterObserver::arrays)
    }

    /// Has the zygote serve its next run at a seat.
    pub fn stay_at(&mut self, seat: &Seat<'_>) {
        self.zygote.stay_at(seat);
    }

    /// Is it of this map, or of none if there is none?
    #[must_use]
    pub fn is_of(&self, map: Option<&Arc<SubjectMap>>) -> bool {
        match (self.observer.counters(), map) {
            (Some(counters), Some(map)) => Arc::ptr_eq(counters.map(), map),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Runs once.
    ///
    /// # Errors
    /// If the zygote is lost, or the request is too large.
    pub fn run(&mut self, request: &RunRequest) -> Result<CoveredRun> {
        let started = Instant::now();
        let mut ended = self.zygote.run(request, &mut self.observer)?;
        let mut missing = Vec::new();
        let observation = self.observer.observe(&mut ended, request.observe, &mut missing);
        let mut run = ended.finish(&self.observer, missing)?;
        run.times.total = started.elapsed();
        let missing = [&self.missing[..], &run.missing].concat();
        Ok(CoveredRun { run, observation, missing })
    }
}
