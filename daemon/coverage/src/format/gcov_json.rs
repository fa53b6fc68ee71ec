//! gcov's own JSON, byte for byte: keys in gcov's order, lines and functions in gcov's order.

use crate::gcov::coverage::ObjectCoverage;
use crate::gcov::object_map::{Function, ObjectMap};
use crate::gcov::sort;
use crate::name_text;

pub use names::Names;

mod names;

/// So much text is handed on before the rest is made: it is still in the cache then.
const PART_BYTES: usize = 1 << 16;

/// A document being written.
struct Document<'a> {
    /// What has not been handed on.
    text: &'a mut Vec<u8>,
    /// Hands on the text and clears it, or leaves it for later.
    hand_on: &'a mut dyn FnMut(&mut Vec<u8>),
    /// The length at which text is next handed on.
    part_end: usize,
}

impl Document<'_> {
    #[inline]
    fn end_piece(&mut self) {
        if self.text.len() >= self.part_end {
            (self.hand_on)(self.text);
            self.part_end = self.text.len() + PART_BYTES;
        }
    }
}

/// Writes one JSON document per object, as `gcov --json-format --stdout` does.
pub struct Writer<'a> {
    /// Show branches, as gcov does with `--branch-probabilities`.
    branches: bool,
    names: &'a Names,
    /// A name being demangled, kept to save allocations.
    readable: Vec<u8>,
    /// Line ends no longer used.
    spare_ends: Vec<LineEnd>,
}

impl<'a> Writer<'a> {
    /// A writer that shows branches or not.
    #[must_use]
    pub fn new(branches: bool, names: &'a Names) -> Self {
        Self { branches, names, readable: Vec::new(), spare_ends: Vec::new() }
    }

    /// Appends the document of one object, ending with a newline. Now and then the text so far is offered to
    /// `hand_on`, which may take it and clear it.
    pub fn write(
        &mut self,
        data_file: &str,
        map: &ObjectMap<'_>,
        coverage: &ObjectCoverage,
        text: &mut Vec<u8>,
        hand_on: &mut dyn FnMut(&mut Vec<u8>),
    ) {
        let (major, minor) = map.version.major_minor().unwrap_or_default();
        text.extend_from_slice(format!("{{\"gcc_version\": \"{major}.{minor}.0\", \"files\": [").as_bytes());
        let part_end = text.len() + PART_BYTES;
        let mut document = Document { text, hand_on, part_end };
        for source in 0..map.sources.len() {
            if source > 0 {
                document.text.extend_from_slice(b", ");
            }
            self.write_source(map, coverage, source, &mut document);
        }
        let text = document.text;
        text.extend_from_slice(b"], \"format_version\": \"1\", ");
        if map.version.at_least(90) {
            text.extend_from_slice(b"\"current_working_directory\": ");
            write_string(&name_text::to_bytes(&map.cwd), text);
            text.extend_from_slice(b", ");
        }
        text.extend_from_slice(b"\"data_file\": ");
        write_string(&name_text::to_bytes(data_file), text);
        text.extend_from_slice(b"}\n");
    }

    fn write_source(
        &mut self,
        map: &ObjectMap<'_>,
        coverage: &ObjectCoverage,
        source: usize,
        document: &mut Document<'_>,
    ) {
        document.text.extend_from_slice(b"{\"lines\": [");
        let spare_ends = &mut self.spare_ends;
        let mut lines = Lines { map, coverage, branches: self.branches, any: false, spare_ends, document };
        lines.write_source(source);
        document.text.extend_from_slice(b"], \"functions\": [");
        for (position, &function) in map.sources[source].functions.iter().enumerate() {
            if position > 0 {
                document.text.extend_from_slice(b", ");
            }
            self.write_function(map, coverage, function as usize, document.text);
            document.end_piece();
        }
        document.text.extend_from_slice(b"], \"file\": ");
        write_string(&name_text::to_bytes(&map.sources[source].name), document.text);
        document.text.push(b'}');
    }

    fn write_function(
        &mut self,
        map: &ObjectMap<'_>,
        coverage: &ObjectCoverage,
        index: usize,
        out: &mut Vec<u8>,
    ) {
        let function = &map.functions[index];
        let counts = &coverage.functions[index];
        let name = map.name(function);
        write_number(b"{\"blocks\": ", i64::from(function.block_count) - 2, out);
        write_number(b", \"end_column\": ", i64::from(function.end_column), out);
        write_number(b", \"start_line\": ", i64::from(function.start_line), out);
        out.extend_from_slice(b", \"name\": ");
        write_string(name, out);
        write_number(b", \"blocks_executed\": ", i64::from(counts.blocks_executed), out);
        write_number(b", \"execution_count\": ", counts.execution_count, out);
        out.extend_from_slice(b", \"demangled_name\": ");
        self.names.write(name, &mut self.readable, out);
        write_number(b", \"start_column\": ", i64::from(function.start_column), out);
        write_number(b", \"end_line\": ", i64::from(function.end_line), out);
        out.push(b'}');
    }
}

/// The `lines` array of one source.
struct Lines<'a, 'd> {
    map: &'a ObjectMap<'a>,
    coverage: &'a ObjectCoverage,
    branches: bool,
    any: bool,
    spare_ends: &'a mut Vec<LineEnd>,
    document: &'a mut Document<'d>,
}

/// What closes a line: its function's name, with either word on unexecuted blocks before it.
#[derive(Default)]
struct LineEnd {
    executed: Vec<u8>,
    unexecuted: Vec<u8>,
}

