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
    /// Function ids and how often each was called, in order; those whose counters differ.
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
    lines: Vec<i64>,
    /// A bit for each line that was added to.
    touched: Vec<u64>,
    functions: Vec<(u32, i64)>,
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
            lines: vec![0; line_count],
            touched: vec![0; line_count.div_ceil(64)],
            functions: Vec::new(),
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
                let Self { changes, lines, touched, .. } = self;
                let calls = self
                    .sums
                    .change(sums, old, new, changes, |line, change| add(lines, touched, line, change));
                self.functions.push((function, calls));
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
        self.functions.push((id, after.execution_count.wrapping_sub(before.execution_count)));
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
        let Self { workspace, arcs, lines, touched, .. } = self;
        arcs.clear();
        arcs.resize(arc_range(place.map, function).len(), 0);
        solve_function(place.map, function, counters, arcs, workspace, |slot, piece| {
            if let Piece::Count(count) = piece {
                add(lines, touched, place.lines[slot as usize], count.wrapping_mul(factor));
            }
        })
    }
}

/// What some adders have added up so far, as a baseline. They begin anew.
#[must_use]
pub fn take_baseline<const N: usize>(mut adders: [&mut Adder; N]) -> Baseline {
    let (lines, functions) = adders.first().map_or((0, 0), |adder| (adder.lines.len(), adder.ways.len()));
    let mut baseline = Baseline { lines: vec![0; lines], functions: vec![0; functions] };
    let spectrum = take_spectrum(adders.each_mut().map(|adder| &mut **adder), &baseline);
    for (id, count) in spectrum.lines {
        baseline.lines[id as usize] = count;
    }
    for (id, count) in spectrum.functions {
        baseline.functions[id as usize] = count;
    }
    baseline
}

/// What some adders have added up so far, as changes to a baseline. They begin anew.
#[must_use]
pub fn take_spectrum<const N: usize>(mut adders: [&mut Adder; N], baseline: &Baseline) -> Spectrum {
    let mut lines = Vec::new();
    let word_count = adders.first().map_or(0, |adder| adder.touched.len());
    for index in 0..word_count {
        let mut bits =
            adders.iter_mut().fold(0, |bits, adder| bits | std::mem::take(&mut adder.touched[index]));
        while bits != 0 {
            let id = index * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let change = adders
                .iter_mut()
                .fold(0_i64, |change, adder| change.wrapping_add(std::mem::take(&mut adder.lines[id])));
            if change != 0 {
                lines.push((id as u32, baseline.lines[id].wrapping_add(change)));
            }
        }
    }
    let mut functions: Vec<(u32, i64)> =
        adders.iter_mut().flat_map(|adder| std::mem::take(&mut adder.functions)).collect();
    functions.sort_unstable();
    for (id, calls) in &mut functions {
        *calls = baseline.functions[*id as usize].wrapping_add(*calls);
    }
    Spectrum { lines, functions }
}

#[inline]
fn add(lines: &mut [i64], touched: &mut [u64], line: u32, change: i64) {
    let count = &mut lines[line as usize];
    *count = count.wrapping_add(change);
    touched[line as usize / 64] |= 1 << (line % 64);
}
