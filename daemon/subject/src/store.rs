//! The cache directory that holds subjects, and finding them in it.
//!
//! Below its root: `subjects/<id>/` (one directory each), `downloads/` (source packages, kept for later builds),
//! `sources/` (parts of them), `apt/` (private package lists), `locks/` and `logs/` (of failed builds).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::build::lock::{self, Lock};
use crate::error::{AtPath, Error, Result};
use crate::manifest::{self, Manifest};
use crate::name::SubjectId;
use crate::recipes;
use crate::tree;

/// The cache directory of Hearth.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// A subject that is ready for use.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The subject's directory in the store.
    pub directory: PathBuf,
    /// What it is and how it came to be.
    pub manifest: Manifest,
}

/// What one directory of the store holds.
#[derive(Debug)]
pub enum Entry {
    /// A subject ready for use.
    Ready(Box<Subject>),
    /// A build that was interrupted or is still running.
    Incomplete {
        /// The subject's id.
        id: SubjectId,
        /// The process that is building it now, as far as known.
        builder: Option<String>,
    },
    /// A subject whose manifest cannot be read.
    Damaged {
        /// The subject's id.
        id: SubjectId,
        /// Why its manifest cannot be read.
        error: Error,
    },
}

impl Store {
    /// Finds the cache: `$HEARTH_CACHE`, else `$XDG_CACHE_HOME/hearth`, else `$HOME/.cache/hearth`. Creates nothing.
    pub fn open() -> Result<Store> {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = variable("HEARTH_CACHE")
            .or_else(|| variable("XDG_CACHE_HOME").map(|base| base.join("hearth")))
            .or_else(|| variable("HOME").map(|home| home.join(".cache/hearth")))
            .ok_or(Error::NoCacheRoot)?;
        Store::at(root)
    }

    /// A store in a directory of the caller's choice.
    pub fn at(root: PathBuf) -> Result<Store> {
        let usable =
            |text: &str| !text.contains(|c: char| c.is_whitespace() || ":$#\"'\\;|&<>()*?`".contains(c));
        match root.is_absolute() && root.to_str().is_some_and(usable) {
            true => Ok(Store { root }),
            false => Err(Error::UnusableCacheRoot { path: root }),
        }
    }

    /// The store's root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory a subject has, whether it exists or not.
    pub fn directory(&self, id: &SubjectId) -> PathBuf {
        self.root.join("subjects").join(id.as_str())
    }

    /// Where the log of a failed build is kept.
    pub fn log_path(&self, id: &SubjectId) -> PathBuf {
        self.root.join("logs").join(format!("{id}.log"))
    }

    /// All subjects by id, unfinished and damaged ones included.
    pub fn list(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for id in self.ids()? {
            entries.push(match self.load(&id) {
                Ok(Some(subject)) => Entry::Ready(Box::new(subject)),
                Ok(None) => Entry::Incomplete { builder: lock::holder(self, &id), id },
                Err(error) => Entry::Damaged { id, error },
            });
        }
        Ok(entries)
    }

    /// Finds the subject a name stands for: an id, or a built-in name (then `noopt` goes before `opt`).
    pub fn find(&self, name: &str) -> Result<Subject> {
        let candidates = SubjectId::candidates(name)?;
        for id in &candidates {
            if let Some(subject) = self.load(id)? {
                return Ok(subject);
            }
        }
        match candidates.iter().find(|id| self.directory(id).is_dir()) {
            Some(id) => Err(Error::Incomplete { id: id.to_string(), resume: id.build_command() }),
            None => Err(self.not_found(name)),
        }
    }

    /// The id of the subject a name stands for, finished or not; finished ones go first.
    pub fn resolve(&self, name: &str) -> Result<SubjectId> {
        let candidates = SubjectId::candidates(name)?;
        let finished = |id: &&SubjectId| self.directory(id).join(manifest::FILE_NAME).is_file();
        let present = |id: &&SubjectId| self.directory(id).is_dir();
        let found = candidates.iter().find(finished).or_else(|| candidates.iter().find(present));
        found.cloned().ok_or_else(|| self.not_found(name))
    }

