//! The counts of many objects added up by source file.
//!
//! A header's lines appear in every object that includes it, a template's once for each instance; a line's
//! count here is the sum of all, as lcov and fastcov have it.

use crate::gcov::canonical::absolute_name;
use crate::gcov::coverage::ObjectCoverage;
use crate::gcov::object_map::{ObjectMap, SLOT_UNEXCEPTIONAL};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// All sources of a tree, by absolute name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The totals of each source; names are as [`crate::name_text`] writes them.
    pub sources: BTreeMap<String, SourceTotals>,
}

/// The totals of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceTotals {
    /// The lines with code, in order.
    pub lines: Vec<LineTotals>,
    /// The functions, by (mangled) name.
    pub functions: FxHashMap<Box<[u8]>, FunctionTotals>,
}

/// The totals of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineTotals {
    /// The line number.
    pub number: u32,
    /// Some block of it did not run in some object, and not for want of an exception, where notes tell.
    pub unexecuted_block: bool,
    /// The line is reachable without an exception.
    pub unexceptional: bool,
    /// How often it ran.
    pub count: i64,
    /// Its branches, if they were asked for.
    pub branches: Vec<BranchTotals>,
}

/// The totals of one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchTotals {
    /// How often it was taken.
    pub count: i64,
    /// It is taken when the condition does not hold.
    pub is_fallthrough: bool,
    /// It leads to an exception handler.
    pub is_throw: bool,
}

/// The totals of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionTotals {
    /// Its first line.
    pub start_line: u32,
    /// How often it was called.
    pub execution_count: i64,
}

/// Which branches a tree keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branches {
    /// None.
    None,
    /// Those of the source, without the ones that lead to exception handlers.
    WithoutThrows,
    /// All.
    All,
}

impl Tree {
    /// Adds the counts of an object.
    pub fn add(&mut self, map: &ObjectMap<'_>, coverage: &ObjectCoverage, branches: Branches) {
        for (index, source) in map.sources.iter().enumerate() {
            let slots = map.space_slots(index as u32);
            if slots.is_empty() && source.functions.is_empty() {
                continue;
            }
            let name = absolute_name(&map.cwd, &source.name);
            let totals = self.sources.entry(name).or_default();
            totals.add_lines(map, coverage, slots, branches);
            for &function in source.functions.iter() {
                let mapped = &map.functions[function as usize];
                if mapped.is_group() {
                    totals.add_lines(map, coverage, map.space_slots(mapped.space), branches);
                }
                let count = coverage.functions[function as usize].execution_count;
                totals.add_function(map.name(mapped), mapped.start_line, count);
            }
        }
    }
}

impl SourceTotals {
    fn add_lines(
        &mut self,
        map: &ObjectMap<'_>,
        coverage: &ObjectCoverage,
        slots: std::ops::Range<usize>,
        branches: Branches,
    ) {
        let known = self.lines.len();
        let mut position = 0;
        for slot in slots {
            let number = map.slots[slot].line;
            // Both sides are sorted, so the search never goes back.
            position += self.lines[position..known].partition_point(|line| line.number < number);
            let index = if position < known && self.lines[position].number == number {
                position
            } else {
                self.lines.push(LineTotals {
                    number,
                    unexecuted_block: false,
                    unexceptional: false,
                    count: 0,
                    branches: Vec::new(),
                });
                self.lines.len() - 1
            };
            let counts = &coverage.lines[slot];
            let line = &mut self.lines[index];
            line.count = line.count.wrapping_add(counts.count);
            line.unexecuted_block |= counts.unexecuted_block && map.marks_unexecuted_blocks;
            line.unexceptional |= map.slots[slot].flags & SLOT_UNEXCEPTIONAL != 0;
            if branches != Branches::None {
                line.add_branches(map, coverage, slot, branches);
            }
        }
        if self.lines.len() > known {
            self.lines.sort_by_key(|line| line.number);
        }
    }

    fn add_function(&mut self, name: &[u8], start_line: u32, execution_count: i64) {
        match self.functions.get_mut(name) {
            Some(totals) => totals.execution_count = totals.execution_count.wrapping_add(execution_count),
            None => {
                self.functions.insert(name.into(), FunctionTotals { start_line, execution_count });
            }
        }
    }

    /// The functions in order of line and name.
    #[must_use]
    pub fn sorted_functions(&self) -> Vec<(&[u8], FunctionTotals)> {
        let mut functions: Vec<_> = self.functions.iter().map(|(name, totals)| (&**name, *totals)).collect();
        functions.sort_unstable_by_key(|&(name, totals)| (totals.start_line, name));
        functions
    }

    /// How many lines there are, and how many of them ran.
    #[must_use]
    pub fn line_summary(&self) -> (usize, usize) {
        (self.lines.len(), self.lines.iter().filter(|line| line.count != 0).count())
    }

    /// How many branches there are, and how many of them were taken.
    #[must_use]
    pub fn branch_summary(&self) -> (usize, usize) {
        let branches = || self.lines.iter().flat_map(|line| &line.branches);
        (branches().count(), branches().filter(|branch| branch.count != 0).count())
    }
}

impl LineTotals {
    fn add_branches(
        &mut self,
        map: &ObjectMap<'_>,
        coverage: &ObjectCoverage,
        slot: usize,
        branches: Branches,
    ) {
        let arcs =
            map.slot_branches(slot).iter().map(|&arc| (&map.arcs[arc as usize], coverage.arcs[arc as usize]));
        let shown = arcs.filter(|(arc, _)| branches == Branches::All || !arc.is_throw());
        for (position, (arc, count)) in shown.enumerate() {
            match self.branches.get_mut(position) {
                Some(branch) => branch.count = branch.count.wrapping_add(count),
                None => self.branches.push(BranchTotals {
                    count,
                    is_fallthrough: arc.is_fallthrough(),
                    is_throw: arc.is_throw(),
                }),
            }
        }
    }
}
