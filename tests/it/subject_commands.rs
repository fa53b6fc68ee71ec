//! `hearth subject add | list | show | remove`, and `build` where it must refuse.

use crate::{hearth, project, run, run_ok};
use hearth_subject::Store;
use hearth_subject::atlas::AtlasFile;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A cache directory of its own, and a small program beside it.
struct World {
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::copy(project().join("tests/programs/loops.c"), directory.path().join("loops.c")).expect("copied");
        Self { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn compile(&self, flags: &[&str]) {
        run_ok(Command::new("gcc").current_dir(self.path()).args(["-o", "loops", "loops.c"]).args(flags));
    }

    fn subject(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(hearth());
        command.current_dir(self.path()).env("HEARTH_CACHE", self.path().join("cache"));
        command.arg("subject").args(arguments);
        command
    }

    /// Runs a command that must fail with a message that says all of this.
    fn refused(&self, arguments: &[&str], expected: &[&str]) {
        let output = run(&mut self.subject(arguments));
        assert_says(&output, expected);
    }
}

fn assert_says(output: &Output, expected: &[&str]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    for part in expected {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn a_program_of_ones_own_is_added_shown_and_removed() {
    let world = World::new();
    world.compile(&["--coverage"]);
    run_ok(&mut world.subject(&["add", "mine", "--binary", "loops", "--notes", "."]));
    let listed = run_ok(&mut world.subject(&["list"]));
    assert!(listed.contains("mine") && listed.contains("ready"), "{listed}");
    let shown: Value =
        serde_json::from_str(&run_ok(&mut world.subject(&["show", "mine", "--json"]))).expect("JSON");
    assert_eq!(shown["manifest"]["notes"]["count"], 1);
    let binary = shown["binary"].as_str().expect("a path");
    assert_eq!(Path::new(binary), world.path().canonicalize().expect("there").join("loops"));
    world.refused(&["add", "mine", "--binary", "loops", "--notes", "."], &["mine"]);
    world.refused(&["remove", "mine"], &["--yes"]);
    run_ok(&mut world.subject(&["remove", "mine", "--yes"]));
    world.refused(&["show", "mine"], &["mine", "hearth subject"]);
    assert!(world.path().join("loops").exists() && world.path().join("loops.gcno").exists());
}

/// A program that executes others is a subject with them: the atlas has the objects of all, of whatever directory.
#[test]
fn programs_that_a_program_executes_can_be_added_with_it() {
    let world = World::new();
    world.compile(&["--coverage"]);
    let tool = world.path().join("tool");
    fs::create_dir(&tool).expect("made");
    // Alike in name, and one beside it that is linked into neither.
    for (name, flags) in [("loops.c", &["-o", "tool"][..]), ("other.c", &["-c"])] {
        fs::copy(world.path().join("loops.c"), tool.join(name)).expect("copied");
        run_ok(Command::new("gcc").current_dir(&tool).args(["--coverage", name]).args(flags));
    }
    let build = world.path().join("build");
    fs::create_dir(&build).expect("made");
    run_ok(Command::new("gcc").current_dir(&build).args(["--coverage", "-o", "main", "../loops.c"]));
    let add = [
        "add",
        "pair",
        "--binary",
        "build/main",
        "--notes",
        "build",
        "--with",
        "tool/tool",
        "--notes",
        "tool",
    ];
    run_ok(&mut world.subject(&add));
    let shown = run_ok(&mut world.subject(&["show", "pair"]));
    assert!(
        shown.contains("with ") && shown.contains("tool/tool") && shown.contains("3 files in"),
        "{shown}"
    );
    let root = world.path().canonicalize().expect("there");
    let subject = Store::at(root.join("cache")).and_then(|store| store.find("pair")).expect("it was added");
    let atlas = AtlasFile::open_or_build(&subject).expect("an atlas");
    let atlas = atlas.atlas().expect("it is whole");
    let objects: Vec<_> = (0..atlas.object_count()).filter_map(|object| atlas.object_name(object)).collect();
    let others = root.join("tool/tool-loops.gcno").display().to_string();
    assert_eq!(objects, [others.as_str(), "main-loops.gcno"]);
    world.refused(
        &["add", "more", "--binary", "build/main", "--notes", "build", "--with", "loops.c"],
        &["loops.c", "ELF"],
    );
}

#[test]
fn what_cannot_be_a_subject_is_refused_with_the_remedy() {
    let world = World::new();
    world.refused(&["add", "mine", "--binary", "loops", "--notes", "."], &["loops"]);
    world.compile(&[]);
    fs::write(world.path().join("x.gcno"), b"").expect("written");
    world.refused(&["add", "mine", "--binary", "loops", "--notes", "."], &["--coverage"]);
    world.compile(&["--coverage", "-s"]);
    world.refused(&["add", "mine", "--binary", "loops", "--notes", "."], &["strip"]);
    world.compile(&["--coverage"]);
    fs::create_dir(world.path().join("empty")).expect("made");
    world.refused(&["add", "mine", "--binary", "loops", "--notes", "empty"], &[".gcno"]);
    world.refused(&["add", "mine", "--binary", "loops.c", "--notes", "."], &["loops.c", "ELF"]);
    world.refused(&["add", "No Good", "--binary", "loops", "--notes", "."], &["No Good"]);
    world.refused(&["add", "gcc-11", "--binary", "loops", "--notes", "."], &["built-in"]);
    world.refused(&["build", "gcc-99"], &["gcc-99", "tcc", "gcc-11"]);
    world.refused(&["show", "tcc"], &["hearth subject build tcc"]);
}

#[test]
fn a_missing_tool_is_named_with_the_package_to_install() {
    let world = World::new();
    let bare = world.path().join("bin");
    fs::create_dir(&bare).expect("made");
    let output = run(world.subject(&["build", "tcc"]).env("PATH", &bare));
    assert_says(&output, &["make", "apt-get install"]);
    assert!(!world.path().join("cache/subjects/tcc-noopt").exists(), "nothing is left behind");
}