    /// Removes a subject. Of an added one only the registration goes, never the user's files.
    pub fn remove(&self, id: &SubjectId) -> Result<()> {
        let directory = self.directory(id);
        if !directory.is_dir() {
            return Err(self.not_found(id.as_str()));
        }
        let _lock = Lock::try_acquire(self, id)?;
        // The manifest goes first: a removal that is cut short leaves an unfinished subject, not a broken one.
        let manifest = directory.join(manifest::FILE_NAME);
        match fs::remove_file(&manifest) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at("remove", &manifest),
            _ => tree::remove(&directory),
        }
    }

    /// Loads the subject with this very id; `None` if it does not exist or is unfinished.
    pub(crate) fn load(&self, id: &SubjectId) -> Result<Option<Subject>> {
        let directory = self.directory(id);
        Ok(Manifest::load(&directory)?.map(|manifest| Subject { directory, manifest }))
    }

    fn ids(&self) -> Result<Vec<SubjectId>> {
        let subjects = self.root.join("subjects");
        let mut ids = Vec::new();
        match fs::read_dir(&subjects) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).at("list", &subjects),
            Ok(entries) => {
                for entry in entries {
                    let name = entry.at("list", &subjects)?.file_name();
                    // Files that are no valid name were put there by someone else: leave them be.
                    let id = name.to_str().and_then(|name| SubjectId::exact(name).ok());
                    ids.extend(id.filter(|id| self.directory(id).is_dir()));
                }
            }
        }
        ids.sort();
        Ok(ids)
    }

    fn not_found(&self, name: &str) -> Error {
        let ids = self.ids().unwrap_or_default();
        let listed = ids.iter().map(SubjectId::as_str).collect::<Vec<_>>().join(", ");
        let existing = if ids.is_empty() { "none exists yet".into() } else { format!("there are: {listed}") };
        let built_in =
            SubjectId::candidates(name).ok().and_then(|ids| ids[0].recipe().map(|_| ids[0].clone()));
        let hint = match built_in {
            Some(id) => format!("make it with `{}` ({existing})", id.build_command()),
            None => format!(
                "{existing}; `hearth subject build` makes {}, `hearth subject add` registers your own",
                recipes::names()
            ),
        };
        Error::NotFound { name: name.into(), hint }
    }
}

