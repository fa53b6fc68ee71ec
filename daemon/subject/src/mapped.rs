//! Mapping a cached file into memory.
#![expect(
    unsafe_code,
    reason = "a file that another process changes could not be mapped safely; these are not changed"
)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file of the store that is replaced as a whole and never changed in place.
pub(crate) fn map_private_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: files of the store are written under another name, then renamed, so the mapped one never changes;
    // another program of the same user that truncates it all the same can only end this process, not more.
    unsafe { Mmap::map(file) }
}
