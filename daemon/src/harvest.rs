//! A run's counters: read from the pages it has written, compared with what they were at the warm point.

use crate::counters::{Array, CounterMap};
use crate::memory::{Memory, PAGE_BYTES};
use std::io;

/// Counters are this large.
const COUNTER_BYTES: u64 = 8;
/// Regions are not made larger, so that the pages of one stay in the cache while they are looked at.
const REGION_PAGES: usize = 64;
/// A page has room for so many.
const VALUES_PER_PAGE: usize = (PAGE_BYTES / COUNTER_BYTES) as usize;

/// Where the counters of a zygote are and what they are at its warm point.
#[derive(Debug)]
pub struct Counting {
    /// Where they are.
    pub map: CounterMap,
    /// Their values at the warm point, by dense id.
    pub values: Vec<i64>,
    regions: Vec<Region>,
    pages: Pages,
}

/// Arrays on pages next to each other.
#[derive(Debug)]
struct Region {
    first_page: u64,
    page_count: usize,
    arrays: std::ops::Range<usize>,
    /// For each page the first array that does not end before it.
    reaching: Vec<u32>,
    /// For each page, and the one behind the last, the first array that does not begin before it.
    beginning: Vec<u32>,
}

/// Sees the counters of a run that differ.
pub type Visit<'v> = &'v mut dyn FnMut(&Array, &[i64], &[i64]);

/// The functions of a run whose counters differ from the zygote's.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Harvest {
    /// How many pages with counters the run has written.
    pub pages: usize,
    /// The counters themselves, if they were asked for.
    pub counters: Option<ChangedCounters>,
}

/// The counters that differ.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ChangedCounters {
    /// The arrays, by index, each with the index of its first value.
    arrays: Vec<(u32, u32)>,
    /// Their values, one array after the other.
    values: Vec<i64>,
}

impl Counting {
    /// Reads the values at the warm point.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn new(map: CounterMap, counter_count: usize, memory: &Memory) -> io::Result<Self> {
        let mut values = vec![0; counter_count];
        let regions = regions(&map.arrays);
        let mut bytes = Vec::new();
        for region in &regions {
            bytes.resize(region.page_count * PAGE_BYTES as usize, 0);
            memory.read(region.first_page * PAGE_BYTES, &mut bytes)?;
            for array in &map.arrays[region.arrays.clone()] {
                let offset = (array.address - region.first_page * PAGE_BYTES) as usize;
                let words = &bytes[offset..offset + array.count as usize * COUNTER_BYTES as usize];
                decode(words, &mut values[array.first as usize..]);
            }
        }
        Ok(Self { map, values, regions, pages: Pages::default() })
    }

    /// Reads what differs in a run, and calls `visit` with each array that does, its values at the warm point
    /// and those of the run. The counters are part of the harvest if they are to be kept.
    ///
    /// # Errors
    /// If the run's memory is gone.
    pub fn harvest(&mut self, memory: &Memory, keep: bool, visit: Visit<'_>) -> io::Result<Harvest> {
        // The buffer is kept: getting fresh memory costs more than filling it.
        let mut pages = std::mem::take(&mut self.pages);
        let harvest = self.harvest_regions(memory, keep, &mut pages, visit);
        self.pages = pages;
        harvest
    }

    fn harvest_regions(
        &self,
        memory: &Memory,
        keep: bool,
        pages: &mut Pages,
        visit: Visit<'_>,
    ) -> io::Result<Harvest> {
        let mut harvest = Harvest { pages: 0, counters: keep.then(ChangedCounters::default) };
        let mut gathered = Vec::new();
        for region in &self.regions {
            pages.read(region, memory)?;
            harvest.pages += pages.count;
            let mut next = 0;
            for (page, place) in pages.places.iter().enumerate() {
                if place.is_none() {
                    continue;
                }
                // One that began on a page before has been seen if that was written, too.
                let arrays = next.max(region.reaching[page])..region.beginning[page + 1];
                next = arrays.end;
                for index in arrays {
                    let array = &self.map.arrays[index as usize];
                    let old = &self.values[array.first as usize..][..array.count as usize];
                    let new = pages.array(array, old, &mut gathered);
                    // Most have not changed although their page has.
                    if new == old {
                        continue;
                    }
                    visit(array, old, new);
                    if let Some(counters) = &mut harvest.counters {
                        counters.arrays.push((index, counters.values.len() as u32));
                        counters.values.extend_from_slice(new);
                    }
                }
            }
        }
        Ok(harvest)
    }

    /// All values of a run, by dense id; `None` if its counters were not kept.
    #[must_use]
    pub fn all_values(&self, harvest: &Harvest) -> Option<Vec<i64>> {
        let counters = harvest.counters.as_ref()?;
        let mut values = self.values.clone();
        for &(index, first) in &counters.arrays {
            let array = &self.map.arrays[index as usize];
            let changed = &counters.values[first as usize..][..array.count as usize];
            values[array.first as usize..][..array.count as usize].copy_from_slice(changed);
        }
        Some(values)
    }
}

