//! Registering a program of the user's own. Nothing is copied: the manifest points at the user's files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::build::lock::Lock;
use crate::error::{AtPath, Error, Result};
use crate::manifest::{FORMAT, FileRecord, Kind, Manifest, NotesDirectories};
use crate::name::SubjectId;
use crate::program;
use crate::store::{Store, Subject};
use crate::{digest, manifest, tree};

/// A program to register.
#[derive(Clone, Debug)]
pub struct Addition {
    /// The name the subject is to have.
    pub name: String,
    /// The program, compiled with `gcc --coverage` and not stripped.
    pub binary: PathBuf,
    /// Other programs that it executes, compiled alike: what they count is to be the subject's, too.
    pub with: Vec<PathBuf>,
    /// The directories with their `.gcno` files, at any depth; at least one.
    pub notes: Vec<PathBuf>,
    /// Its source tree, if its paths are to be shown relative to one.
    pub source: Option<PathBuf>,
}

impl Store {
    /// Registers a program after checking that Hearth can use it.
    pub fn add(&self, addition: &Addition) -> Result<Subject> {
        let id = SubjectId::added(&addition.name)?;
        let directory = self.directory(&id);
        // Without a manifest it is what an addition has left that could not be finished.
        if directory.join(manifest::FILE_NAME).exists() {
            return Err(Error::AlreadyExists { id: id.to_string() });
        }
        let binary = absolute(&addition.binary)?;
        let program = program::inspect(&binary)?;
        let with = addition.with.iter().map(|path| other_program(path)).collect::<Result<Vec<_>>>()?;
        let notes = notes(&addition.notes)?;
        let source = addition.source.as_deref().map(absolute_directory).transpose()?;
        let manifest = Manifest {
            format: FORMAT,
            name: addition.name.clone(),
            level: None,
            kind: Kind::Added,
            version: None,
            compiler: program.compiler,
            flags: None,
            source_package: None,
            binary: FileRecord { sha256: digest::sha256(&binary)?, path: binary },
            with,
            notes,
            source,
            build_seconds: 0,
            built_at: unix_seconds(),
        };
        let _lock = Lock::try_acquire(self, &id)?;
        fs::create_dir_all(&directory).at("create", &directory)?;
        manifest.save(&directory)?;
        Ok(Subject { directory, manifest })
    }
}

/// The current time in seconds since 1970; 0 on a machine whose clock is before that.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

fn other_program(path: &Path) -> Result<FileRecord> {
    let path = absolute(path)?;
    program::inspect(&path)?;
    Ok(FileRecord { sha256: digest::sha256(&path)?, path })
}

/// Finds the directories, each of which must have notes. One inside of another adds nothing.
fn notes(given: &[PathBuf]) -> Result<NotesDirectories> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for directory in given {
        let found = absolute_directory(directory)?;
        if tree::count_extension(&found, "gcno")? == 0 {
            return Err(Error::NoNotes { directory: directory.clone() });
        }
        if !directories.iter().any(|other| found.starts_with(other)) {
            directories.retain(|other| !other.starts_with(&found));
            directories.push(found);
        }
    }
    let counts = directories.iter().map(|directory| tree::count_extension(directory, "gcno"));
    let count = counts.sum::<Result<u64>>()?;
    let mut directories = directories.into_iter();
    let directory = directories.next().ok_or(Error::NoNotes { directory: PathBuf::new() })?;
    Ok(NotesDirectories { directory, further: directories.collect(), count })
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let found = fs::canonicalize(path).at("find", path)?;
    // The manifest is JSON.
    if found.to_str().is_some() { Ok(found) } else { Err(Error::PathNotText { path: found }) }
}

fn absolute_directory(path: &Path) -> Result<PathBuf> {
    let found = absolute(path)?;
    if found.is_dir() { Ok(found) } else { Err(Error::NotADirectory { path: path.to_path_buf() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn unusable_programs_are_refused_and_leave_nothing() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::at(root.path().join("cache")).unwrap();
        let add = |name: &str, binary: &Path| {
            let (name, binary) = (name.to_string(), binary.to_path_buf());
            let addition =
                Addition { name, binary, with: Vec::new(), notes: vec![root.path().into()], source: None };
            store.add(&addition).unwrap_err()
        };
        let this = std::env::current_exe().unwrap();
        assert!(matches!(add("mine", &this), Error::NotInstrumented { .. }));
        assert!(matches!(add("mine", root.path()), Error::Io { .. }));
        assert!(matches!(add("gcc-11", &this), Error::ReservedName { .. }));
        let nameless = root.path().join(OsStr::from_bytes(b"\xff"));
        fs::write(&nameless, "").unwrap();
        assert!(matches!(add("mine", &nameless), Error::PathNotText { .. }));
        assert!(!store.root().exists());
    }
    #[test]
    fn directories_of_notes_are_counted_once() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for name in ["a/x/one.gcno", "a/two.gcno", "b/three.gcno"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let [inner, a, b] = ["a/x", "a", "b"].map(|name| root.join(name));
        let found = notes(&[inner, a.clone(), b.clone(), a.clone()]).unwrap();
        assert_eq!(found, NotesDirectories { directory: a, further: vec![b], count: 3 });
        fs::create_dir(root.join("empty")).unwrap();
        assert!(matches!(notes(&[root.join("b"), root.join("empty")]), Err(Error::NoNotes { .. })));
    }
}
