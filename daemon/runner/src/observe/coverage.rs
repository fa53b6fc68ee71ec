//! Counters that become spectra: what runs of a zygote count, and the sums of it. Both are kept as of the run before, so that
//! each run costs what it did differently.

use super::counted::{Counted, Images, without_notes};
use super::counters::{Array, CounterMap};
use super::harvest::Counting;
use super::{Observation, write_no_data_files};
use crate::error::{During, Error, Result};
use crate::subject_map::SubjectMap;
use crate::zygote::{EndedRun, Zygote};
use hearth_coverage::spectrum::{Adder, Spectrum};
use std::sync::Arc;

/// Observes the counters of a zygote's runs.
#[derive(Debug)]
pub struct CounterObserver {
    pub(crate) counted: Counted,
    /// The counts at the warm point.
    baseline: Arc<Spectrum>,
    sums: Sums,
}

/// The counts of the run before, as sums of its counters.
#[derive(Debug)]
struct Sums {
    map: Arc<SubjectMap>,
    adder: Adder,
    /// Why a function's counts could not be found.
    problem: Option<Error>,
}

impl CounterObserver {
    /// Finds the counters of a zygote's program and of the instrumented libraries it has loaded, reads what they are now, and
    /// keeps runs from writing data files.
    pub(super) fn new(zygote: &Zygote, map: Arc<SubjectMap>) -> Result<Self> {
        let counted = count(zygote, map.clone());
        if matches!(counted, Err(Error::NotesMismatch { .. })) {
            map.set_unfit();
        }
        let counted = counted?;
        let line_count = map.with_atlas(|atlas| atlas.lines().len());
        let adder = Adder::new(line_count, map.learned());
        let mut sums = Sums { map, adder, problem: None };
        sums.add_all(&counted.counting)?;
        let baseline = Arc::new(sums.spectrum());
        Ok(Self { counted, baseline, sums })
    }

    /// The subject's map.
    #[must_use]
    pub fn map(&self) -> &Arc<SubjectMap> {
        &self.sums.map
    }

    /// Where the counters are.
    #[must_use]
    pub fn arrays(&self) -> &[Array] {
        &self.counted.counting.map.arrays
    }

    /// What of the zygote's program has no notes.
    pub(crate) fn missing(&self) -> impl Iterator<Item = String> {
        self.counted.counting.map.without_notes.iter().map(|data| without_notes(data))
    }

    /// What is kept here, in bytes.
    #[must_use]
    pub fn own_bytes(&self) -> usize {
        self.counted.counting.own_bytes() + self.sums.adder.own_bytes()
    }

    /// Reads the counters of a run that has ended, also themselves if they are to be kept. What could not be counted is added to
    /// `missing`.
    ///
    /// # Errors
    /// Why there are none.
    pub fn observe(
        &mut self,
        ended: &mut EndedRun<'_>,
        keeps_counters: bool,
        missing: &mut Vec<String>,
    ) -> std::result::Result<Observation, String> {
        let Self { counted, baseline, sums } = self;
        let mut remains = ended.remains().map_err(|error| error.to_string())?;
        let mut change = |array: &Array, old: &[i64], new: &[i64]| sums.change(array, old, new);
        let harvest = counted.harvest(&mut remains, keeps_counters, missing, &mut change);
        if let Some(problem) = sums.problem.take() {
            // A share is missing, and would be in all later runs.
            sums.adder.reset(baseline);
            counted.counting.forget_last_run();
            return Err(harvest.err().unwrap_or_else(|| problem.to_string()));
        }
        let counters = harvest?.values;
        let spectrum = sums.spectrum();
        sums.map.learn(sums.adder.learned());
        Ok(Observation { spectrum, baseline: baseline.clone(), counters })
    }
}

fn count(zygote: &Zygote, subject: Arc<SubjectMap>) -> Result<Counted> {
    let (memory, mappings) = zygote.image();
    let roots = mappings.gcov_roots(zygote.binary())?;
    let map = subject.with_atlas(|atlas| CounterMap::find(memory, &roots.addresses, atlas))?;
    if map.arrays.is_empty() {
        let problem = "none of the program's objects is among them".to_owned();
        return Err(Error::NotesMismatch { problem });
    }
    write_no_data_files(zygote, &roots.addresses)?;
    let count = subject.with_atlas(|atlas| atlas.counter_count() as usize);
    let counting = Counting::new(map, count, memory).during("read the zygote's counters")?;
    Ok(Counted {
        binary: zygote.binary().to_owned(),
        last_library: zygote.last_library(),
        untold: zygote.untold(),
        counting,
        has_fork: roots.has_fork,
        map: subject,
        images: Images::default(),
    })
}

impl Sums {
    /// The counts as they are now.
    fn spectrum(&mut self) -> Spectrum {
        self.adder.spectrum(self.map.known_blocks())
    }

    fn change(&mut self, array: &Array, old: &[i64], new: &[i64]) {
        let Self { map, adder, .. } = self;
        if adder.change_again(array.function_id, old, new) {
            return;
        }
        let (object, function) = map.function(array.function_id);
        let changed = map.with_object(object, |object| Ok(adder.change(object, function, old, new)?));
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
