//! What cannot be kept warm, or counted, is told with what to do about it.

use crate::small_subject::compile;
use crate::{hearth, project, run, run_ok};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs `hearth`, which must fail, and returns what it says.
fn failure(directory: &Path, arguments: &[&str]) -> String {
    let output = run(Command::new(hearth())
        .current_dir(directory)
        .env("HEARTH_CACHE", directory.join("cache"))
        .args(arguments));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?}: {text}");
    text
}

fn gcc(directory: &Path, arguments: &[&str]) {
    run_ok(Command::new("gcc").current_dir(directory).arg("-w").args(arguments));
}

#[test]
fn what_cannot_be_kept_warm_is_told() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let directory = scratch.path();
    fs::write(directory.join("small.c"), "int work(void) { return 3; }\nint main(void) { return work(); }\n")
        .expect("written");
    let threaded = project().join("tests/programs/misbehaving/threaded.c");
    gcc(directory, &["-static", "-o", "static", "small.c"]);
    gcc(directory, &["-s", "-o", "stripped", "small.c"]);
    gcc(directory, &["-o", "plain", "small.c"]);
    gcc(directory, &["-pthread", "-o", "threaded", threaded.to_str().expect("a plain path")]);
    fs::write(directory.join("text"), "no program\n").expect("written");
    fs::write(directory.join("reads.c"), READS).expect("written");
    gcc(directory, &["-o", "reads", "reads.c"]);
    let table: &[(&[&str], &[&str])] = &[
        (&["run", "./static"], &["statically linked", "without -static"]),
        (&["run", "./stripped", "--warm", "symbol:work"], &["no symbol table", "strip"]),
        (&["run", "./plain", "--warm", "symbol:missing"], &["no function `missing`", "nm"]),
        (&["run", "./threaded", "--warm", "symbol:later"], &["2 threads", "--warm main"]),
        (&["run", "./text"], &["is no program for Linux on x86-64"]),
        (&["run", "./nowhere"], &["no program ./nowhere"]),
        (&["run", "./plain", "--warm", "input"], &["--warm input needs --input"]),
        (&["run", "./plain", "--warm", "never"], &["main, input or symbol:NAME"]),
        (&["run", "./plain", "--input", "small.c"], &["not among the program's arguments", "{}"]),
        (&["run", "./plain", "--input", "small.c", "--", "small.c"], &["never reached", "main returned 3"]),
        (&["run", "unknown"], &["unknown"]),
    ];
    for (arguments, expected) in table {
        let text = failure(directory, arguments);
        for part in *expected {
            assert!(text.contains(part), "{arguments:?} should say `{part}`: {text}");
        }
    }
    let late = ["run", "./reads", "--warm", "symbol:work", "--input", "small.c", "--", "small.c"];
    let ok = Command::new(hearth()).current_dir(directory).args(late).output().expect("it starts");
    assert_eq!(ok.status.code(), Some(i32::from(b'i')), "the input is the file's");
}

/// Returns the first byte of its input, which it reads before work().
const READS: &str = "#include <stdio.h>\n\
    int byte; int work(void) { return byte; }\n\
    int main(int c, char **v) { FILE *f = fopen(v[1], \"r\"); byte = getc(f); return work(); }\n";

#[test]
fn an_input_that_was_read_before_the_warm_point_cannot_be_replaced() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let directory = scratch.path();
    fs::write(directory.join("reads.c"), READS).expect("written");
    fs::write(directory.join("data"), "abc").expect("written");
    gcc(directory, &["-o", "reads", "reads.c"]);
    let orders = directory.join("orders");
    let order = |warm: &str, text: &str| {
        format!(
            "{{\"subject\": \"./reads\", \"args\": [\"data\"], \"input\": \"data\", \"input_text\": \"{text}\", \"warm\": \"{warm}\"}}\n"
        )
    };
    fs::write(&orders, order("symbol:work", "abc") + &order("symbol:work", "xyz") + &order("input", "xyz"))
        .expect("written");
    let output = run(Command::new(hearth()).current_dir(directory).args(["exec", "--jobs", "1", "orders"]));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answers: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect();
    assert_eq!(answers[0]["outcome"]["exited"], b'a');
    assert!(answers[1]["error"].as_str().is_some_and(|error| error.contains("--warm input")), "{text}");
    assert_eq!(answers[2]["outcome"]["exited"], b'x');
    assert_eq!(output.status.code(), Some(1), "one order could not be done");
}

