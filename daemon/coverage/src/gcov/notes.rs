//! The reader of .gcno files: functions, blocks, arcs and lines as the compiler saw them.
//!
//! The contents are kept in flat arrays that functions and blocks index into, so that reading a file of a
//! million arcs allocates a handful of times.

use super::error::Error;
use super::records::{Reader, Record, unpadded};
use super::version::Version;
use rustc_hash::FxHashMap;
use std::ops::Range;

const MAGIC: u32 = u32::from_be_bytes(*b"gcno");
const TAG_FUNCTION: u32 = 0x0100_0000;
const TAG_BLOCKS: u32 = 0x0141_0000;
const TAG_ARCS: u32 = 0x0143_0000;
const TAG_LINES: u32 = 0x0145_0000;
const TAG_CONDITIONS: u32 = 0x0147_0000;
const TAG_PATHS: u32 = 0x0149_0000;

/// The first version whose records are not all known: GCC 16.
const FIRST_UNKNOWN: u32 = 160;

/// Arc flag: the arc is on the spanning tree, so it has no counter.
pub const ARC_ON_TREE: u32 = 1;
/// Arc flag: control does not flow along the arc by itself (a call that may not return, a longjmp target).
pub const ARC_FAKE: u32 = 2;
/// Arc flag: the arc is taken when a branch is not.
pub const ARC_FALLTHROUGH: u32 = 4;

/// Block numbers are below two to this power, so that flags fit beside them in a word.
pub(crate) const DESTINATION_BITS: u32 = 29;

/// The block every function is entered by.
pub const ENTRY_BLOCK: u32 = 0;
/// The block every function is left by.
pub const EXIT_BLOCK: u32 = 1;

/// The contents of a .gcno file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notes<'a> {
    /// The format version.
    pub version: Version,
    /// Ties the notes to the data of the same compilation.
    pub stamp: u32,
    /// The directory the compiler ran in, if recorded (GCC 9 and later).
    pub cwd: Option<&'a [u8]>,
    /// May a line that ran be marked for blocks that did not? Compilers before GCC 8 split blocks too finely.
    pub marks_unexecuted_blocks: bool,
    /// Written by clang: the file has an end marker, which GCC's have not. Clang leaves a block that is never
    /// left without arcs, where GCC adds a fake arc to the exit.
    pub is_clang: bool,
    /// The source file names as spelled, in order of appearance.
    pub sources: Vec<&'a [u8]>,
    /// The functions, in order of appearance.
    pub functions: Vec<FunctionNotes<'a>>,
    /// The blocks of all functions.
    pub blocks: Vec<BlockNotes>,
    /// The outgoing arcs of all blocks.
    pub arcs: Vec<ArcNotes>,
    /// The locations of all blocks.
    pub locations: Vec<Location>,
    /// The lines of all locations.
    pub lines: Vec<u32>,
}

/// A function record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionNotes<'a> {
    /// Unique within the object.
    pub ident: u32,
    /// Checksum of name and line.
    pub lineno_checksum: u32,
    /// Checksum of the flow graph.
    pub cfg_checksum: u32,
    /// The (mangled) name.
    pub name: &'a [u8],
    /// Made by the compiler, not in the source.
    pub artificial: bool,
    /// Index into [`Notes::sources`].
    pub source: u32,
    /// First line.
    pub start_line: u32,
    /// Column of the first line; 0 before GCC 8.
    pub start_column: u32,
    /// Last line; the first line before GCC 8.
    pub end_line: u32,
    /// Column of the last line; 0 before GCC 9.
    pub end_column: u32,
    /// Index of the first block in [`Notes::blocks`].
    pub first_block: u32,
    /// How many blocks.
    pub block_count: u32,
    /// How many arcs are off the spanning tree, and so have a counter.
    pub counter_count: u32,
    /// Some block may both not return from a call and go elsewhere than on: to an exception's handler.
    pub catches: bool,
}

impl FunctionNotes<'_> {
    /// Where its blocks lie in [`Notes::blocks`].
    #[must_use]
    pub fn blocks(&self) -> Range<usize> {
        let first = self.first_block as usize;
        first..first + self.block_count as usize
    }
}

/// A block: ranges of its arcs and locations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockNotes {
    /// Index of the first outgoing arc in [`Notes::arcs`].
    pub first_arc: u32,
    /// How many outgoing arcs.
    pub arc_count: u32,
    /// Index of the first location in [`Notes::locations`].
    pub first_location: u32,
    /// How many locations.
    pub location_count: u32,
}

/// An outgoing arc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArcNotes {
    /// The destination, counted within the function.
    pub destination: u32,
    /// `ARC_*` flags.
    pub flags: u32,
}

/// Lines of one source file within a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Index into [`Notes::sources`].
    pub source: u32,
    /// Index of the first line in [`Notes::lines`].
    pub first_line: u32,
    /// How many lines.
    pub line_count: u32,
}

