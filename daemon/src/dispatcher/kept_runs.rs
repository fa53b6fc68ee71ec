//! The runs that are kept, with a budget.
//!
//! What runs share is charged once, for as long as any of them is kept. When the budget is used up, runs without a
//! name are forgotten, those unused for longest first. Runs with a name are kept until they are forgotten by
//! request; when they alone fill the budget, no more runs are kept.

use hearth_coverage::spectrum::Spectrum;
use hearth_protocol::{Failure, FailureKind, Outcome, RunInfo, RunRef};
use hearth_runner::subject_map::SubjectMap;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A run that is kept.
#[derive(Debug, Clone)]
pub struct Kept<Map = SubjectMap> {
    /// What it executed.
    pub spectrum: Arc<Spectrum>,
    /// What its zygote had executed at the warm point.
    pub baseline: Arc<Spectrum>,
    /// The subject's map.
    pub map: Arc<Map>,
    /// The subject's name.
    pub subject: String,
    /// How it ended.
    pub outcome: Outcome,
}

#[derive(Debug)]
struct Entry<Map> {
    kept: Arc<Kept<Map>>,
    name: Option<String>,
    /// What was charged when it was kept.
    bytes: u64,
    /// When it was last used.
    used: u64,
}

/// The runs that are kept.
#[derive(Debug)]
pub struct KeptRuns<Map = SubjectMap> {
    entries: BTreeMap<u64, Entry<Map>>,
    names: BTreeMap<String, u64>,
    /// By when they were last used: the runs without a name.
    unnamed: BTreeMap<u64, u64>,
    /// How many runs have each baseline, by its address.
    baselines: FxHashMap<usize, u64>,
    bytes: u64,
    limit: u64,
    last_id: u64,
    clock: u64,
}

/// Runs that were forgotten: to be dropped when the kept runs are unlocked again.
pub type Forgotten<Map = SubjectMap> = Vec<Arc<Kept<Map>>>;

