//! A zygote with what it takes to turn its runs' counters into spectra.

use crate::error::{Error, Result};
use crate::harvest::{Counting, Harvest};
use crate::run::{Run, RunRequest};
use crate::subject_map::SubjectMap;
use crate::zygote::{Zygote, ZygoteKey};
use hearth_coverage::spectrum::{Adder, Baseline, Spectrum};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A zygote and its subject's map.
#[derive(Debug)]
pub struct Worker {
    zygote: Zygote,
    coverage: Option<Coverage>,
}

#[derive(Debug)]
struct Coverage {
    map: Arc<SubjectMap>,
    baseline: Arc<Baseline>,
    adder: Adder,
}

/// A run and its coverage.
#[derive(Debug)]
pub struct Answer {
    /// The run.
    pub run: Run,
    /// Its coverage, or why there is none.
    pub spectrum: std::result::Result<Spectrum, String>,
    /// What the spectrum is relative to; `None` for a subject without counters.
    pub baseline: Option<Arc<Baseline>>,
}

impl Worker {
    /// Starts a zygote. With a map, its runs have spectra.
    ///
    /// # Errors
    /// If it cannot be started, or its counters are not those of the map.
    pub fn start(launcher: &Path, key: &ZygoteKey, map: Option<Arc<SubjectMap>>) -> Result<Self> {
        let mut zygote = Zygote::start(launcher, key)?;
        let Some(map) = map else {
            zygote.ignore_counters(&key.binary)?;
            return Ok(Self { zygote, coverage: None });
        };
        map.with_atlas(|atlas| zygote.count(&key.binary, atlas))?;
        let (line_count, function_count) =
            map.with_atlas(|atlas| (atlas.lines().len(), atlas.function_count() as usize));
        let mut adder = Adder::new(line_count, function_count);
        if let Some(counting) = zygote.counting() {
            add_all(counting, &map, &mut adder)?;
        }
        let baseline = Arc::new(adder.take_baseline());
        Ok(Self { zygote, coverage: Some(Coverage { map, baseline, adder }) })
    }

    /// The zygote.
    #[must_use]
    pub fn zygote(&self) -> &Zygote {
        &self.zygote
    }

    /// The subject's map, if it has one.
    #[must_use]
    pub fn map(&self) -> Option<&SubjectMap> {
        self.coverage.as_ref().map(|coverage| &*coverage.map)
    }

    /// What all runs' spectra are relative to.
    #[must_use]
    pub fn baseline(&self) -> Option<&Arc<Baseline>> {
        self.coverage.as_ref().map(|coverage| &coverage.baseline)
    }

    /// Runs once.
    ///
    /// # Errors
    /// If the zygote is lost, or the request is too large.
    pub fn run(&mut self, request: &RunRequest) -> Result<Answer> {
        let started = Instant::now();
        let mut run = self.zygote.run(request)?;
        let solve_started = Instant::now();
        let spectrum = match (&run.harvest, &mut self.coverage, self.zygote.counting()) {
            (Ok(harvest), Some(coverage), Some(counting)) => {
                solve(counting, harvest, coverage).map_err(|error| error.to_string())
            }
            (Err(reason), ..) => Err(reason.clone()),
            _ => Err("the subject is not instrumented".to_owned()),
        };
        run.times.solve = solve_started.elapsed();
        run.times.total = started.elapsed();
        Ok(Answer { run, spectrum, baseline: self.baseline().cloned() })
    }
}

/// Adds all functions that have run at the warm point.
fn add_all(counting: &Counting, map: &SubjectMap, adder: &mut Adder) -> Result<()> {
    let largest = counting.map.arrays.iter().map(|array| array.count).max().unwrap_or(0);
    let zeros = vec![0; largest as usize];
    for array in &counting.map.arrays {
        let values = &counting.values[array.first as usize..][..array.count as usize];
        if values.iter().any(|&value| value != 0) {
            map.with_object(array.object, |place| {
                adder
                    .change(place, array.function as usize, &zeros[..values.len()], values)
                    .map_err(Error::from)
            })?;
        }
    }
    Ok(())
}

fn solve(counting: &Counting, harvest: &Harvest, coverage: &mut Coverage) -> Result<Spectrum> {
    let Coverage { map, baseline, adder } = coverage;
    for &(index, first) in &harvest.changed {
        let array = &counting.map.arrays[index as usize];
        let old = &counting.values[array.first as usize..][..array.count as usize];
        let new = &harvest.values[first as usize..][..array.count as usize];
        if adder.change_again(array.function_id, old, new) {
            continue;
        }
        let changed = map.with_object(array.object, |place| {
            adder.change(place, array.function as usize, old, new).map_err(Error::from)
        });
        if let Err(error) = changed {
            // What was added so far must not be there for the next run.
            let _ = adder.take(baseline);
            return Err(error);
        }
    }
    Ok(adder.take(baseline))
}
