//! A run's counts on an object: every line, function and branch, equal to gcov's.

use super::cycles::CycleCounter;
use super::data::Data;
use super::error::Error;
use super::object_map::{Function, ObjectMap, SLOT_COUNTED_BY_GROUPS, SLOT_IDLE, Slot};
use super::solve::{Graph, Solver};
use rustc_hash::FxHashMap;

/// The counters of an object, one for each arc off the spanning trees, in the order of its map.
///
/// Functions keep their counters together, so one that never ran costs nothing but the zeros.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    values: Vec<i64>,
}

impl Counters {
    /// All zero: the object never ran.
    #[must_use]
    pub fn zero(map: &ObjectMap<'_>) -> Self {
        Self { values: vec![0; map.counter_count as usize] }
    }

    /// Takes each counter of the map in turn from a function.
    #[must_use]
    pub fn from_values(map: &ObjectMap<'_>, next: &mut dyn FnMut() -> i64) -> Self {
        Self { values: (0..map.counter_count).map(|_| next()).collect() }
    }

    /// Takes the counters from a data file, checking that it belongs to the map.
    ///
    /// # Errors
    /// If data and map do not come from the same compilation.
    pub fn from_data(map: &ObjectMap<'_>, data: &Data) -> Result<Self, Error> {
        if data.version != map.version {
            return Err(Error::VersionMismatch { data: data.version, notes: map.version });
        }
        if data.stamp != map.stamp {
            return Err(Error::StampMismatch { data: data.stamp, notes: map.stamp });
        }
        let mut counters = Self::zero(map);
        // The later of two functions with one ident counts, as in gcov.
        let by_ident: FxHashMap<u32, usize> =
            map.functions.iter().enumerate().map(|(index, function)| (function.ident, index)).collect();
        for found in &data.functions {
            let Some(&index) = by_ident.get(&found.ident) else {
                return Err(Error::UnknownFunction { ident: found.ident });
            };
            let function = &map.functions[index];
            for (what, data, notes) in [
                ("the line checksum", found.lineno_checksum, function.lineno_checksum),
                ("the graph checksum", found.cfg_checksum, function.cfg_checksum),
                ("the number of counters", found.counter_count, function.counter_count),
            ] {
                if data != notes {
                    return Err(Error::FunctionMismatch {
                        function: function_name(map, function),
                        what,
                        data,
                        notes,
                    });
                }
            }
            let first = function.first_counter as usize;
            for (sum, value) in counters.values[first..].iter_mut().zip(data.counters(found)) {
                *sum = sum.wrapping_add(*value);
            }
        }
        Ok(counters)
    }

    /// The counters of a function.
    #[must_use]
    pub fn of(&self, function: &Function) -> &[i64] {
        let first = function.first_counter as usize;
        &self.values[first..first + function.counter_count as usize]
    }
}

/// A line's count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCoverage {
    /// How often the line ran.
    pub count: i64,
    /// Some block of the line did not run, and not for want of an exception.
    pub unexecuted_block: bool,
}

impl LineCoverage {
    fn before_any_run(slot: &Slot) -> Self {
        Self { count: 0, unexecuted_block: slot.flags & SLOT_IDLE != 0 }
    }
}

/// A function's counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FunctionCoverage {
    /// How often it was called.
    pub execution_count: i64,
    /// How many of its blocks ran.
    pub blocks_executed: u32,
    /// How often it returned.
    pub return_count: i64,
}

/// The counts of one object, indexed as the tables of its map.
#[derive(Debug, Clone, Default)]
pub struct ObjectCoverage {
    /// By slot.
    pub lines: Vec<LineCoverage>,
    /// By function.
    pub functions: Vec<FunctionCoverage>,
    /// By arc.
    pub arcs: Vec<i64>,
}

/// The workspace of [`ObjectCoverage`], kept between objects to save allocations.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(crate) solver: Solver,
    pub(crate) cycles: CycleCounter,
}

impl ObjectCoverage {
    /// Computes all counts of an object.
    ///
    /// # Errors
    /// If a flow graph cannot be solved, or a line holds too many loops.
    pub fn new(map: &ObjectMap<'_>, counters: &Counters, workspace: &mut Workspace) -> Result<Self, Error> {
        let mut coverage = Self {
            lines: map.slots[..map.slots.len() - 1].iter().map(LineCoverage::before_any_run).collect(),
            functions: vec![FunctionCoverage::default(); map.functions.len()],
            arcs: vec![0; map.arcs.len()],
        };
        for (index, function) in map.functions.iter().enumerate() {
            if function.is_shown() {
                coverage.add_function(map, index, counters.of(function), workspace)?;
            }
        }
        Ok(coverage)
    }

