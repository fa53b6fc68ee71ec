//! The shim, which is a part of this program.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

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

/// Writes the shim to a file that everybody can read.
///
/// # Errors
/// If it cannot be written.
pub fn write_to(path: &Path) -> io::Result<()> {
    fs::write(path, BYTES)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}
