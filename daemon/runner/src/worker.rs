//! A zygote with what it takes to turn its runs' counters into spectra.

use crate::cores::Place;
use crate::error::{Error, Result};
use crate::launch::Launcher;
use crate::observe::counted::without_notes;
use crate::observe::counters::Array;
use crate::observe::harvest::Counting;
use crate::run::{Run, RunRequest};
use crate::subject_map::SubjectMap;
use crate::zygote::{Zygote, ZygoteKey};
use hearth_coverage::spectrum::{Adder, Spectrum};
use std::sync::Arc;
use std::time::Instant;

/// A zygote and its subject's map.
#[derive(Debug)]
pub struct Worker {
    zygote: Zygote,
    coverage: Option<Coverage>,
    /// What is lacking: of the sandbox, and of the notes.
    missing: Vec<String>,
}

#[derive(Debug)]
struct Coverage {
    map: Arc<SubjectMap>,
    /// The counts at the warm point.
    baseline: Arc<Spectrum>,
    /// Holds the counts of the run before.
    adder: Adder,
    /// Why a function's counts could not be found.
    problem: Option<Error>,
}

/// A run and its coverage.
#[derive(Debug)]
pub struct Answer {
    /// The run.
    pub run: Run,
    /// Its coverage, or why there is none.
    pub spectrum: std::result::Result<Spectrum, String>,
    /// What the zygote had executed at the warm point; `None` for a subject without counters.
    pub baseline: Option<Arc<Spectrum>>,
    /// What is lacking: of the sandbox, and of the notes.
    pub missing: Vec<String>,
}

impl Answer {
    /// The answer where the zygote was lost.
    pub(crate) fn lost(why: &str) -> Self {
        let reason = format!("the zygote was lost: {why}");
        Self { run: Run::lost(&reason), spectrum: Err(reason), baseline: None, missing: Vec::new() }
    }
}

impl Worker {
    /// Starts a zygote. With a map, its runs have spectra.
    ///
    /// # Errors
    /// If it cannot be started, or its counters are not those of the map.
    pub fn start(launcher: &Launcher, key: &ZygoteKey, map: Option<Arc<SubjectMap>>) -> Result<Self> {
        let mut zygote = Zygote::start(launcher, key)?;
        let Some(map) = map else {
            zygote.ignore_counters()?;
            let missing = zygote.missing();
            return Ok(Self { zygote, coverage: None, missing });
        };
        let counted = zygote.count(map.clone());
        if matches!(counted, Err(Error::NotesMismatch { .. })) {
            map.set_unfit();
        }
        counted?;
        let line_count = map.with_atlas(|atlas| atlas.lines().len());
        let adder = Adder::new(line_count, map.learned());
        let mut coverage = Coverage { map, baseline: Arc::default(), adder, problem: None };
        if let Some(counting) = zygote.counting() {
            coverage.add_all(counting)?;
        }
        coverage.baseline = Arc::new(coverage.spectrum());
        let mut missing = zygote.missing();
        let objects = zygote.counting().map_or(&[][..], |counting| &counting.map.without_notes);
        missing.extend(objects.iter().map(|data| without_notes(data)));
        Ok(Self { zygote, coverage: Some(coverage), missing })
    }

    /// The zygote.
    #[must_use]
    pub fn zygote(&self) -> &Zygote {
        &self.zygote
    }

    /// The zygote's memory that no file is behind, and what is kept here to read its runs' counters, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let counting = self.zygote.counting().map_or(0, Counting::own_bytes);
        let adding = self.coverage.as_ref().map_or(0, |coverage| coverage.adder.own_bytes());
        self.zygote.memory_bytes() + (counting + adding) as u64
    }

    /// Has the zygote serve its next run at a place.
    pub fn stay_at(&mut self, place: &Place<'_>) {
        self.zygote.stay_at(place);
    }

    /// The subject's map, if it has one.
    #[must_use]
    pub fn map(&self) -> Option<&SubjectMap> {
        self.coverage.as_ref().map(|coverage| &*coverage.map)
    }

    /// Is it of this map, or of none if there is none?
    #[must_use]
    pub fn is_of(&self, map: Option<&Arc<SubjectMap>>) -> bool {
        match (&self.coverage, map) {
            (Some(own), Some(map)) => Arc::ptr_eq(&own.map, map),
            (None, None) => true,
            _ => false,
        }
    }

    /// Runs once.
    ///
    /// # Errors
    /// If the zygote is lost, or the request is too large.
    pub fn run(&mut self, request: &RunRequest) -> Result<Answer> {
        let started = Instant::now();
        let Some(coverage) = &mut self.coverage else {
            let mut run = self.zygote.run(request, &mut |_, _, _| {})?;
            run.times.total = started.elapsed();
            let spectrum = Err("the subject is not instrumented".to_owned());
            let missing = [&self.missing[..], &run.missing].concat();
            return Ok(Answer { run, spectrum, baseline: None, missing });
        };
        let ran = self.zygote.run(request, &mut |array, old, new| coverage.change(array, old, new));
        let taking = Instant::now();
        let problem = coverage.problem.take();
        if problem.is_some() {
            // A share is missing, and would be in all later runs.
            coverage.adder.reset(&coverage.baseline);
            self.zygote.forget_last_run();
        }
        let mut run = ran?;
        let spectrum = match (&run.harvest, problem) {
            (Ok(_), None) => Ok(coverage.spectrum()),
            (Ok(_), Some(problem)) => Err(problem.to_string()),
            (Err(reason), _) => Err(reason.clone()),
        };
        coverage.map.learn(coverage.adder.learned());
        run.times.harvest += taking.elapsed();
        run.times.total = started.elapsed();
        let baseline = Some(coverage.baseline.clone());
        let missing = [&self.missing[..], &run.missing].concat();
        Ok(Answer { run, spectrum, baseline, missing })
    }
}

impl Coverage {
    /// The counts as they are now.
    fn spectrum(&mut self) -> Spectrum {
        self.adder.spectrum(&mut self.map.known_blocks())
    }

    fn change(&mut self, array: &Array, old: &[i64], new: &[i64]) {
        let Self { map, adder, .. } = self;
        if adder.change_again(array.function_id, old, new) {
            return;
        }
        let (object, function) = map.function(array.function_id);
        let changed = map.with_object(object, |place| Ok(adder.change(place, function, old, new)?));
        if let Err(error) = changed {
            self.problem = Some(error);
        }
    }

    /// Adds all functions that have run at the warm point.
    fn add_all(&mut self, counting: &Counting) -> Result<()> {
        let largest = counting.map.arrays.iter().map(|array| array.count).max().unwrap_or(0);
        let zeros = vec![0; largest as usize];
        counting.for_each(|array, values| {
            if values.iter().any(|&value| value != 0) {
                self.change(array, &zeros[..values.len()], values);
            }
        });
        self.problem.take().map_or(Ok(()), Err)
    }
}
