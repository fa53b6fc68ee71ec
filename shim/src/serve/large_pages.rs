//! The subject's code and constants on large pages.
//!
//! A compiler's code is tens of megabytes. On pages of 4 KiB every run would fault them in again, because a fork
//! copies no page tables of files, and then miss the processor's address cache all the time. A copy in private
//! memory on large pages, moved to where the code was, has neither. Addresses and contents stay as they were.

use crate::sys::{self, Result};
use hearth_shim_pure::mapping::{LARGE, LINE_LIMIT, Part};
use hearth_shim_pure::text::Lines;
use std::ptr;

/// The most mappings that are moved.
const MAPPINGS: usize = 16;

/// Moves all read-only parts of mapped files that are large enough. Where that fails they stay as they are.
pub fn settle() {
    let mut parts = [Part::default(); MAPPINGS];
    let count = find(&mut parts).unwrap_or(0);
    for part in &parts[..count] {
        let _ = settle_part(part);
    }
}

/// Finds the parts, and says how many.
fn find(parts: &mut [Part; MAPPINGS]) -> Result<usize> {
    let fd = sys::open_at(libc::AT_FDCWD, b"/proc/self/maps\0", libc::O_RDONLY | libc::O_CLOEXEC, 0)?;
    let mut count = 0;
    let mut lines = Lines::<LINE_LIMIT>::new();
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = sys::read(fd, &mut piece) {
        for &byte in &piece[..read] {
            if let Some(part) = lines.push(byte).and_then(Part::parse)
                && let Some(place) = parts.get_mut(count)
            {
                *place = part;
                count += 1;
            }
        }
    }
    sys::close(fd);
    Ok(count)
}

fn settle_part(part: &Part) -> Result<()> {
    let length = part.end - part.start;
    let room = length + LARGE;
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let nobody = usize::MAX;
    // SAFETY: new memory, where the kernel likes.
    let space = unsafe { sys::call(libc::SYS_mmap, [0, room, access as usize, kind as usize, nobody, 0]) }?;
    let copy = space.next_multiple_of(LARGE);
    let moved = copy_and_move(part, copy, length);
    // All of it goes but what was moved away, so that later mappings are placed as in a plain run.
    let kept = if moved.is_ok() { length } else { 0 };
    let rest = [(space, copy - space), (copy + kept, space + room - copy - kept)];
    for (address, length) in rest.into_iter().filter(|&(_, length)| length > 0) {
        // SAFETY: it is part of the new memory, and nothing refers to it.
        let _ = unsafe { sys::call(libc::SYS_munmap, [address, length, 0, 0, 0, 0]) };
    }
    moved
}

fn copy_and_move(part: &Part, copy: usize, length: usize) -> Result<()> {
    let advice = libc::MADV_HUGEPAGE as usize;
    // SAFETY: advice about the new memory.
    unsafe { sys::call(libc::SYS_madvise, [copy, length, advice, 0, 0, 0]) }?;
    // SAFETY: the source is a readable mapping of that length, the target new memory with room for it.
    unsafe { ptr::copy_nonoverlapping(part.start as *const u8, copy as *mut u8, length) };
    // SAFETY: the new memory is protected as the mapping it will stand for.
    unsafe { sys::call(libc::SYS_mprotect, [copy, length, part.protection as usize, 0, 0, 0]) }?;
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    // SAFETY: the mapping is replaced by a copy of itself in one step. Neither this code nor anything it
    // calls lies in it: the shim's mappings are smaller than a large page.
    unsafe { sys::call(libc::SYS_mremap, [copy, length, length, flags, part.start, 0]) }.map(drop)
}
