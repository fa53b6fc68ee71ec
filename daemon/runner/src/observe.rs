//! What is observed of a zygote's runs: nothing, or what they count.

pub(crate) mod counted;
pub mod counters;
pub mod coverage;
pub mod harvest;

use crate::error::Result;
use crate::observe::coverage::Counters;
use crate::subject_map::SubjectMap;
use crate::zygote::Zygote;
pub(crate) use counted::children;
use counters::DUMPED_OFFSET;
use std::sync::Arc;

/// What observes a zygote's runs. A worker owns it beside its zygote.
#[derive(Debug)]
pub enum Observer {
    /// Nothing is observed.
    Nothing,
    /// gcov's counters.
    Counters(Box<Counters>),
}

impl Observer {
    /// An observer of a zygote's counters; without a map, one of nothing. Either way runs write no data files.
    ///
    /// # Errors
    /// If the zygote's counters are not those of the map, or it is lost.
    pub fn new(zygote: &Zygote, map: Option<Arc<SubjectMap>>) -> Result<Self> {
        match map {
            Some(map) => Ok(Self::Counters(Box::new(Counters::new(zygote, map)?))),
            None => {
                let (_, mappings) = zygote.image();
                let roots = mappings.gcov_roots(zygote.binary()).unwrap_or_default();
                write_no_data_files(zygote, &roots.addresses)?;
                Ok(Self::Nothing)
            }
        }
    }

    /// What it keeps to read counters, in bytes.
    #[must_use]
    pub fn own_bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Counters(counters) => counters.own_bytes(),
        }
    }
}

/// Turns off the writing of data files, in the zygote and so in its runs.
fn write_no_data_files(zygote: &Zygote, roots: &[u64]) -> Result<()> {
    roots.iter().try_for_each(|root| zygote.mark(root + DUMPED_OFFSET))
}
