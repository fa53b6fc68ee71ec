//! A run's counters: read from the pages it has written, compared with what they were at the warm point.

use crate::counters::{Array, CounterMap};
use crate::memory::{Memory, PAGE_BYTES};
use std::io;

/// Counters are this large.
const COUNTER_BYTES: u64 = 8;

/// Where the counters of a zygote are and what they are at its warm point.
#[derive(Debug)]
pub struct Counting {
    /// Where they are.
    pub map: CounterMap,
    /// Their values at the warm point, by dense id.
    pub values: Vec<i64>,
    regions: Vec<Region>,
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
        Ok(Self { map, values, regions })
    }

    /// Reads what differs in a run.
    ///
    /// # Errors
    /// If the run's memory is gone.
    pub fn harvest(&self, memory: &Memory) -> io::Result<Harvest> {
        let mut harvest = Harvest::default();
        for region in &self.regions {
            let pages = Pages::read(region, memory)?;
            harvest.pages += pages.count;
            for index in region.arrays.clone() {
                let array = &self.map.arrays[index];
                if pages.has_any(array) {
                    self.compare(index, array, &pages, &mut harvest);
                }
            }
        }
        Ok(harvest)
    }

    fn compare(&self, index: usize, array: &Array, pages: &Pages, harvest: &mut Harvest) {
        let baseline = &self.values[array.first as usize..][..array.count as usize];
        let first_value = harvest.values.len();
        let mut address = array.address;
        let mut rest = baseline;
        while !rest.is_empty() {
            let in_page = ((PAGE_BYTES - address % PAGE_BYTES) / COUNTER_BYTES) as usize;
            let (here, later) = rest.split_at(in_page.min(rest.len()));
            match pages.bytes(address, here.len()) {
                Some(bytes) => {
                    let begin = harvest.values.len();
                    harvest.values.resize(begin + here.len(), 0);
                    decode(bytes, &mut harvest.values[begin..]);
                }
                None => harvest.values.extend_from_slice(here),
            }
            address += here.len() as u64 * COUNTER_BYTES;
            rest = later;
        }
        if harvest.values[first_value..] == *baseline {
            harvest.values.truncate(first_value);
        } else {
            harvest.changed.push((index as u32, first_value as u32));
        }
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
struct Pages {
    first_page: u64,
    /// Where each page's bytes begin, in pages; `None` if the run has not written it.
    places: Vec<Option<u32>>,
    bytes: Vec<u8>,
    count: usize,
}

impl Pages {
    fn read(region: &Region, memory: &Memory) -> io::Result<Self> {
        let own = memory.own_pages(region.first_page, region.page_count)?;
        let count = own.iter().filter(|&&own| own).count();
        let mut places = vec![None; own.len()];
        let mut bytes = vec![0; count * PAGE_BYTES as usize];
        let mut place = 0;
        let mut page = 0;
        for run in own.chunk_by(|a, b| a == b) {
            if run[0] {
                for (offset, slot) in places[page..page + run.len()].iter_mut().enumerate() {
                    *slot = Some((place + offset) as u32);
                }
                let target = &mut bytes[place * PAGE_BYTES as usize..][..run.len() * PAGE_BYTES as usize];
                memory.read((region.first_page + page as u64) * PAGE_BYTES, target)?;
                place += run.len();
            }
            page += run.len();
        }
        Ok(Self { first_page: region.first_page, places, bytes, count })
    }

    fn has_any(&self, array: &Array) -> bool {
        let last =
            (array.address + u64::from(array.count) * COUNTER_BYTES - 1) / PAGE_BYTES - self.first_page;
        let first = array.address / PAGE_BYTES - self.first_page;
        self.places[first as usize..=last as usize].iter().any(Option::is_some)
    }

    /// The bytes of counters within one page, if the run has written it.
    fn bytes(&self, address: u64, count: usize) -> Option<&[u8]> {
        let place = self.places[(address / PAGE_BYTES - self.first_page) as usize]?;
        let offset = place as usize * PAGE_BYTES as usize + (address % PAGE_BYTES) as usize;
        Some(&self.bytes[offset..offset + count * COUNTER_BYTES as usize])
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
