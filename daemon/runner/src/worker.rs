//! A zygote and what observes its runs.

use crate::cores::Seat;
use crate::error::Result;
use crate::observe::Observer;
use crate::observe::counters::Array;
use crate::observe::coverage::Observed;
use crate::run::{Observe, Run, RunRequest};
use crate::subject_map::SubjectMap;
use crate::zygote::{Zygote, ZygoteKey};
use hearth_coverage::spectrum::Spectrum;
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

/// A run and its coverage.
#[derive(Debug)]
pub struct CoveredRun {
    /// The run.
    pub run: Run,
    /// Its coverage, or why there is none.
    pub spectrum: std::result::Result<Spectrum, String>,
    /// All counters by dense id, if they were asked for and could be had.
    pub counters: Option<Vec<i64>>,
    /// What the zygote had executed at the warm point; `None` for a subject without counters.
    pub baseline: Option<Arc<Spectrum>>,
    /// What is lacking: of the sandbox, of the notes, and of the run.
    pub missing: Vec<String>,
}

impl CoveredRun {
    /// The answer where the zygote was lost.
    pub(crate) fn lost(why: &str) -> Self {
        let spectrum = Err(format!("the zygote was lost: {why}"));
        Self { run: Run::lost(), spectrum, counters: None, baseline: None, missing: Vec::new() }
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
        if let Observer::Counters(counters) = &observer {
            missing.extend(counters.missing());
        }
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
        match &self.observer {
            Observer::Nothing => &[],
            Observer::Counters(counters) => counters.arrays(),
        }
    }

    /// Has the zygote serve its next run at a seat.
    pub fn stay_at(&mut self, seat: &Seat<'_>) {
        self.zygote.stay_at(seat);
    }

    /// Is it of this map, or of none if there is none?
    #[must_use]
    pub fn is_of(&self, map: Option<&Arc<SubjectMap>>) -> bool {
        match (&self.observer, map) {
            (Observer::Counters(counters), Some(map)) => Arc::ptr_eq(counters.map(), map),
            (Observer::Nothing, None) => true,
            (Observer::Counters(_), None) | (Observer::Nothing, Some(_)) => false,
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
        let observed = match (&mut self.observer, request.observe) {
            (Observer::Nothing, _) => Err("the subject is not instrumented".to_owned()),
            (Observer::Counters(_), Observe::Nothing) => Err("nobody asked for it".to_owned()),
            (Observer::Counters(counters), Observe::Spectrum) => {
                counters.observe(&mut ended, false, &mut missing)
            }
            (Observer::Counters(counters), Observe::Counters) => {
                counters.observe(&mut ended, true, &mut missing)
            }
        };
        let mut run = ended.finish(&self.observer, missing)?;
        run.times.total = started.elapsed();
        let baseline = match &self.observer {
            Observer::Nothing => None,
            Observer::Counters(counters) => Some(counters.baseline.clone()),
        };
        let missing = [&self.missing[..], &run.missing].concat();
        let (spectrum, counters) = match observed {
            Ok(Observed { spectrum, counters }) => (Ok(spectrum), counters),
            Err(reason) => (Err(reason), None),
        };
        Ok(CoveredRun { run, spectrum, counters, baseline, missing })
    }
}
