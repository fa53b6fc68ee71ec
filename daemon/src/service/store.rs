//! The runs that are kept, with a budget.
//!
//! When the budget is used up, runs without a name are forgotten, those unused for longest first. Runs with a
//! name are kept until they are forgotten by request.

use crate::subject_map::SubjectMap;
use hearth_client::protocol::{Failure, FailureKind, Outcome, RunInfo, RunRef};
use hearth_coverage::spectrum::Spectrum;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Who holds what only one kept run has: the store, and the zygote whose last run it was.
const HOLDERS: usize = 2;

/// A run that is kept.
#[derive(Debug, Clone)]
pub struct Kept {
    /// What it executed.
    pub spectrum: Arc<Spectrum>,
    /// What its zygote had executed at the warm point.
    pub baseline: Arc<Spectrum>,
    /// The subject's map.
    pub map: Arc<SubjectMap>,
    /// The subject's name.
    pub subject: String,
    /// How it ended.
    pub outcome: Outcome,
}

impl Kept {
    /// What it alone takes, in bytes.
    pub fn own_bytes(&self) -> u64 {
        (self.spectrum.lines.own_bytes(HOLDERS) + self.spectrum.functions.own_bytes(HOLDERS)) as u64
    }
}

#[derive(Debug)]
struct Entry {
    kept: Arc<Kept>,
    name: Option<String>,
    bytes: u64,
    /// When it was last used.
    used: u64,
}

/// The runs that are kept.
#[derive(Debug)]
pub struct Store {
    entries: BTreeMap<u64, Entry>,
    names: BTreeMap<String, u64>,
    /// By when they were last used: the runs without a name.
    unnamed: BTreeMap<u64, u64>,
    bytes: u64,
    limit: u64,
    last_id: u64,
    clock: u64,
}

impl Store {
    /// An empty store with a budget in bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            entries: BTreeMap::new(),
            names: BTreeMap::new(),
            unnamed: BTreeMap::new(),
            bytes: 0,
            limit,
            last_id: 0,
            clock: 0,
        }
    }

    /// Keeps a run that takes so many bytes, and returns its number, and the runs that were forgotten for it: to
    /// be dropped when the store is free again.
    pub fn keep(&mut self, kept: Kept, bytes: u64, name: Option<&str>) -> (u64, Vec<Arc<Kept>>) {
        self.last_id += 1;
        self.clock += 1;
        let id = self.last_id;
        let bytes = bytes + size_of::<Entry>() as u64;
        self.bytes += bytes;
        self.entries.insert(id, Entry { kept: Arc::new(kept), name: None, bytes, used: self.clock });
        self.unnamed.insert(self.clock, id);
        if let Some(name) = name {
            self.set_name(id, name);
        }
        let mut forgotten = Vec::new();
        while self.bytes > self.limit
            && let Some((_, &oldest)) = self.unnamed.first_key_value()
            && oldest != id
        {
            forgotten.extend(self.remove(oldest));
        }
        (id, forgotten)
    }

    /// A run, which counts as used now. A baseline is nobody's run here.
    pub fn get(&mut self, run: &RunRef) -> Result<Arc<Kept>, Failure> {
        let id = self.find(run)?;
        self.clock += 1;
        let clock = self.clock;
        let Some(entry) = self.entries.get_mut(&id) else { return Err(no_such_run(run)) };
        if entry.name.is_none() {
            self.unnamed.remove(&entry.used);
            self.unnamed.insert(clock, id);
        }
        entry.used = clock;
        Ok(entry.kept.clone())
    }

    /// Gives a run a name.
    pub fn name(&mut self, run: &RunRef, name: &str) -> Result<(), Failure> {
        let id = self.find(run)?;
        self.set_name(id, name);
        Ok(())
    }

    /// Forgets runs; all without a name if none are given. Returns them: to be dropped when the store is free again.
    pub fn forget(&mut self, runs: &[RunRef]) -> Result<Vec<Arc<Kept>>, Failure> {
        let ids: Vec<u64> = match runs {
            [] => self.unnamed.values().copied().collect(),
            runs => runs.iter().map(|run| self.find(run)).collect::<Result<_, _>>()?,
        };
        Ok(ids.into_iter().filter_map(|id| self.remove(id)).collect())
    }

    /// All runs.
    pub fn list(&self) -> Vec<RunInfo> {
        let info = |(&run, entry): (&u64, &Entry)| RunInfo {
            run,
            name: entry.name.clone(),
            subject: entry.kept.subject.clone(),
            outcome: entry.kept.outcome,
            lines_executed: entry.kept.spectrum.lines.executed() as u64,
            bytes: entry.bytes,
        };
        self.entries.iter().map(info).collect()
    }

    /// How many runs there are, what they take and what they may take.
    pub fn sizes(&self) -> (u64, u64, u64) {
        (self.entries.len() as u64, self.bytes, self.limit)
    }

    fn find(&self, run: &RunRef) -> Result<u64, Failure> {
        let found = match run {
            RunRef::Id(id) => Some(*id).filter(|id| self.entries.contains_key(id)),
            RunRef::Name(name) => self.names.get(name).copied(),
            RunRef::Baseline => None,
        };
        found.ok_or_else(|| no_such_run(run))
    }

    fn set_name(&mut self, id: u64, name: &str) {
        if let Some(before) = self.names.insert(name.to_owned(), id)
            && before != id
            && let Some(entry) = self.entries.get_mut(&before)
        {
            entry.name = None;
            self.unnamed.insert(entry.used, before);
        }
        if let Some(entry) = self.entries.get_mut(&id) {
            self.unnamed.remove(&entry.used);
            if let Some(old) = entry.name.replace(name.to_owned()).filter(|old| old != name) {
                self.names.remove(&old);
            }
        }
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Kept>> {
        let entry = self.entries.remove(&id)?;
        self.bytes -= entry.bytes;
        self.unnamed.remove(&entry.used);
        if let Some(name) = entry.name {
            self.names.remove(&name);
        }
        Some(entry.kept)
    }
}

fn no_such_run(run: &RunRef) -> Failure {
    let what = match run {
        RunRef::Id(id) => {
            format!("there is no run {id}; it may have been forgotten: give runs that are to stay a name")
        }
        RunRef::Name(name) => format!("there is no run named `{name}`"),
        RunRef::Baseline => "a baseline can only be compared with".to_owned(),
    };
    Failure::new(FailureKind::NoSuchRun, what)
}
