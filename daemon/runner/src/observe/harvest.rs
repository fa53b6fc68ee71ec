//! A run's counters: read from the pages it has written, compared with those of the run before.
//!
//! Runs of a zygote are mostly alike, so what differs from the run before is far less than what differs from the
//! warm point.

mod additions;
mod region;

use crate::cores::step_aside;
use crate::memory::{Memory, PAGE_BYTES};
use crate::observe::counters::{Array, CounterMap};
pub use additions::{Additions, Layout};
use region::{Region, VALUES_PER_PAGE, place, regions};
use std::collections::BTreeMap;
use std::io;
use std::slice;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// So many regions are read before a second thread has begun.
const FEW_REGIONS: usize = 8;
/// Where the counters of a zygote are, what they are at its warm point, and what they were in its last run.
#[derive(Debug)]
pub struct Counting {
    /// Where they are.
    pub map: CounterMap,
    /// How many dense ids there are.
    counter_count: usize,
    regions: Vec<Region>,
    /// What the last run had in libraries that it loaded itself.
    late: Vec<(Array, Vec<i64>)>,
    /// Workspaces for a thread that reads a run, and for one that helps.
    workspaces: [Workspace; 2],
}

/// What is kept between runs because getting fresh memory costs more than filling it.
#[derive(Debug, Default)]
struct Workspace {
    /// The region that is looked at, as the run has it.
    now: Vec<i64>,
    /// The arrays that differ, to be visited later, and for each what its values were and are.
    changed: Vec<Array>,
    values: Vec<i64>,
}

/// Sees the counters that differ: where they are, what they were and what they are.
pub type Visit<'v> = &'v mut dyn FnMut(&Array, &[i64], &[i64]);

/// How a run is harvested.
#[derive(Debug, Clone, Copy, Default)]
pub struct How {
    /// All values are to be part of the harvest.
    pub keep: bool,
    /// Every page is looked at: where other processes have the run's memory too, what it has written before they
    /// began is not its alone.
    pub all_pages: bool,
    /// There is a core for a second thread. Half of the time is spent on copying memory, which two do twice as fast.
    pub helped: bool,
}

/// The counters of a run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Harvest {
    /// How many pages with counters the run has written, or was expected to.
    pub pages: usize,
    /// All values by dense id, if they were asked for.
    pub values: Option<Vec<i64>>,
}

