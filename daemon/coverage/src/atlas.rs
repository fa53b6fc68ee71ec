//! A subject's static map: the maps of all its objects in one file that is used in place.
//!
//! Every object, function, counter, block and line has a dense id over the whole subject: an object's
//! functions, counters and blocks follow those of the object before it. A line is a line of a source file,
//! however many objects and template instances share it.
//!
//! The file is a sequence of 32-bit little-endian words, so it can be mapped into memory and read without
//! copying. Opening it looks at the head and the directory alone; an object's tables are checked, checksum
//! and indices, the first time the object is asked for.

mod check;
mod encode;

pub use encode::{NamedMap, encode};

use crate::gcov::error::Error;
use crate::gcov::object_map::{Block, Function, ObjectMap, Source};
use crate::gcov::version::Version;
use bytemuck::{Pod, Zeroable};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

const MAGIC: [u8; 8] = *b"hearthAT";
/// Grows when the layout changes; a file of another format is built anew.
const FORMAT: u32 = 1;
/// How many tables an object has.
const TABLE_COUNT: usize = 12;

/// A range of words (or of bytes, for text).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Span {
    first: u32,
    count: u32,
}

/// The head of the file.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Head {
    magic: [u8; 8],
    format: u32,
    /// Length of the file in words.
    word_count: u32,
    /// What the atlas was made from, to tell when it is out of date.
    fingerprint: [u32; 2],
    function_count: u32,
    counter_count: u32,
    block_count: u32,
    arc_count: u32,
    objects: Span,
    /// Global source names: spans of text.
    sources: Span,
    /// Global lines: source and number.
    lines: Span,
    /// All text.
    text: Span,
}

/// The directory entry of an object.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ObjectRecord {
    name: Span,
    cwd: Span,
    version: u32,
    stamp: u32,
    marks_unexecuted_blocks: u32,
    is_clang: u32,
    counter_count: u32,
    first_function: u32,
    first_counter: u32,
    first_block: u32,
    sources: Span,
    /// Of the tables' bytes.
    checksum: [u32; 2],
    /// Where all tables together lie.
    whole: Span,
    tables: [Span; TABLE_COUNT],
}

/// A source file of one object.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct SourceRecord {
    /// The name as the object spells it.
    name: Span,
    /// The id over the whole subject.
    id: u32,
    last_line: u32,
    functions: Span,
}

/// A line of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct LineId {
    /// The source's id.
    pub source: u32,
    /// The line number.
    pub number: u32,
}

/// An atlas in use.
#[derive(Debug)]
pub struct Atlas<'a> {
    words: &'a [u32],
    head: Head,
    objects: &'a [ObjectRecord],
    sources: &'a [Span],
    lines: &'a [LineId],
    text: &'a [u8],
    /// Objects whose tables have been checked.
    checked: Vec<AtomicBool>,
}

/// An object's place in the dense ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectIds {
    /// Its functions.
    pub functions: Range<u32>,
    /// Its counters.
    pub counters: Range<u32>,
    /// Its first block.
    pub first_block: u32,
}

