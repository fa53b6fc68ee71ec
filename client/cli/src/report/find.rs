//! Finds the notes and data files of a tree and pairs them up.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories this deep are taken for a loop.
const MAX_DEPTH: usize = 64;

/// An object of the tree: its notes, and its data if there are any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// The .gcda file, or where it would be.
    pub data: PathBuf,
    /// Did the object leave data behind?
    pub has_data: bool,
    /// The .gcno file, which may not exist.
    pub notes: PathBuf,
}

/// Lists the objects below `data_root` in order of their paths.
///
/// The notes are looked for beside the data or, if `notes_root` is given, at the same place below that:
/// directly, or after the longest tail of the path that exists there (data written with `GCOV_PREFIX`
/// carries the whole path of the build). With `all`, notes without data count as objects that never ran.
pub fn find_objects(data_root: &Path, notes_root: Option<&Path>, all: bool) -> io::Result<Vec<Object>> {
    let mut files = Vec::new();
    walk(data_root, 0, &mut files)?;
    let mut objects: BTreeMap<PathBuf, Object> = BTreeMap::new();
    for data in files.iter().filter(|file| has_extension(file, "gcda")) {
        let notes = match notes_root {
            Some(root) => notes_below(root, data_root, data),
            None => data.with_extension("gcno"),
        };
        objects.insert(notes.clone(), Object { data: data.clone(), has_data: true, notes });
    }
    if all {
        let mut notes_files = Vec::new();
        walk(notes_root.unwrap_or(data_root), 0, &mut notes_files)?;
        for notes in notes_files.into_iter().filter(|file| has_extension(file, "gcno")) {
            let data = notes.with_extension("gcda");
            objects.entry(notes.clone()).or_insert(Object { data, has_data: false, notes });
        }
    }
    let mut objects: Vec<Object> = objects.into_values().collect();
    objects.sort();
    Ok(objects)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension() == Some(OsStr::new(extension))
}

fn notes_below(notes_root: &Path, data_root: &Path, data: &Path) -> PathBuf {
    let relative = data.strip_prefix(data_root).unwrap_or(data).with_extension("gcno");
    let mut tail = relative.components();
    loop {
        let candidate = notes_root.join(tail.as_path());
        if tail.as_path().as_os_str().is_empty() {
            return notes_root.join(&relative);
        }
        if candidate.is_file() {
            return candidate;
        }
        tail.next();
    }
}

fn walk(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other(format!(
            "{} lies more than {MAX_DEPTH} directories deep; name a directory closer to the files",
            directory.display()
        )));
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        // Links to directories are not followed, links to files are.
        if entry.file_type()?.is_dir() {
            walk(&path, depth + 1, files)?;
        } else if has_extension(&path, "gcda") || has_extension(&path, "gcno") {
            files.push(path);
        }
    }
    Ok(())
}