impl Counting {
    /// Reads the values at the warm point.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn new(map: CounterMap, counter_count: usize, memory: &Memory) -> io::Result<Self> {
        let mut regions = regions(&map.arrays);
        for region in &mut regions {
            region.warm.resize(region.page_count * VALUES_PER_PAGE, 0);
            memory.read(region.first_page * PAGE_BYTES, bytemuck::cast_slice_mut(&mut region.warm))?;
            region.last.clone_from(&region.warm);
        }
        let largest = regions.iter().map(|region| region.warm.len()).max().unwrap_or(0);
        let workspace = || Workspace { now: vec![0; largest], ..Workspace::default() };
        let workspaces = [workspace(), workspace()];
        Ok(Self { map, counter_count, regions, late: Vec::new(), workspaces })
    }

    /// Are there so many counters that it pays to have help?
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.regions.len() > FEW_REGIONS
    }

    /// Its memory, in bytes.
    #[must_use]
    pub fn own_bytes(&self) -> usize {
        let values: usize = self.regions.iter().map(|region| region.warm.len() + region.last.len()).sum();
        let work: usize = self.workspaces.iter().map(|work| work.now.len() + work.values.capacity()).sum();
        let changed: usize = self.workspaces.iter().map(|work| work.changed.capacity()).sum();
        size_of::<i64>() * (values + work) + size_of::<Array>() * (self.map.arrays.len() + changed)
    }

    /// The functions that have counters, those of libraries that the last run loaded among them.
    pub fn functions(&self) -> impl Iterator<Item = u32> {
        let late = self.late.iter().map(|(array, _)| array);
        self.map.arrays.iter().chain(late).map(|array| array.function_id)
    }

    /// Calls a function with each array and its values at the warm point.
    pub fn for_each(&self, mut visit: impl FnMut(&Array, &[i64])) {
        for region in &self.regions {
            for array in &self.map.arrays[region.arrays.clone()] {
                visit(array, &region.warm[place(region.first_page, array)]);
            }
        }
    }

    /// Adds all counters of a process that a run made of itself.
    ///
    /// # Errors
    /// If its memory is gone.
    pub fn add_process(&self, memory: &Memory, additions: &mut Additions) -> io::Result<()> {
        additions.read_regions(memory, &self.regions, &self.map.arrays)
    }

    /// Reads what differs between a run, with what is added to it, and the last one (at first, the warm point), and calls
    /// `visit` with each array that does.
    ///
    /// # Errors
    /// If the run's memory is gone. What was visited until then counts as the last run's.
    pub fn harvest(
        &mut self,
        memory: &Memory,
        how: How,
        additions: Additions,
        visit: Visit<'_>,
    ) -> io::Result<Harvest> {
        for (array, values) in self.late.drain(..) {
            visit(&array, &values, &vec![0; values.len()]);
        }
        let pages = self.harvest_own(memory, how, visit)?;
        self.add(additions, visit);
        Ok(Harvest { pages, values: how.keep.then(|| self.last_values()) })
    }

    /// Makes additions a part of the last run.
    fn add(&mut self, additions: Additions, visit: Visit<'_>) {
        if additions.0.is_empty() {
            return;
        }
        let indices = self.map.arrays.iter().zip(0..).map(|(array, index)| (array.function_id, index));
        let indices: BTreeMap<u32, usize> = indices.collect();
        for (function, (array, values)) in additions.0 {
            match indices.get(&function) {
                Some(&index) => {
                    let region = self.regions.partition_point(|region| region.arrays.end <= index);
                    self.regions[region].add(&self.map.arrays[index], &values, visit);
                }
                None => {
                    visit(&array, &vec![0; values.len()], &values);
                    self.late.push((array, values));
                }
            }
        }
    }

    /// Says how many pages the run has written.
    fn harvest_own(&mut self, memory: &Memory, how: How, visit: Visit<'_>) -> io::Result<usize> {
        let Self { map, regions, workspaces: [own, others], .. } = self;
        let arrays = &map.arrays;
        match how.helped {
            true => harvest_helped(regions, arrays, memory, how, [own, others], visit),
            false => regions.iter_mut().try_fold(0, |pages, region| {
                Ok::<_, io::Error>(pages + region.harvest(memory, how, arrays, &mut own.now, visit)?)
            }),
        }
    }

    /// The next run will be compared with the warm point.
    pub fn forget_last_run(&mut self) {
        self.late.clear();
        self.regions.iter_mut().for_each(Region::forget_last_run);
    }

    fn last_values(&self) -> Vec<i64> {
        let mut values = vec![0; self.counter_count];
        for region in &self.regions {
            for array in &self.map.arrays[region.arrays.clone()] {
                values[array.first as usize..][..array.count as usize]
                    .copy_from_slice(&region.last[place(region.first_page, array)]);
            }
        }
        for (array, late) in &self.late {
            values[array.first as usize..][..array.count as usize].copy_from_slice(late);
        }
        values
    }
}

/// Two threads look at regions, each at the next one that is left, and what differs is visited in the end. Says how many
/// pages the run has written.
fn harvest_helped(
    regions: &mut [Region],
    arrays: &[Array],
    memory: &Memory,
    how: How,
    [own, others]: [&mut Workspace; 2],
    visit: Visit<'_>,
) -> io::Result<usize> {
    let left = Mutex::new(regions.iter_mut());
    let pages = thread::scope(|scope| {
        let help = || others.look_at(&left, arrays, memory, how);
        // Without a helper everything is left to this thread.
        let helper = thread::Builder::new().spawn_scoped(scope, help);
        let _aside = helper.is_ok().then(step_aside);
        let pages = own.look_at(&left, arrays, memory, how);
        let helped = helper.map_or(Ok(0), |helper| {
            helper.join().unwrap_or_else(|_| Err(io::Error::other("a thread that reads it panicked")))
        });
        [pages, helped]
    });
    // What the threads saw counts as the last run's, also where one of them could not go on.
    own.visit(visit);
    others.visit(visit);
    let [own, others] = pages;
    Ok(own? + others?)
}

impl Workspace {
    /// Looks at the regions that are left, and says how many of their pages the run has written.
    fn look_at(
        &mut self,
        left: &Mutex<slice::IterMut<'_, Region>>,
        arrays: &[Array],
        memory: &Memory,
        how: How,
    ) -> io::Result<usize> {
        let Self { now, changed, values } = self;
        let mut note = |array: &Array, old: &[i64], new: &[i64]| {
            changed.push(*array);
            values.extend_from_slice(old);
            values.extend_from_slice(new);
        };
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let mut pages = 0;
        while let Some(region) = next() {
            pages += region.harvest(memory, how, arrays, now, &mut note)?;
        }
        Ok(pages)
    }

    /// Visits what was seen to differ.
    fn visit(&mut self, visit: Visit<'_>) {
        let mut values = self.values.as_slice();
        for array in self.changed.drain(..) {
            let (old, rest) = values.split_at(array.count as usize);
            let (new, rest) = rest.split_at(array.count as usize);
            visit(&array, old, new);
            values = rest;
        }
        self.values.clear();
    }
}

#[cfg(test)]
mod tests;
