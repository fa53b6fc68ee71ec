//! Where a subject's counters are in its memory, found through gcov's own structures.
//!
//! The structures are those of libgcov on 64-bit machines: an info for each object, which lists its functions,
//! which each point to their counters. How many kinds of counters there are, and with it where the list of
//! functions lies, has changed over the versions of GCC and is found by trying.

use crate::error::{Error, Result};
use crate::limits::{COUNTER_KINDS, DATA_NAME_BYTES, FUNCTIONS, OBJECTS};
use crate::memory::{Memory, PAGE_BYTES};
use hearth_coverage::atlas::Atlas;
use hearth_coverage::gcov::data_name;
use hearth_coverage::name_text;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io;

/// Functions looked at to tell whether a guess about the layout is right.
const SAMPLE: usize = 16;

/// The counters of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Array {
    /// Where they are.
    pub address: u64,
    /// The dense id of the first.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// The function's dense id.
    pub function_id: u32,
}

impl Array {
    /// The page behind its last one.
    #[must_use]
    pub fn end_page(&self) -> u64 {
        (self.address + u64::from(self.count) * 8).div_ceil(PAGE_BYTES)
    }
}

/// Where all counters are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterMap {
    /// By address.
    pub arrays: Vec<Array>,
    /// Where each list of objects begins.
    pub roots: Vec<u64>,
    /// Data files of objects that are in the program but not in the atlas: their counts are missing.
    pub without_notes: Vec<String>,
}

/// The offset of the mark in gcov's root that says that the counters have been written.
pub const DUMPED_OFFSET: u64 = 8;

impl CounterMap {
    /// Follows the lists that begin at `roots`.
    ///
    /// # Errors
    /// If the structures make no sense, or are not of the same build as the atlas.
    pub fn find(memory: &Memory, roots: &[u64], atlas: &Atlas<'_>) -> Result<Self> {
        let mut finder = Finder {
            pages: Pages { memory, blocks: FxHashMap::default() },
            by_name: by_name(atlas),
            atlas,
            kinds: None,
            map: Self { roots: roots.to_vec(), ..Self::default() },
        };
        for &root in roots {
            finder.root(root)?;
        }
        let mut map = finder.map;
        map.arrays.sort_unstable_by_key(|array| array.address);
        map.without_notes.sort();
        Ok(map)
    }
}

/// The atlas's objects by the file name of their data, each with the directories before it.
fn by_name<'a>(atlas: &Atlas<'a>) -> BTreeMap<String, Vec<(usize, &'a str)>> {
    let mut objects: BTreeMap<String, Vec<(usize, &str)>> = BTreeMap::new();
    for object in 0..atlas.object_count() {
        let Some(name) = atlas.object_name(object).and_then(|name| name.strip_suffix(".gcno")) else {
            continue;
        };
        objects.entry(data_name::key(name).to_owned()).or_default().push((object, name));
    }
    objects
}

/// The atlas's object with this data file, the name being as `name_text` has it.
#[must_use]
pub fn object_of(atlas: &Atlas<'_>, name: &str) -> Option<usize> {
    object_named(&by_name(atlas), name)
}

/// The object with this data file: the one whose name agrees with it for longest.
fn object_named(by_name: &BTreeMap<String, Vec<(usize, &str)>>, name: &str) -> Option<usize> {
    let candidates = by_name.get(data_name::key(name))?.iter();
    let agreeing = candidates.filter_map(|&(object, end)| Some((data_name::agreement(name, end)?, object)));
    agreeing.max().map(|(_, object)| object)
}

struct Finder<'m, 'a> {
    pages: Pages<'m>,
    atlas: &'m Atlas<'a>,
    by_name: BTreeMap<String, Vec<(usize, &'a str)>>,
    /// How many kinds of counters there are, once that is known.
    kinds: Option<u64>,
    map: CounterMap,
}

impl Finder<'_, '_> {
    fn root(&mut self, root: u64) -> Result<()> {
        let mut info = self.word(root)?;
        let mut count = 0;
        while info != 0 {
            count += 1;
            if count > OBJECTS {
                return Err(Error::Counters(format!("its list of objects has more than {OBJECTS} entries")));
            }
            self.info(info)?;
            info = self.word(info + 8)?;
        }
        Ok(())
    }

    /// An object: `{ u32 version; next; u32 stamp; u32 checksum; filename; merge[kinds]; u32 n; functions }`.
    fn info(&mut self, info: u64) -> Result<()> {
        let stamp = self.word(info + 16)? as u32;
        let name_address = self.word(info + 24)?;
        let name = self.pages.memory.read_text(name_address, DATA_NAME_BYTES).map_err(unreadable)?;
        let Some(object) = object_named(&self.by_name, &name_text::from_bytes(&name)) else {
            self.map.without_notes.push(name_text::shown(&name));
            return Ok(());
        };
        let expected = self.atlas.object_stamp(object).map_or(0, |(_, stamp)| stamp);
        if stamp != expected {
            let name = name_text::shown(&name);
            let problem =
                format!("{name} has stamp {stamp:08x} in the program and {expected:08x} in its notes");
            return Err(Error::NotesMismatch { problem });
        }
        let kinds = match self.kinds {
            Some(kinds) => kinds,
            None => match self.probe(info)? {
                Some(kinds) => *self.kinds.insert(kinds),
                // An object all of whose functions are elsewhere says nothing, and has no counters.
                None => return Ok(()),
            },
        };
        self.functions(info, kinds, object)
    }

