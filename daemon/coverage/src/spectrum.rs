//! A run's coverage in atlas ids, found from the few functions whose counters differ from a baseline.
//!
//! Lines add up over functions and objects, so a changed function's old share is taken away and its new one
//! added; all others stay as they are.

use crate::coverage::{FunctionCoverage, Piece, Workspace, arc_range, solve_function};
use crate::error::Error;
use crate::linear;
use crate::object_map::ObjectMap;

/// The counts all runs begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// By line id.
    pub lines: Vec<i64>,
    /// How often each function was called, by function id.
    pub functions: Vec<i64>,
}

/// A run's counts, where they differ from the baseline's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spectrum {
    /// Line ids and counts, in order.
    pub lines: Vec<(u32, i64)>,
    /// Function ids and how often each was called, in order.
    pub functions: Vec<(u32, i64)>,
}

impl Spectrum {
    /// How many lines ran.
    #[must_use]
    pub fn executed_lines(&self, baseline: &Baseline) -> usize {
        executed(&baseline.lines, &self.lines)
    }

    /// How many functions ran.
    #[must_use]
    pub fn executed_functions(&self, baseline: &Baseline) -> usize {
        executed(&baseline.functions, &self.functions)
    }

    /// All counts by line id.
    #[must_use]
    pub fn all_lines(&self, baseline: &Baseline) -> Vec<i64> {
        let mut lines = baseline.lines.clone();
        for &(id, count) in &self.lines {
            lines[id as usize] = count;
        }
        lines
    }
}

fn executed(baseline: &[i64], changed: &[(u32, i64)]) -> usize {
    let before = baseline.iter().filter(|&&count| count != 0).count();
    let lost = changed.iter().filter(|&&(id, count)| baseline[id as usize] != 0 && count == 0).count();
    let won = changed.iter().filter(|&&(id, count)| baseline[id as usize] == 0 && count != 0).count();
    before + won - lost
}

/// An object's map and its place in the ids.
#[derive(Debug, Clone, Copy)]
pub struct Place<'m, 'a> {
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
    lines: Changes,
    /// Of the number of calls, by function id.
    calls: Changes,
    sums: linear::Sums,
    /// By function id.
    ways: Vec<Way>,
}

/// How a function's counts are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Not known yet.
    Unknown,
    /// gcov does not show it.
    Hidden,
    /// By its sums.
    Sums(linear::Place),
    /// By the solver.
    Solver,
}

impl Adder {
    /// Nothing yet, for an atlas of so many lines and functions.
    #[must_use]
    pub fn new(line_count: usize, function_count: usize) -> Self {
        Self {
            workspace: Workspace::default(),
            arcs: Vec::new(),
            changes: Vec::new(),
            lines: Changes::new(line_count),
            calls: Changes::new(function_count),
            sums: linear::Sums::default(),
            ways: vec![Way::Unknown; function_count],
        }
    }

    /// Takes a function from its old counters to its new ones, if that has been done before: then its place
    /// is not needed. False if it is.
    #[inline]
    pub fn change_again(&mut self, function: u32, old: &[i64], new: &[i64]) -> bool {
        match self.ways[function as usize] {
            Way::Sums(sums) => {
                let Self { changes, lines, .. } = self;
                let add = |line, count, change| lines.add(line, count, change);
                let calls = self.sums.change(sums, old, new, changes, add);
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
        place: Place<'_, '_>,
        index: usize,
        old: &[i64],
        new: &[i64],
    ) -> Result<(), Error> {
        let id = place.first_function + index as u32;
        if self.ways[id as usize] == Way::Unknown {
            self.ways[id as usize] = self.find_way(place, index);
        }
        if self.change_again(id, old, new) {
            return Ok(());
        }
        let before = self.solve(place, index, old, -1)?;
        let after = self.solve(place, index, new, 1)?;
        let calls = after.execution_count.wrapping_sub(before.execution_count);
        self.calls.add(id, 1, calls);
        Ok(())
    }

    fn find_way(&mut self, place: Place<'_, '_>, index: usize) -> Way {
        if !place.map.functions[index].is_shown() {
            return Way::Hidden;
        }
        self.sums.add(place.map, index, place.lines, &mut self.workspace).map_or(Way::Solver, Way::Sums)
    }

    fn solve(
        &mut self,
        place: Place<'_, '_>,
        index: usize,
        counters: &[i64],
        factor: i64,
    ) -> Result<FunctionCoverage, Error> {
        let function = &place.map.functions[index];
        if counters.iter().all(|&counter| counter == 0) {
            return Ok(FunctionCoverage::default());
        }
        let Self { workspace, arcs, lines, .. } = self;
        arcs.clear();
        arcs.resize(arc_range(place.map, function).len(), 0);
        solve_function(place.map, function, counters, arcs, workspace, |slot, piece| {
            if let Piece::Count(count) = piece {
                lines.add(place.lines[slot as usize], 1, count.wrapping_mul(factor));
            }
        })
    }

    /// What has been added up so far, as a baseline. Begins anew.
    #[must_use]
    pub fn take_baseline(&mut self) -> Baseline {
        let mut baseline =
            Baseline { lines: vec![0; self.lines.table.len()], functions: vec![0; self.ways.len()] };
        let spectrum = self.take_spectrum(&baseline);
        for (id, count) in spectrum.lines {
            baseline.lines[id as usize] = count;
        }
        for (id, count) in spectrum.functions {
            baseline.functions[id as usize] = count;
        }
        baseline
    }

    /// What has been added up so far, as changes to a baseline. Begins anew.
    #[must_use]
    pub fn take_spectrum(&mut self, baseline: &Baseline) -> Spectrum {
        Spectrum { lines: self.lines.take(&baseline.lines), functions: self.calls.take(&baseline.functions) }
    }
}

/// Changes to a table, which are found again without looking at all of it.
#[derive(Debug)]
struct Changes {
    table: Vec<i64>,
    /// One for each block of the table that has been added to.
    marks: Vec<bool>,
}

/// Entries in a block.
const BLOCK: usize = 64;

impl Changes {
    fn new(length: usize) -> Self {
        Self { table: vec![0; length], marks: vec![false; length.div_ceil(BLOCK)] }
    }

    #[inline]
    fn add(&mut self, first: u32, count: u32, change: i64) {
        let (first, end) = (first as usize, first as usize + count as usize);
        for entry in &mut self.table[first..end] {
            *entry = entry.wrapping_add(change);
        }
        for mark in &mut self.marks[first / BLOCK..=(end - 1) / BLOCK] {
            *mark = true;
        }
    }

    /// Takes the changes out, and returns what they make of a baseline, in order.
    fn take(&mut self, baseline: &[i64]) -> Vec<(u32, i64)> {
        let mut taken = Vec::new();
        for (block, mark) in self.marks.iter_mut().enumerate() {
            if !std::mem::take(mark) {
                continue;
            }
            let first = block * BLOCK;
            let end = (first + BLOCK).min(self.table.len());
            for (id, entry) in (first..end).zip(&mut self.table[first..end]) {
                // An entry can have been added to and taken from in equal parts.
                if *entry != 0 {
                    taken.push((id as u32, baseline[id].wrapping_add(std::mem::take(entry))));
                }
            }
        }
        taken
    }
}