impl Subject {
    /// The subject's id, which is its directory's name.
    pub fn id(&self) -> &str {
        self.directory.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The program.
    pub fn binary(&self) -> PathBuf {
        // Joining an absolute path, as added subjects have, yields that path.
        self.directory.join(&self.manifest.binary.path)
    }

    /// The program and the other ones that it executes and that count, too.
    pub fn programs(&self) -> Vec<PathBuf> {
        let with = self.manifest.with.iter().map(|program| self.directory.join(&program.path));
        std::iter::once(self.binary()).chain(with).collect()
    }

    /// The directory with the notes, at any depth; if there are several, the first.
    pub fn notes_directory(&self) -> PathBuf {
        self.directory.join(&self.manifest.notes.directory)
    }

    /// All directories with notes, at any depth.
    pub fn notes_directories(&self) -> Vec<PathBuf> {
        let further = self.manifest.notes.further.iter().map(|further| self.directory.join(further));
        std::iter::once(self.notes_directory()).chain(further).collect()
    }

    /// The source tree, where known.
    pub fn source_directory(&self) -> Option<PathBuf> {
        self.manifest.source.as_ref().map(|source| self.directory.join(source))
    }

    /// Where the subject's atlas is cached.
    pub fn atlas_path(&self) -> PathBuf {
        self.directory.join("atlas.bin")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Level, sample};
    use std::sync::atomic::{AtomicBool, Ordering};

    fn store_with(ids: &[(&str, Option<Level>)]) -> (tempfile::TempDir, Store) {
        let root = tempfile::tempdir().unwrap();
        let store = Store::at(root.path().to_path_buf()).unwrap();
        for (name, level) in ids {
            let id = level.map_or(name.to_string(), |level| format!("{name}-{level}"));
            let directory = root.path().join("subjects").join(id);
            fs::create_dir_all(&directory).unwrap();
            sample(name, *level).save(&directory).unwrap();
        }
        (root, store)
    }

    #[test]
    fn names_resolve_to_noopt_unless_only_opt_is_built() {
        let opt = ("gcc-11", Some(Level::Opt));
        let (_root, store) = store_with(&[opt]);
        assert_eq!(store.find("gcc-11").unwrap().id(), "gcc-11-opt");
        let (_root, store) = store_with(&[opt, ("gcc-11", Some(Level::Noopt))]);
        assert_eq!(store.find("gcc-11").unwrap().id(), "gcc-11-noopt");
        assert_eq!(store.find("gcc-11-opt").unwrap().id(), "gcc-11-opt");
        assert!(matches!(store.find("gcc-12"), Err(Error::NotFound { .. })));
    }

    #[test]
    fn a_directory_without_manifest_is_incomplete() {
        let (root, store) = store_with(&[("mine", None)]);
        fs::create_dir_all(root.path().join("subjects/gcc-12-opt")).unwrap();
        assert!(matches!(store.find("gcc-12"), Err(Error::Incomplete { id, .. }) if id == "gcc-12-opt"));
        let entries = store.list().unwrap();
        assert!(matches!(&entries[..], [Entry::Incomplete { .. }, Entry::Ready(_)]), "{entries:?}");
    }

    #[test]
    fn removal_leaves_nothing() {
        let (root, store) = store_with(&[("mine", None)]);
        store.remove(&store.resolve("mine").unwrap()).unwrap();
        assert!(!root.path().join("subjects/mine").exists());
        assert!(matches!(store.resolve("mine"), Err(Error::NotFound { .. })));
    }

    #[test]
    fn roots_that_make_cannot_handle_are_refused() {
        for root in ["relative", "/with space", "/a:b", "/a$b"] {
            assert!(matches!(Store::at(root.into()), Err(Error::UnusableCacheRoot { .. })), "{root}");
        }
    }

    #[test]
    fn a_half_written_manifest_makes_no_subject() {
        let (root, store) = store_with(&[]);
        let directory = root.path().join("subjects/mine");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(".manifest.json.new"), "{\"format\": 1, \"name\"").unwrap();
        assert!(store.load(&SubjectId::exact("mine").unwrap()).unwrap().is_none());
        assert!(matches!(store.find("mine"), Err(Error::Incomplete { id, .. }) if id == "mine"));
        assert!(matches!(&store.list().unwrap()[..], [Entry::Incomplete { builder: None, .. }]));
        store.remove(&store.resolve("mine").unwrap()).unwrap();
        assert!(!directory.exists());
    }

    #[test]
    fn a_bad_manifest_is_named_and_hides_no_other_subject() {
        let (root, store) = store_with(&[("good", None), ("bad", None)]);
        let manifest = root.path().join("subjects/bad/manifest.json");
        fs::write(&manifest, "{").unwrap();
        assert!(matches!(store.find("bad"), Err(Error::BadManifest { path, .. }) if path == manifest));
        assert_eq!(store.find("good").unwrap().id(), "good");
        let entries = store.list().unwrap();
        assert!(
            matches!(&entries[..], [Entry::Damaged { id, .. }, Entry::Ready(_)] if id.as_str() == "bad"),
            "{entries:?}"
        );
        store.remove(&store.resolve("bad").unwrap()).unwrap();
        assert_eq!(store.list().unwrap().len(), 1);
    }

    #[test]
    fn a_subject_that_is_removed_meanwhile_is_whole_or_gone() {
        let (root, store) = store_with(&[("mine", None)]);
        let id = SubjectId::exact("mine").unwrap();
        let expected = sample("mine", None);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..50 {
                    store.remove(&id).unwrap();
                    fs::create_dir_all(root.path().join("subjects/mine")).unwrap();
                    expected.save(&store.directory(&id)).unwrap();
                }
                done.store(true, Ordering::Release);
            });
            while !done.load(Ordering::Acquire) {
                if let Some(subject) = store.load(&id).unwrap() {
                    assert_eq!(subject.manifest, expected);
                }
            }
        });
        assert_eq!(store.find("mine").unwrap().manifest, expected);
    }
}
