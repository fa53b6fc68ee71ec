//! What every command does alike: it ends when nobody reads it, says once what failed and where, and damages no bytes.

use crate::small_subject::compile;
use crate::{hearth, run, run_ok};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// No command here takes this long, unless it hangs.
const DEADLINE: Duration = Duration::from_secs(60);
/// How shells show the end by SIGPIPE.
const EXIT_CLOSED: i32 = 141;

/// Reads its input, if it has one.
const MINE: &str = "#include <stdio.h>\nint main(int c, char **v) {\n  FILE *f = c > 1 ? fopen(v[1], \"r\") : 0;\n  \
    if (f && getc(f) == 'a')\n    return 1;\n  puts(\"read\");\n  return 0;\n}\n";

/// A cache, a place for a daemon and an instrumented program `mine`, whose daemon ends when this is dropped.
pub struct World {
    directory: TempDir,
}

impl World {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let world = Self { directory };
        fs::create_dir(world.path().join("build")).expect("made");
        fs::write(world.path().join("mine.c"), MINE).expect("written");
        compile(&world.path().join("mine.c"), &world.path().join("build"), &[]);
        run_ok(&mut world.hearth(&["subject", "add", "mine", "--binary", "build/mine", "--notes", "build"]));
        world
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn hearth(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(hearth());
        command
            .current_dir(self.path())
            .env("HEARTH_CACHE", self.path().join("cache"))
            .env("HEARTH_RUNTIME_DIR", self.path().join("daemon"))
            .args(arguments);
        command
    }

    fn socket(&self) -> PathBuf {
        self.path().join("daemon/daemon.sock")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.hearth(&["stop"]).output();
    }
}

/// Runs a command with standard input from a writer, until it ends; it must not hang.
fn ends(
    command: &mut Command,
    stdout: Stdio,
    feed: impl FnOnce(std::process::ChildStdin) + Send + 'static,
) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::piped()).spawn().expect("it starts");
    let stdin = child.stdin.take().expect("it is piped");
    std::thread::spawn(move || feed(stdin));
    let started = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        if started.elapsed() > DEADLINE {
            let _ = child.kill();
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("its output can be read")
}

/// The commands that can be had without a network, as far as they print anything.
fn commands() -> Vec<Vec<&'static str>> {
    [
        "run mine",
        "run mine --json",
        "run /bin/echo -- text",
        "report --gcda build --all",
        "report --gcda build --all --format gcov-json",
        "cover mine.c --subject mine",
        "diff mine.c build/mine --subject mine",
        "status",
        "status --json",
        "top --count 3 --interval 10",
        "subject list",
        "subject show mine --json",
        "completions bash",
        "exec",
    ]
    .map(|line| line.split(' ').collect())
    .to_vec()
}

/// Orders without an end.
fn orders(mut stdin: std::process::ChildStdin) {
    while stdin.write_all(b"{\"subject\": \"/bin/echo\", \"args\": [\"text\"]}\n").is_ok() {}
}

#[test]
fn a_full_disk_ends_every_command() {
    let world = World::new();
    for arguments in commands() {
        let full = File::options().write(true).open("/dev/full").expect("it is there");
        let output = ends(&mut world.hearth(&arguments), full.into(), orders);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
        assert_eq!(text.matches("No space left on device").count(), 1, "{arguments:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_every_command_quietly() {
    let world = World::new();
    for arguments in commands() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = ends(&mut world.hearth(&arguments), writer.into(), orders);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(EXIT_CLOSED), "{arguments:?}: {text}");
        assert_eq!(text, "", "{arguments:?}");
    }
}

