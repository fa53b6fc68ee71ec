//! Builds an [`ObjectMap`] from notes.
//!
//! First the functions with their counters and groups, then a slot for every line, then block by block the
//! arcs and the lines, then for each line of a function the arcs that enter it.

use super::canonical::canonical_name;
use super::exceptional::{ExceptionalBlocks, calls};
use super::line_table::{Entries, LineTable};
use super::notes::{ARC_FAKE, ARC_FALLTHROUGH, ARC_ON_TREE, ArcNotes, FunctionNotes, Notes};
use super::object_map::{
    Arc, Block, FUNCTION_ARTIFICIAL, FUNCTION_GROUP, Function, LineGroup, NO_COUNTER, ObjectMap,
    SLOT_COUNTED_BY_GROUPS, SLOT_IDLE, SLOT_UNEXCEPTIONAL, Slot, Source,
};
use super::sort;
use crate::name_text;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// Canonical sources, and for each name in the notes the source it stands for.
fn canonical_sources(notes: &Notes<'_>, exists: &dyn Fn(&str) -> bool) -> (Vec<SourceInProgress>, Vec<u32>) {
    let mut sources: Vec<SourceInProgress> = Vec::new();
    let mut known: FxHashMap<String, u32> = FxHashMap::default();
    let mut ids = Vec::with_capacity(notes.sources.len());
    for raw in &notes.sources {
        let raw = name_text::from_bytes(raw);
        if let Some(&id) = known.get(raw.as_ref()) {
            ids.push(id);
            continue;
        }
        let name = canonical_name(&raw, exists);
        let id = *known.entry(name.clone()).or_insert_with(|| {
            sources.push(SourceInProgress { name, last_line: 0, functions: Vec::new() });
            sources.len() as u32 - 1
        });
        known.insert(raw.into_owned(), id);
        ids.push(id);
    }
    (sources, ids)
}

/// Which functions' flow graphs go into the map.
pub(crate) enum Detail<'n> {
    /// All.
    Whole,
    /// Those of functions with these idents; the others are only known by their lines.
    Only(&'n FxHashSet<u32>),
}

/// Turns notes into a map.
pub(crate) struct Builder<'n, 'a> {
    notes: &'n Notes<'a>,
    /// For each name in the notes the source it stands for.
    source_ids: Vec<u32>,
    sources: Vec<SourceInProgress>,
    names: Vec<u8>,
    functions: Vec<Function>,
    blocks: Vec<Block>,
    arcs: Vec<Arc>,
    references: Vec<u32>,
    groups: Vec<LineGroup>,
    entries: Vec<u32>,
    members: Vec<u32>,
    slots: Vec<Slot>,
    branches: Vec<u32>,
    counter_count: u32,
    detail: Detail<'n>,
    /// The blocks of the current function that only an exception leads to.
    exceptional: ExceptionalBlocks,
    /// (slot, block) of the current function: on which line each block ends.
    ends: Vec<(u32, u32)>,
    scratch: Scratch,
}

struct SourceInProgress {
    name: String,
    last_line: u32,
    functions: Vec<u32>,
}

/// Per-function workspace, kept to save allocations.
#[derive(Default)]
struct Scratch {
    /// Start of each block's incoming arcs in `incoming`.
    incoming_first: Vec<u32>,
    /// (source block, arc) by destination block.
    incoming: Vec<(u32, u32)>,
    /// The last group each block was found a member of.
    member_of: Vec<u32>,
    /// (slot, arc) of all branches of the object.
    branches: Vec<(u32, u32)>,
}

