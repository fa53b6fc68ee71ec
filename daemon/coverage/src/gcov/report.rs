//! Adds an object's counts to a report.

use super::canonical::absolute_name;
use super::coverage::ObjectCoverage;
use super::object_map::{ObjectMap, SLOT_UNEXCEPTIONAL};
use crate::format::{BranchTotals, Branches, LineTotals, Report};
use std::ops::Range;

impl ObjectCoverage {
    /// Adds the counts of the object to a report; `map` is the one that they were computed with.
    pub fn add_to(&self, report: &mut Report, map: &ObjectMap<'_>, branches: Branches) {
        for (index, source) in map.sources.iter().enumerate() {
            let slots = map.space_slots(index as u32);
            if slots.is_empty() && source.functions.is_empty() {
                continue;
            }
            let totals = report.source(absolute_name(&map.cwd, &source.name));
            totals.add_lines(self.line_totals(map, slots, branches));
            for &function in source.functions.iter() {
                let mapped = &map.functions[function as usize];
                if mapped.is_group() {
                    totals.add_lines(self.line_totals(map, map.space_slots(mapped.space), branches));
                }
                let count = self.functions[function as usize].execution_count;
                totals.add_function(map.name(mapped), mapped.start_line, count);
            }
        }
    }

    fn line_totals<'a>(
        &'a self,
        map: &'a ObjectMap<'_>,
        slots: Range<usize>,
        branches: Branches,
    ) -> impl Iterator<Item = LineTotals<impl Iterator<Item = BranchTotals>>> {
        slots.map(move |slot| LineTotals {
            number: map.slots[slot].line,
            unexecuted_block: self.lines[slot].unexecuted_block && map.marks_unexecuted_blocks,
            unexceptional: map.slots[slot].flags & SLOT_UNEXCEPTIONAL != 0,
            count: self.lines[slot].count,
            branches: self.branch_totals(map, slot, branches),
        })
    }

    fn branch_totals<'a>(
        &'a self,
        map: &'a ObjectMap<'_>,
        slot: usize,
        branches: Branches,
    ) -> impl Iterator<Item = BranchTotals> {
        let arcs = if branches == Branches::None { &[] } else { map.slot_branches(slot) };
        let branch = |&arc: &u32| {
            let (arc, count) = (&map.arcs[arc as usize], self.arcs[arc as usize]);
            BranchTotals { count, is_fallthrough: arc.is_fallthrough(), is_throw: arc.is_throw() }
        };
        arcs.iter().map(branch).filter(move |branch| branches.include(branch))
    }
}
