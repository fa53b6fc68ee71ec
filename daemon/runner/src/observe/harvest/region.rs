//! Pages next to each other with counters on them: what a run has written there, compared with the run before.

use super::{How, Visit};
use crate::memory::{Memory, PAGE_BYTES};
use crate::observe::counters::Array;
use std::io;
use xxhash_rust::xxh3::xxh3_128;

/// Counters are this large.
pub const COUNTER_BYTES: u64 = 8;
/// Regions are not made larger, so that the pages of one stay in the cache while they are looked at.
const REGION_PAGES: usize = 64;
/// A page has room for so many.
pub const VALUES_PER_PAGE: usize = (PAGE_BYTES / COUNTER_BYTES) as usize;

/// Pages next to each other, with the arrays on them.
#[derive(Debug)]
pub struct Region {
    pub first_page: u64,
    pub page_count: usize,
    pub arrays: std::ops::Range<usize>,
    /// For each page the first array that does not end before it.
    reaching: Vec<u32>,
    /// For each page, and the one behind the last, the first array that does not begin before it.
    beginning: Vec<u32>,
    /// The memory at the warm point.
    pub warm: Vec<i64>,
    /// The memory of the last run, as far as there are counters in it.
    pub last: Vec<i64>,
    /// For each page, whether the last run had written it.
    was_written: Vec<bool>,
    /// For each page, the hash of what it was when it was last looked at; `None` before that. Comparing with it takes half
    /// the time of reading the last run's page, which is in no cache any more.
    hashes: Vec<Option<u128>>,
}

impl Region {
    /// Visits what differs, and says how many pages the run has written. `now` is workspace.
    pub fn harvest(
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
    pub fn add(&mut self, array: &Array, values: &[i64], visit: Visit<'_>) {
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

    /// The next run is compared with the warm point.
    pub fn forget_last_run(&mut self) {
        self.last.copy_from_slice(&self.warm);
        self.was_written.fill(false);
        self.hashes.fill(None);
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
pub fn place(first_page: u64, array: &Array) -> std::ops::Range<usize> {
    let first = ((array.address - first_page * PAGE_BYTES) / COUNTER_BYTES) as usize;
    first..first + array.count as usize
}

/// The regions of arrays, which are in the order of their addresses.
pub fn regions(arrays: &[Array]) -> Vec<Region> {
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