/// Answers that were read are followed by orders that nobody needs, and by silence.
#[test]
fn orders_without_a_reader_end_although_more_could_come() {
    let world = World::new();
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    std::thread::spawn(move || reader.read_exact(&mut [0]));
    let output = ends(&mut world.hearth(&["exec"]), writer.into(), |mut stdin| {
        for _ in 0..100 {
            let _ = stdin.write_all(b"{\"subject\": \"/bin/echo\", \"args\": [\"text\"]}\n");
        }
        std::thread::sleep(2 * DEADLINE);
    });
    assert_eq!(output.status.code(), Some(EXIT_CLOSED), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Messages that nobody can read do no harm.
#[test]
fn messages_on_a_full_disk_do_no_harm() {
    let world = World::new();
    let full = || File::options().write(true).open("/dev/full").expect("it is there");
    let code =
        |arguments: &[&str]| world.hearth(arguments).stderr(full()).status().expect("it starts").code();
    assert_eq!(code(&["run", "unknown"]), Some(1));
    assert_eq!(code(&["run", "/bin/echo", "--", "text"]), Some(0));
    assert_eq!(code(&["report", "--gcda", "build", "--all", "--output", "report.info"]), Some(0));
}

/// What is piped in is the program's if that is asked for; else it is said that it is not.
#[test]
fn standard_input_is_passed_on_or_it_is_said_that_it_is_not() {
    let world = World::new();
    fs::write(world.path().join("piped"), "piped in").expect("written");
    let cat = |options: &[&str], input: Stdio| {
        let mut command = world.hearth(&[&["run", "/bin/cat"], options].concat());
        let output = command.stdin(input).output().expect("it starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr).contains("standard input was not passed on"))
    };
    let piped = || Stdio::from(File::open(world.path().join("piped")).expect("opened"));
    assert_eq!(cat(&[], piped()), (String::new(), true));
    assert_eq!(cat(&["--stdin", "-"], piped()), ("piped in".to_owned(), false));
    assert_eq!(cat(&["--stdin", "piped"], Stdio::null()), ("piped in".to_owned(), false));
    assert_eq!(cat(&[], Stdio::null()), (String::new(), false));
}

/// Where no source is one of those asked for, that is said.
#[test]
fn a_source_that_is_not_there_is_told() {
    let world = World::new();
    let source = ["--source", "nowhere"];
    for command in [
        &["report", "--gcda", "build", "--all", "--format", "text"][..],
        &["cover", "mine.c", "--subject", "mine"],
        &["diff", "mine.c", "mine.c", "--subject", "mine"],
    ] {
        let output = run(&mut world.hearth(&[command, &source].concat()));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("a source whose path contains `nowhere`"), "{command:?}: {text}");
    }
}

/// Runs a command that must fail with one line that says all of this, and nothing twice.
fn fails(command: &mut Command, expected: &[&str]) {
    let output = run(command);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{command:?}: {text}");
    assert_said(&text, expected);
}

fn assert_said(text: &str, expected: &[&str]) {
    assert_eq!(text.lines().count(), 1, "{text}");
    for part in expected {
        assert_eq!(text.matches(part).count(), 1, "`{part}` is not once in: {text}");
    }
}

#[test]
fn errors_are_said_once_with_the_file_and_the_cause() {
    let world = World::new();
    let missing = "No such file or directory";
    let table: &[(&[&str], &[&str])] = &[
        (&["run", "unknown"], &["there is no subject `unknown`"]),
        (&["run", "mine", "--report", "no/where/x.info"], &["no/where/x.info", missing, "--report"]),
        (
            &["report", "--gcda", "build", "--all", "--output", "no/x.info"],
            &["no/x.info", missing, "--output"],
        ),
        (&["report", "--gcda", "nowhere"], &["nowhere", missing]),
        (&["man", "nowhere"], &["nowhere", missing, "a directory that exists"]),
        (&["man", "build/mine"], &["build/mine", "Not a directory", "a directory that exists"]),
        (&["exec", "nowhere"], &["nowhere", missing]),
        (&["run", "mine", "--stdin", "nowhere"], &["nowhere", missing]),
        (&["cover", "nowhere", "--subject", "mine"], &["nowhere", missing]),
    ];
    for (arguments, expected) in table {
        fails(&mut world.hearth(arguments), expected);
    }
    // Damage to notes goes through all layers of errors.
    let notes = world.path().join("build/mine.gcno");
    let whole = fs::read(&notes).expect("the notes");
    fs::write(&notes, &whole[..whole.len() / 2]).expect("written");
    fails(&mut world.hearth(&["run", "mine"]), &["mine.gcno", "truncated"]);
}

#[test]
fn a_missing_working_directory_is_named() {
    let world = World::new();
    let gone = world.path().join("gone");
    for arguments in [&["run", "mine"][..], &["exec"], &["cover", "/dev/null", "--subject", "mine"]] {
        fs::create_dir(&gone).expect("made");
        let script = "rmdir ../gone && exec \"$0\" \"$@\"";
        let command = world.hearth(&[]);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(command.get_program()).args(arguments).current_dir(&gone);
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
        fails(&mut shell, &[&gone.to_string_lossy(), "No such file or directory", "cd"]);
    }
    let orders = world.path().join("orders");
    for (directory, cause) in
        [("/no/where", "No such file or directory"), ("/bin/sh", "is not a directory"), ("here", "absolute")]
    {
        let line = serde_json::json!({"id": 1, "subject": "/bin/echo", "directory": directory});
        fs::write(&orders, line.to_string()).expect("written");
        let output = run(&mut world.hearth(&["exec", "orders"]));
        let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
        assert_said(answer["error"].as_str().expect("an error"), &[directory, cause]);
    }
    // An order's directory is where its paths begin.
    fs::write(world.path().join("build/input"), "text").expect("written");
    let line = serde_json::json!({"subject": "/bin/cat", "args": ["{}"], "input": "input",
        "directory": world.path().join("build")});
    fs::write(&orders, line.to_string()).expect("written");
    let answer: Value =
        serde_json::from_str(&run_ok(&mut world.hearth(&["exec", "orders"]))).expect("an answer");
    assert_eq!(answer["stdout"], "text", "{answer}");
}

#[test]
fn a_daemon_that_ends_is_named() {
    let world = World::new();
    let socket = world.socket();
    let said = [&*socket.to_string_lossy(), "it has ended", "do it again", "daemon.log"].map(str::to_owned);
    let said = said.each_ref().map(String::as_str);
    run_ok(&mut world.hearth(&["cover", "mine.c", "--subject", "mine"]));
    let mut top = world.hearth(&["top", "--interval", "50"]);
    let mut top = top.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    top.stdout.as_mut().expect("piped").read_exact(&mut [0; 100]).expect("a picture");
    run_ok(&mut world.hearth(&["stop"]));
    let output = top.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert_said(&String::from_utf8_lossy(&output.stderr), &said);
    // One that dies before it greets.
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).expect("it is free");
    let dying = std::thread::spawn(move || drop(listener.accept()));
    fails(&mut world.hearth(&["status"]), &said);
    dying.join().expect("it was asked");
    fs::remove_file(&socket).expect("removed");
}

const BINARY: &str = "#include <stdio.h>\nint main(void) {\n  int c;\n  fwrite(\"a\\377\\0b\", 1, 4, stdout);\n  \
    FILE *f = fopen(\"bad-\\377\", \"w\");\n  while ((c = getchar()) != EOF)\n    putc(c, f);\n  fclose(f);\n  return 0;\n}\n";

#[test]
fn bytes_that_are_no_text_come_through() {
    let world = World::new();
    fs::write(world.path().join("binary.c"), BINARY).expect("written");
    run_ok(Command::new("gcc").current_dir(world.path()).args(["-o", "binary", "binary.c"]));
    fs::write(world.path().join("given"), b"\xfe\xff").expect("written");
    fs::write(
        world.path().join("orders"),
        "{\"subject\": \"./binary\", \"stdin\": {\"base64\": \"/v8=\"}}\n",
    )
    .expect("written");
    for arguments in [&["run", "./binary", "--json", "--stdin", "given"][..], &["exec", "orders"]] {
        let answer: Value = serde_json::from_str(&run_ok(&mut world.hearth(arguments))).expect("an answer");
        assert_eq!(answer["stdout"]["base64"], "Yf8AYg==", "{answer}");
        assert_eq!(answer["stderr"], "", "{answer}");
        let file = &answer["files"][0];
        assert_eq!(
            (&file["bytes"]["base64"], &file["size"]),
            (&Value::from("/v8="), &Value::from(2)),
            "{answer}"
        );
        assert!(file["path"]["base64"].is_string(), "{answer}");
    }
    let plain = run(&mut world.hearth(&["run", "./binary", "--quiet"]));
    assert_eq!(plain.stdout, b"a\xff\0b");
    run_ok(&mut world.hearth(&["run", "./binary", "--quiet", "--write", "--stdin", "given"]));
    let written = world.path().join(std::ffi::OsStr::from_bytes(b"bad-\xff"));
    assert_eq!(fs::read(written).expect("it was written"), b"\xfe\xff");
}