    fn add_function(
        &mut self,
        map: &ObjectMap<'_>,
        index: usize,
        counters: &[i64],
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let function = &map.functions[index];
        if counters.iter().all(|&counter| counter == 0) {
            self.add_idle_function(map, function);
            return Ok(());
        }
        let lines = &mut self.lines;
        let arcs = &mut self.arcs[map.arc_range(function)];
        self.functions[index] = solve_function(map, function, counters, arcs, workspace, |slot, piece| {
            let line = &mut lines[slot as usize];
            match piece {
                Piece::Count(count) => line.count = line.count.wrapping_add(count),
                Piece::UnexecutedBlock => line.unexecuted_block = true,
            }
        })?;
        Ok(())
    }

    /// A function that never ran has zeros everywhere; only its lines' unexecuted blocks are news.
    fn add_idle_function(&mut self, map: &ObjectMap<'_>, function: &Function) {
        let blocks = map.blocks_of(function);
        let range = blocks[0].first_reference as usize..blocks[blocks.len() - 1].first_reference as usize;
        for &reference in &map.references[range] {
            if reference % 2 == 0 {
                self.lines[(reference / 2) as usize].unexecuted_block = true;
            }
        }
    }
}

/// What a function adds to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// To its count.
    Count(i64),
    /// A block that did not run, and not for want of an exception.
    UnexecutedBlock,
}

/// Computes the counts of a function, and calls `add` with what it adds to each line's slot. `arc_counts` gets
/// the counts of its arcs.
pub(crate) fn solve_function(
    map: &ObjectMap<'_>,
    function: &Function,
    counters: &[i64],
    arc_counts: &mut [i64],
    workspace: &mut Workspace,
    mut add: impl FnMut(u32, Piece),
) -> Result<FunctionCoverage, Error> {
    let Workspace { solver, cycles } = workspace;
    let graph = Graph::of(map, function);
    let Graph { blocks, arcs, .. } = graph;
    let first_arc = blocks[0].first_arc;
    if !solver.solve(graph, counters, arc_counts) {
        return Err(Error::Unsolvable { function: function_name(map, function) });
    }
    let counts = &solver.blocks;
    let inner = &counts[1..counts.len() - 1];
    let fake_exits = arcs.iter().zip(&*arc_counts).filter(|(arc, _)| arc.is_fake() && arc.destination() == 1);
    let coverage = FunctionCoverage {
        execution_count: counts[0],
        blocks_executed: inner.iter().filter(|&&count| count != 0).count() as u32,
        return_count: fake_exits.fold(counts[1], |count, (_, &left)| count.wrapping_sub(left)),
    };
    for (number, &count) in counts.iter().enumerate() {
        let range = blocks[number].first_reference as usize..blocks[number + 1].first_reference as usize;
        for &reference in &map.references[range] {
            let (slot, exceptional) = (reference / 2, reference % 2 == 1);
            if count == 0 {
                if !exceptional {
                    add(slot, Piece::UnexecutedBlock);
                }
            } else if map.slots[slot as usize].flags & SLOT_COUNTED_BY_GROUPS == 0 {
                add(slot, Piece::Count(count));
            }
        }
    }
    for pair in map.groups_of(function).windows(2) {
        let (group, next) = (pair[0], pair[1]);
        let mut count = map.entries[group.first_entry as usize..next.first_entry as usize]
            .iter()
            .fold(0_i64, |sum, &arc| sum.wrapping_add(arc_counts[(arc - first_arc) as usize]));
        let members = &map.members[group.first_member as usize..next.first_member as usize];
        if !members.is_empty() {
            let loops = cycles.count(graph, arc_counts, members).map_err(|steps| Error::TooManyCycles {
                function: function_name(map, function),
                line: map.slots[group.slot as usize].line,
                steps,
            })?;
            count = count.wrapping_add(loops);
        }
        add(group.slot, Piece::Count(count));
    }
    Ok(coverage)
}

fn function_name(map: &ObjectMap<'_>, function: &Function) -> String {
    String::from_utf8_lossy(map.name(function)).into_owned()
}
