//! What is observed of a zygote's runs: nothing, or what they count.
//!
//! Four words: [`Observe`] is what somebody asks to be observed of a run, an [`Observer`] is what does it for a zygote's runs, an
//! [`Observation`] is what it has seen of one of them, and `OBSERVE_*` of shim/abi is what the run's processes do for that.
//!
//! A new observation, say a trace, is added in these places, and in no others:
//! 1. protocol's `Observe`: a variant; its name also in PROTOCOL.md, and in `wire_forms.rs`. The compiler then asks for 2 and 4.
//! 2. Here: what the variant means in `Observer::in_processes` and `Observer::observe`.
//! 3. Here: a module that observes, a field of [`Observation`] for what it has seen, and a variant of [`Observer`] if it has to
//!    keep something for each zygote. The compiler then asks for 4.
//! 4. `daemon/src/dispatcher/run.rs`: whether a client may ask for it, and what it is sent.
//! 5. If questions about kept runs are to use it: `Kept` in `daemon/src/dispatcher/kept_runs.rs`, with what it takes of the budget.
//! 6. If the run's processes have to do something for it: `OBSERVE_*` in shim/abi's `request.rs`, and where it is read
//!    (`shim/src/serve/run.rs`); and for what they say, shim/abi's `note.rs` and `stage.rs` here.

pub(crate) mod counted;
pub mod counters;
pub mod coverage;
pub mod harvest;

use crate::error::Result;
use crate::run::Observe;
use crate::subject_map::SubjectMap;
use crate::zygote::{EndedRun, Zygote};
pub(crate) use counted::children;
use counters::DUMPED_OFFSET;
use coverage::CounterObserver;
use hearth_coverage::spectrum::Spectrum;
use hearth_shim_abi::{OBSERVE_COUNTERS, OBSERVE_NOTHING};
use std::sync::Arc;

/// What observes a zygote's runs. A worker owns it beside its zygote.
#[derive(Debug)]
pub enum Observer {
    /// Nothing is observed.
    Nothing,
    /// gcov's counters.
    Counters(Box<CounterObserver>),
}

/// What was observed of a run.
#[derive(Debug)]
pub struct Observation {
    /// Its counts, in atlas ids.
    pub spectrum: Spectrum,
    /// The counts at its zygote's warm point.
    pub baseline: Arc<Spectrum>,
    /// All counters, by dense id, if they were asked for.
    pub counters: Option<Vec<i64>>,
}

impl Observer {
    /// An observer of a zygote's counters; without a map, one of nothing. Either way runs write no data files.
    ///
    /// # Errors
    /// If the zygote's counters are not those of the map, or it is lost.
    pub fn new(zygote: &Zygote, map: Option<Arc<SubjectMap>>) -> Result<Self> {
        match map {
            Some(map) => Ok(Self::Counters(Box::new(CounterObserver::new(zygote, map)?))),
            None => {
                let (_, mappings) = zygote.image();
                let roots = mappings.gcov_roots(zygote.binary()).unwrap_or_default();
                write_no_data_files(zygote, &roots.addresses)?;
                Ok(Self::Nothing)
            }
        }
    }

    /// What observes counters, if it does.
    #[must_use]
    pub fn counters(&self) -> Option<&CounterObserver> {
        match self {
            Self::Nothing => None,
            Self::Counters(counters) => Some(counters),
        }
    }

    /// The same, to be changed.
    pub(crate) fn counters_mut(&mut self) -> Option<&mut CounterObserver> {
        match self {
            Self::Nothing => None,
            Self::Counters(counters) => Some(counters),
        }
    }

    /// What the processes of a run have to do, so that what is wanted can be observed.
    pub(crate) fn in_processes(&self, wanted: Observe) -> u32 {
        match (self, wanted) {
            (Self::Nothing, _) | (Self::Counters(_), Observe::Nothing) => OBSERVE_NOTHING,
            (Self::Counters(_), Observe::Spectrum | Observe::Counters) => OBSERVE_COUNTERS,
        }
    }

    /// Observes what is wanted of a run that has ended. What could not be had is added to `missing`.
    ///
    /// # Errors
    /// Why there is nothing.
    pub(crate) fn observe(
        &mut self,
        ended: &mut EndedRun<'_>,
        wanted: Observe,
        missing: &mut Vec<String>,
    ) -> std::result::Result<Observation, String> {
        match (self, wanted) {
            (Self::Nothing, _) => Err("the subject is not instrumented".to_owned()),
            (Self::Counters(_), Observe::Nothing) => Err("nobody asked for it".to_owned()),
            (Self::Counters(counters), Observe::Spectrum) => counters.observe(ended, false, missing),
            (Self::Counters(counters), Observe::Counters) => counters.observe(ended, true, missing),
        }
    }

    /// What it keeps to read counters, in bytes.
    #[must_use]
    pub fn own_bytes(&self) -> usize {
        self.counters().map_or(0, CounterObserver::own_bytes)
    }
}

/// Turns off the writing of data files, in the zygote and so in its runs.
fn write_no_data_files(zygote: &Zygote, roots: &[u64]) -> Result<()> {
    roots.iter().try_for_each(|root| zygote.mark(root + DUMPED_OFFSET))
}
