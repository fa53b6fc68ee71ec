//! Warm points in shared libraries: those that are there when the program begins can be waited in, others are told.

use crate::{hearth, run, run_ok};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// `work` is for everybody, `deep` the library's own.
const LIBRARY: &str = "#include <stdio.h>\n\
    static int __attribute__((noinline)) deep(int n) { puts(\"late\"); return n + 1; }\n\
    int work(int n) { return deep(n) + 1; }\n";
/// That the number of the process is asked for before the warm point is told, so it shows where the program waits.
const PROGRAM: &str = "#include <stdio.h>\n#include <unistd.h>\nint work(int);\n\
    int main(void) { puts(\"early\"); int code = work(5); getpid(); return code; }\n";
/// Loads the library when it runs.
const LOADER: &str = "#include <dlfcn.h>\n\
    int main(int c, char **v) { return ((int (*)(int)) dlsym(dlopen(v[1], RTLD_NOW), \"work\"))(5); }\n";

fn gcc(directory: &Path, arguments: &[&str]) {
    run_ok(Command::new("gcc").current_dir(directory).args(["-w", "-O0"]).args(arguments));
}

fn build(directory: &Path) {
    for (name, text) in [("work.c", LIBRARY), ("small.c", PROGRAM), ("loader.c", LOADER)] {
        fs::write(directory.join(name), text).expect("written");
    }
    gcc(directory, &["-shared", "-fPIC", "-o", "libwork.so", "work.c"]);
    gcc(directory, &["-o", "small", "small.c", "-L.", "-lwork", "-Wl,-rpath,$ORIGIN"]);
    gcc(directory, &["-s", "-o", "stripped", "small.c", "-L.", "-lwork", "-Wl,-rpath,$ORIGIN"]);
    gcc(directory, &["-o", "loader", "loader.c", "-ldl"]);
}

fn hearth_run(directory: &Path, arguments: &[&str]) -> (Output, String) {
    let output = run(Command::new(hearth()).current_dir(directory).arg("run").args(arguments));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn a_program_waits_in_a_library_that_is_there_when_it_begins() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let directory = scratch.path();
    build(directory);
    let check = |program: &str, function: &str| {
        let point = format!("symbol:{function}");
        let (output, said) = hearth_run(directory, &[program, "--warm", &point, "--repeat", "3"]);
        assert_eq!(output.status.code(), Some(7), "{program} {function}: {said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "early\nlate\n", "{program} {function}: {said}");
        said
    };
    for (program, function) in [("./small", "work"), ("./small", "deep"), ("./stripped", "work")] {
        let said = check(program, function);
        assert!(!said.contains("process numbers"), "the call comes before getpid(): {said}");
    }
    // A function of the C library, which has no symbols but those it is linked by.
    check("./small", "puts");
    run_ok(Command::new("strip").current_dir(directory).arg("libwork.so"));
    check("./small", "work");
    let (_, said) = hearth_run(directory, &["./small", "--warm", "symbol:deep"]);
    assert!(said.contains("no function `deep`"), "{said}");
}

#[test]
fn what_was_done_before_a_call_of_a_library_is_known() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let directory = scratch.path();
    build(directory);
    fs::write(directory.join("small.c"), PROGRAM.replace("puts(\"early\")", "getpid(), puts(\"early\")"))
        .expect("written");
    gcc(directory, &["-o", "small", "small.c", "-L.", "-lwork", "-Wl,-rpath,$ORIGIN"]);
    let (output, said) = hearth_run(directory, &["./small", "--warm", "symbol:work"]);
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("process numbers"), "it waits behind getpid(), in the library: {said}");
}

#[test]
fn a_library_that_is_loaded_later_is_told() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let directory = scratch.path();
    build(directory);
    let (output, said) = hearth_run(directory, &["./loader", "--warm", "symbol:work", "--", "./libwork.so"]);
    assert!(!output.status.success(), "{said}");
    for part in ["no function `work`", "loads later", "--warm main"] {
        assert!(said.contains(part), "it should say `{part}`: {said}");
    }
    let (_, said) = hearth_run(directory, &["./stripped", "--warm", "symbol:other"]);
    assert!(said.contains("no symbol table") && said.contains("strip"), "{said}");
}
