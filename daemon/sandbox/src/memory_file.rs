//! Files in memory: what a run is given, and what it writes.

use crate::error::{During, Result};
use rustix::fs::{MemfdFlags, OFlags, SealFlags, fcntl_add_seals, fcntl_setfl, memfd_create};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::fs::FileExt;

/// An empty file.
///
/// # Errors
/// If there are too many descriptors.
pub fn empty() -> Result<File> {
    memfd_create("hearth", MemfdFlags::CLOEXEC).map(File::from).during("make a file in memory")
}

/// A file that nobody can change, at its beginning.
///
/// # Errors
/// If there is no memory for it.
pub fn sealed(bytes: &[u8]) -> Result<File> {
    let fd = memfd_create("hearth", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
    let mut file = fd.map(File::from).during("make a file in memory")?;
    file.write_all(bytes).and_then(|()| file.rewind()).during("write to memory")?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals).during("seal a file in memory")?;
    Ok(file)
}

/// A file that grows with what is written to it.
///
/// # Errors
/// If there are too many descriptors.
pub fn growing() -> Result<File> {
    let file = empty()?;
    fcntl_setfl(&file, OFlags::APPEND).during("make a file in memory")?;
    Ok(file)
}

/// What was written to a file, up to a limit. It is copied: a run may still change its size.
///
/// # Errors
/// If it cannot be read.
pub fn contents(file: &File, limit: u64) -> Result<Vec<u8>> {
    let size = file.metadata().during("look at an output")?.len().min(limit);
    let mut bytes = vec![0; size as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64).during("read an output")? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn sealed_files_are_read_from_the_beginning_and_cannot_be_changed() {
        let mut file = sealed(b"text").expect("a file");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("read");
        assert_eq!(text, "text");
        assert!(file.write_all(b"more").is_err());
        assert!(file.set_len(0).is_err());
    }

    #[test]
    fn what_was_written_is_read_up_to_the_limit() {
        let mut file = growing().expect("a file");
        // It is always written behind what is there.
        file.write_all(b"one")
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(b"two"))
            .expect("written");
        assert_eq!(contents(&file, 100).expect("read"), b"onetwo");
        assert_eq!(contents(&file, 4).expect("read"), b"onet");
        assert_eq!(contents(&empty().expect("a file"), 4).expect("read"), b"");
    }
}
