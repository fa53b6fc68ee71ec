//! A run's counters: read from the pages it has written, compared with those of the run before.
//!
//! Runs of a zygote are mostly alike, so what differs from the run before is far less than what differs from the
//! warm point.

use crate::cores::step_aside;
use crate::memory::{Memory, PAGE_BYTES};
use crate::observe::counters::{Array, CounterMap};
use std::collections::BTreeMap;
use std::io;
use std::slice;
use std::sync::{Mutex, PoisonError};
use std::thread;
use xxhash_rust::xxh3::xxh3_128;

/// Counters are this large.
const COUNTER_BYTES: u64 = 8;
/// Regions are not made larger, so that the pages of one stay in the cache while they are looked at.
const REGION_PAGES: usize = 64;
/// So many regions are read before a second thread has begun.
const FEW_REGIONS: usize = 8;
/// A page has room for so many.
const VALUES_PER_PAGE: usize = (PAGE_BYTES / COUNTER_BYTES) as usize;

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

/// Pages next to each other, with the arrays on them.
#[derive(Debug)]
struct Region {
    first_page: u64,
    page_count: usize,
    arrays: std::ops::Range<usize>,
    /// For each page the first array that does not end before it.
    reaching: Vec<u32>,
    /// For each page, and the one behind the last, the first array that does not begin before it.
    beginning: Vec<u32>,
    /// The memory at the warm point.
    warm: Vec<i64>,
    /// The memory of the last run, as far as there are counters in it.
    last: Vec<i64>,
    /// For each page, whether the last run had written it.
    was_written: Vec<bool>,
    /// For each page, the hash of what it was when it was last looked at; `None` before that. Comparing with it takes half
    /// the time of reading the last run's page, which is in no cache any more.
    hashes: Vec<Option<u128>>,
}

/// Counters beside a run's own: of processes that it made of itself, and of libraries that it loaded.
#[derive(Debug, Default, Clone)]
pub struct Additions(BTreeMap<u32, (Array, Vec<i64>)>);

impl Additions {
    /// Adds the counters of a function, as gcov adds up the counts of processes.
    pub fn add(&mut self, array: &Array, values: &[i64]) {
        let (_, sums) = self.0.entry(array.function_id).or_insert_with(|| (*array, vec![0; values.len()]));
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = sum.wrapping_add(*value);
        }
    }

    /// Is there nothing?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds all of others.
    pub fn merge(&mut self, others: Self) {
        others.0.values().for_each(|(array, values)| self.add(array, values));
    }

    /// Has every counter counted at least as much as in others? Then it has gone on from there.
    #[must_use]
    pub fn goes_on_from(&self, others: &Self) -> bool {
        others.0.iter().all(|(function, (_, earlier))| {
            let now = self.0.get(function);
            now.is_some_and(|(_, now)| now.iter().zip(earlier).all(|(now, earlier)| now >= earlier))
        })
    }

    /// Reads the counters of a process, and adds them.
    fn read_regions(&mut self, memory: &Memory, regions: &[Region], arrays: &[Array]) -> io::Result<()> {
        let mut now = Vec::new();
        for region in regions {
            now.resize(region.page_count * VALUES_PER_PAGE, 0_i64);
            memory.read(region.first_page * PAGE_BYTES, bytemuck::cast_slice_mut(&mut now))?;
            for array in &arrays[region.arrays.clone()] {
                let values = &now[place(region.first_page, array)];
                if values.iter().any(|&value| value != 0) {
                    self.add(array, values);
                }
            }
        }
        Ok(())
    }

    /// Reads the counters at places in a memory, and adds them.
    ///
    /// # Errors
    /// If the memory is gone.
    pub fn read(&mut self, memory: &Memory, arrays: &[Array]) -> io::Result<()> {
        for array in arrays {
            let mut values = vec![0_i64; array.count as usize];
            memory.read(array.address, bytemuck::cast_slice_mut(&mut values))?;
            if values.iter().any(|&value| value != 0) {
                self.add(array, &values);
            }
        }
        Ok(())
    }
}

/// Where the counters of a program are that runs execute.
#[derive(Debug)]
pub struct Places {
    arrays: Vec<Array>,
    regions: Vec<Region>,
}

impl Places {
    /// The places of arrays, which are in the order of their addresses.
    #[must_use]
    pub fn new(arrays: Vec<Array>) -> Self {
        Self { regions: regions(&arrays), arrays }
    }

