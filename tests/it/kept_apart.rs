//! Runs are kept apart, and counts are whole: what leads from one to another, or counts without being counted, does not work or
//! is named.

use crate::{hearth, run, run_ok};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// `apart.c`, compiled with coverage, and its library, in a directory of their own.
struct Subject {
    directory: tempfile::TempDir,
}

impl Subject {
    fn new(standard: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/apart.c");
        fs::copy(source, directory.path().join("apart.c")).expect("copied");
        fs::write(directory.path().join("library.c"), "void work(void) {}\n").expect("written");
        let compile = |arguments: &[&str]| {
            let mut command = Command::new("gcc");
            run_ok(
                command
                    .current_dir(directory.path())
                    .args(["-w", "-O0", "--coverage", standard])
                    .args(arguments),
            );
        };
        compile(&["-o", "apart", "apart.c", "-ldl"]);
        compile(&["-shared", "-fPIC", "-o", "library.so", "library.c"]);
        let subject = Self { directory };
        let added = subject.hearth(&["subject", "add", "apart", "--binary", "apart", "--notes", "."]);
        assert!(added.status.success(), "{}", text(&added.stderr));
        subject
    }

    fn hearth(&self, arguments: &[&str]) -> Output {
        let path = self.directory.path();
        let cache: PathBuf = path.join("cache");
        run(Command::new(hearth()).current_dir(path).env("HEARTH_CACHE", cache).args(arguments))
    }

    /// What is said of a run.
    fn run(&self, warm: &str, way: &str) -> String {
        let output = self.hearth(&["run", "apart", "--warm", warm, "--", way]);
        assert_eq!(output.status.code(), Some(0), "{way}: {}", text(&output.stderr));
        text(&output.stderr)
    }

    /// What three runs from one zygote print.
    fn prints(&self, warm: &str, way: &str) -> String {
        let order = format!(
            "{{\"subject\": \"apart\", \"args\": [\"{way}\"], \"warm\": \"{warm}\", \"stdin\": \"x\", \"directory\": {:?}}}\n",
            self.directory.path()
        );
        fs::write(self.directory.path().join("orders"), order.repeat(3)).expect("written");
        let output = self.hearth(&["exec", "--jobs", "1", "orders"]);
        let answers = text(&output.stdout);
        assert_eq!(answers.lines().count(), 3, "{answers} {}", text(&output.stderr));
        let printed = |line: &str| {
            let answer: serde_json::Value = serde_json::from_str(line).expect("an answer is JSON");
            assert!(answer["error"].is_null(), "{way}: {line}");
            answer["stdout"].as_str().expect("text").to_owned()
        };
        answers.lines().map(printed).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn nothing_leads_from_one_run_to_another() {
    let subject = Subject::new("-std=gnu11");
    for way in ["by_others", "forge"] {
        assert_eq!(subject.prints("main", way), "", "{way}");
    }
}

#[test]
fn copies_of_streams_from_before_the_warm_point_are_the_runs() {
    let subject = Subject::new("-std=gnu11");
    assert_eq!(subject.prints("symbol:ready", "early_copies"), "copied x\n".repeat(3));
}

#[test]
fn what_is_shared_or_read_before_the_warm_point_is_named() {
    let subject = Subject::new("-std=gnu11");
    for (way, named) in [
        ("early_read", "standard input"),
        ("early_pipe", "pipes, sockets"),
        ("early_memory", "MAP_SHARED"),
        ("early_link", "a symbolic link"),
    ] {
        let said = subject.run("symbol:ready", way);
        assert!(said.contains("missing") && said.contains(named), "{way}: {said}");
        // What comes after the warm point is every run's own.
        let said = subject.run("main", way);
        assert_eq!(said.contains("missing"), way == "early_link", "{way}: {said}");
    }
}

#[test]
fn processes_and_libraries_that_cannot_be_counted_are_named() {
    let subject = Subject::new("-std=gnu11");
    for (way, named) in [
        ("fork", ""),
        ("thread_like", ""),
        ("executes_fork", ""),
        ("background", "1 of the run's processes would have done"),
        ("raw_fork", "made by other calls than fork"),
        ("clone", "made by other calls than fork"),
        ("daemon", "made by other calls than fork"),
        ("unload", "its library was unloaded"),
        ("child_unloads", "its library was unloaded"),
    ] {
        let said = subject.run("main", way);
        assert_eq!(said.contains("missing"), !named.is_empty(), "{way}: {said}");
        assert!(said.contains(named), "{way}: {said}");
    }
    let strict = Subject::new("-std=c11");
    for way in ["fork", "executes_fork"] {
        let said = strict.run("main", way);
        assert!(said.contains("gcov does not know of its forks"), "{way}: {said}");
    }
}
