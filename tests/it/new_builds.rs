//! Programs that are built anew while they are warm: the next run is of the new build, and its counts are by its notes.

use crate::daemon::{Daemon, daemon_command, first_line};
use crate::service::hearthd;
use crate::{hearth, run_ok};
use hearth_client::protocol::Address;
use hearth_client::protocol::{Ask, Encoding, Level, Order, RunDone, RunInput, RunRef};
use hearth_client::{Connection, Error};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program with a library, in a directory of their own.
struct Build {
    scratch: tempfile::TempDir,
}

impl Build {
    /// One whose `main` returns a sum, in one line, and of the library's `work` another.
    fn new() -> Self {
        let mode = fs::Permissions::from_mode(0o700);
        let scratch = tempfile::Builder::new().permissions(mode).tempdir().expect("a directory");
        let build = Self { scratch };
        fs::create_dir(build.directory()).expect("a directory");
        build.library("return 1;");
        build.program("return work();");
        build
    }

    fn directory(&self) -> PathBuf {
        self.scratch.path().join("build")
    }

    fn cache(&self) -> PathBuf {
        self.scratch.path().join("cache")
    }

    fn library(&self, body: &str) {
        let text = format!("int work(void) {{\n  {}\n}}\n", body.replace("; ", ";\n  "));
        fs::write(self.directory().join("work.c"), text).expect("written");
        self.gcc(&["-shared", "-fPIC", "-o", "libwork.so", "work.c"]);
    }

    fn program(&self, body: &str) {
        let text = format!("int work(void);\nint main(void) {{\n  {}\n}}\n", body.replace("; ", ";\n  "));
        fs::write(self.directory().join("small.c"), text).expect("written");
        self.gcc(&["-o", "small", "small.c", "-L.", "-lwork", "-Wl,-rpath,$ORIGIN"]);
    }

    fn gcc(&self, arguments: &[&str]) {
        let mut command = Command::new("gcc");
        run_ok(command.current_dir(self.directory()).args(["--coverage", "-w", "-O0"]).args(arguments));
    }

    fn register(&self) {
        let add = ["subject", "add", "small", "--binary", "small", "--notes", "."];
        let mut command = Command::new(hearth());
        run_ok(command.current_dir(self.directory()).env("HEARTH_CACHE", self.cache()).args(add));
    }

    fn daemon(&self) -> (Daemon, Connection) {
        let place = self.scratch.path().join("daemon");
        let mut command = daemon_command(&hearthd(), &place);
        let mut process = command.env("HEARTH_CACHE", self.cache()).spawn().expect("hearthd starts");
        assert_eq!(first_line(&mut process), "ready");
        let daemon = Daemon { address: Address::at(place), process };
        let connection = daemon.connect(Encoding::Json);
        (daemon, connection)
    }
}

fn run(hearth: &mut Connection, subject: &Path) -> Result<RunDone, Error> {
    let order = Order { subject: subject.display().to_string(), ..Order::default() };
    hearth.run(order, RunInput::default())
}

/// The exit code and how many lines ran.
fn counted(hearth: &mut Connection) -> (serde_json::Value, u64, u64) {
    let done = run(hearth, Path::new("small")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((&done.no_coverage, &done.missing[..]), (&None, &[][..]));
    (exit_code(&done), done.lines_executed, done.run)
}

fn exit_code(done: &RunDone) -> serde_json::Value {
    serde_json::to_value(done.outcome).expect("it is JSON")["exited"].clone()
}

#[test]
fn the_daemon_runs_the_program_and_the_library_that_are_there() {
    let build = Build::new();
    let (_daemon, mut hearth) = build.daemon();
    let program = build.directory().join("small");
    let mut check = |expected: i32| {
        for _ in 0..2 {
            let done = run(&mut hearth, &program).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(exit_code(&done), expected);
        }
        let zygotes = hearth.status().expect("it answers").zygotes;
        assert_eq!(zygotes.len(), 1, "what is out of date takes no memory: {zygotes:?}");
    };
    check(1);
    build.program("return work() + 10;");
    check(11);
    build.library("return 2;");
    check(12);
}

#[test]
fn many_orders_run_what_is_there() {
    let build = Build::new();
    let mut exec = Command::new(hearth())
        .arg("exec")
        .current_dir(build.directory())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (mut orders, answers) = (exec.stdin.take().expect("piped"), exec.stdout.take().expect("piped"));
    let mut answers = BufReader::new(answers).lines();
    let mut code = || {
        orders.write_all(b"{\"subject\": \"./small\"}\n").expect("written");
        let line = answers.next().expect("an answer").expect("it can be read");
        let answer: serde_json::Value = serde_json::from_str(&line).expect("an answer is JSON");
        answer["outcome"]["exited"].clone()
    };
    assert_eq!([code(), code()], [1, 1]);
    build.program("return work() + 10;");
    assert_eq!([code(), code()], [11, 11]);
    build.library("return 2;");
    assert_eq!([code(), code()], [12, 12]);
    drop(orders);
    assert!(exec.wait().expect("it ends").success());
}

#[test]
fn a_subject_is_counted_by_the_notes_of_its_build() {
    let build = Build::new();
    build.register();
    let (_daemon, mut hearth) = build.daemon();
    let (code, lines, first) = counted(&mut hearth);
    assert_eq!((code, lines), (1.into(), 4));
    build.program("int n = 9; n++; return work() + n;");
    let (code, lines, second) = counted(&mut hearth);
    assert_eq!((code, lines), (11.into(), 6), "the program");
    build.library("int n = 0; n++; n++; return n;");
    let (code, lines, _) = counted(&mut hearth);
    assert_eq!((code, lines), (12.into(), 9), "its library");
    let [run, against] = [first, second].map(RunRef::Id);
    let delta = Ask::Delta { run, against, level: Level::Lines, counts: false };
    let told = hearth.call(delta).expect_err("ids of different builds").to_string();
    assert!(told.contains("built anew in between"), "{told}");
}

/// The same program, by its path and as a subject: only the subject has notes.
#[test]
fn a_program_is_not_taken_for_the_subject_it_is_of() {
    let build = Build::new();
    build.register();
    let (_daemon, mut hearth) = build.daemon();
    let program = build.directory().join("small").canonicalize().expect("it is there");
    let done = run(&mut hearth, &program).unwrap_or_else(|error| panic!("{error}"));
    assert!(done.no_coverage.is_some(), "{done:?}");
    assert_eq!(counted(&mut hearth).1, 4);
    let done = run(&mut hearth, &program).unwrap_or_else(|error| panic!("{error}"));
    assert!(done.no_coverage.is_some(), "{done:?}");
}

#[test]
fn notes_that_do_not_fit_are_told_until_they_do() {
    let build = Build::new();
    build.register();
    let (_daemon, mut hearth) = build.daemon();
    assert_eq!(counted(&mut hearth).1, 4);
    let notes = build.directory().join("small.gcno");
    let old = fs::read(&notes).expect("notes");
    build.program("int n = 9; n++; return work() + n;");
    let new = fs::read(&notes).expect("notes");
    fs::write(&notes, old).expect("written");
    let told = run(&mut hearth, Path::new("small")).expect_err("foreign notes").to_string();
    assert!(told.contains("the notes do not match") && told.contains("build both anew"), "{told}");
    fs::write(&notes, new).expect("written");
    assert_eq!(counted(&mut hearth).1, 6, "they have been mended");
    fs::remove_file(build.directory().join("small")).expect("removed");
    let told = run(&mut hearth, Path::new("small")).expect_err("no program").to_string();
    assert!(told.contains("build/small`: No such file"), "{told}");
}