/// The pages of a region that a run has written.
#[derive(Debug, Default)]
struct Pages {
    first_page: u64,
    /// Where each page's bytes begin, in pages; `None` if the run has not written it.
    places: Vec<Option<u32>>,
    values: Vec<i64>,
    /// Runs of written pages: the first and how many.
    runs: Vec<(u64, usize)>,
    count: usize,
}

impl Pages {
    fn read(&mut self, region: &Region, memory: &Memory) -> io::Result<()> {
        let own = memory.own_pages(region.first_page, region.page_count)?;
        self.first_page = region.first_page;
        self.count = own.iter().filter(|&&own| own).count();
        self.places.clear();
        let needed = self.count * VALUES_PER_PAGE;
        if self.values.len() < needed {
            self.values.resize(needed, 0);
        }
        let mut place = 0;
        self.runs.clear();
        for run in own.chunk_by(|a, b| a == b) {
            let page = self.places.len();
            if run[0] {
                self.runs.push((region.first_page + page as u64, run.len()));
                self.places.extend((place..place + run.len()).map(|place| Some(place as u32)));
                place += run.len();
            } else {
                self.places.resize(page + run.len(), None);
            }
        }
        memory.read_pages(&self.runs, bytemuck::cast_slice_mut(&mut self.values[..needed]))
    }

    /// An array's values; where the run has not written, the old ones. `gathered` is workspace.
    fn array<'a>(&'a self, array: &Array, old: &'a [i64], gathered: &'a mut Vec<i64>) -> &'a [i64] {
        if array.address % PAGE_BYTES + u64::from(array.count) * COUNTER_BYTES <= PAGE_BYTES {
            return self.values(array.address, old.len()).unwrap_or(old);
        }
        gathered.clear();
        let mut address = array.address;
        let mut rest = old;
        while !rest.is_empty() {
            let in_page = ((PAGE_BYTES - address % PAGE_BYTES) / COUNTER_BYTES) as usize;
            let (here, later) = rest.split_at(in_page.min(rest.len()));
            gathered.extend_from_slice(self.values(address, here.len()).unwrap_or(here));
            address += here.len() as u64 * COUNTER_BYTES;
            rest = later;
        }
        gathered
    }

    /// Counters within one page, if the run has written it.
    fn values(&self, address: u64, count: usize) -> Option<&[i64]> {
        let place = self.places[(address / PAGE_BYTES - self.first_page) as usize]?;
        let first = (u64::from(place) * PAGE_BYTES + address % PAGE_BYTES) / COUNTER_BYTES;
        Some(&self.values[first as usize..first as usize + count])
    }
}

fn decode(bytes: &[u8], values: &mut [i64]) {
    for (value, &word) in values.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *value = i64::from_le_bytes(word);
    }
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
            }),
        }
    }
    for region in &mut regions {
        region.index_pages(arrays);
    }
    regions
}

impl Region {
    fn index_pages(&mut self, arrays: &[Array]) {
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
    fn every_change_on_a_written_page_is_found_whatever_the_arrays_lie_across() {
        // Within a page, across two, across three, and again within.
        let lengths = [500, 30, 600, 1030, 100, 200];
        let arrays = arrays(&lengths);
        let total = PAGES * VALUES_PER_PAGE;
        for pattern in 0..1_u32 << PAGES {
            let own: Vec<bool> = (0..PAGES).map(|page| pattern >> page & 1 == 1).collect();
            let zero = memory(&vec![0; total], &[false; PAGES]);
            let map = CounterMap { arrays: arrays.clone(), ..CounterMap::default() };
            let count = lengths.iter().sum::<u32>() as usize;
            let mut counting = Counting::new(map, count, &zero).expect("readable");
            // Every counter of a written page has changed.
            let values: Vec<i64> = (0..total).map(|index| i64::from(own[index / VALUES_PER_PAGE])).collect();
            let mut visited = Vec::new();
            let visit: Visit<'_> = &mut |array, old, new| {
                assert!(old.iter().all(|&value| value == 0));
                visited.push((array.function_id, new.to_vec()));
            };
            let harvest = counting.harvest(&memory(&values, &own), true, visit).expect("readable");
            let expected: Vec<(u32, Vec<i64>)> = arrays
                .iter()
                .map(|array| {
                    let first = (array.address - FIRST_PAGE * PAGE_BYTES) / COUNTER_BYTES;
                    (array.function_id, values[first as usize..][..array.count as usize].to_vec())
                })
                .filter(|(_, values)| values.iter().any(|&value| value != 0))
                .collect();
            assert_eq!(visited, expected, "{own:?}");
            let all = counting.all_values(&harvest).expect("they were kept");
            for array in &arrays {
                let first = ((array.address - FIRST_PAGE * PAGE_BYTES) / COUNTER_BYTES) as usize;
                let count = array.count as usize;
                assert_eq!(all[array.first as usize..][..count], values[first..][..count], "{own:?}");
            }
            assert_eq!(harvest.pages, own.iter().filter(|&&own| own).count());
        }
    }
}