impl<'n, 'a> Builder<'n, 'a> {
    /// A builder that has the sources of the notes; `exists` is [`canonical_name`]'s.
    pub fn new(notes: &'n Notes<'a>, exists: &dyn Fn(&str) -> bool, detail: Detail<'n>) -> Self {
        let (sources, source_ids) = canonical_sources(notes, exists);
        Self {
            notes,
            source_ids,
            sources,
            names: Vec::new(),
            functions: Vec::with_capacity(notes.functions.len()),
            blocks: Vec::with_capacity(notes.blocks.len() + 1),
            arcs: Vec::with_capacity(notes.arcs.len()),
            references: Vec::with_capacity(notes.lines.len()),
            groups: Vec::with_capacity(notes.blocks.len()),
            entries: Vec::with_capacity(notes.arcs.len()),
            members: Vec::new(),
            slots: Vec::new(),
            branches: Vec::new(),
            counter_count: 0,
            detail,
            exceptional: ExceptionalBlocks::default(),
            ends: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Builds the map.
    pub fn build(mut self) -> ObjectMap<'static> {
        self.functions();
        self.list_functions();
        let table = self.line_table();
        self.lay_out(&table);
        // The names lie among words in an atlas.
        self.names.resize(self.names.len().next_multiple_of(4), 0);
        let finish = |source: SourceInProgress| Source {
            name: source.name.into(),
            last_line: source.last_line,
            functions: source.functions.into(),
        };
        ObjectMap {
            version: self.notes.version,
            stamp: self.notes.stamp,
            cwd: name_text::from_bytes(self.notes.cwd.unwrap_or_default()).into_owned().into(),
            marks_unexecuted_blocks: self.notes.marks_unexecuted_blocks,
            is_clang: self.notes.is_clang,
            sources: self.sources.into_iter().map(finish).collect(),
            names: self.names.into(),
            functions: self.functions.into(),
            blocks: self.blocks.into(),
            arcs: self.arcs.into(),
            references: self.references.into(),
            groups: self.groups.into(),
            entries: self.entries.into(),
            members: self.members.into(),
            slots: self.slots.into(),
            spaces: table.first_slots.into(),
            branches: self.branches.into(),
            counter_count: self.counter_count,
        }
    }

    /// Fills in the functions with their identity, counters and spaces.
    fn functions(&mut self) {
        let notes = self.notes;
        let mut at_start: FxHashMap<(u32, u32), usize> =
            FxHashMap::with_capacity_and_hasher(notes.functions.len(), FxBuildHasher);
        let mut next_counter = 0;
        for function in &notes.functions {
            let index = self.functions.len();
            let mut mapped = self.function(function);
            mapped.first_counter = next_counter;
            next_counter += mapped.counter_count;
            if !function.artificial {
                let start = (mapped.source, mapped.start_line);
                let first = *at_start.entry(start).or_insert(index);
                if first != index {
                    self.functions[first].flags |= FUNCTION_GROUP;
                    mapped.flags |= FUNCTION_GROUP;
                }
            }
            self.functions.push(mapped);
        }
        self.counter_count = next_counter;
        let mut next_space = self.sources.len() as u32;
        for function in &mut self.functions {
            if function.is_group() && function.is_shown() {
                function.space = next_space;
                next_space += 1;
            }
        }
    }

    fn function(&mut self, function: &FunctionNotes<'_>) -> Function {
        let name_first = self.names.len() as u32;
        self.names.extend_from_slice(function.name);
        let source = self.source_ids[function.source as usize];
        Function {
            name_first,
            name_length: function.name.len() as u32,
            ident: function.ident,
            lineno_checksum: function.lineno_checksum,
            cfg_checksum: function.cfg_checksum,
            source,
            start_line: function.start_line,
            start_column: function.start_column,
            end_line: function.end_line,
            end_column: function.end_column,
            flags: if function.artificial { FUNCTION_ARTIFICIAL } else { 0 },
            space: source,
            first_block: function.first_block,
            block_count: function.block_count,
            first_counter: 0,
            counter_count: function.counter_count,
            first_group: 0,
            group_count: 0,
        }
    }

    /// Lists each source's functions in gcov's order.
    fn list_functions(&mut self) {
        for (index, function) in self.functions.iter().enumerate() {
            if function.is_shown() {
                self.sources[function.source as usize].functions.push(index as u32);
            }
        }
        let functions = &self.functions;
        let start = |index: u32| {
            let function = &functions[index as usize];
            (function.start_line, function.start_column)
        };
        for source in &mut self.sources {
            sort::sort_by_key(&mut source.functions, |&index| start(index));
        }
    }

    /// The space a line of a function belongs to.
    fn space(&self, function: &Function, source: u32, line: u32) -> u32 {
        let own = function.is_group()
            && source == function.source
            && (function.start_line..=function.end_line).contains(&line);
        if own { function.space } else { source }
    }

    fn line_table(&mut self) -> LineTable {
        let notes = self.notes;
        let groups = self.functions.iter().filter(|f| f.is_group() && f.is_shown()).count();
        let mut entries = Entries::new(self.sources.len() + groups, notes.lines.len());
        for (index, function) in notes.functions.iter().enumerate() {
            let mapped = self.functions[index];
            if !mapped.is_shown() {
                continue;
            }
            for block in &notes.blocks[function.blocks()] {
                for location in notes.locations_of(block) {
                    let source = self.source_ids[location.source as usize];
                    let lines = notes.lines_of(location);
                    if mapped.is_group() {
                        for &line in lines {
                            entries.add(self.space(&mapped, source, line), &[line]);
                        }
                    } else {
                        entries.add(source, lines);
                    }
                    let last_line = &mut self.sources[source as usize].last_line;
                    *last_line = lines.iter().fold(*last_line, |last, &line| last.max(line));
                }
            }
        }
        LineTable::new(&entries)
    }

    /// Fills in blocks, arcs, references, groups and slots.
    fn lay_out(&mut self, table: &LineTable) {
        let slot = |&line| Slot { line, flags: 0, first_branch: 0 };
        self.slots = table.lines.iter().map(slot).collect();
        self.slots.push(Slot { line: 0, flags: 0, first_branch: 0 });
        for index in 0..self.notes.functions.len() {
            self.lay_out_function(index, table);
        }
        self.blocks
            .push(Block { first_arc: self.arcs.len() as u32, first_reference: self.references.len() as u32 });
        self.groups.push(LineGroup {
            slot: 0,
            first_entry: self.entries.len() as u32,
            first_member: self.members.len() as u32,
        });
        self.lay_out_branches();
    }

    fn lay_out_function(&mut self, index: usize, table: &LineTable) {
        let notes = self.notes;
        let function = &notes.functions[index];
        let mapped = self.functions[index];
        let has_graph = match self.detail {
            Detail::Whole => true,
            Detail::Only(idents) => idents.contains(&function.ident),
        };
        self.exceptional.find(notes, function);
        self.ends.clear();
        let first_arc = self.arcs.len();
        let mut next_counter = 0;
        for (number, block) in notes.blocks[function.blocks()].iter().enumerate() {
            let number = number as u32;
            self.blocks.push(Block {
                first_arc: self.arcs.len() as u32,
                first_reference: self.references.len() as u32,
            });
            if has_graph {
                next_counter = self.lay_out_arcs(number, notes.arcs_of(block), next_counter);
            }
            if mapped.is_shown() {
                self.lay_out_lines(&mapped, number, table, has_graph);
            }
        }
        let first_group = self.groups.len() as u32;
        if !self.ends.is_empty() {
            self.lay_out_groups(&mapped, first_arc);
        }
        let group_count = self.groups.len() as u32 - first_group;
        let mapped = &mut self.functions[index];
        (mapped.first_group, mapped.group_count) = (first_group, group_count);
    }

    /// Appends the arcs of a block by destination, with counters in the order of the notes.
    fn lay_out_arcs(&mut self, block: u32, arcs: &[ArcNotes], mut next_counter: u32) -> u32 {
        let calls = calls(block, arcs);
        let begin = self.arcs.len();
        for arc in arcs {
            let counter = if arc.flags & ARC_ON_TREE != 0 {
                NO_COUNTER
            } else {
                next_counter += 1;
                next_counter - 1
            };
            let fake = arc.flags & ARC_FAKE != 0;
            let fallthrough = arc.flags & ARC_FALLTHROUGH != 0;
            // Next to a call that may not return, what does not fall through must lead to a handler.
            let throw = calls && !fake && !fallthrough;
            self.arcs.push(Arc::new(arc.destination, fake, fallthrough, throw, counter));
        }
        let own = &mut self.arcs[begin..];
        if !own.is_sorted_by_key(Arc::destination) {
            own.sort_by_key(Arc::destination);
        }
        next_counter
    }

    /// Appends the line references of a block, and notes on which lines it ends.
    fn lay_out_lines(&mut self, function: &Function, number: u32, table: &LineTable, has_graph: bool) {
        let notes = self.notes;
        let block = &notes.blocks[(function.first_block + number) as usize];
        let exceptional = self.exceptional.contains(number);
        // gcov counts no block at either end of the list, even where the last one is not the exit.
        let inner = number != 0 && number + 1 != function.block_count;
        let flags = match (exceptional, has_graph) {
            (true, _) => 0,
            (false, true) => SLOT_UNEXCEPTIONAL,
            (false, false) => SLOT_UNEXCEPTIONAL | SLOT_IDLE,
        };
        let mut last = None;
        for location in notes.locations_of(block) {
            let source = self.source_ids[location.source as usize];
            let lines = notes.lines_of(location);
            let mut largest = 0;
            for &line in lines {
                let slot = table.slot(self.space(function, source, line), line);
                if has_graph {
                    self.references.push(slot * 2 + u32::from(exceptional));
                }
                self.slots[slot as usize].flags |= flags;
                if line >= largest {
                    largest = line;
                    last = Some(slot);
                }
            }
            // A location without lines repeats the one before it.
            if let (true, Some(slot)) = (inner, last) {
                self.slots[slot as usize].flags |= SLOT_COUNTED_BY_GROUPS;
                if has_graph {
                    self.ends.push((slot, number));
                    self.note_branches(slot);
                }
            }
        }
    }

    /// Notes the branches at the end of the block that was laid out last.
    fn note_branches(&mut self, slot: u32) {
        let first = self.blocks.last().map_or(0, |block| block.first_arc);
        let arcs = &self.arcs[first as usize..];
        // A single way on is unconditional; the fake arcs are calls that do not return.
        if arcs.iter().filter(|arc| !arc.is_fake()).count() < 2 {
            return;
        }
        for (offset, arc) in arcs.iter().enumerate() {
            if !arc.is_fake() {
                self.scratch.branches.push((slot, first + offset as u32));
            }
        }
    }

    /// Appends the line groups of a function whose arcs begin at `first_arc`.
    fn lay_out_groups(&mut self, function: &Function, first_arc: usize) {
        self.index_incoming(function, first_arc);
        // Blocks were come by in order, so this keeps their order on each line.
        self.ends.sort();
        let Scratch { incoming_first, incoming, member_of, .. } = &mut self.scratch;
        member_of.clear();
        member_of.resize(function.block_count as usize, u32::MAX);
        for run in self.ends.chunk_by(|a, b| a.0 == b.0) {
            let slot = run[0].0;
            self.groups.push(LineGroup {
                slot,
                first_entry: self.entries.len() as u32,
                first_member: self.members.len() as u32,
            });
            for &(_, block) in run {
                member_of[block as usize] = slot;
            }
            let mut may_loop = false;
            for &(_, block) in run {
                let range = incoming_first[block as usize]..incoming_first[block as usize + 1];
                for &(source, arc) in &incoming[range.start as usize..range.end as usize] {
                    if member_of[source as usize] == slot {
                        may_loop |= source >= block;
                    } else {
                        self.entries.push(arc);
                    }
                }
            }
            if may_loop {
                self.members.extend(run.iter().map(|&(_, block)| block));
            }
        }
    }

    /// Indexes the incoming arcs of each block of a function.
    fn index_incoming(&mut self, function: &Function, first_arc: usize) {
        let Scratch { incoming_first, incoming, .. } = &mut self.scratch;
        let arcs = &self.arcs[first_arc..];
        let count = function.block_count as usize;
        incoming_first.clear();
        incoming_first.resize(count + 1, 0);
        for arc in arcs {
            incoming_first[arc.destination() as usize] += 1;
        }
        let mut total = 0;
        for first in incoming_first.iter_mut() {
            total += *first;
            *first = total;
        }
        incoming.clear();
        incoming.resize(arcs.len(), (0, 0));
        let blocks = &self.blocks[self.blocks.len() - count..];
        for number in (0..count).rev() {
            let begin = blocks[number].first_arc as usize;
            let end = blocks.get(number + 1).map_or(self.arcs.len(), |next| next.first_arc as usize);
            for arc in (begin..end).rev() {
                let place = &mut incoming_first[self.arcs[arc].destination() as usize];
                *place -= 1;
                incoming[*place as usize] = (number as u32, arc as u32);
            }
        }
    }

    /// Sorts the noted branches into the slots, keeping their order.
    fn lay_out_branches(&mut self) {
        let noted = &self.scratch.branches;
        let slots = &mut self.slots;
        for &(slot, _) in noted {
            slots[slot as usize].first_branch += 1;
        }
        let mut total = 0;
        for slot in slots.iter_mut() {
            total += slot.first_branch;
            slot.first_branch = total;
        }
        self.branches.resize(noted.len(), 0);
        for &(slot, arc) in noted.iter().rev() {
            let place = &mut slots[slot as usize].first_branch;
            *place -= 1;
            self.branches[*place as usize] = arc;
        }
    }
}
