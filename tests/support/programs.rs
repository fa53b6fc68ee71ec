//! Random programs to compile, and option sets to compile them with.

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

/// Option sets for cc1: the usual levels, alone and with what takes other paths through the compiler.
pub const CC1_OPTIONS: &[&str] = &[
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-Og",
    "-Ofast",
    "-O2 -g",
    "-O0 -g3",
    "-O3 -funroll-loops",
    "-O2 -fno-inline",
    "-O2 -fwrapv -fno-strict-aliasing",
    "-O3 -fno-tree-vectorize -fno-ivopts",
    "-O2 -fPIC -fstack-protector-all",
    "-O1 -ftree-vectorize -mavx2",
    "-O2 -m32",
    "-O2 -fprofile-arcs -ftest-coverage",
    "-O3 -fipa-pta -fgcse-after-reload",
    "-Os -fomit-frame-pointer -ffunction-sections",
    "-O2 -fdump-tree-optimized -fdump-rtl-final",
];

/// Option sets for tcc.
pub const TCC_OPTIONS: &[&str] = &[
    "-c",
    "-c -g",
    "-c -b",
    "-c -Wall",
    "-E",
    "-E -P",
    "-c -funsigned-char",
    "-c -fno-common",
    "-c -mms-bitfields",
    "-c -DX=1 -UX",
    "-c -v",
    "-c -std=c11",
    "-c -fleading-underscore",
    "-c -Wunsupported -Wwrite-strings",
    "-c -g -b -Wall",
    "-c -nostdinc",
    "-c -fno-builtin",
    "-vv -c",
    "-c -O2",
    "-r",
];