    /// Adds what a process has counted there.
    ///
    /// # Errors
    /// If its memory is gone.
    pub fn add(&self, memory: &Memory, additions: &mut Additions) -> io::Result<()> {
        additions.read_regions(memory, &self.regions, &self.arrays)
    }
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
        for region in &mut self.regions {
            region.last.copy_from_slice(&region.warm);
            region.was_written.fill(false);
            region.hashes.fill(None);
        }
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

impl Region {
    /// Visits what differs, and says how many pages the run has written. `now` is workspace.
    fn harvest(
        &mut self,
        memory: &Memory,
        how: How,
        arrays: &[Array],
        now: &mut [i64],
        visit: Visit<'_>,
    ) -> io::Result<usize> {
        let own = match how.all_pages {
            true => vec![true; self.page_count],
            false => memory.own_pages(self.first_page, self.page_count)?,
        };
        let now = &mut now[..self.warm.len()];
        memory.read_pages(self.first_page, &own, bytemuck::cast_slice_mut(now))?;
        let values_of = |page: usize| page * VALUES_PER_PAGE..(page + 1) * VALUES_PER_PAGE;
        // Where a run has not written it has what the warm point has; that is needed of few pages.
        let mut is_there = own.clone();
        let warm = &self.warm;
        let mut have = |page: usize, now: &mut [i64]| {
            if !std::mem::replace(&mut is_there[page], true) {
                now[values_of(page)].copy_from_slice(&warm[values_of(page)]);
            }
        };
        let mut next = 0;
        for page in 0..self.page_count {
            let was_written = std::mem::replace(&mut self.was_written[page], own[page]);
            if !own[page] && !was_written {
                continue;
            }
            have(page, now);
            // Many pages are as they were in the last run, though both have written them.
            let hash = Some(xxh3_128(bytemuck::cast_slice(&now[values_of(page)])));
            if std::mem::replace(&mut self.hashes[page], hash) == hash {
                continue;
            }
            // An array that began on a page before has been seen if that was looked at, too.
            let range = next.max(self.reaching[page])..self.beginning[page + 1];
            next = range.end;
            for array in &arrays[range.start as usize..range.end as usize] {
                let place = place(self.first_page, array);
                if place.start < values_of(page).start || place.end > values_of(page).end {
                    let pages = place.start / VALUES_PER_PAGE..place.end.div_ceil(VALUES_PER_PAGE);
                    pages.for_each(|page| have(page, now));
                }
                let new = &now[place.clone()];
                let old = &mut self.last[place];
                if new != old {
                    visit(array, old, new);
                    old.copy_from_slice(new);
                }
            }
        }
        Ok(own.iter().filter(|&&own| own).count())
    }

    /// Adds to the counters of the last run. The next run's are compared with them, whatever it has written.
    fn add(&mut self, array: &Array, values: &[i64], visit: Visit<'_>) {
        let place = place(self.first_page, array);
        let pages = place.start / VALUES_PER_PAGE..place.end.div_ceil(VALUES_PER_PAGE);
        let last = &mut self.last[place];
        let old = last.to_vec();
        for (last, value) in last.iter_mut().zip(values) {
            *last = last.wrapping_add(*value);
        }
        visit(array, &old, last);
        self.was_written[pages.clone()].fill(true);
        self.hashes[pages].fill(None);
    }

