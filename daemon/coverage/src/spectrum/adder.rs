//! Finds a run's spectrum from the few functions whose counters differ from the run before.
//!
//! Lines add up over functions and objects, so a changed function's old share is taken away and its new one
//! added; all others stay as they are.

use super::block::{BLOCK, Known};
use super::counts::Counts;
use super::{KnownBlocks, Spectrum};
use crate::gcov::coverage::{FunctionCoverage, Piece, Workspace, solve_function};
use crate::gcov::error::Error;
use crate::gcov::linear;
use crate::gcov::object_map::ObjectMap;

/// An object's map, and the ids of its lines and functions.
#[derive(Debug, Clone, Copy)]
pub struct NumberedMap<'m, 'a> {
    /// The map.
    pub map: &'m ObjectMap<'a>,
    /// The line id of each of its slots.
    pub lines: &'m [u32],
    /// The id of its first function.
    pub first_function: u32,
}

/// Adds up the shares of functions. Kept between runs to save allocations and the functions' sums.
#[derive(Debug)]
pub struct Adder {
    workspace: Workspace,
    arcs: Vec<i64>,
    changes: Vec<i64>,
    /// By line id.
    lines: Table,
    /// How often each function was called, by function id.
    calls: Table,
    learned: Learned,
}

/// How the counts of functions are found, of those that were looked at so far. It holds for the whole subject,
/// whatever ran.
#[derive(Debug, Clone)]
pub struct Learned {
    sums: linear::Sums,
    /// By function id.
    ways: Vec<Way>,
    count: usize,
}

impl Learned {
    /// Nothing yet, for an atlas of so many functions.
    #[must_use]
    pub fn new(function_count: usize) -> Self {
        Self { sums: linear::Sums::default(), ways: vec![Way::Unknown; function_count], count: 0 }
    }

    /// Of how many functions.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

/// How a function's counts are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Not known yet.
    Unknown,
    /// gcov does not show it.
    Hidden,
    /// By its sums.
    Sums(linear::Start),
    /// By the solver.
    Solver,
}

impl Adder {
    /// Zeros, for an atlas of so many lines, with what is known of its functions.
    #[must_use]
    pub fn new(line_count: usize, learned: Learned) -> Self {
        Self {
            workspace: Workspace::default(),
            arcs: Vec::new(),
            changes: Vec::new(),
            lines: Table::new(line_count),
            calls: Table::new(learned.ways.len()),
            learned,
        }
    }

    /// Its memory, in bytes, without the blocks of counts, which are shared.
    #[must_use]
    pub fn own_bytes(&self) -> usize {
        let values = self.lines.values.len() + self.calls.values.len();
        size_of::<i64>() * values + size_of::<Way>() * self.learned.ways.len() + self.learned.sums.own_bytes()
    }

    /// What is known of the functions.
    #[must_use]
    pub fn learned(&self) -> &Learned {
        &self.learned
    }

    /// Takes a function from its old counters to its new ones, if that has been done before: then its map
    /// is not needed. False if it is.
    #[inline]
    pub fn change_again(&mut self, function: u32, old: &[i64], new: &[i64]) -> bool {
        match self.learned.ways[function as usize] {
            Way::Sums(sums) => {
                let Self { changes, lines, .. } = self;
                let add = |line, count, change| lines.add(line, count, change);
                let calls = self.learned.sums.change(sums, old, new, changes, add);
                self.calls.add(function, 1, calls);
                true
            }
            Way::Hidden => true,
            Way::Solver | Way::Unknown => false,
        }
    }

    /// Takes a function from its old counters to its new ones.
    ///
    /// # Errors
    /// If its flow graph cannot be solved.
    pub fn change(
        &mut self,
        object: NumberedMap<'_, '_>,
        index: usize,
        old: &[i64],
        new: &[i64],
    ) -> Result<(), Error> {
        let id = object.first_function + index as u32;
        if self.learned.ways[id as usize] == Way::Unknown {
            self.learned.ways[id as usize] = self.find_way(object, index);
            self.learned.count += 1;
        }
        if self.change_again(id, old, new) {
            return Ok(());
        }
        let before = self.solve(object, index, old, -1)?;
        let after = self.solve(object, index, new, 1)?;
        let calls = after.execution_count.wrapping_sub(before.execution_count);
        self.calls.add(id, 1, calls);
        Ok(())
    }

    fn find_way(&mut self, object: NumberedMap<'_, '_>, index: usize) -> Way {
        if !object.map.functions[index].is_shown() {
            return Way::Hidden;
        }
        let sums = &mut self.learned.sums;
        sums.add(object.map, index, object.lines, &mut self.workspace).map_or(Way::Solver, Way::Sums)
    }

    fn solve(
        &mut self,
        object: NumberedMap<'_, '_>,
        index: usize,
        counters: &[i64],
        factor: i64,
    ) -> Result<FunctionCoverage, Error> {
        let function = &object.map.functions[index];
        if counters.iter().all(|&counter| counter == 0) {
            return Ok(FunctionCoverage::default());
        }
        let Self { workspace, arcs, lines, .. } = self;
        arcs.clear();
        arcs.resize(object.map.arc_range(function).len(), 0);
        solve_function(object.map, function, counters, arcs, workspace, |slot, piece| {
            if let Piece::Count(count) = piece {
                lines.add(object.lines[slot as usize], 1, count.wrapping_mul(factor));
            }
        })
    }

    /// The counts as they are now.
    #[must_use]
    pub fn spectrum(&mut self, known: &KnownBlocks) -> Spectrum {
        Spectrum { lines: self.lines.counts(&known.lines), functions: self.calls.counts(&known.functions) }
    }

    /// Goes back to counts that were taken before.
    pub fn reset(&mut self, spectrum: &Spectrum) {
        self.lines.reset(&spectrum.lines);
        self.calls.reset(&spectrum.functions);
    }
}

/// Counts that are added to, and the same in blocks, as they were when last asked for.
#[derive(Debug)]
struct Table {
    /// Whole blocks: it may be longer than there are ids.
    values: Vec<i64>,
    /// One for each block that has been added to since.
    marks: Vec<bool>,
    counts: Counts,
}

impl Table {
    fn new(length: usize) -> Self {
        let blocks = length.div_ceil(BLOCK);
        Self { values: vec![0; blocks * BLOCK], marks: vec![false; blocks], counts: Counts::zeros(length) }
    }

    #[inline]
    fn add(&mut self, first: u32, count: u32, change: i64) {
        let (first, end) = (first as usize, first as usize + count as usize);
        for value in &mut self.values[first..end] {
            *value = value.wrapping_add(change);
        }
        for mark in &mut self.marks[first / BLOCK..=(end - 1) / BLOCK] {
            *mark = true;
        }
    }

    fn counts(&mut self, known: &Known) -> Counts {
        let blocks = self.values.as_chunks::<BLOCK>().0;
        for (number, (mark, block)) in self.marks.iter_mut().zip(blocks).enumerate() {
            if std::mem::take(mark) {
                self.counts.set_block(number, block, known);
            }
        }
        self.counts.clone()
    }

    fn reset(&mut self, counts: &Counts) {
        self.values.fill(0);
        for (id, count) in counts.iter() {
            self.values[id as usize] = count;
        }
        self.marks.fill(false);
        self.counts = counts.clone();
    }
}
