//! A plain run of an instrumented program, its .gcda files kept out of the build tree and found again.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs `binary` with its data redirected below `scratch`, and links the notes beside the data. Returns the
/// tree to report.
pub fn plain_run(binary: &Path, notes: &Path, arguments: &[String], scratch: &Path) -> PathBuf {
    let prefix = scratch.join("data");
    fs::create_dir_all(&prefix).expect("a directory");
    let mut command = Command::new(binary);
    command.args(arguments).current_dir(scratch).env("GCOV_PREFIX", &prefix).env_remove("GCOV_PREFIX_STRIP");
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    // A compile error or an internal error is as good a run as any; a crash would write no data.
    assert!(status.code().is_some(), "{command:?}: {status}");
    let tree = prefix.join(notes.strip_prefix("/").expect("an absolute path"));
    link_notes(&tree, notes);
    tree
}

/// Links the notes of the data below `tree` beside them.
pub fn link_notes(tree: &Path, notes: &Path) {
    for entry in fs::read_dir(tree).unwrap_or_else(|error| panic!("no data in {}: {error}", tree.display())) {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("a name");
        if path.is_dir() {
            link_notes(&path, &notes.join(name));
        } else if path.extension().is_some_and(|extension| extension == "gcda") {
            let target = notes.join(name).with_extension("gcno");
            assert!(target.is_file(), "{} has no notes", path.display());
            let link = path.with_extension("gcno");
            if !link.exists() {
                symlink(target, link).expect("linked");
            }
        }
    }
}

/// The .gcda files below `tree`, in the order Hearth reports them.
pub fn data_files(tree: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![tree.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "gcda") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