    /// How many kinds of counters there are, if this object can tell.
    fn probe(&mut self, info: u64) -> Result<Option<u64>> {
        let mut unknown = false;
        for kinds in 1..=COUNTER_KINDS {
            match self.is_plausible(info, kinds)? {
                Some(true) => return Ok(Some(kinds)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        if unknown {
            return Ok(None);
        }
        Err(Error::Counters(
            "its lists of functions are laid out like no version of GCC that is known".to_owned(),
        ))
    }

    /// Do the functions belong to the info if there are so many kinds? `None` if there are none to ask.
    fn is_plausible(&mut self, info: u64, kinds: u64) -> Result<Option<bool>> {
        let Ok(count) = self.pages.word(info + 32 + 8 * kinds) else { return Ok(Some(false)) };
        let count = count as u32;
        let Ok(list) = self.pages.word(info + 40 + 8 * kinds) else { return Ok(Some(false)) };
        if count == 0 {
            return Ok(None);
        }
        if count > FUNCTIONS || list == 0 || list % 8 != 0 {
            return Ok(Some(false));
        }
        let mut own = 0;
        for index in 0..u64::from(count).min(SAMPLE as u64) {
            let Ok(function) = self.pages.word(list + 8 * index) else { return Ok(Some(false)) };
            if function == 0 {
                continue;
            }
            let Ok(key) = self.pages.word(function) else { return Ok(Some(false)) };
            own += usize::from(key == info);
        }
        Ok(Some(own > 0))
    }

    /// The functions of an object: `{ key; u32 ident, line checksum, graph checksum; { u32 n; values }[] }`.
    fn functions(&mut self, info: u64, kinds: u64, object: usize) -> Result<()> {
        if self.word(info + 32)? == 0 {
            return Err(Error::Counters("it was built without arc counters".to_owned()));
        }
        let count = self.word(info + 32 + 8 * kinds)? as u32;
        let list = self.word(info + 40 + 8 * kinds)?;
        if count > FUNCTIONS {
            return Err(Error::Counters(format!("an object has {count} functions")));
        }
        let map = self.atlas.object(object)?;
        let ids = self.atlas.object_ids(object);
        let (first_counter, first_function) =
            ids.map_or((0, 0), |ids| (ids.counters.start, ids.functions.start));
        let by_ident: FxHashMap<u32, usize> =
            map.functions.iter().enumerate().map(|(index, function)| (function.ident, index)).collect();
        for index in 0..u64::from(count) {
            let function = self.word(list + 8 * index)?;
            // A function that several objects have is counted in the one whose copy was linked.
            if function == 0 || self.word(function)? != info {
                continue;
            }
            let [a, b, values_count, address] =
                [8, 16, 24, 32].map(|offset| self.pages.word(function + offset).unwrap_or_default());
            let found = [a as u32, (a >> 32) as u32, b as u32, values_count as u32];
            let known = by_ident.get(&found[0]).map(|&index| (index, &map.functions[index]));
            let Some((index, known)) = known.filter(|(_, known)| {
                found == [known.ident, known.lineno_checksum, known.cfg_checksum, known.counter_count]
            }) else {
                let name = self.atlas.object_name(object).unwrap_or_default();
                let name = name_text::shown(&name_text::to_bytes(name));
                let problem = format!("{name} does not know function {} of the program", found[0]);
                return Err(Error::NotesMismatch { problem });
            };
            if known.counter_count == 0 {
                continue;
            }
            if address % 8 != 0 {
                return Err(Error::Counters(format!("counters at the odd address {address:#x}")));
            }
            self.map.arrays.push(Array {
                address,
                first: first_counter + known.first_counter,
                count: known.counter_count,
                function_id: first_function + index as u32,
            });
        }
        Ok(())
    }

    fn word(&mut self, address: u64) -> Result<u64> {
        self.pages.word(address).map_err(unreadable)
    }
}

fn unreadable(error: io::Error) -> Error {
    Error::Counters(format!("its memory cannot be read: {error}"))
}

/// Memory read in blocks: the structures lie close together.
struct Pages<'m> {
    memory: &'m Memory,
    blocks: FxHashMap<u64, Box<[u8]>>,
}

impl Pages<'_> {
    fn word(&mut self, address: u64) -> io::Result<u64> {
        const BLOCK: u64 = PAGE_BYTES;
        let (block, offset) = (address / BLOCK, (address % BLOCK) as usize);
        if offset + 8 > BLOCK as usize {
            return self.memory.read_word(address);
        }
        let bytes = match self.blocks.entry(block) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let mut bytes = vec![0; BLOCK as usize].into_boxed_slice();
                self.memory.read(block * BLOCK, &mut bytes)?;
                entry.insert(bytes)
            }
        };
        bytes[offset..offset + 8].try_into().map(u64::from_le_bytes).map_err(io::Error::other)
    }
}
