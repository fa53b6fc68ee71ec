//! Runs are kept apart, and counts are whole: what leads from one to another, or counts without being counted, does not work or
//! is named.

use crate::{hearth, run, run_ok};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// `apart.c`, compiled with coverage, and its library, in a directory of their own.
struct Subject {
    directory: tempfile::TempDir,
}

impl Subject {
    fn new(standard: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/apart/apart.c");
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
            assert_eq!(answer["outcome"]["exited"], 0, "{way}: {line}");
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
    for way in ["by_others", "forge", "change_zygote"] {
        assert_eq!(subject.prints("main", way), "", "{way}");
    }
}

/// A run finds nothing of what an earlier one was given.
#[test]
fn what_a_run_is_given_is_its_alone() {
    let subject = Subject::new("-std=gnu11");
    let order = |environment: serde_json::Value| {
        let directory = subject.directory.path();
        serde_json::json!({
            "subject": "apart", "args": ["find_secret"], "warm": "main", "env": environment, "directory": directory
        })
    };
    let secret = serde_json::json!({ "LONG": "x".repeat(3000), "SECRET": "ZQXMARK" });
    let orders = [order(secret), order(serde_json::json!({})), order(serde_json::json!({}))];
    let lines: String = orders.iter().map(|order| format!("{order}\n")).collect();
    fs::write(subject.directory.path().join("orders"), lines).expect("written");
    let output = subject.hearth(&["exec", "--jobs", "1", "orders"]);
    let found: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let found: Vec<&str> = found.iter().map(|answer| answer["stdout"].as_str().expect("text")).collect();
    assert_eq!(found, ["found\n", "", ""]);
}

/// Devices are the machine's, which nobody changes.
#[test]
fn devices_can_be_written_to_and_not_changed() {
    let before = fs::metadata("/dev/full").expect("it is there");
    let script = "echo x > /dev/null && chmod 664 /dev/full; touch -d @7 /dev/full; echo done";
    let output = run(Command::new(hearth()).args(["run", "/bin/sh", "--", "-c", script]));
    assert_eq!(text(&output.stdout), "done\n", "{}", text(&output.stderr));
    let after = fs::metadata("/dev/full").expect("it is there");
    assert_eq!(after.permissions().mode(), before.permissions().mode());
    assert_eq!(after.modified().ok(), before.modified().ok());
}

/// Only root can mount.
mod as_root {
    use super::*;

    /// A FIFO in a directory with a mount below it is covered, for all runs by the same.
    #[test]
    #[ignore = "needs root: tools/test runs it as root"]
    fn what_covers_a_fifo_is_nobodys() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let order = serde_json::json!({
            "subject": "/bin/sh",
            "args": ["-c", "chmod 666 fifo; cat fifo; echo left >> fifo; echo done"],
            "directory": directory.path(),
        });
        fs::write(directory.path().join("orders"), format!("{order}\n").repeat(3)).expect("written");
        let script = format!(
            "mkfifo fifo && mkdir below && mount -t tmpfs none below && {} exec --jobs 1 orders",
            hearth().display()
        );
        let mut command = Command::new("unshare");
        let output = run(command.args(["--mount", "sh", "-c", &script]).current_dir(directory.path()));
        let answers = text(&output.stdout);
        assert_eq!(answers.lines().count(), 3, "{answers} {}", text(&output.stderr));
        assert_eq!(answers.matches("done\\n").count(), 3, "{answers}");
        assert!(!answers.contains("left"), "{answers}");
    }
}

