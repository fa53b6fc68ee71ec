//! Demangled names, kept: most functions of a C++ program are copies from headers.

use super::write_string;
use crate::demangle::Demangle;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Parts with a lock each, so that writers seldom wait for each other.
const SHARDS: usize = 64;

/// The names that writers on several threads share.
pub struct Names {
    demangle: Demangle,
    shards: [Mutex<Shard>; SHARDS],
}

/// Aligned, so that locking one does not disturb its neighbours' lines of the cache.
#[derive(Default)]
#[repr(align(128))]
struct Shard {
    entries: HashTable<Entry>,
    /// The names and their quoted readable forms, one after the other.
    text: Vec<u8>,
}

/// Where a name stands in the text; its quoted readable form follows it.
struct Entry {
    hash: u64,
    name: Range<usize>,
    quoted_end: usize,
}

impl Names {
    /// No names yet.
    #[must_use]
    pub fn new(demangle: Demangle) -> Self {
        Self { demangle, shards: std::array::from_fn(|_| Mutex::default()) }
    }

    /// Appends the readable form of a name, quoted. `readable` is workspace.
    pub(super) fn write(&self, name: &[u8], readable: &mut Vec<u8>, out: &mut Vec<u8>) {
        let mut hasher = FxHasher::default();
        hasher.write(name);
        let hash = hasher.finish();
        // An entry is added after its text, so a thread that died with the lock did no harm.
        let lock = || {
            let shard = &self.shards[(hash >> 8) as usize % SHARDS];
            shard.lock().unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(quoted) = lock().find(hash, name) {
            out.extend_from_slice(quoted);
            return;
        }
        readable.clear();
        (self.demangle)(name, readable);
        let begin = out.len();
        write_string(readable, out);
        lock().add(hash, name, &out[begin..]);
    }
}

impl Shard {
    fn find(&self, hash: u64, name: &[u8]) -> Option<&[u8]> {
        let entry =
            self.entries.find(hash, |entry| entry.hash == hash && &self.text[entry.name.clone()] == name)?;
        Some(&self.text[entry.name.end..entry.quoted_end])
    }

    fn add(&mut self, hash: u64, name: &[u8], quoted: &[u8]) {
        let begin = self.text.len();
        self.text.extend_from_slice(name);
        let end = self.text.len();
        self.text.extend_from_slice(quoted);
        let entry = Entry { hash, name: begin..end, quoted_end: self.text.len() };
        self.entries.insert_unique(hash, entry, |entry| entry.hash);
    }
}
