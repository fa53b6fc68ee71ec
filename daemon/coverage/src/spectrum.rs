//! A run's coverage in atlas ids, found from the few functions whose counters differ from a baseline.
//!
//! Lines add up over functions and objects, so a changed function's old share is taken away and its new one
//! added; all others stay as they are.

use crate::coverage::{FunctionCoverage, Piece, Workspace, arc_range, solve_function};
use crate::error::Error;
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

/// Adds up the shares of functions. Kept between runs to save allocations.
#[derive(Debug)]
pub struct Sums {
    workspace: Workspace,
    arcs: Vec<i64>,
    /// By line id.
    lines: Vec<i64>,
    /// Lines that were added to.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    functions: Vec<(u32, i64)>,
}

impl Sums {
    /// Nothing yet, for an atlas of so many lines.
    #[must_use]
    pub fn new(line_count: usize) -> Self {
        Self {
            workspace: Workspace::default(),
            arcs: Vec::new(),
            lines: vec![0; line_count],
            touched: Vec::new(),
            is_touched: vec![false; line_count],
            functions: Vec::new(),
        }
    }

    /// Takes a function from its old counters to its new ones.
    ///
    /// # Errors
    /// If its flow graph cannot be solved.
    pub fn change(
        &mut self,
        place: Place<'_, '_>,
        function: usize,
        old: &[i64],
        new: &[i64],
    ) -> Result<(), Error> {
        self.add(place, function, old, -1)?;
        let coverage = self.add(place, function, new, 1)?;
        self.functions.push((place.first_function + function as u32, coverage.execution_count));
        Ok(())
    }

    fn add(
        &mut self,
        place: Place<'_, '_>,
        index: usize,
        counters: &[i64],
        factor: i64,
    ) -> Result<FunctionCoverage, Error> {
        let function = &place.map.functions[index];
        if !function.is_shown() || counters.iter().all(|&counter| counter == 0) {
            return Ok(FunctionCoverage::default());
        }
        let Self { workspace, arcs, lines, touched, is_touched, .. } = self;
        arcs.clear();
        arcs.resize(arc_range(place.map, function).len(), 0);
        solve_function(place.map, function, counters, arcs, workspace, |slot, piece| {
            let Piece::Count(count) = piece else { return };
            let id = place.lines[slot as usize];
            let line = &mut lines[id as usize];
            *line = line.wrapping_add(count.wrapping_mul(factor));
            if !std::mem::replace(&mut is_touched[id as usize], true) {
                touched.push(id);
            }
        })
    }

    /// The sums so far as a baseline, for an atlas of so many functions. Begins anew.
    #[must_use]
    pub fn take_baseline(&mut self, function_count: usize) -> Baseline {
        let spectrum = self.take(&Baseline { lines: vec![0; self.lines.len()], functions: Vec::new() });
        let mut baseline = Baseline { lines: vec![0; self.lines.len()], functions: vec![0; function_count] };
        for (id, count) in spectrum.lines {
            baseline.lines[id as usize] = count;
        }
        for (id, count) in spectrum.functions {
            baseline.functions[id as usize] = count;
        }
        baseline
    }

    /// The sums so far as changes to a baseline. Begins anew.
    #[must_use]
    pub fn take(&mut self, baseline: &Baseline) -> Spectrum {
        self.touched.sort_unstable();
        let mut changed = Vec::with_capacity(self.touched.len());
        for &id in &self.touched {
            let change = std::mem::take(&mut self.lines[id as usize]);
            self.is_touched[id as usize] = false;
            if change != 0 {
                changed.push((id, baseline.lines[id as usize].wrapping_add(change)));
            }
        }
        self.touched.clear();
        let mut functions = std::mem::take(&mut self.functions);
        functions.sort_unstable();
        Spectrum { lines: changed, functions }
    }
}
