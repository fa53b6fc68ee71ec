//! gcov's own JSON, byte for byte: keys in gcov's order, lines and functions in gcov's order.

use crate::coverage::ObjectCoverage;
use crate::demangle::Demangle;
use crate::gcov_sort;
use crate::object_map::{Function, ObjectMap};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes one JSON document per object, as `gcov --json-format --stdout` does.
pub struct Writer<'a> {
    /// Show branches, as gcov does with `--branch-probabilities`.
    branches: bool,
    names: &'a Names,
}

type Quoted = FxHashMap<Box<[u8]>, Arc<[u8]>>;

/// Demangled names, kept: most functions of a C++ program are copies from headers. Writers on several threads
/// share them.
pub struct Names {
    demangle: Demangle,
    /// Each name's readable form, quoted.
    quoted: Mutex<Quoted>,
}

impl Names {
    /// No names yet.
    #[must_use]
    pub fn new(demangle: Demangle) -> Self {
        Self { demangle, quoted: Mutex::default() }
    }

    fn write(&self, name: &[u8], out: &mut Vec<u8>) {
        // A name is whole or not there, even if a thread died with the lock.
        let known = || self.quoted.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(name).cloned();
        if let Some(quoted) = found {
            out.extend_from_slice(&quoted);
            return;
        }
        let begin = out.len();
        write_string(&(self.demangle)(name), out);
        known().insert(name.into(), out[begin..].into());
    }
}

impl<'a> Writer<'a> {
    /// A writer that shows branches or not.
    #[must_use]
    pub fn new(branches: bool, names: &'a Names) -> Self {
        Self { branches, names }
    }

    /// Appends the document of one object, ending with a newline.
    pub fn write(
        &mut self,
        data_file: &str,
        map: &ObjectMap<'_>,
        coverage: &ObjectCoverage,
        out: &mut Vec<u8>,
    ) {
        // About what lines and functions take; growing a large document would copy it several times.
        out.reserve(map.slots.len() * 200 + map.functions.len() * 400);
        let (major, minor) = map.version.major_minor().unwrap_or_default();
        out.extend_from_slice(format!("{{\"gcc_version\": \"{major}.{minor}.0\", \"files\": [").as_bytes());
        for source in 0..map.sources.len() {
            if source > 0 {
                out.extend_from_slice(b", ");
            }
            self.write_source(map, coverage, source, out);
        }
        out.extend_from_slice(b"], \"format_version\": \"1\", ");
        if map.version.at_least(90) {
            out.extend_from_slice(b"\"current_working_directory\": ");
            write_string(map.cwd.as_bytes(), out);
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(b"\"data_file\": ");
        write_string(data_file.as_bytes(), out);
        out.extend_from_slice(b"}\n");
    }

    fn write_source(
        &mut self,
        map: &ObjectMap<'_>,
        coverage: &ObjectCoverage,
        source: usize,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b"{\"lines\": [");
        let mut lines = Lines { map, coverage, branches: self.branches, any: false, out };
        lines.write_source(source);
        out.extend_from_slice(b"], \"functions\": [");
        for (position, &function) in map.sources[source].functions.iter().enumerate() {
            if position > 0 {
                out.extend_from_slice(b", ");
            }
            self.write_function(map, coverage, function as usize, out);
        }
        out.extend_from_slice(b"], \"file\": ");
        write_string(map.sources[source].name.as_bytes(), out);
        out.push(b'}');
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
        self.names.write(name, out);
        write_number(b", \"start_column\": ", i64::from(function.start_column), out);
        write_number(b", \"end_line\": ", i64::from(function.end_line), out);
        out.push(b'}');
    }
}

/// The `lines` array of one source.
struct Lines<'a> {
    map: &'a ObjectMap<'a>,
    coverage: &'a ObjectCoverage,
    branches: bool,
    any: bool,
    out: &'a mut Vec<u8>,
}

/// What closes a line: its function's name, with either word on unexecuted blocks before it.
struct LineEnd {
    executed: Vec<u8>,
    unexecuted: Vec<u8>,
}

impl LineEnd {
    fn new(function: Option<&[u8]>) -> Self {
        let end = |label: &[u8]| {
            let mut end = Vec::with_capacity(label.len() + function.map_or(0, <[u8]>::len) + 24);
            end.extend_from_slice(label);
            if let Some(name) = function {
                end.extend_from_slice(b", \"function_name\": ");
                write_string(name, &mut end);
            }
            end.push(b'}');
            end
        };
        Self {
            executed: end(b", \"unexecuted_block\": false"),
            unexecuted: end(b", \"unexecuted_block\": true"),
        }
    }
}

impl Lines<'_> {
    /// Walks the lines that exist and the starts of functions together. gcov names each line after the
    /// innermost function that has begun and not ended; of several that end on a line it drops only one.
    fn write_source(&mut self, source: usize) {
        let map = self.map;
        let starts = functions_by_start(map, source);
        let mut starts = starts.iter().map(|&index| &map.functions[index as usize]).peekable();
        let outside = LineEnd::new(None);
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
                open.pop();
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
    }

    fn write_start<'m>(&mut self, function: &'m Function, open: &mut Vec<(&'m Function, LineEnd)>) {
        // gcov never comes by line 0.
        if function.start_line == 0 {
            return;
        }
        let end = LineEnd::new(Some(self.map.name(function)));
        if !function.is_group() {
            open.push((function, end));
            return;
        }
        for slot in self.map.space_slots(function.space) {
            self.write_line(slot, &end);
        }
    }

    fn write_line(&mut self, slot: usize, end: &LineEnd) {
        let line = &self.coverage.lines[slot];
        if self.any {
            self.out.extend_from_slice(b", ");
        }
        self.any = true;
        if self.branches {
            self.out.extend_from_slice(b"{\"branches\": [");
            self.write_branches(slot);
            write_number(b"], \"count\": ", line.count, self.out);
        } else {
            write_number(b"{\"branches\": [], \"count\": ", line.count, self.out);
        }
        write_number(b", \"line_number\": ", i64::from(self.map.slots[slot].line), self.out);
        self.out.extend_from_slice(if line.unexecuted_block { &end.unexecuted } else { &end.executed });
    }

    fn write_branches(&mut self, slot: usize) {
        for (position, &arc) in self.map.slot_branches(slot).iter().enumerate() {
            if position > 0 {
                self.out.extend_from_slice(b", ");
            }
            let flags = &self.map.arcs[arc as usize];
            self.out.extend_from_slice(b"{\"fallthrough\": ");
            write_bool(flags.is_fallthrough(), self.out);
            write_number(b", \"count\": ", self.coverage.arcs[arc as usize], self.out);
            self.out.extend_from_slice(b", \"throw\": ");
            write_bool(flags.is_throw(), self.out);
            self.out.push(b'}');
        }
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
            gcov_sort::sort_by_key(run, |&index| start(index));
        }
    }
    functions
}

fn write_number(label: &[u8], number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(label);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
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
