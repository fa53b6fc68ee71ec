//! Programs to compile: random ones, and any one preprocessed.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a preprocessed random program.
pub fn csmith_program(seed: u64, directory: &Path) -> PathBuf {
    let source = directory.join(format!("csmith-{seed}.c"));
    let limits = ["--max-funcs", "4", "--max-block-depth", "3", "--max-expr-complexity", "6"];
    // It leaves a file of its own where it runs.
    let status = Command::new("csmith")
        .current_dir(directory)
        .args(["--seed", &seed.to_string(), "--output"])
        .arg(&source)
        .args(limits)
        .status()
        .expect("csmith is installed (tools/test does it)");
    assert!(status.success(), "csmith --seed {seed}: {status}");
    preprocess(&source, directory)
}

/// Preprocesses a program with the system's compiler, so that any other one can read it.
pub fn preprocess(source: &Path, directory: &Path) -> PathBuf {
    let stem = source.file_stem().expect("a file").to_string_lossy();
    let preprocessed = directory.join(format!("{stem}.i"));
    let status = Command::new("gcc")
        .args(["-E", "-w", "-I", "/usr/include/csmith", "-o"])
        .arg(&preprocessed)
        .arg(source)
        .status()
        .expect("gcc is installed");
    assert!(status.success(), "gcc -E {}: {status}", source.display());
    preprocessed
}
