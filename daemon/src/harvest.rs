//! A run's counters: read from the pages it has written, compared with what they were at the warm point.

use crate::counters::{Array, CounterMap};
use crate::memory::{Memory, PAGE_BYTES};
use std::io;

/// Counters are this large.
const COUNTER_BYTES: u64 = 8;
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
}

/// The functions of a run whose counters differ from the zygote's.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Harvest {
    /// The arrays that differ, by index, each with the index of its first value.
    pub changed: Vec<(u32, u32)>,
    /// Their values, one array after the other.
    pub values: Vec<i64>,
    /// How many pages with counters the run has written.
    pub pages: usize,
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

    /// Reads what differs in a run.
    ///
    /// # Errors
    /// If the run's memory is gone.
    pub fn harvest(&mut self, memory: &Memory) -> io::Result<Harvest> {
        // The buffers are kept: getting fresh memory costs more than filling it.
        let mut pages = std::mem::take(&mut self.pages);
        let mut harvest = Harvest::default();
        let mut harvested = Ok(());
        for region in &self.regions {
            harvested = pages.read(region, memory);
            if harvested.is_err() {
                break;
            }
            harvest.pages += pages.count;
            for index in region.arrays.clone() {
                let array = &self.map.arrays[index];
                if pages.has_any(array) {
                    self.compare(index, array, &pages, &mut harvest);
                }
            }
        }
        self.pages = pages;
        harvested.map(|()| harvest)
    }

    fn compare(&self, index: usize, array: &Array, pages: &Pages, harvest: &mut Harvest) {
        let baseline = &self.values[array.first as usize..][..array.count as usize];
        let first_value = harvest.values.len();
        if pages.is_within_page(array) {
            // Most are, and most have not changed although their page has.
            match pages.values(array.address, baseline.len()) {
                Some(values) if values != baseline => harvest.values.extend_from_slice(values),
                _ => return,
            }
        } else {
            let mut address = array.address;
            let mut rest = baseline;
            while !rest.is_empty() {
                let in_page = ((PAGE_BYTES - address % PAGE_BYTES) / COUNTER_BYTES) as usize;
                let (here, later) = rest.split_at(in_page.min(rest.len()));
                harvest.values.extend_from_slice(pages.values(address, here.len()).unwrap_or(here));
                address += here.len() as u64 * COUNTER_BYTES;
                rest = later;
            }
            if harvest.values[first_value..] == *baseline {
                harvest.values.truncate(first_value);
                return;
            }
        }
        harvest.changed.push((index as u32, first_value as u32));
    }

    /// All values of a run, by dense id.
    #[must_use]
    pub fn all_values(&self, harvest: &Harvest) -> Vec<i64> {
        let mut values = self.values.clone();
        for &(index, first) in &harvest.changed {
            let array = &self.map.arrays[index as usize];
            let changed = &harvest.values[first as usize..][..array.count as usize];
            values[array.first as usize..][..array.count as usize].copy_from_slice(changed);
        }
        values
    }
}

/// The pages of a region that a run has written.
#[derive(Debug, Default)]
struct Pages {
    first_page: u64,
    /// Where each page's bytes begin, in pages; `None` if the run has not written it.
    places: Vec<Option<u32>>,
    values: Vec<i64>,
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
        for run in own.chunk_by(|a, b| a == b) {
            let page = self.places.len();
            if !run[0] {
                self.places.resize(page + run.len(), None);
                continue;
            }
            let target = &mut self.values[place * VALUES_PER_PAGE..][..run.len() * VALUES_PER_PAGE];
            memory.read((region.first_page + page as u64) * PAGE_BYTES, bytemuck::cast_slice_mut(target))?;
            self.places.extend((place..place + run.len()).map(|place| Some(place as u32)));
            place += run.len();
        }
        Ok(())
    }

    fn has_any(&self, array: &Array) -> bool {
        let last =
            (array.address + u64::from(array.count) * COUNTER_BYTES - 1) / PAGE_BYTES - self.first_page;
        let first = array.address / PAGE_BYTES - self.first_page;
        self.places[first as usize..=last as usize].iter().any(Option::is_some)
    }

    fn is_within_page(&self, array: &Array) -> bool {
        array.address % PAGE_BYTES + u64::from(array.count) * COUNTER_BYTES <= PAGE_BYTES
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
        let end = (array.address + u64::from(array.count) * COUNTER_BYTES).div_ceil(PAGE_BYTES);
        match regions.last_mut() {
            Some(region) if first <= region.first_page + region.page_count as u64 => {
                region.page_count = region.page_count.max((end - region.first_page) as usize);
                region.arrays.end = index + 1;
            }
            _ => regions.push(Region {
                first_page: first,
                page_count: (end - first) as usize,
                arrays: index..index + 1,
            }),
        }
    }
    regions
}
