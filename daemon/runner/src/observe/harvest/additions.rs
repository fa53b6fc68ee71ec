//! Counters beside a run's own, added up as gcov adds up the counts of processes.

use super::region::{Region, VALUES_PER_PAGE, place, regions};
use crate::memory::{Memory, PAGE_BYTES};
use crate::observe::counters::Array;
use std::collections::BTreeMap;
use std::io;

/// Counters beside a run's own: of processes that it made of itself, and of libraries that it loaded.
#[derive(Debug, Default, Clone)]
pub struct Additions(pub(super) BTreeMap<u32, (Array, Vec<i64>)>);

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
    pub(super) fn read_regions(
        &mut self,
        memory: &Memory,
        regions: &[Region],
        arrays: &[Array],
    ) -> io::Result<()> {
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
pub struct Layout {
    arrays: Vec<Array>,
    regions: Vec<Region>,
}

impl Layout {
    /// That of arrays, which are in the order of their addresses.
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