#[test]
fn what_cannot_be_counted_is_told() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let directory = scratch.path();
    let build = directory.join("build");
    fs::create_dir(&build).expect("a directory");
    let source = directory.join("small.c");
    fs::write(&source, "int main(void) { return 3; }\n").expect("written");
    let binary = compile(&source, &build, &[]);
    let path = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let add = ["subject", "add", "small", "--binary", &path(&binary), "--notes", &path(&build)];
    run_ok(Command::new(hearth()).env("HEARTH_CACHE", directory.join("cache")).args(add));
    // Notes of another compilation beside the program.
    let original = fs::read(&binary).expect("the program");
    fs::write(&source, "int other(void) { return 1; }\nint main(void) { return other(); }\n")
        .expect("written");
    compile(&source, &build, &[]);
    fs::write(&binary, &original).expect("written");
    let text = failure(directory, &["run", "small"]);
    assert!(text.contains("notes do not match") && text.contains("build both anew"), "{text}");
    for (options, expected) in [
        (&["-s", "--coverage"][..], "has no symbol table, so its counters cannot be found"),
        (&[][..], "not instrumented; compile and link it with gcc --coverage"),
    ] {
        let mut arguments = options.to_vec();
        let (binary, source) = (path(&binary), path(&source));
        arguments.extend(["-o", &binary, &source]);
        gcc(&build, &arguments);
        let text = failure(directory, &["run", "small"]);
        assert!(text.contains(expected), "{options:?} should say `{expected}`: {text}");
    }
}

/// The functions of an instrumented library are counted, and no data file is written for it either.
#[test]
fn instrumented_libraries_are_counted() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let build = scratch.path().join("build");
    fs::create_dir(&build).expect("a directory");
    fs::write(
        build.join("work.c"),
        "int work(int n) {\n  int s = 0;\n  while (n-- > 0)\n    s += n;\n  return s;\n}\n",
    )
    .expect("written");
    fs::write(build.join("small.c"), "int work(int);\nint main(void) {\n  return work(7);\n}\n")
        .expect("written");
    gcc(&build, &["--coverage", "-O0", "-shared", "-fPIC", "-o", "libwork.so", "work.c"]);
    gcc(&build, &["--coverage", "-O0", "-o", "small", "small.c", "-L.", "-lwork", "-Wl,-rpath,$ORIGIN"]);
    let cache = scratch.path().join("cache");
    let hearth_ok = |arguments: &[&str]| {
        run(Command::new(hearth()).current_dir(&build).env("HEARTH_CACHE", &cache).args(arguments))
    };
    hearth_ok(&["subject", "add", "small", "--binary", "small", "--notes", "."]);
    let report = hearth_ok(&["run", "small", "--report", "small.info"]);
    assert_eq!(report.status.code(), Some(21), "{}", String::from_utf8_lossy(&report.stderr));
    let info = fs::read_to_string(build.join("small.info")).expect("a report");
    let library =
        info.split("end_of_record").find(|record| record.contains("work.c")).expect("the library is in it");
    assert!(library.contains("DA:4,7\n"), "{library}");
    assert!(info.contains("small.c"), "{info}");
    let data = fs::read_dir(&build).expect("a directory").filter_map(Result::ok);
    assert_eq!(data.filter(|entry| entry.path().extension().is_some_and(|e| e == "gcda")).count(), 0);
}

