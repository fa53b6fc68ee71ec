//! The memory of a zygote or a run, read through descriptors they handed over.
//!
//! Memory that a run can write is never mapped here, only copied; what it says is checked by who asked.

use memmap2::MmapMut;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// Bytes in a page.
pub const PAGE_BYTES: u64 = 4096;

/// Bits of a page map entry: mapped by one process only, swapped out, present.
const EXCLUSIVE: u64 = 1 << 56;
const SWAPPED: u64 = 1 << 62;

/// The memory of a process.
#[derive(Debug)]
pub struct Memory {
    memory: File,
    pages: Option<File>,
    /// A process that has the memory, if one is known: reading from it is faster than through the file.
    process: Option<Pid>,
}

impl Memory {
    /// The memory behind the two files of `/proc`.
    #[must_use]
    pub fn new(memory: File, pages: File) -> Self {
        Self { memory, pages: Some(pages), process: None }
    }

    /// Memory of which is not known which pages are the process's alone.
    #[must_use]
    pub fn without_pages(memory: File) -> Self {
        Self { memory, pages: None, process: None }
    }

    /// The same memory, of which is not known which pages are the process's alone.
    #[cfg(test)]
    pub fn forget_pages(self) -> Self {
        Self { pages: None, ..self }
    }

    /// Names a process that has the same memory.
    pub fn set_process(&mut self, process: Pid) {
        self.process = Some(process);
    }

    /// Copies those pages of a range that are wanted to their place among the range's bytes.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn read_pages(&self, first_page: u64, wanted: &[bool], mut bytes: &mut [u8]) -> io::Result<()> {
        let mut runs = Vec::new();
        let mut page = first_page;
        for run in wanted.chunk_by(|a, b| a == b) {
            let (here, later) = bytes.split_at_mut(run.len() * PAGE_BYTES as usize);
            if run[0] {
                runs.push((page * PAGE_BYTES, here));
            }
            bytes = later;
            page += run.len() as u64;
        }
        if let Some(process) = self.process
            && read_from(process, &mut runs)
        {
            return Ok(());
        }
        runs.into_iter().try_for_each(|(address, bytes)| self.read(address, bytes))
    }

    /// Copies memory.
    ///
    /// # Errors
    /// If it is not mapped, or the process's memory is gone.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.memory.read_exact_at(bytes, address)
    }

    /// Copies one word.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn read_word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Copies text up to a NUL.
    ///
    /// # Errors
    /// As [`Memory::read`], or if there is no NUL within `limit` bytes.
    pub fn read_text(&self, address: u64, limit: usize) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < limit {
            let at = address + text.len() as u64;
            // Up to the end of the page, because the next one need not be mapped.
            let mut piece = vec![0; (PAGE_BYTES - at % PAGE_BYTES) as usize];
            self.read(at, &mut piece)?;
            if let Some(end) = piece.iter().position(|&byte| byte == 0) {
                text.extend_from_slice(&piece[..end]);
                return Ok(text);
            }
            text.extend_from_slice(&piece);
        }
        Err(io::Error::other("text without an end"))
    }

    /// Which pages of a range belong to this process alone: in a run, those written since the fork. All of them may, where that
    /// is not known; who asks then compares more than it has to.
    ///
    /// # Errors
    /// If the process's memory is gone.
    pub fn own_pages(&self, first_page: u64, count: usize) -> io::Result<Vec<bool>> {
        let Some(pages) = &self.pages else { return Ok(vec![true; count]) };
        let mut entries = vec![0_u8; count * 8];
        pages.read_exact_at(&mut entries, first_page * 8)?;
        let entries = entries.as_chunks::<8>().0.iter().map(|&entry| u64::from_le_bytes(entry));
        // A page swapped out may be anybody's, so it is taken for the run's.
        Ok(entries.map(|entry| entry & (EXCLUSIVE | SWAPPED) != 0).collect())
    }
}

/// Does this kernel tell in its page maps which pages a process has for itself? It is asked once.
#[must_use]
pub fn tells_own_pages() -> bool {
    static TELLS: OnceLock<bool> = OnceLock::new();
    *TELLS.get_or_init(|| {
        let tells = try_own_pages().unwrap_or(false);
        if !tells {
            tracing::warn!(
                "the kernel's page maps do not tell who has a page; all pages of runs are compared"
            );
        }
        tells
    })
}

/// A page that was written by this process alone must be its own, and one that is mapped twice must not.
fn try_own_pages() -> io::Result<bool> {
    let mut own = MmapMut::map_anon(PAGE_BYTES as usize)?;
    own[0] = 1;
    let file = File::from(memfd_create("hearth", MemfdFlags::CLOEXEC)?);
    file.set_len(PAGE_BYTES)?;
    // SAFETY: nobody else knows the file, so its size and contents are this function's.
    let mut one = unsafe { MmapMut::map_mut(&file)? };
    // SAFETY: as above.
    let mut other = unsafe { MmapMut::map_mut(&file)? };
    one[0] = 1;
    other[1] = 1;
    let memory = Memory::new(File::open("/proc/self/mem")?, File::open("/proc/self/pagemap")?);
    let is_own =
        |map: &MmapMut| Ok::<_, io::Error>(memory.own_pages(map.as_ptr() as u64 / PAGE_BYTES, 1)?[0]);
    Ok(is_own(&own)? && !is_own(&one)? && !is_own(&other)?)
}

/// Copies memory of another process from addresses; false if that does not work.
fn read_from(process: Pid, runs: &mut [(u64, &mut [u8])]) -> bool {
    /// The most pieces the kernel takes at once.
    const PIECES: usize = 1024;
    runs.chunks_mut(PIECES).all(|runs| {
        let remote: Vec<RemoteIoVec> = runs
            .iter()
            .map(|(address, bytes)| RemoteIoVec { base: *address as usize, len: bytes.len() })
            .collect();
        let length = remote.iter().map(|piece| piece.len).sum();
        let mut local: Vec<IoSliceMut<'_>> =
            runs.iter_mut().map(|(_, bytes)| IoSliceMut::new(bytes)).collect();
        process_vm_readv(process, &mut local, &remote) == Ok(length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hearth counts on it wherever it is tested; elsewhere it compares all pages.
    #[test]
    fn this_kernel_tells_who_has_a_page() {
        assert!(tells_own_pages());
    }
}
