//! The reader of .gcda files: the counters a run of the program left behind.

use super::error::Error;
use super::records::{Reader, Record};
use super::version::Version;

const MAGIC: u32 = u32::from_be_bytes(*b"gcda");
const TAG_FUNCTION: u32 = 0x0100_0000;
const TAG_ARC_COUNTERS: u32 = 0x01a1_0000;
const TAG_OBJECT_SUMMARY: u32 = 0xa100_0000;

/// The contents of a .gcda file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    /// The format version.
    pub version: Version,
    /// Ties the data to the notes of the same compilation.
    pub stamp: u32,
    /// How many runs the counters sum up, if the file says so.
    pub runs: Option<u32>,
    /// One entry for each function with counters.
    pub functions: Vec<FunctionData>,
    /// The counters of all functions.
    values: Vec<i64>,
}

/// One function's identity and its arc counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionData {
    /// The function's ident, unique within the object.
    pub ident: u32,
    /// Checksum of name and line.
    pub lineno_checksum: u32,
    /// Checksum of the flow graph.
    pub cfg_checksum: u32,
    /// How many arc counters the function has.
    pub counter_count: u32,
    /// Where they begin in `values`; `None` if all are zero and not written out.
    first_value: Option<usize>,
}

impl Data {
    /// Reads a whole file.
    ///
    /// # Errors
    /// If the bytes are not a complete .gcda file.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let (mut reader, version) = Reader::open(bytes, MAGIC, ".gcda")?;
        let stamp = reader.word("stamp")?;
        if version.at_least(120) {
            reader.word("checksum")?;
        }
        let mut data = Self { version, stamp, runs: None, functions: Vec::new(), values: Vec::new() };
        let mut open = None;
        loop {
            let at_end = reader.remaining() == 0;
            let Some(record) = reader.record()? else {
                if at_end {
                    return Err(Error::NoEndMarker);
                }
                data.close(open, reader.offset())?;
                return Ok(data);
            };
            match record.tag {
                TAG_OBJECT_SUMMARY => data.runs = Some(read_runs(record, version)?),
                TAG_FUNCTION => {
                    data.close(open, record.offset)?;
                    open = read_function(record)?;
                }
                TAG_ARC_COUNTERS => open = data.read_counters(record, open)?,
                tag if is_other_tag(tag) => {}
                tag => return Err(corrupt("record tag", record.offset, tag)),
            }
        }
    }

    /// Every function has arc counters; without them its tag or theirs is damaged.
    fn close(&self, open: Option<OpenFunction>, offset: usize) -> Result<(), Error> {
        match open {
            Some(function) if !function.has_counters => {
                Err(corrupt("function without counters before this", offset, function.ident))
            }
            _ => Ok(()),
        }
    }

    fn read_counters(
        &mut self,
        mut record: Record<'_>,
        open: Option<OpenFunction>,
    ) -> Result<Option<OpenFunction>, Error> {
        let length = record.length;
        let counter_count = record
            .body
            .counters_in(length)
            .ok_or_else(|| corrupt("counter array length", record.offset, length.unsigned_abs()))?;
        let Some(function) = open else {
            return Err(corrupt("counter array without a function", record.offset, counter_count));
        };
        let first_value = (length > 0).then_some(self.values.len());
        if first_value.is_some() {
            // The low word comes first, whatever the byte order.
            let values = record.body.pairs().map(|(low, high)| (i64::from(high) << 32) | i64::from(low));
            self.values.extend(values);
        }
        self.functions.push(FunctionData {
            ident: function.ident,
            lineno_checksum: function.lineno_checksum,
            cfg_checksum: function.cfg_checksum,
            counter_count,
            first_value,
        });
        Ok(Some(OpenFunction { has_counters: true, ..function }))
    }

    /// A function's counters; empty if all are zero.
    #[must_use]
    pub fn counters(&self, function: &FunctionData) -> &[i64] {
        match function.first_value {
            Some(first) => &self.values[first..first + function.counter_count as usize],
            None => &[],
        }
    }
}

/// The function whose counters come next.
#[derive(Debug, Clone, Copy)]
struct OpenFunction {
    ident: u32,
    lineno_checksum: u32,
    cfg_checksum: u32,
    has_counters: bool,
}

/// An empty record stands for a function that another object has.
fn read_function(mut record: Record<'_>) -> Result<Option<OpenFunction>, Error> {
    if record.length == 0 {
        return Ok(None);
    }
    let function = OpenFunction {
        ident: record.body.word("function ident")?,
        lineno_checksum: record.body.word("line checksum")?,
        cfg_checksum: record.body.word("graph checksum")?,
        has_counters: false,
    };
    if record.body.remaining() != 0 {
        return Err(corrupt("length of a function record", record.offset, record.length.unsigned_abs()));
    }
    Ok(Some(function))
}

/// Other kinds of counters and of summaries, which do not concern coverage.
fn is_other_tag(tag: u32) -> bool {
    const COUNTER_KINDS: u32 = 32;
    let is_counter = tag
        .checked_sub(TAG_ARC_COUNTERS)
        .is_some_and(|distance| distance & 0x1_ffff == 0 && distance >> 17 < COUNTER_KINDS);
    is_counter || matches!(tag, 0xa300_0000 | 0xa500_0000 | 0xa700_0000 | 0xa900_0000)
}

fn corrupt(what: &'static str, offset: usize, value: u32) -> Error {
    Error::Corrupt { what, offset, value: u64::from(value) }
}

/// The summary held a checksum and a counter count before the runs until GCC 9, and more after them.
fn read_runs(mut record: Record<'_>, version: Version) -> Result<u32, Error> {
    let is_short = version.at_least(90);
    if !is_short {
        record.body.word("summary checksum")?;
        record.body.word("summary counters")?;
    }
    let runs = record.body.word("summary runs")?;
    if is_short {
        record.body.word("summary maximum")?;
        if record.body.remaining() != 0 {
            return Err(corrupt("length of a summary", record.offset, record.length.unsigned_abs()));
        }
    }
    Ok(runs)
}