/// A library that comes after the warm point is counted, too; one that goes again before the end is said to be missing. One
/// without counters does no harm.
#[test]
fn libraries_loaded_by_a_run_are_counted() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let build = scratch.path().join("build");
    fs::create_dir(&build).expect("a directory");
    fs::write(build.join("work.c"), "int work(int n) { return n + 1; }\n").expect("written");
    fs::write(
        build.join("small.c"),
        "#include <dlfcn.h>\nint main(int c, char **v) {\n  void *library = dlopen(v[1], RTLD_NOW);\n  \
         int code = library ? ((int (*)(int))dlsym(library, \"work\"))(6) : 1;\n  \
         return c > 2 ? dlclose(library) + code : code;\n}\n",
    )
    .expect("written");
    gcc(&build, &["--coverage", "-shared", "-fPIC", "-o", "counted.so", "work.c"]);
    gcc(&build, &["-shared", "-fPIC", "-o", "plain.so", "work.c"]);
    gcc(&build, &["--coverage", "-o", "small", "small.c", "-ldl"]);
    let command = |arguments: &[&str]| {
        let mut command = Command::new(hearth());
        command.current_dir(&build).env("HEARTH_CACHE", scratch.path().join("cache")).args(arguments);
        command
    };
    run_ok(&mut command(&["subject", "add", "small", "--binary", "small", "--notes", "."]));
    let told = |library: &str| {
        let output = run(&mut command(&["run", "small", "--", library]));
        assert_eq!(output.status.code(), Some(7));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = told("./counted.so");
    assert!(text.contains("executed 5 of 5 lines") && !text.contains("missing"), "{text}");
    assert!(!text.contains("gcda"), "no data file is among what it made: {text}");
    let text = told("./plain.so");
    assert!(text.contains("executed"), "{text}");
    let output = run(&mut command(&["run", "small", "--", "./counted.so", "unload"]));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("missing") && text.contains("unloaded before the run ended"), "{text}");
    // The notes of what is linked in are asked for.
    fs::write(build.join("other.c"), "int other;\nint work(int n) { return n + 1; }\n").expect("written");
    fs::write(build.join("both.c"), "int work(int);\nint main(void) { return work(6); }\n").expect("written");
    gcc(&build, &["--coverage", "-o", "both", "both.c", "other.c"]);
    fs::remove_file(build.join("both-other.gcno")).expect("the notes are there");
    run_ok(&mut command(&["subject", "add", "both", "--binary", "both", "--notes", "."]));
    let text = String::from_utf8_lossy(&run(&mut command(&["run", "both"])).stderr).into_owned();
    assert!(text.contains("both-other.gcda") && text.contains("left out"), "{text}");
}

/// A process that a run has made shares the pages written before; they count all the same.
#[test]
fn what_a_run_did_before_it_forked_is_counted() {
    const FUNCTIONS: usize = 1200;
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let build = scratch.path().join("build");
    fs::create_dir(&build).expect("a directory");
    let functions: String = (0..FUNCTIONS)
        .map(|number| format!("int f{number}(int a) {{ if (a > {number})\n    a++;\n  return a; }}\n"))
        .collect();
    let calls: String = (0..FUNCTIONS).map(|number| format!("  s += f{number}(s);\n")).collect();
    let main = format!(
        "#include <unistd.h>\nint main(void) {{\n  int s = 0;\n{calls}  if (fork() == 0)\n    for (;;)\n      pause();\n  _exit(3);\n}}\n"
    );
    fs::write(build.join("small.c"), functions + &main).expect("written");
    gcc(&build, &["--coverage", "-O0", "-o", "small", "small.c"]);
    let hearth = |arguments: &[&str]| {
        run(Command::new(hearth())
            .current_dir(&build)
            .env("HEARTH_CACHE", scratch.path().join("cache"))
            .args(arguments))
    };
    hearth(&["subject", "add", "small", "--binary", "small", "--notes", "."]);
    let output = hearth(&["run", "small", "--report", "small.info"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("the run forked"), "{text}");
    let info = fs::read_to_string(build.join("small.info")).expect("a report");
    let called = (0..FUNCTIONS).filter(|number| info.contains(&format!("FNDA:1,f{number}\n"))).count();
    assert_eq!(called, FUNCTIONS, "functions that ran before the fork");
}
