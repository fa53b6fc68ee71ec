//! The static map of one object: everything about its coverage that does not depend on counters.
//!
//! Built once from [`Notes`], it turns gcov's per-line bookkeeping into flat tables: which counter an arc
//! reads, which arcs enter a line, which lines hold loops, which branches a line shows. A run's counts
//! are then a few passes over these tables (see [`super::coverage`]).

use super::builder::{Builder, Detail};
use super::data::{Data, FunctionData};
use super::notes::{DESTINATION_BITS, Notes};
use super::version::Version;
use bytemuck::{Pod, Zeroable};
use std::borrow::Cow;
use std::ops::Range;

/// The counter of an arc that has none: it is on the spanning tree and gets solved.
pub const NO_COUNTER: u32 = u32::MAX;

/// A source file of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source<'a> {
    /// The canonical name, as [`crate::name_text`] writes it.
    pub name: Cow<'a, str>,
    /// The last line with code, 0 if none.
    pub last_line: u32,
    /// The functions that gcov lists for the file, in its order.
    pub functions: Cow<'a, [u32]>,
}

/// A function; all `first_*` fields index into the map's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Function {
    /// Where the name begins in the names.
    pub name_first: u32,
    /// How long it is.
    pub name_length: u32,
    /// Unique within the object.
    pub ident: u32,
    /// Checksum of name and line.
    pub lineno_checksum: u32,
    /// Checksum of the flow graph.
    pub cfg_checksum: u32,
    /// The source file it is defined in.
    pub source: u32,
    /// First line.
    pub start_line: u32,
    /// Column of the first line.
    pub start_column: u32,
    /// Last line.
    pub end_line: u32,
    /// Column of the last line.
    pub end_column: u32,
    /// `FUNCTION_*` flags.
    pub flags: u32,
    /// For a group function the space of its own lines, else the source's.
    pub space: u32,
    /// First block.
    pub first_block: u32,
    /// How many blocks.
    pub block_count: u32,
    /// First counter, counted over the object.
    pub first_counter: u32,
    /// How many counters.
    pub counter_count: u32,
    /// First line group.
    pub first_group: u32,
    /// How many line groups.
    pub group_count: u32,
}

/// Function flag: made by the compiler; gcov shows nothing of it.
pub const FUNCTION_ARTIFICIAL: u32 = 1;
/// Function flag: another function begins on the same line, so its lines are kept apart.
pub const FUNCTION_GROUP: u32 = 2;

impl Function {
    /// Does gcov show the function and its lines?
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.flags & FUNCTION_ARTIFICIAL == 0 && self.counter_count > 0
    }

    /// Does another function begin on the same line?
    #[must_use]
    pub fn is_group(&self) -> bool {
        self.flags & FUNCTION_GROUP != 0
    }
}

/// A block; its arcs and line references end where the next block's begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Block {
    /// First outgoing arc.
    pub first_arc: u32,
    /// First line reference.
    pub first_reference: u32,
}

/// An arc, ordered by destination within its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Arc {
    /// The destination within the function, above it the `ARC_*` flags.
    destination_and_flags: u32,
    /// The arc's counter within the function, or [`NO_COUNTER`].
    pub counter: u32,
}

const ARC_IS_FAKE: u32 = 1 << DESTINATION_BITS;
const ARC_IS_FALLTHROUGH: u32 = 2 << DESTINATION_BITS;
const ARC_IS_THROW: u32 = 4 << DESTINATION_BITS;

impl Arc {
    /// An arc to `destination`.
    pub(crate) fn new(destination: u32, fake: bool, fallthrough: bool, throw: bool, counter: u32) -> Self {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let flags =
            flag(fake, ARC_IS_FAKE) | flag(fallthrough, ARC_IS_FALLTHROUGH) | flag(throw, ARC_IS_THROW);
        Self { destination_and_flags: destination | flags, counter }
    }

    /// The destination block, counted within the function.
    #[must_use]
    pub fn destination(&self) -> u32 {
        self.destination_and_flags & ((1 << DESTINATION_BITS) - 1)
    }

    /// Does control never flow along the arc by itself?
    #[must_use]
    pub fn is_fake(&self) -> bool {
        self.destination_and_flags & ARC_IS_FAKE != 0
    }

    /// Is the arc taken when the branch is not?
    #[must_use]
    pub fn is_fallthrough(&self) -> bool {
        self.destination_and_flags & ARC_IS_FALLTHROUGH != 0
    }

    /// Does the arc lead to an exception handler?
    #[must_use]
    pub fn is_throw(&self) -> bool {
        self.destination_and_flags & ARC_IS_THROW != 0
    }
}

/// A line of a function on which blocks end: its count is the flow into those blocks from elsewhere plus
/// the loops among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct LineGroup {
    /// The line's slot.
    pub slot: u32,
    /// First entering arc; they end where the next group's begin.
    pub first_entry: u32,
    /// First member block; there are members only where a loop is possible.
    pub first_member: u32,
}

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Slot {
    /// The line number.
    pub line: u32,
    /// `SLOT_*` flags.
    pub flags: u32,
    /// First branch; they end where the next slot's begin.
    pub first_branch: u32,
}

