//! Resuming an interrupted build: stage stamps, and removing what the interruption may have cut short.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{AtPath, Result};
use crate::tree;

use super::{BuildSystem, prune};

/// A compile that was cut short wrote last; none takes longer than this on the machines we know.
const SUSPECT_WINDOW: Duration = Duration::from_secs(60);

/// A step of a build that, once finished, need not be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The source package is in the downloads.
    Downloaded,
    /// `source/` is complete.
    Extracted,
    /// `build/` is configured.
    Configured,
    /// All is compiled.
    Built,
}

impl Step {
    fn stamp(self, directory: &Path) -> PathBuf {
        directory.join(match self {
            Step::Downloaded => "stage.downloaded",
            Step::Extracted => "stage.extracted",
            Step::Configured => "stage.configured",
            Step::Built => "stage.built",
        })
    }

    /// What was recorded when the step finished; `None` if it did not.
    pub(super) fn finished(self, directory: &Path) -> Option<String> {
        fs::read_to_string(self.stamp(directory)).ok()
    }

    /// Records that the step has finished. The stamp appears whole or not at all.
    pub(super) fn record(self, directory: &Path, note: &str) -> Result<()> {
        let stamp = self.stamp(directory);
        let temporary = stamp.with_extension("new");
        fs::write(&temporary, note).at("write", &temporary)?;
        fs::rename(&temporary, &stamp).at("rename", &temporary)
    }

    /// Forgets that the step was finished.
    pub(super) fn forget(self, directory: &Path) -> Result<()> {
        let stamp = self.stamp(directory);
        match fs::remove_file(&stamp) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at("remove", &stamp),
            _ => Ok(()),
        }
    }
}

/// Deletes the objects, notes, archives and programs written within a minute of the newest one: a kill may have left
/// them truncated, and build systems trust whatever exists. Returns how many objects are left.
pub(super) fn delete_suspects(build: &Path, system: &dyn BuildSystem) -> Result<u64> {
    let mut products: Vec<(PathBuf, SystemTime)> = Vec::new();
    tree::for_each_file(build, &mut |entry| {
        let path = entry.path();
        let metadata = entry.metadata().at("inspect", &path)?;
        if system.is_product(&path) || prune::is_program(&path, &metadata)? {
            products.push((path.clone(), metadata.modified().at("inspect", &path)?));
        }
        Ok(())
    })?;
    let Some(newest) = products.iter().map(|(_, modified)| *modified).max() else { return Ok(0) };
    let suspect =
        |modified: &SystemTime| newest.duration_since(*modified).is_ok_and(|age| age <= SUSPECT_WINDOW);
    for (path, _) in products.iter().filter(|(_, modified)| suspect(modified)) {
        remove_if_there(path)?;
        // Only compiling the object again makes new notes.
        if tree::has_extension(path, "gcno") {
            remove_if_there(&path.with_extension("o"))?;
        }
    }
    tree::count_extension(build, "o")
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at("remove", path),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConfigureMake;
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;

    fn make(directory: &Path, name: &str, bytes: &[u8], age_seconds: u64) -> PathBuf {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - age_seconds);
        File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
        path
    }

    #[test]
    fn only_late_products_are_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let table: [(&str, &[u8], u64, bool); 9] = [
            ("gcc/old.o", b"", 100, true),
            ("gcc/old.gcno", b"", 100, true),
            ("gcc/late.o", b"", 0, false),
            ("gcc/late.gcno", b"", 59, false),
            ("gcc/split.o", b"", 61, false),
            ("gcc/split.gcno", b"", 60, false),
            ("lib.a", b"", 5, false),
            ("gcc/insn-output.c", b"", 0, true),
            ("gcc/s-output", b"", 0, true),
        ];
        for (name, bytes, age, _) in table {
            make(root, name, bytes, age);
        }
        let program = make(root, "build/genattr", b"\x7fELF", 3);
        let script = make(root, "config.status", b"#!/bin/sh", 3);
        for path in [&program, &script] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert_eq!(delete_suspects(root, &ConfigureMake::default()).unwrap(), 1);
        for (name, _, _, stays) in table {
            assert_eq!(root.join(name).exists(), stays, "{name}");
        }
        assert!(!program.exists());
        assert!(script.exists());
    }

    #[test]
    fn an_empty_tree_is_fine() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(delete_suspects(directory.path(), &ConfigureMake::default()).unwrap(), 0);
    }

    #[test]
    fn stamps_are_remembered_and_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Step::Extracted.finished(directory.path()), None);
        Step::Extracted.record(directory.path(), "x").unwrap();
        assert_eq!(Step::Extracted.finished(directory.path()).as_deref(), Some("x"));
        assert_eq!(Step::Built.finished(directory.path()), None);
        Step::Extracted.forget(directory.path()).unwrap();
        Step::Extracted.forget(directory.path()).unwrap();
        assert_eq!(Step::Extracted.finished(directory.path()), None);
    }

    #[test]
    fn stamps_of_earlier_versions_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let table = [
            (Step::Downloaded, "stage.downloaded"),
            (Step::Extracted, "stage.extracted"),
            (Step::Configured, "stage.configured"),
            (Step::Built, "stage.built"),
        ];
        for (step, name) in table {
            fs::write(directory.path().join(name), "note").unwrap();
            assert_eq!(step.finished(directory.path()).as_deref(), Some("note"), "{name}");
        }
    }
}