    fn index_pages(&mut self, arrays: &[Array]) {
        self.was_written = vec![false; self.page_count];
        self.hashes = vec![None; self.page_count];
        let own = &arrays[self.arrays.clone()];
        let first = self.arrays.start;
        for page in self.first_page..=self.first_page + self.page_count as u64 {
            let ended = own.partition_point(|array| array.end_page() <= page);
            let begun = own.partition_point(|array| array.address / PAGE_BYTES < page);
            self.reaching.push((first + ended) as u32);
            self.beginning.push((first + begun) as u32);
        }
    }
}

/// Where an array's values are in the memory of a region that begins at a page.
fn place(first_page: u64, array: &Array) -> std::ops::Range<usize> {
    let first = ((array.address - first_page * PAGE_BYTES) / COUNTER_BYTES) as usize;
    first..first + array.count as usize
}

fn regions(arrays: &[Array]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    for (index, array) in arrays.iter().enumerate() {
        let first = array.address / PAGE_BYTES;
        let end = array.end_page();
        match regions.last_mut() {
            Some(region)
                if first <= region.first_page + region.page_count as u64
                    && region.page_count < REGION_PAGES =>
            {
                region.page_count = region.page_count.max((end - region.first_page) as usize);
                region.arrays.end = index + 1;
            }
            _ => regions.push(Region {
                first_page: first,
                page_count: (end - first) as usize,
                arrays: index..index + 1,
                reaching: Vec::new(),
                beginning: Vec::new(),
                warm: Vec::new(),
                last: Vec::new(),
                was_written: Vec::new(),
                hashes: Vec::new(),
            }),
        }
    }
    for region in &mut regions {
        region.index_pages(arrays);
    }
    regions
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    const FIRST_PAGE: u64 = 2;
    const PAGES: usize = 5;

    /// A memory in files, some of its pages written since.
    fn memory(values: &[i64], own: &[bool]) -> Memory {
        let file = || File::from(memfd_create("test", MemfdFlags::CLOEXEC).expect("a file"));
        let (memory, pages) = (file(), file());
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        memory.write_all_at(&bytes, FIRST_PAGE * PAGE_BYTES).expect("written");
        for (page, &own) in (FIRST_PAGE..).zip(own) {
            let entry = if own { 1_u64 << 56 } else { 0 };
            pages.write_all_at(&entry.to_le_bytes(), page * 8).expect("written");
        }
        Memory::new(memory, pages)
    }

    /// Arrays of these lengths, one after the other, with a gap of one counter between.
    fn arrays(lengths: &[u32]) -> Vec<Array> {
        let mut address = FIRST_PAGE * PAGE_BYTES;
        let mut first = 0;
        let array = |(&count, function): (&u32, u32)| {
            let array = Array { address, first, count, function_id: function };
            address += u64::from(count + 1) * COUNTER_BYTES;
            first += count;
            array
        };
        lengths.iter().zip(0..).map(array).collect()
    }

    #[test]
    fn every_change_is_found_whatever_the_arrays_lie_across_and_whichever_pages_were_written_before() {
        // Within a page, across two, across three, and again within.
        let lengths = [500, 30, 600, 1030, 100, 200];
        let arrays = arrays(&lengths);
        let total = PAGES * VALUES_PER_PAGE;
        let zero = memory(&vec![0; total], &[false; PAGES]);
        let map = CounterMap { arrays: arrays.clone(), ..CounterMap::default() };
        let count = lengths.iter().sum::<u32>() as usize;
        let mut counting = Counting::new(map, count, &zero).expect("readable");
        let in_arrays = |values: &[i64]| -> Vec<Vec<i64>> {
            let first = |array: &Array| ((array.address - FIRST_PAGE * PAGE_BYTES) / COUNTER_BYTES) as usize;
            arrays.iter().map(|array| values[first(array)..][..array.count as usize].to_vec()).collect()
        };
        let mut last = in_arrays(&vec![0; total]);
        // Every pattern of written pages after some others; the multiplier is odd, so all come up.
        for round in 0..256_u32 {
            let how = How { keep: true, all_pages: false, helped: round % 5 < 3 };
            let pattern = round.wrapping_mul(0x9e37_79b9) >> 7 & 31;
            let own: Vec<bool> = (0..PAGES).map(|page| pattern >> page & 1 == 1).collect();
            // On a written page every third counter has changed; on others they are as at the warm point.
            let value = |index: usize| match own[index / VALUES_PER_PAGE] && index.is_multiple_of(3) {
                true => i64::from(round % 4),
                false => 0,
            };
            let values: Vec<i64> = (0..total).map(value).collect();
            let now = in_arrays(&values);
            let mut visited = Vec::new();
            let visit: Visit<'_> =
                &mut |array, old, new| visited.push((array.function_id, old.to_vec(), new.to_vec()));
            let harvest =
                counting.harvest(&memory(&values, &own), how, Additions::default(), visit).expect("readable");
            let expected: Vec<(u32, Vec<i64>, Vec<i64>)> = (0..)
                .zip(last.iter().cloned().zip(now.iter().cloned()))
                .filter(|(_, (old, new))| old != new)
                .map(|(id, (old, new))| (id, old, new))
                .collect();
            assert_eq!(visited, expected, "round {round}, {own:?}");
            assert_eq!(harvest.values, Some(now.concat()));
            assert_eq!(harvest.pages, own.iter().filter(|&&own| own).count());
            last = now;
        }
        // From the warm point again: what is as in the last run differs from that.
        let values: Vec<i64> = (0..total as i64).map(|index| i64::from(index % 3 == 0)).collect();
        let same = memory(&values, &[true; PAGES]);
        let count = |counting: &mut Counting| {
            let mut visited = 0;
            counting
                .harvest(&same, How::default(), Additions::default(), &mut |_, _, _| visited += 1)
                .expect("readable");
            visited
        };
        count(&mut counting);
        assert_eq!(count(&mut counting), 0, "nothing has changed");
        counting.forget_last_run();
        assert_eq!(count(&mut counting), lengths.len());
    }

    /// What is added is seen on top of the run's own, and gone in the next run, whether that writes the page or not.
    #[test]
    fn what_is_added_counts_for_one_run() {
        let arrays = arrays(&[300, 700, 5, 900]);
        let late = Array { address: 1 << 40, first: 1905, count: 2, function_id: 4 };
        let total = PAGES * VALUES_PER_PAGE;
        let zeros = vec![0; total];
        let map = CounterMap { arrays: arrays.clone(), ..CounterMap::default() };
        let mut counting = Counting::new(map, 1907, &memory(&zeros, &[false; PAGES])).expect("readable");
        let mut seen: Vec<Vec<i64>> =
            arrays.iter().chain([&late]).map(|array| vec![0; array.count as usize]).collect();
        for round in 0..64_usize {
            let own: Vec<bool> = (0..PAGES).map(|page| round >> page & 1 == 1).collect();
            let values: Vec<i64> = (0..total).map(|index| i64::from(own[index / VALUES_PER_PAGE])).collect();
            let mut expected = vec![Vec::new(); arrays.len()];
            for (array, expected) in arrays.iter().zip(&mut expected) {
                expected.extend_from_slice(&values[place(FIRST_PAGE, array)]);
            }
            expected.push(vec![0; 2]);
            let mut additions = Additions::default();
            for array in arrays
                .iter()
                .chain([&late])
                .filter(|array| (round + array.function_id as usize).is_multiple_of(3))
            {
                // Twice, as of two processes.
                for _ in 0..2 {
                    additions.add(array, &vec![round as i64; array.count as usize]);
                }
                let sum = &mut expected[array.function_id as usize];
                sum.iter_mut().for_each(|value| *value += 2 * round as i64);
            }
            let visit: Visit<'_> = &mut |array, old, new| {
                let seen = &mut seen[array.function_id as usize];
                assert_eq!(seen, old, "round {round}");
                seen.copy_from_slice(new);
            };
            let how = How { keep: true, all_pages: round % 2 == 0, helped: round % 5 == 0 };
            // Where it is not known which pages a run has written all are compared.
            let full = memory(&values, &own);
            let run = if round % 7 == 3 { full.forget_pages() } else { full };
            let harvest = counting.harvest(&run, how, additions, visit).expect("readable");
            assert_eq!(seen, expected, "round {round}");
            assert_eq!(harvest.values, Some(expected.concat()), "round {round}");
        }
    }

