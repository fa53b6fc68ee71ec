//! What a benchmark or a check lacks is told in one line, with the command that gets it.

use hearth_subject::{FORMAT, FileRecord, Kind, Level, Manifest, NotesDirectories};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A tool that must end with one line that says all of this.
fn check(program: &str, directory: &Path, path: Option<&Path>, arguments: &[&str], expected: &[&str]) {
    let mut command = Command::new(program);
    command.current_dir(directory).args(["--hearth", "hearth"]).args(arguments);
    command.env("HEARTH_CACHE", directory.join("cache")).env("RUST_BACKTRACE", "1");
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    for part in expected {
        assert!(text.contains(part), "{arguments:?} should say `{part}`: {text}");
    }
}

/// Makes a store believe that tcc is built.
fn register_tcc(directory: &Path, binary: &str) {
    let subject = directory.join("cache/subjects/tcc-noopt");
    fs::create_dir_all(&subject).expect("made");
    let manifest = Manifest {
        format: FORMAT,
        name: "tcc".to_owned(),
        level: Some(Level::Noopt),
        kind: Kind::Built,
        version: None,
        compiler: None,
        flags: None,
        source_package: None,
        binary: FileRecord { path: binary.into(), sha256: String::new() },
        with: Vec::new(),
        notes: NotesDirectories { directory: directory.to_owned(), further: Vec::new(), count: 1 },
        source: None,
        build_seconds: 0,
        built_at: 0,
    };
    let text = serde_json::to_string(&manifest).expect("JSON");
    fs::write(subject.join("manifest.json"), text).expect("written");
}

#[test]
fn missing_things_are_told_with_the_command_that_gets_them() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let directory = scratch.path();
    let programs = directory.join("bin");
    fs::create_dir(&programs).expect("made");
    for name in ["gcc", "gcov", "gcov-12", "fastcov", "csmith", "gcovr", "lcov", "timeout"] {
        fs::write(programs.join(name), "").expect("written");
    }
    let (bench, verify) = (env!("CARGO_BIN_EXE_hearth-bench"), env!("CARGO_BIN_EXE_hearth-verify"));
    let all = Some(programs.as_path());
    let warm = ["warm", "--output", "out", "--subjects", "tcc"];
    let exact = ["exact", "--state", "state", "--subjects", "tcc"];
    check(bench, directory, all, &warm, &["hearth", "cargo build --release"]);
    check(verify, directory, all, &exact, &["hearth", "cargo build --release"]);
    for name in ["hearth", "hearthd"] {
        fs::write(directory.join(name), "").expect("written");
    }
    for name in ["warm", "gcov", "service", "localize"] {
        let arguments = [name, "--output", "out", "--subjects", "tcc"];
        check(bench, directory, all, &arguments, &["no subject `tcc`", "hearth subject build tcc"]);
    }
    for name in ["exact", "soak", "service"] {
        let arguments = [name, "--state", "state", "--short", "--subjects", "tcc"];
        check(verify, directory, all, &arguments, &["no subject `tcc`", "hearth subject build tcc"]);
    }
    register_tcc(directory, "/bin/true");
    let plain = ["tcc-plain-noopt", "`hearth subject build tcc --level plain-noopt`"];
    check(bench, directory, all, &warm, &plain);
    let nothing = Some(directory);
    let missing =
        ["gcov (`apt-get install gcc`)", "fastcov (`pip install", "csmith (`apt-get install csmith"];
    check(bench, directory, nothing, &warm, &missing);
    check(verify, directory, nothing, &exact, &["csmith (`apt-get install csmith"]);
    let programs = ["programs", "--state", "state", "--short"];
    check(verify, directory, nothing, &programs, &["tclsh (`apt-get install tcl`)", "dpkg-source (`apt-get"]);
    register_tcc(directory, "/no/tcc");
    check(bench, directory, all, &warm, &["/no/tcc", "hearth subject remove tcc-noopt"]);
}