impl<'a> Atlas<'a> {
    /// Opens an atlas; `bytes` must be aligned to four, as mapped memory is.
    ///
    /// # Errors
    /// If the bytes are not an atlas of this format, or cut off.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        let unusable = |what| Error::Atlas { what };
        let words: &[u32] =
            bytemuck::try_cast_slice(bytes).map_err(|_| unusable("its length or place in memory is odd"))?;
        let head: Head = bytes
            .get(..size_of::<Head>())
            .and_then(|head| bytemuck::try_pod_read_unaligned(head).ok())
            .ok_or(unusable("it is shorter than its head"))?;
        if head.magic != MAGIC || cfg!(target_endian = "big") {
            return Err(unusable("it is no atlas"));
        }
        if head.format != FORMAT {
            return Err(unusable("it was written by another version of Hearth"));
        }
        if head.word_count as usize != words.len() {
            return Err(unusable("it is cut off"));
        }
        let text = bytemuck::cast_slice(span(words, head.text).ok_or(unusable("its text is out of range"))?);
        let objects: &[ObjectRecord] =
            table(words, head.objects).ok_or(unusable("its directory is out of range"))?;
        let sources = table(words, head.sources).ok_or(unusable("its sources are out of range"))?;
        let lines = table(words, head.lines).ok_or(unusable("its lines are out of range"))?;
        let checked = objects.iter().map(|_| AtomicBool::new(false)).collect();
        let atlas = Self { words, head, objects, sources, lines, text, checked };
        atlas.check_directory()?;
        Ok(atlas)
    }

    /// What the atlas was made from, as given to [`encode()`].
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        join(self.head.fingerprint)
    }

    /// How many objects there are.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// How many functions all objects have.
    #[must_use]
    pub fn function_count(&self) -> u32 {
        self.head.function_count
    }

    /// How many counters all functions have.
    #[must_use]
    pub fn counter_count(&self) -> u32 {
        self.head.counter_count
    }

    /// How many blocks all functions have.
    #[must_use]
    pub fn block_count(&self) -> u32 {
        self.head.block_count
    }

    /// How many arcs all functions have.
    #[must_use]
    pub fn arc_count(&self) -> u32 {
        self.head.arc_count
    }

    /// All lines by id: the id of a line is its index.
    #[must_use]
    pub fn lines(&self) -> &'a [LineId] {
        self.lines
    }

    /// How many source files there are.
    #[must_use]
    pub fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// The absolute name of a source file.
    #[must_use]
    pub fn source_name(&self, source: u32) -> Option<&'a str> {
        self.sources.get(source as usize).and_then(|&name| self.text(name))
    }

    /// An object's name, as given to [`encode()`]: text that stands for bytes, as [`name_text`](crate::name_text) has it.
    #[must_use]
    pub fn object_name(&self, object: usize) -> Option<&'a str> {
        self.objects.get(object).and_then(|record| self.text(record.name))
    }

    /// What ties an object's counters to its notes: the version and the stamp of the compilation.
    #[must_use]
    pub fn object_stamp(&self, object: usize) -> Option<(Version, u32)> {
        self.objects.get(object).map(|record| (Version::from_word(record.version), record.stamp))
    }

    /// Where an object's functions, counters and blocks lie in the dense ids.
    #[must_use]
    pub fn object_ids(&self, object: usize) -> Option<ObjectIds> {
        let record = self.objects.get(object)?;
        let first_function = record.first_function;
        let functions =
            self.objects.get(object + 1).map_or(self.head.function_count, |next| next.first_function);
        Some(ObjectIds {
            functions: first_function..functions,
            counters: record.first_counter..record.first_counter + record.counter_count,
            first_block: record.first_block,
        })
    }

    /// An object's map, borrowed from the atlas.
    ///
    /// # Errors
    /// If there is no such object, or its tables are damaged.
    pub fn object(&self, object: usize) -> Result<ObjectMap<'a>, Error> {
        let damaged = Error::Atlas { what: "an object's tables are damaged" };
        let record = self.objects.get(object).ok_or(Error::Atlas { what: "it has no such object" })?;
        let map = self.borrow_map(record).ok_or_else(|| damaged.clone())?;
        if !self.checked[object].load(Ordering::Acquire) {
            let whole = span(self.words, record.whole).ok_or_else(|| damaged.clone())?;
            if checksum(whole) != join(record.checksum) || !check::is_sound(&map, self.line_ids(record), self)
            {
                return Err(damaged);
            }
            self.checked[object].store(true, Ordering::Release);
        }
        Ok(map)
    }

    /// The line id of each slot of an object's map.
    ///
    /// # Errors
    /// As [`Atlas::object`].
    pub fn object_lines(&self, object: usize) -> Result<&'a [u32], Error> {
        self.object(object)?;
        Ok(self.line_ids(&self.objects[object]))
    }

    fn line_ids(&self, record: &ObjectRecord) -> &'a [u32] {
        table(self.words, record.tables[TABLE_COUNT - 1]).unwrap_or(&[])
    }

    fn borrow_map(&self, record: &ObjectRecord) -> Option<ObjectMap<'a>> {
        let words = self.words;
        let records: &[SourceRecord] = table(words, record.sources)?;
        let sources = records
            .iter()
            .map(|source| {
                Some(Source {
                    name: Cow::Borrowed(self.text(source.name)?),
                    last_line: source.last_line,
                    functions: Cow::Borrowed(table(words, source.functions)?),
                })
            })
            .collect::<Option<Vec<_>>>()?;
        let tables = &record.tables;
        Some(ObjectMap {
            version: Version::from_word(record.version),
            stamp: record.stamp,
            cwd: Cow::Borrowed(self.text(record.cwd)?),
            marks_unexecuted_blocks: record.marks_unexecuted_blocks != 0,
            is_clang: record.is_clang != 0,
            sources,
            names: Cow::Borrowed(bytemuck::cast_slice(span(words, tables[0])?)),
            functions: Cow::Borrowed(table(words, tables[1])?),
            blocks: Cow::Borrowed(table(words, tables[2])?),
            arcs: Cow::Borrowed(table(words, tables[3])?),
            references: Cow::Borrowed(table(words, tables[4])?),
            groups: Cow::Borrowed(table(words, tables[5])?),
            entries: Cow::Borrowed(table(words, tables[6])?),
            members: Cow::Borrowed(table(words, tables[7])?),
            slots: Cow::Borrowed(table(words, tables[8])?),
            spaces: Cow::Borrowed(table(words, tables[9])?),
            branches: Cow::Borrowed(table(words, tables[10])?),
            counter_count: record.counter_count,
        })
    }

    fn text(&self, text: Span) -> Option<&'a str> {
        let first = text.first as usize;
        std::str::from_utf8(self.text.get(first..first.checked_add(text.count as usize)?)?).ok()
    }

    /// Checks that the dense ids of the objects follow each other.
    fn check_directory(&self) -> Result<(), Error> {
        let wrong = Error::Atlas { what: "its directory contradicts itself" };
        let mut next = (0_u32, 0_u32, 0_u32);
        for record in self.objects {
            let [functions, blocks] = [1, 2].map(|index| record.tables[index].count);
            if (record.first_function, record.first_counter, record.first_block) != next {
                return Err(wrong);
            }
            let function_words = (size_of::<Function>() / 4) as u32;
            let block_words = (size_of::<Block>() / 4) as u32;
            next = (
                next.0.saturating_add(functions / function_words),
                next.1.saturating_add(record.counter_count),
                // The closing block is no block.
                next.2.saturating_add((blocks / block_words).saturating_sub(1)),
            );
        }
        if next != (self.head.function_count, self.head.counter_count, self.head.block_count) {
            return Err(wrong);
        }
        Ok(())
    }
}

fn span(words: &[u32], span: Span) -> Option<&[u32]> {
    let first = span.first as usize;
    words.get(first..first.checked_add(span.count as usize)?)
}

fn table<T: Pod>(words: &[u32], place: Span) -> Option<&[T]> {
    bytemuck::try_cast_slice(span(words, place)?).ok()
}

fn checksum(words: &[u32]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice(words))
}

fn split(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

fn join(halves: [u32; 2]) -> u64 {
    u64::from(halves[0]) | u64::from(halves[1]) << 32
}