/// What is made, replaced (as editors do) or removed on the machine is seen by the next run; and what a run does to a directory
/// itself by none.
#[test]
fn the_next_run_sees_what_is_there() {
    let subject = Subject::new("-std=gnu11");
    let path = subject.directory.path();
    let order = |way: &str| {
        format!(
            "{{\"subject\": \"apart\", \"args\": [\"{way}\"], \"warm\": \"main\", \"directory\": {path:?}}}\n"
        )
    };
    let mut command = Command::new(hearth());
    command.current_dir(path).env("HEARTH_CACHE", path.join("cache")).args(["exec", "--jobs", "1"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut orders = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut ask = |way: &str| {
        orders.write_all(order(way).as_bytes()).expect("it listens");
        let answer: serde_json::Value =
            serde_json::from_str(&answers.next().expect("an answer").expect("text")).expect("JSON");
        answer["stdout"].as_str().unwrap_or_else(|| panic!("{answer}")).trim().to_owned()
    };
    assert_eq!(ask("look"), "none");
    for text in ["one", "two"] {
        fs::write(path.join("new"), text).expect("written");
        fs::rename(path.join("new"), path.join("looked")).expect("renamed");
        assert_eq!(ask("look"), text);
        assert_eq!(ask("look"), text);
    }
    fs::remove_file(path.join("looked")).expect("removed");
    assert_eq!(ask("look"), "none");
    for _ in 0..3 {
        assert_eq!(ask("change_top"), "open");
    }
    drop(orders);
    child.wait().expect("it ends");
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
        ("trace", ""),
        ("background", "1 of the run's processes would have done"),
        ("raw_fork", "made by other calls than fork"),
        ("clone", "made by other calls than fork"),
        ("daemon", "made by other calls than fork"),
        ("fork_unheard", "closed descriptor 700"),
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

/// A program that a run executes is counted wherever its file is.
#[test]
fn programs_in_memory_are_counted() {
    let subject = Subject::new("-std=gnu11");
    let output = subject.hearth(&["run", "apart", "--report", "report.info", "--", "execute_memory"]);
    let said = text(&output.stderr);
    assert!(output.status.success() && !said.contains("missing"), "{said}");
    let report = fs::read_to_string(subject.directory.path().join("report.info")).expect("a report");
    assert!(report.contains("FNDA:1,leaf") && report.contains("FNDA:2,main"), "{report}");
}

/// Whatever command shows a run, it says what is missing.
#[test]
fn all_commands_say_what_is_missing() {
    let subject = Subject::new("-std=gnu11");
    let path = subject.directory.path();
    let order = format!("{{\"subject\": \"apart\", \"args\": [\"raw_fork\"], \"directory\": {path:?}}}\n");
    fs::write(path.join("orders"), order).expect("written");
    let answer = text(&subject.hearth(&["exec", "orders"]).stdout);
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let missing = answer["missing"][0].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(missing.contains("made by other calls than fork"), "{missing}");
    let hearth = |arguments: &[&str]| {
        let mut command = Command::new(hearth());
        command.current_dir(path).env("HEARTH_CACHE", path.join("cache"));
        run(command.env("HEARTH_RUNTIME_DIR", path.join("runtime")).args(arguments))
    };
    for command in [&["cover", "apart.c"][..], &["diff", "apart.c", "apart.c"]] {
        let output = hearth(&[command, &["--subject", "apart", "--", "raw_fork"]].concat());
        let said = text(&output.stderr);
        assert!(said.contains("missing in apart.c: what some processes"), "{command:?}: {said}");
    }
    assert!(hearth(&["stop"]).status.success());
}

/// Limits hold for all processes together, and for memory that none has mapped.
#[test]
fn limits_are_those_of_all_processes_together() {
    let subject = Subject::new("-std=gnu11");
    let code = |limit: [&str; 2], way: &str| {
        subject.hearth(&["run", "apart", "--quiet", limit[0], limit[1], "--", way]).status.code()
    };
    assert_eq!(code(["--cpu-s", "1"], "spin_together"), Some(124));
    for way in ["spin_unwaited", "spin_orphaned"] {
        assert_eq!(code(["--cpu-s", "1"], way), Some(124), "{way}");
    }
    assert_eq!(code(["--cpu-s", "10"], "spin_together"), Some(0));
    // However short it is above.
    for _ in 0..10 {
        assert_eq!(code(["--memory-mib", "64"], "take_for_a_moment"), Some(137));
    }
    assert_eq!(code(["--memory-mib", "512"], "take_for_a_moment"), Some(0));
    if rustix::process::getuid().is_root() {
        // Others have no control group that would tell.
        assert_eq!(code(["--memory-mib", "64"], "take_unmapped"), Some(137));
    }
    assert_eq!(code(["--memory-mib", "512"], "take_unmapped"), Some(0));
}

/// What a run changes of a directory itself, without putting anything into it, is gone in the next run.
#[test]
fn attributes_of_directories_are_each_runs_own() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // Directories in which nothing is named, and the one in which the runs begin.
    let looked_at = format!("/opt /srv /media {}", directory.path().display());
    let look = format!("stat -c '%a %X %Y' {looked_at}");
    let change = format!(
        "chmod 700 {looked_at}; touch -d @5 {looked_at}; \
         python3 -c 'import os, sys; [os.setxattr(path, \"user.k\", b\"v\") for path in sys.argv[1:]]' {looked_at}"
    );
    let find = format!(
        "{look}; python3 -c 'import os, sys; print([os.listxattr(path) for path in sys.argv[1:]])' {looked_at}"
    );
    let expected = run_ok(Command::new("sh").args(["-c", &find]));
    let order = |script: &str| {
        let arguments = serde_json::json!(["-c", "eval \"$SCRIPT\""]);
        let environment = serde_json::json!({ "SCRIPT": script });
        serde_json::json!({ "subject": "/bin/sh", "args": arguments, "env": environment, "directory": directory.path() })
    };
    let mut orders = String::new();
    for _ in 0..5 {
        orders.push_str(&format!("{}\n{}\n", order(&change), order(&find)));
    }
    let mut exec = Command::new(hearth())
        .args(["exec", "-j", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hearth starts");
    exec.stdin.take().expect("piped").write_all(orders.as_bytes()).expect("written");
    let output = exec.wait_with_output().expect("it ends");
    let answers: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), 10);
    let expected = expected.lines().map(|line| line.split(' ').next()).collect::<Vec<_>>();
    for answer in answers.iter().skip(1).step_by(2) {
        let found = answer["stdout"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(
            found.lines().map(|line| line.split(' ').next()).collect::<Vec<_>>(),
            expected,
            "{answer}"
        );
        assert!(!found.contains(" 5 ") && !found.contains("user.k"), "{answer}");
    }
}
