//! Writes an atlas.

use super::{FORMAT, Head, LineId, MAGIC, ObjectRecord, SourceRecord, Span, TABLE_COUNT, checksum, split};
use crate::gcov::canonical::absolute_name;
use crate::gcov::error::Error;
use crate::gcov::object_map::ObjectMap;
use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;

/// An object to put into an atlas.
#[derive(Debug)]
pub struct NamedMap {
    /// How the object is called: the path of its notes below the subject's notes directory.
    pub name: String,
    /// Its map.
    pub map: ObjectMap<'static>,
}

/// Joins the objects into the bytes of an atlas. `fingerprint` says what they were made from.
///
/// # Errors
/// If the objects are too many to be counted in 32 bits.
pub fn encode(objects: &[NamedMap], fingerprint: u64) -> Result<Vec<u8>, Error> {
    let mut encoder = Encoder::default();
    let head_words = size_of::<Head>() / 4;
    encoder.words.resize(head_words, 0);
    let records = objects.iter().map(|object| encoder.object(object)).collect::<Vec<_>>();
    let mut head = Head::zeroed();
    (head.magic, head.format, head.fingerprint) = (MAGIC, FORMAT, split(fingerprint));
    (head.function_count, head.counter_count) = (encoder.function_count, encoder.counter_count);
    (head.block_count, head.arc_count) = (encoder.block_count, encoder.arc_count);
    head.objects = encoder.append(&records);
    let sources = std::mem::take(&mut encoder.source_names);
    head.sources = encoder.append(&sources);
    let lines = std::mem::take(&mut encoder.lines);
    head.lines = encoder.append(&lines);
    let text = std::mem::take(&mut encoder.text);
    head.text = encoder.append_bytes(&text);
    head.word_count = u32::try_from(encoder.words.len())
        .map_err(|_| Error::Atlas { what: "the subject is too large for one atlas" })?;
    encoder.words[..head_words].copy_from_slice(bytemuck::cast_slice(&[head]));
    Ok(bytemuck::cast_slice(&encoder.words).to_vec())
}

#[derive(Default)]
struct Encoder {
    words: Vec<u32>,
    text: Vec<u8>,
    known_text: FxHashMap<String, Span>,
    source_ids: FxHashMap<String, u32>,
    source_names: Vec<Span>,
    line_ids: FxHashMap<LineId, u32>,
    lines: Vec<LineId>,
    function_count: u32,
    counter_count: u32,
    block_count: u32,
    arc_count: u32,
}

impl Encoder {
    fn append<T: Pod>(&mut self, table: &[T]) -> Span {
        let first = self.words.len() as u32;
        self.words.extend_from_slice(bytemuck::cast_slice(table));
        Span { first, count: self.words.len() as u32 - first }
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Span {
        let first = self.words.len() as u32;
        for chunk in bytes.chunks(4) {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            self.words.push(u32::from_ne_bytes(word));
        }
        Span { first, count: self.words.len() as u32 - first }
    }

    fn text(&mut self, text: &str) -> Span {
        if let Some(&known) = self.known_text.get(text) {
            return known;
        }
        let span = Span { first: self.text.len() as u32, count: text.len() as u32 };
        self.text.extend_from_slice(text.as_bytes());
        self.known_text.insert(text.to_owned(), span);
        span
    }

    fn source(&mut self, name: String) -> u32 {
        if let Some(&known) = self.source_ids.get(&name) {
            return known;
        }
        let span = self.text(&name);
        let id = self.source_names.len() as u32;
        self.source_names.push(span);
        self.source_ids.insert(name, id);
        id
    }

    fn object(&mut self, object: &NamedMap) -> ObjectRecord {
        let map = &object.map;
        let begin = self.words.len() as u32;
        let source_ids: Vec<u32> =
            map.sources.iter().map(|source| self.source(absolute_name(&map.cwd, &source.name))).collect();
        let mut sources = Vec::with_capacity(map.sources.len());
        for (source, &id) in map.sources.iter().zip(&source_ids) {
            let name = self.text(&source.name);
            let functions = self.append(&source.functions);
            sources.push(SourceRecord { name, id, last_line: source.last_line, functions });
        }
        let line_ids = self.line_ids(map, &source_ids);
        let tables: [Span; TABLE_COUNT] = [
            self.append_bytes(&map.names),
            self.append(&map.functions),
            self.append(&map.blocks),
            self.append(&map.arcs),
            self.append(&map.references),
            self.append(&map.groups),
            self.append(&map.entries),
            self.append(&map.members),
            self.append(&map.slots),
            self.append(&map.spaces),
            self.append(&map.branches),
            self.append(&line_ids),
        ];
        let sources = self.append(&sources);
        let whole = Span { first: begin, count: self.words.len() as u32 - begin };
        let record = ObjectRecord {
            name: self.text(&object.name),
            cwd: self.text(&map.cwd),
            version: map.version.word(),
            stamp: map.stamp,
            marks_unexecuted_blocks: u32::from(map.marks_unexecuted_blocks),
            is_clang: u32::from(map.is_clang),
            counter_count: map.counter_count,
            first_function: self.function_count,
            first_counter: self.counter_count,
            first_block: self.block_count,
            sources,
            checksum: split(checksum(&self.words[begin as usize..])),
            whole,
            tables,
        };
        self.function_count += map.functions.len() as u32;
        self.counter_count += map.counter_count;
        self.block_count += map.blocks.len() as u32 - 1;
        self.arc_count += map.arcs.len() as u32;
        record
    }

    /// The global line of each slot: a group function's lines are those of its source.
    fn line_ids(&mut self, map: &ObjectMap<'_>, source_ids: &[u32]) -> Vec<u32> {
        let mut space_sources: Vec<u32> = source_ids.to_vec();
        let groups = map.functions.iter().filter(|function| function.is_group() && function.is_shown());
        space_sources.extend(groups.map(|function| source_ids[function.source as usize]));
        let mut ids = Vec::with_capacity(map.slots.len());
        for (space, &source) in (0..).zip(&space_sources) {
            for slot in map.space_slots(space) {
                let line = LineId { source, number: map.slots[slot].line };
                let next = self.lines.len() as u32;
                let id = *self.line_ids.entry(line).or_insert(next);
                if id == next {
                    self.lines.push(line);
                }
                ids.push(id);
            }
        }
        ids
    }
}