/// Slot flag: blocks end on the line, so line groups count it; else the counts of its blocks are summed.
pub const SLOT_COUNTED_BY_GROUPS: u32 = 1;
/// Slot flag: the line is reachable without an exception.
pub const SLOT_UNEXCEPTIONAL: u32 = 2;
/// Slot flag: a function that never ran, and whose graph the map leaves out, has a block on the line.
pub const SLOT_IDLE: u32 = 4;

/// The static map of one object. Tables whose entries end where the next one begins have a closing entry.
///
/// The tables are owned when built from notes, and borrowed when they lie in an atlas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMap<'a> {
    /// The notes' format version.
    pub version: Version,
    /// The notes' stamp.
    pub stamp: u32,
    /// The directory the compiler ran in, empty if unknown.
    pub cwd: Cow<'a, str>,
    /// The notes' word on whether annotated text marks lines with unexecuted blocks.
    pub marks_unexecuted_blocks: bool,
    /// The notes are clang's.
    pub is_clang: bool,
    /// The source files, in order of appearance.
    pub sources: Vec<Source<'a>>,
    /// All function names.
    pub names: Cow<'a, [u8]>,
    /// The functions, in order of appearance.
    pub functions: Cow<'a, [Function]>,
    /// The blocks of all functions, and a closing one.
    pub blocks: Cow<'a, [Block]>,
    /// The arcs of all blocks.
    pub arcs: Cow<'a, [Arc]>,
    /// The slots of the lines of all blocks, times two, plus one if the block is exceptional.
    pub references: Cow<'a, [u32]>,
    /// The line groups of all functions, and a closing one.
    pub groups: Cow<'a, [LineGroup]>,
    /// The arcs that enter each group.
    pub entries: Cow<'a, [u32]>,
    /// The blocks of each group that may hold a loop, counted within the function.
    pub members: Cow<'a, [u32]>,
    /// The lines, in order of space and line, and a closing one.
    pub slots: Cow<'a, [Slot]>,
    /// First slot of each space: the sources, then the group functions; and a closing entry.
    pub spaces: Cow<'a, [u32]>,
    /// The arcs shown as branches of each line.
    pub branches: Cow<'a, [u32]>,
    /// How many counters all functions have.
    pub counter_count: u32,
}

impl ObjectMap<'_> {
    /// Builds the map. `exists` is [`canonical_name`](super::canonical::canonical_name)'s.
    #[must_use]
    pub fn new(notes: &Notes<'_>, exists: &dyn Fn(&str) -> bool) -> ObjectMap<'static> {
        Builder::new(notes, exists, Detail::Whole).build()
    }

    /// Builds as much of the map as the report of one run needs: the flow graphs of functions that never ran
    /// are left out. Where branches are shown, the whole map is needed.
    #[must_use]
    pub fn for_run(
        notes: &Notes<'_>,
        exists: &dyn Fn(&str) -> bool,
        data: Option<&Data>,
    ) -> ObjectMap<'static> {
        let ran = |function: &&FunctionData| {
            data.is_some_and(|data| data.counters(function).iter().any(|&counter| counter != 0))
        };
        let functions = data.map_or(&[][..], |data| &data.functions);
        let idents = functions.iter().filter(ran).map(|function| function.ident).collect();
        Builder::new(notes, exists, Detail::Only(&idents)).build()
    }

    /// A function's (mangled) name.
    #[must_use]
    pub fn name(&self, function: &Function) -> &[u8] {
        let first = function.name_first as usize;
        &self.names[first..first + function.name_length as usize]
    }

    /// A function's blocks, and the one after them, which closes the last.
    #[must_use]
    pub fn blocks_of(&self, function: &Function) -> &[Block] {
        let first = function.first_block as usize;
        &self.blocks[first..=first + function.block_count as usize]
    }

    /// Where a function's arcs lie among those of the object.
    #[must_use]
    pub fn arc_range(&self, function: &Function) -> Range<usize> {
        let blocks = self.blocks_of(function);
        blocks[0].first_arc as usize..blocks[blocks.len() - 1].first_arc as usize
    }

    /// A function's line groups, and the one after them, which closes the last.
    #[must_use]
    pub fn groups_of(&self, function: &Function) -> &[LineGroup] {
        let first = function.first_group as usize;
        &self.groups[first..=first + function.group_count as usize]
    }

    /// The slots of a space.
    #[must_use]
    pub fn space_slots(&self, space: u32) -> Range<usize> {
        self.spaces[space as usize] as usize..self.spaces[space as usize + 1] as usize
    }

    /// The arcs shown as branches of a line.
    #[must_use]
    pub fn slot_branches(&self, slot: usize) -> &[u32] {
        &self.branches[self.slots[slot].first_branch as usize..self.slots[slot + 1].first_branch as usize]
    }
}
