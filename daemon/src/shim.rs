//! The shim, which is a part of this program.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Write};

const BYTES: &[u8] = include_bytes!(env!("HEARTH_SHIM"));

/// The shim as a file in memory, for a subject's loader.
///
/// # Errors
/// If there is no memory for it.
pub fn file() -> io::Result<File> {
    let mut file = File::from(memfd_create("hearth-shim", MemfdFlags::CLOEXEC)?);
    file.write_all(BYTES)?;
    Ok(file)
}