impl<'a> Notes<'a> {
    /// Reads a whole file.
    ///
    /// # Errors
    /// If the bytes are not a well-formed .gcno file.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        // Everything in the file can then be counted in 32 bits.
        if u32::try_from(bytes.len()).is_err() {
            let value = bytes.len() as u64;
            return Err(Error::Corrupt { what: "size of the file", offset: 0, value });
        }
        let (mut reader, version) = Reader::open(bytes, MAGIC, ".gcno")?;
        let stamp = reader.word("stamp")?;
        if version.at_least(120) {
            reader.word("checksum")?;
        }
        let cwd = if version.at_least(90) { reader.string("working directory")? } else { None };
        let marks_unexecuted_blocks = version.at_least(80) && reader.word("unexecuted blocks flag")? != 0;
        let notes = Self {
            version,
            stamp,
            cwd,
            marks_unexecuted_blocks,
            is_clang: false,
            sources: Vec::new(),
            functions: Vec::new(),
            // About what real files hold for their size; growing to it would copy the tables several times.
            blocks: Vec::with_capacity(bytes.len() / 80),
            arcs: Vec::with_capacity(bytes.len() / 60),
            locations: Vec::with_capacity(bytes.len() / 120),
            lines: Vec::with_capacity(bytes.len() / 100),
        };
        let mut parser =
            Parser { notes, source_ids: FxHashMap::default(), last_source: (b"", 0), file_size: bytes.len() };
        let mut last_end = reader.offset();
        while let Some(record) = reader.record()? {
            parser.record(record)?;
            last_end = reader.offset();
        }
        parser.notes.is_clang = last_end < bytes.len();
        parser.finish()
    }

    /// The outgoing arcs of a block.
    #[must_use]
    pub fn arcs_of(&self, block: &BlockNotes) -> &[ArcNotes] {
        &self.arcs[block.first_arc as usize..][..block.arc_count as usize]
    }

    /// The locations of a block.
    #[must_use]
    pub fn locations_of(&self, block: &BlockNotes) -> &[Location] {
        &self.locations[block.first_location as usize..][..block.location_count as usize]
    }

    /// The lines of a location.
    #[must_use]
    pub fn lines_of(&self, location: &Location) -> &[u32] {
        &self.lines[location.first_line as usize..][..location.line_count as usize]
    }
}

struct Parser<'a> {
    notes: Notes<'a>,
    source_ids: FxHashMap<&'a [u8], u32>,
    /// The source named last, as it stands in the file, and its index.
    last_source: (&'a [u8], u32),
    file_size: usize,
}

impl<'a> Parser<'a> {
    fn record(&mut self, record: Record<'a>) -> Result<(), Error> {
        match record.tag {
            TAG_FUNCTION => self.function(record),
            TAG_BLOCKS => self.blocks(record),
            TAG_ARCS => self.arcs(record),
            TAG_LINES => self.lines(record),
            TAG_CONDITIONS if self.notes.version.at_least(140) => Ok(()),
            TAG_PATHS if self.notes.version.at_least(150) => Ok(()),
            // What compilers yet to come may add is passed over; in older files it is damage.
            _ if self.notes.version.at_least(FIRST_UNKNOWN) => Ok(()),
            tag => Err(corrupt("record tag", record.offset, tag)),
        }
    }

    fn function(&mut self, record: Record<'a>) -> Result<(), Error> {
        let version = self.notes.version;
        let mut body = record.body;
        let ident = body.word("function ident")?;
        let lineno_checksum = body.word("line checksum")?;
        let cfg_checksum = body.word("graph checksum")?;
        let name = body.string("function name")?.unwrap_or(b"");
        let artificial = version.at_least(80) && body.word("artificial flag")? != 0;
        let source = body.padded_string("source name")?;
        let source = self.source(source.unwrap_or(b"<unknown>"));
        let start_line = body.word("start line")?;
        let (mut start_column, mut end_line, mut end_column) = (0, start_line, 0);
        if version.at_least(80) {
            start_column = body.word("start column")?;
            end_line = body.word("end line")?;
        }
        if version.at_least(90) {
            end_column = body.word("end column")?;
        }
        self.check_consumed(&body)?;
        let first_block = self.notes.blocks.len() as u32;
        self.notes.functions.push(FunctionNotes {
            ident,
            lineno_checksum,
            cfg_checksum,
            name,
            artificial,
            source,
            start_line,
            start_column,
            end_line,
            end_column,
            first_block,
            block_count: 0,
            counter_count: 0,
            catches: false,
        });
        Ok(())
    }