impl<Map> KeptRuns<Map> {
    /// None yet, with a budget in bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            entries: BTreeMap::new(),
            names: BTreeMap::new(),
            unnamed: BTreeMap::new(),
            baselines: FxHashMap::default(),
            bytes: 0,
            limit,
            last_id: 0,
            clock: 0,
        }
    }

    /// Keeps a run, and returns its number, or why there is no room for it; and the runs that were forgotten for it.
    pub fn keep(&mut self, kept: Kept<Map>, name: Option<&str>) -> (Result<u64, Failure>, Forgotten<Map>) {
        self.last_id += 1;
        let id = self.last_id;
        self.insert(id, Arc::new(kept), None);
        let more = name.map_or(0, name_bytes);
        let mut forgotten = self.make_room(more, id);
        // The run that has the name so far gives way, if that is enough.
        if !self.has_room(more)
            && let Some(before) = name.and_then(|name| self.names.get(name).copied())
            && let Some(other) = self.remove(before)
        {
            match self.has_room(more) {
                true => forgotten.push(other),
                false => self.insert(before, other, name),
            }
        }
        if !self.has_room(more) {
            forgotten.extend(self.remove(id));
            return (Err(self.full()), forgotten);
        }
        if let Some(name) = name {
            self.set_name(id, name);
        }
        (Ok(id), forgotten)
    }

    /// A run, which counts as used now. A baseline is nobody's run here.
    pub fn get(&mut self, run: &RunRef) -> Result<Arc<Kept<Map>>, Failure> {
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

    /// Gives a run a name, and returns the runs that were forgotten for it.
    pub fn name(&mut self, run: &RunRef, name: &str) -> Result<Forgotten<Map>, Failure> {
        let id = self.find(run)?;
        let forgotten = self.make_room(name_bytes(name), id);
        if !self.has_room(name_bytes(name)) {
            return Err(self.full());
        }
        self.set_name(id, name);
        Ok(forgotten)
    }

    /// The numbers of runs; of all without a name if none are given.
    pub fn ids(&self, runs: &[RunRef]) -> Result<Vec<u64>, Failure> {
        match runs {
            [] => Ok(self.unnamed.values().copied().collect()),
            runs => runs.iter().map(|run| self.find(run)).collect(),
        }
    }

    /// Forgets a run, and returns it: to be dropped when the kept runs are unlocked again.
    pub fn remove(&mut self, id: u64) -> Option<Arc<Kept<Map>>> {
        let entry = self.entries.remove(&id)?;
        self.unnamed.remove(&entry.used);
        if let Some(name) = &entry.name {
            self.names.remove(name);
            self.bytes -= name_bytes(name);
        }
        self.bytes -= entry_bytes(&entry.kept) + entry.kept.spectrum.release() as u64;
        self.release_baseline(&entry.kept.baseline);
        Some(entry.kept)
    }

    /// All runs.
    pub fn list(&self) -> Vec<RunInfo> {
        let info = |(&run, entry): (&u64, &Entry<Map>)| RunInfo {
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

    fn insert(&mut self, id: u64, kept: Arc<Kept<Map>>, name: Option<&str>) {
        self.clock += 1;
        let bytes = entry_bytes(&kept) + kept.spectrum.keep() as u64 + self.keep_baseline(&kept.baseline);
        self.bytes += bytes;
        self.entries.insert(id, Entry { kept, name: None, bytes, used: self.clock });
        self.unnamed.insert(self.clock, id);
        if let Some(name) = name {
            self.set_name(id, name);
        }
    }

    fn has_room(&self, more: u64) -> bool {
        self.bytes.saturating_add(more) <= self.limit
    }

    /// Forgets runs without a name, but one, until there is room for more bytes or none is left.
    fn make_room(&mut self, more: u64, but: u64) -> Forgotten<Map> {
        let mut forgotten = Vec::new();
        while !self.has_room(more)
            && let Some(&oldest) = self.unnamed.values().find(|&&id| id != but)
        {
            forgotten.extend(self.remove(oldest));
        }
        forgotten
    }

    fn set_name(&mut self, id: u64, name: &str) {
        if let Some(before) = self.names.insert(name.to_owned(), id)
            && let Some(entry) = self.entries.get_mut(&before)
        {
            entry.name = None;
            self.unnamed.insert(entry.used, before);
            self.bytes -= name_bytes(name);
        }
        if let Some(entry) = self.entries.get_mut(&id) {
            self.unnamed.remove(&entry.used);
            self.bytes += name_bytes(name);
            if let Some(old) = entry.name.replace(name.to_owned()) {
                self.names.remove(&old);
                self.bytes -= name_bytes(&old);
            }
        }
    }

    /// What a baseline takes beyond what is kept already, in bytes. Runs of one zygote have one.
    fn keep_baseline(&mut self, baseline: &Arc<Spectrum>) -> u64 {
        let runs = self.baselines.entry(Arc::as_ptr(baseline).addr()).or_default();
        *runs += 1;
        if *runs == 1 { baseline.keep() as u64 } else { 0 }
    }

    fn release_baseline(&mut self, baseline: &Arc<Spectrum>) {
        let address = Arc::as_ptr(baseline).addr();
        if let Some(runs) = self.baselines.get_mut(&address) {
            *runs -= 1;
            if *runs == 0 {
                self.baselines.remove(&address);
                self.bytes -= baseline.release() as u64;
            }
        }
    }

    fn full(&self) -> Failure {
        let problem = format!(
            "{} runs with a name and this one take more than the {} MiB for kept runs; forget some (`forget`), or \
             start hearthd with more (--kept-mib)",
            self.names.len(),
            self.limit >> 20
        );
        Failure::new(FailureKind::Full, problem)
    }
}

/// What a run takes besides its counts and its name, in bytes.
fn entry_bytes<Map>(kept: &Kept<Map>) -> u64 {
    (size_of::<Entry<Map>>() + size_of::<Kept<Map>>() + size_of::<Spectrum>() + kept.subject.len()) as u64
}

/// What a name takes, in bytes: the run has it, and so has the list of names.
fn name_bytes(name: &str) -> u64 {
    2 * name.len() as u64
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

#[cfg(test)]
mod tests;