    #[test]
    fn two_threads_see_what_one_sees_also_after_one_that_could_not_go_on() {
        const ARRAYS: usize = 200;
        const EVERY: usize = 3;
        // Far apart, so that each is a region.
        let arrays: Vec<Array> = (0..ARRAYS as u32)
            .map(|index| Array {
                address: (FIRST_PAGE + u64::from(index) * EVERY as u64) * PAGE_BYTES,
                first: index * 100,
                count: 100,
                function_id: index,
            })
            .collect();
        let pages = ARRAYS * EVERY;
        let zero = memory(&vec![0; pages * VALUES_PER_PAGE], &vec![false; pages]);
        let map = CounterMap { arrays, ..CounterMap::default() };
        let mut counting = Counting::new(map, ARRAYS * 100, &zero).expect("readable");
        assert!(counting.is_large());
        let mut last = vec![vec![0; 100]; ARRAYS];
        let mut failures = 0;
        for round in 1..60_i64 {
            let value = |index: usize| (index / VALUES_PER_PAGE / EVERY) as i64 % 7 * round;
            let values: Vec<i64> = (0..pages * VALUES_PER_PAGE).map(value).collect();
            let now = memory(&values, &vec![true; pages]);
            // Every third run's memory goes while it is read.
            let gone = memory(&values, &vec![true; pages / 2]);
            let is_gone = round % 3 == 0;
            let how = How { keep: false, all_pages: false, helped: round % 4 != 0 };
            let visit: Visit<'_> = &mut |array, old, new| {
                let last = &mut last[array.function_id as usize];
                assert_eq!(last, old, "round {round}, array {}", array.function_id);
                *last = new.to_vec();
            };
            let harvest =
                counting.harvest(if is_gone { &gone } else { &now }, how, Additions::default(), visit);
            assert_eq!(harvest.is_err(), is_gone, "round {round}");
            failures += usize::from(is_gone);
            if !is_gone {
                let expected: Vec<Vec<i64>> =
                    (0..ARRAYS).map(|index| vec![index as i64 % 7 * round; 100]).collect();
                assert_eq!(last, expected, "round {round}");
            }
        }
        assert!(failures > 10);
    }
}
