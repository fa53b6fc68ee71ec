//! Finds the notes and data files of a tree and pairs them up.

use crate::source_path::path_of;
use hearth_coverage::gcov::data_name;
use hearth_coverage::name_text;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
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
/// carries the whole path of the build); where they are not, by the path that `-fprofile-dir` has GCC put into
/// the name of the data. With `all`, notes without data count as objects that never ran.
pub fn find_objects(data_root: &Path, notes_root: Option<&Path>, all: bool) -> io::Result<Vec<Object>> {
    let mut files = Vec::new();
    walk(data_root, 0, &mut files)?;
    let mut elsewhere = Elsewhere { root: notes_root, by_key: None };
    let mut objects: BTreeMap<PathBuf, Object> = BTreeMap::new();
    for data in files.iter().filter(|file| has_extension(file, "gcda")) {
        let notes = match notes_root {
            Some(root) => notes_below(root, data_root, data),
            None => data.with_extension("gcno"),
        };
        let notes = if notes.is_file() { notes } else { elsewhere.find(data)?.unwrap_or(notes) };
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

/// Notes that do not lie where their data does.
struct Elsewhere<'a> {
    root: Option<&'a Path>,
    /// All notes below the root, by what their names have in common with those of their data.
    by_key: Option<BTreeMap<String, Vec<PathBuf>>>,
}

impl Elsewhere<'_> {
    /// The notes whose path is in the name of the data.
    fn find(&mut self, data: &Path) -> io::Result<Option<PathBuf>> {
        let data = text(data);
        let Some(spelled) = data_name::spelled_path(&data) else { return Ok(None) };
        let spelled = path_of(&(spelled + ".gcno"));
        let Some(root) = self.root else { return Ok(spelled.is_file().then_some(spelled)) };
        let by_key = match &mut self.by_key {
            Some(known) => known,
            unknown => unknown.insert(notes_by_key(root)?),
        };
        let notes = by_key.get(data_name::key(&data)).into_iter().flatten();
        let agreement = |notes: &&PathBuf| {
            let object = notes.strip_prefix(root).unwrap_or(notes).with_extension("");
            data_name::agreement(&data, &text(&object))
        };
        let best = notes.filter(|notes| agreement(notes).is_some()).max_by_key(agreement);
        Ok(best.cloned())
    }
}

fn notes_by_key(root: &Path) -> io::Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut files = Vec::new();
    walk(root, 0, &mut files)?;
    let mut by_key: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for notes in files.into_iter().filter(|file| has_extension(file, "gcno")) {
        let key = data_name::key(&text(&notes.with_extension(""))).to_owned();
        by_key.entry(key).or_default().push(notes);
    }
    Ok(by_key)
}

fn text(path: &Path) -> String {
    name_text::from_bytes(path.as_os_str().as_bytes()).into_owned()
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
