//! Walking a directory tree without following symbolic links.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::Path;

use crate::error::{AtPath, Result};

/// Deeper than any source tree; a limit so that a damaged file system cannot make the walk endless.
const DEPTH_LIMIT: usize = 64;

/// Calls `visit` for every regular file below `root`.
pub(crate) fn for_each_file(root: &Path, visit: &mut dyn FnMut(&DirEntry) -> Result<()>) -> Result<()> {
    walk(root, DEPTH_LIMIT, visit)
}

/// Counts the files below `root` with the given extension.
pub(crate) fn count_extension(root: &Path, extension: &str) -> Result<u64> {
    let mut count = 0;
    for_each_file(root, &mut |entry| {
        count += u64::from(has_extension(&entry.path(), extension));
        Ok(())
    })?;
    Ok(count)
}

/// Whether a path ends in `.extension`.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension() == Some(OsStr::new(extension))
}

/// Removes a directory and all in it; one that is not there is fine.
pub(crate) fn remove(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at("remove", directory),
        _ => Ok(()),
    }
}

fn walk(directory: &Path, depth: usize, visit: &mut dyn FnMut(&DirEntry) -> Result<()>) -> Result<()> {
    if depth == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(directory).at("list", directory)? {
        let entry = entry.at("list", directory)?;
        let kind = entry.file_type().at("inspect", &entry.path())?;
        if kind.is_dir() {
            walk(&entry.path(), depth - 1, visit)?;
        } else if kind.is_file() {
            visit(&entry)?;
        }
    }
    Ok(())
}
