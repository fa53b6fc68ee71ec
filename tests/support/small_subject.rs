//! A small instrumented program, compiled and registered in a store of its own.

use hearth_runner::SubjectMap;
use hearth_subject::{Addition, Store, Subject};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A program and its store, which go when this is dropped.
pub struct SmallSubject {
    pub subject: Subject,
    pub map: Arc<SubjectMap>,
    pub directory: tempfile::TempDir,
}

/// Compiles a program with coverage.
pub fn compile(source: &Path, directory: &Path, options: &[&str]) -> PathBuf {
    let binary = directory.join(source.file_stem().expect("a file"));
    let status = Command::new("gcc")
        .current_dir(directory)
        .args(["--coverage", "-O0", "-g", "-w", "-no-pie", "-o"])
        .arg(&binary)
        .arg(source)
        .args(options)
        .status()
        .expect("gcc is installed");
    assert!(status.success(), "{}: {status}", source.display());
    binary
}

impl SmallSubject {
    /// Compiles and registers a program.
    pub fn new(source: &Path) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let build = directory.path().join("build");
        std::fs::create_dir(&build).expect("a directory");
        let binary = compile(source, &build, &[]);
        let store = Store::at(directory.path().join("cache")).expect("a store");
        let addition =
            Addition { name: "small".to_owned(), binary, with: Vec::new(), notes: vec![build], source: None };
        let subject = store.add(&addition).unwrap_or_else(|error| panic!("{error}"));
        let map = Arc::new(SubjectMap::open(&subject).unwrap_or_else(|error| panic!("{error}")));
        Self { subject, map, directory }
    }
}
