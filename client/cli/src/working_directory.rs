//! The directory that runs begin in, and what is said if it is not there.

use anyhow::{anyhow, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// This process's own.
pub fn here() -> anyhow::Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        // Linux still knows the name of a directory that was removed.
        let name = fs::read_link("/proc/self/cwd").unwrap_or_default();
        let name = name.to_string_lossy();
        let name = name.strip_suffix(" (deleted)").unwrap_or(&name);
        anyhow!("the working directory {name} is gone: {error}; change to one that exists (cd)")
    })
}

/// Sees that an order's directory is one, and absolute.
pub fn check(directory: &Path) -> anyhow::Result<()> {
    if !directory.is_absolute() {
        bail!("the working directory {} is not an absolute path; write it from / on", directory.display());
    }
    let about = fs::metadata(directory).map_err(|error| {
        anyhow!(
            "the working directory {} cannot be used: {error}; make it, or name one that exists",
            directory.display()
        )
    })?;
    if !about.is_dir() {
        bail!("the working directory {} is not a directory; name one", directory.display());
    }
    Ok(())
}
