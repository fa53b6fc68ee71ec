//! The subject's code and constants on large pages.
//!
//! A compiler's code is tens of megabytes. On pages of 4 KiB every run would fault them in again, because a fork
//! copies no page tables of files, and then miss the processor's address cache all the time. A copy in private
//! memory on large pages, moved to where the code was, has neither. Addresses and contents stay as they were.

use crate::sys::{self, Result};
use std::ptr;

/// Bytes in a large page.
const LARGE: usize = 2 << 20;
/// The most mappings that are moved.
const MAPPINGS: usize = 16;
/// The longest line of the list of mappings that is looked at; the names behind it do not matter.
const LINE: usize = 128;

/// A part of a mapping that can be on large pages.
#[derive(Clone, Copy, Default)]
struct Part {
    start: usize,
    end: usize,
    protection: usize,
}

/// Moves all read-only parts of mapped files that are large enough. Where that fails they stay as they are.
pub fn settle() {
    let mut parts = [Part::default(); MAPPINGS];
    let count = find(&mut parts).unwrap_or(0);
    for part in &parts[..count] {
        let _ = part.settle();
    }
}

/// Finds the parts, and says how many.
fn find(parts: &mut [Part; MAPPINGS]) -> Result<usize> {
    let fd = sys::open_at(libc::AT_FDCWD, b"/proc/self/maps\0", libc::O_RDONLY | libc::O_CLOEXEC, 0)?;
    let mut count = 0;
    let mut line = [0; LINE];
    let mut length = 0;
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = sys::read(fd, &mut piece) {
        for &byte in &piece[..read] {
            if byte != b'\n' {
                if let Some(place) = line.get_mut(length) {
                    *place = byte;
                    length += 1;
                }
                continue;
            }
            if let Some(part) = Part::parse(&line[..length])
                && let Some(place) = parts.get_mut(count)
            {
                *place = part;
                count += 1;
            }
            length = 0;
        }
    }
    sys::close(fd);
    Ok(count)
}

impl Part {
    /// What of a line's mapping can be moved: `start-end rwxp offset device inode path`.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
        let range = fields.next()?;
        let dash = range.iter().position(|&byte| byte == b'-')?;
        let protection = match fields.next()? {
            b"r-xp" => libc::PROT_READ | libc::PROT_EXEC,
            b"r--p" => libc::PROT_READ,
            _ => return None,
        };
        let has_file = fields.nth(2)? != b"0";
        // The first page stays, so that the list of mappings goes on to tell where the file is.
        let start = (hexadecimal(&range[..dash])? + 1).next_multiple_of(LARGE);
        let end = hexadecimal(&range[dash + 1..])? / LARGE * LARGE;
        (has_file && start < end).then_some(Self { start, end, protection: protection as usize })
    }

    fn settle(&self) -> Result<()> {
        let length = self.end - self.start;
        let room = length + LARGE;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let nobody = usize::MAX;
        // SAFETY: new memory, where the kernel likes.
        let space =
            unsafe { sys::call(libc::SYS_mmap, [0, room, access as usize, kind as usize, nobody, 0]) }?;
        let copy = space.next_multiple_of(LARGE);
        let moved = self.copy_and_move(copy, length);
        // All of it goes but what was moved away, so that later mappings are placed as in a plain run.
        let kept = if moved.is_ok() { length } else { 0 };
        let rest = [(space, copy - space), (copy + kept, space + room - copy - kept)];
        for (address, length) in rest.into_iter().filter(|&(_, length)| length > 0) {
            // SAFETY: it is part of the new memory, and nothing refers to it.
            let _ = unsafe { sys::call(libc::SYS_munmap, [address, length, 0, 0, 0, 0]) };
        }
        moved
    }

    fn copy_and_move(&self, copy: usize, length: usize) -> Result<()> {
        let advice = libc::MADV_HUGEPAGE as usize;
        // SAFETY: advice about the new memory.
        unsafe { sys::call(libc::SYS_madvise, [copy, length, advice, 0, 0, 0]) }?;
        // SAFETY: the source is a readable mapping of that length, the target new memory with room for it.
        unsafe { ptr::copy_nonoverlapping(self.start as *const u8, copy as *mut u8, length) };
        // SAFETY: the new memory is protected as the mapping it will stand for.
        unsafe { sys::call(libc::SYS_mprotect, [copy, length, self.protection, 0, 0, 0]) }?;
        let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
        // SAFETY: the mapping is replaced by a copy of itself in one step. Neither this code nor anything it
        // calls lies in it: the shim's mappings are smaller than a large page.
        unsafe { sys::call(libc::SYS_mremap, [copy, length, length, flags, self.start, 0]) }.map(drop)
    }
}

fn hexadecimal(digits: &[u8]) -> Option<usize> {
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