    fn blocks(&mut self, mut record: Record<'a>) -> Result<(), Error> {
        let is_counted = self.notes.version.at_least(80);
        let count = if is_counted {
            record.body.word("block count")? as usize
        } else {
            // One flag word for each block.
            record.body.remaining() / 4
        };
        if is_counted {
            self.check_consumed(&record.body)?;
        }
        let Some(function) = self.notes.functions.last_mut() else {
            return Err(corrupt("block count without a function", record.offset, count as u32));
        };
        if function.block_count != 0 {
            return Err(corrupt("second block count of a function", record.offset, function.block_count));
        }
        // Every block but the exit has at least one arc, so an honest file is larger than its block count.
        let too_many = count >> DESTINATION_BITS != 0 || self.notes.blocks.len() + count > self.file_size;
        if count < 2 || too_many {
            return Err(corrupt("block count", record.offset, count as u32));
        }
        function.block_count = count as u32;
        self.notes.blocks.resize(self.notes.blocks.len() + count, BlockNotes::default());
        Ok(())
    }

    /// The index of the block that an ARCS or LINES record speaks of.
    #[inline]
    fn block(&self, number: u32, offset: usize) -> Result<usize, Error> {
        match self.notes.functions.last() {
            Some(function) if number < function.block_count => Ok((function.first_block + number) as usize),
            _ => Err(corrupt("block number", offset, number)),
        }
    }

    fn arcs(&mut self, mut record: Record<'a>) -> Result<(), Error> {
        let block_count = self.notes.functions.last().map_or(0, |function| function.block_count);
        let source = record.body.word("arc source")?;
        let first_arc = self.notes.arcs.len() as u32;
        let arc_count = (record.body.remaining() / 8) as u32;
        let index = self.block(source, record.offset)?;
        let block = &mut self.notes.blocks[index];
        if block.arc_count != 0 {
            return Err(corrupt("block with a second list of arcs", record.offset, source));
        }
        (block.first_arc, block.arc_count) = (first_arc, arc_count);
        let (mut counters, mut fake, mut plain) = (0, false, false);
        for (destination, flags) in record.body.pairs() {
            if destination >= block_count {
                return Err(corrupt("arc destination", record.offset, destination));
            }
            counters += u32::from(flags & ARC_ON_TREE == 0);
            fake |= flags & ARC_FAKE != 0;
            plain |= flags & (ARC_FAKE | ARC_FALLTHROUGH) == 0;
            self.notes.arcs.push(ArcNotes { destination, flags });
        }
        if let Some(function) = self.notes.functions.last_mut() {
            function.counter_count += counters;
            function.catches |= fake && plain && source != ENTRY_BLOCK;
        }
        self.check_consumed(&record.body)
    }

    fn lines(&mut self, mut record: Record<'a>) -> Result<(), Error> {
        let number = record.body.word("block number")?;
        let first_location = self.notes.locations.len() as u32;
        let index = self.block(number, record.offset)?;
        if self.notes.blocks[index].location_count != 0 {
            return Err(corrupt("block with a second list of lines", record.offset, number));
        }
        loop {
            let line = record.body.word("line number")?;
            if line != 0 {
                let Some(location) = self.notes.locations[first_location as usize..].last_mut() else {
                    return Err(corrupt("line without a file", record.offset, line));
                };
                location.line_count += 1;
                self.notes.lines.push(line);
                continue;
            }
            let Some(name) = record.body.padded_string("source name")? else { break };
            let source = self.source(name);
            let first_line = self.notes.lines.len() as u32;
            self.notes.locations.push(Location { source, first_line, line_count: 0 });
        }
        self.check_consumed(&record.body)?;
        let location_count = self.notes.locations.len() as u32 - first_location;
        let block = &mut self.notes.blocks[index];
        (block.first_location, block.location_count) = (first_location, location_count);
        Ok(())
    }

    /// A record that is longer than its contents has a damaged length.
    fn check_consumed(&self, body: &Reader<'_>) -> Result<(), Error> {
        if body.remaining() == 0 || self.notes.version.at_least(FIRST_UNKNOWN) {
            return Ok(());
        }
        Err(corrupt("bytes left over in a record", body.offset(), body.remaining() as u32))
    }

    #[inline]
    fn source(&mut self, padded: &'a [u8]) -> u32 {
        // Most records name the file of the record before.
        if self.last_source.0 != padded {
            self.last_source = (padded, self.find_source(unpadded(padded)));
        }
        self.last_source.1
    }

    fn find_source(&mut self, name: &'a [u8]) -> u32 {
        let sources = &mut self.notes.sources;
        *self.source_ids.entry(name).or_insert_with(|| {
            sources.push(name);
            sources.len() as u32 - 1
        })
    }

    /// A function cut off after its first record would otherwise count as never executed.
    fn finish(self) -> Result<Notes<'a>, Error> {
        for function in &self.notes.functions {
            if function.block_count == 0 {
                return Err(Error::Truncated {
                    what: "function without blocks",
                    offset: self.file_size,
                    needed: 4,
                    available: 0,
                });
            }
        }
        Ok(self.notes)
    }
}

#[cold]
fn corrupt(what: &'static str, offset: usize, value: u32) -> Error {
    Error::Corrupt { what, offset, value: u64::from(value) }
}