impl LineEnd {
    fn set(&mut self, function: Option<&[u8]>) {
        self.executed.clear();
        self.executed.extend_from_slice(b", \"unexecuted_block\": false");
        let name_begin = self.executed.len();
        if let Some(name) = function {
            self.executed.extend_from_slice(b", \"function_name\": ");
            write_string(name, &mut self.executed);
        }
        self.executed.push(b'}');
        self.unexecuted.clear();
        self.unexecuted.extend_from_slice(b", \"unexecuted_block\": true");
        self.unexecuted.extend_from_slice(&self.executed[name_begin..]);
    }
}

impl Lines<'_, '_> {
    /// Walks the lines that exist and the starts of functions together. gcov names each line after the
    /// innermost function that has begun and not ended; of several that end on a line it drops only one.
    fn write_source(&mut self, source: usize) {
        let map = self.map;
        let starts = functions_by_start(map, source);
        let mut starts = starts.iter().map(|&index| &map.functions[index as usize]).peekable();
        let outside = self.line_end(None);
        // Functions that have begun, each with what closes a line of it.
        let mut open: Vec<(&Function, LineEnd)> = Vec::new();
        let end_line = map.sources[source].last_line;
        let mut next_line = 1;
        let slots = map.space_slots(source as u32);
        let mut slot = slots.start;
        loop {
            let slot_line = (slot < slots.end).then(|| map.slots[slot].line);
            let start_line = starts.peek().map(|function| function.start_line);
            let Some(line) = slot_line.into_iter().chain(start_line).min() else { break };
            if u64::from(line) > u64::from(end_line) + 1 {
                break;
            }
            while let Some((last, _)) = open.last()
                && (next_line..line).contains(&last.end_line)
            {
                next_line = last.end_line + 1;
                self.spare_ends.extend(open.pop().map(|(_, end)| end));
            }
            next_line = next_line.max(line);
            while let Some(function) = starts.next_if(|function| function.start_line == line) {
                self.write_start(function, &mut open);
            }
            if slot_line == Some(line) {
                self.write_line(slot, open.last().map_or(&outside, |(_, end)| end));
                slot += 1;
            }
        }
        self.spare_ends.extend(open.into_iter().map(|(_, end)| end));
        self.spare_ends.push(outside);
    }

    fn line_end(&mut self, function: Option<&[u8]>) -> LineEnd {
        let mut end = self.spare_ends.pop().unwrap_or_default();
        end.set(function);
        end
    }

    fn write_start<'m>(&mut self, function: &'m Function, open: &mut Vec<(&'m Function, LineEnd)>) {
        // gcov never comes by line 0.
        if function.start_line == 0 {
            return;
        }
        let end = self.line_end(Some(self.map.name(function)));
        if !function.is_group() {
            open.push((function, end));
            return;
        }
        for slot in self.map.space_slots(function.space) {
            self.write_line(slot, &end);
        }
        self.spare_ends.push(end);
    }

    fn write_line(&mut self, slot: usize, end: &LineEnd) {
        let line = &self.coverage.lines[slot];
        let text = &mut *self.document.text;
        if self.any {
            text.extend_from_slice(b", ");
        }
        self.any = true;
        if self.branches {
            text.extend_from_slice(b"{\"branches\": [");
            write_branches(self.map, self.coverage, slot, text);
            write_number(b"], \"count\": ", line.count, text);
        } else {
            write_number(b"{\"branches\": [], \"count\": ", line.count, text);
        }
        write_number(b", \"line_number\": ", i64::from(self.map.slots[slot].line), text);
        text.extend_from_slice(if line.unexecuted_block { &end.unexecuted } else { &end.executed });
        self.document.end_piece();
    }
}

fn write_branches(map: &ObjectMap<'_>, coverage: &ObjectCoverage, slot: usize, text: &mut Vec<u8>) {
    for (position, &arc) in map.slot_branches(slot).iter().enumerate() {
        if position > 0 {
            text.extend_from_slice(b", ");
        }
        let flags = &map.arcs[arc as usize];
        text.extend_from_slice(b"{\"fallthrough\": ");
        write_bool(flags.is_fallthrough(), text);
        write_number(b", \"count\": ", coverage.arcs[arc as usize], text);
        text.extend_from_slice(b", \"throw\": ");
        write_bool(flags.is_throw(), text);
        text.push(b'}');
    }
}

/// The functions of a source by first line; those that share it as gcov sorts them.
fn functions_by_start(map: &ObjectMap<'_>, source: usize) -> Vec<u32> {
    let mut functions = map.sources[source].functions.to_vec();
    let start = |index: u32| {
        let function = &map.functions[index as usize];
        (function.start_line, function.start_column)
    };
    functions.sort_unstable_by_key(|&index| (start(index).0, index));
    for run in functions.chunk_by_mut(|&a, &b| start(a).0 == start(b).0) {
        if run.len() > 1 {
            sort::sort_by_key(run, |&index| start(index));
        }
    }
    functions
}

#[inline(always)]
fn write_number(label: &[u8], number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(label);
    // Most counts are zero, and copying a single byte is cheap.
    match u8::try_from(number) {
        Ok(digit @ 0..=9) => out.push(b'0' + digit),
        _ => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
    }
}

fn write_bool(value: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Quotes a string, escaping what gcov escapes.
fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    // Without an early exit the compiler can test many bytes at once.
    let is_special = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    if !text.iter().fold(false, |found, &byte| found | is_special(byte)) {
        out.extend_from_slice(text);
    } else {
        for &byte in text {
            match byte {
                b'"' => out.extend_from_slice(b"\\\""),
                b'\\' => out.extend_from_slice(b"\\\\"),
                0x08 => out.extend_from_slice(b"\\b"),
                0x0c => out.extend_from_slice(b"\\f"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                // gcov lets other control characters through, which no JSON reader accepts.
                0..=0x1f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => out.push(byte),
            }
        }
    }
    out.push(b'"');
}
