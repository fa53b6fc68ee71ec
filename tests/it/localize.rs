//! Localization: what is refused before any time is spent, and real bugs from the packages to the guilty file.

use crate::daemon::Daemon;
use crate::hearth;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A daemon of its own, and a directory for programs.
struct World {
    directory: TempDir,
    daemon: Daemon,
}

impl World {
    fn new() -> Self {
        let permissions = fs::Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().permissions(permissions).tempdir().expect("a directory");
        let hearthd = PathBuf::from(env!("CARGO_BIN_EXE_hearthd"));
        let daemon = Daemon::start(&hearthd, &directory.path().join("run"), &[]);
        Self { directory, daemon }
    }

    fn command(&self, arguments: &[&str]) -> Output {
        self.command_with(arguments, &std::env::var("PATH").expect("a path"))
    }

    /// A command that finds tools elsewhere.
    fn command_with(&self, arguments: &[&str], path: &str) -> Output {
        let mut command = Command::new(hearth());
        command.args(arguments).env("HEARTH_RUNTIME_DIR", self.directory.path().join("run"));
        command.env("PATH", path).output().expect("it starts")
    }

    /// A path that has a gold first that cannot be kept warm.
    fn path_without_gold(&self) -> String {
        let directory = self.directory.path().join("no-gold");
        fs::create_dir(&directory).expect("it is made");
        let gold = directory.join("ld.gold");
        fs::write(&gold, "#!/bin/sh\nexit 1\n").expect("it is written");
        fs::set_permissions(&gold, fs::Permissions::from_mode(0o755)).expect("it is its own");
        format!("{}:{}", directory.display(), std::env::var("PATH").expect("a path"))
    }

    fn localize(&self, program: &Path, options: &[&str]) -> Output {
        let program = program.to_str().expect("a plain path");
        self.command(&[&["localize", program, "--subject", "gcc-11"], options].concat())
    }

    fn program(&self, text: &str) -> PathBuf {
        let path = self.directory.path().join("given.c");
        fs::write(&path, text).expect("it is written");
        path
    }
}

#[test]
#[ignore = "needs the subject gcc-11: tools/test --full"]
fn what_cannot_be_localized_is_told() {
    let world = World::new();
    let fine = "int main(void) { return 0; }";
    let table: [(&str, &[&str], &str); 11] = [
        (fine, &["--fail=-O2", "--pass=-O0"], "does not fail: with -O2 and with -O0 it exited with code 0"),
        (
            fine,
            &["--fail=-O2"],
            "the compiler does not crash with -O2; if the program behaves wrongly, give options",
        ),
        (
            fine,
            &["--fail=-O2 -fno-such-thing", "--pass=-O0"],
            "does not know an option in -O2 -fno-such-thing",
        ),
        (fine, &["--fail=-O2", "--pass=-O7x"], "-O7x"),
        (
            "int main(void) { return 3; }",
            &["--fail=-O2", "--pass=-O0"],
            "fails in the same way with -O2 and with -O0",
        ),
        (
            "int main(void) { return x; }",
            &["--fail=-O2", "--pass=-O0"],
            "does not compile with -O2: 'x' undeclared",
        ),
        (
            "u32 x; int main(void) { return 0; }",
            &["--fail=-O2", "--pass=-O0"],
            "does not compile with -O2: unknown type name",
        ),
        ("int f(void) { return 3; }", &["--fail=-O2", "--pass=-O0"], "cannot be linked; it must be complete"),
        (
            "int getpid(void); int printf(const char *, ...); int time(int *);\n\
             int main(void) { unsigned long long t; __asm__ volatile (\"rdtsc; shl $32, %%rdx; or %%rdx, %%rax\" : \
             \"=a\"(t) : : \"rdx\"); printf(\"%llu\\n\", t); return 0; }",
            &["--fail=-O2", "--pass=-O0"],
            "differ; a program that fails must fail always",
        ),
        (
            "int f(int x) { int y = x + 1; return y > x; } int main(void) { return !f(__INT_MAX__); }",
            &["--fail=-O2", "--pass=-O0", "--screen"],
            "the program itself has undefined behaviour",
        ),
        (
            "int main(void) { for (;;); }",
            &["--fail=-O2", "--pass=-O0"],
            "compiled with -O0, does not end in time",
        ),
    ];
    for (text, options, part) in table {
        let output = world.localize(&world.program(text), options);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{text} {options:?} was localized");
        assert_eq!(message.lines().count(), 1, "one line: {message}");
        assert!(message.contains(part), "`{message}` should say `{part}`");
    }
    let output = world.localize(Path::new("/no/such/program.c"), &["--fail=-O2"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read /no/such/program.c"));
    let program = world.program(fine);
    let program = program.to_str().expect("a plain path");
    let output = world.command(&["localize", program, "--subject", "gcc-99", "--fail=-O2"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no subject gcc-99"));
    drop(world.daemon);
}

/// A tcc with a bug that was put into it: a program's mutants point at the function, and the tcc without it says what is
/// right.
#[test]
fn a_bug_put_into_tcc_is_localized_by_function() {
    let world = World::new();
    let store = hearth_subject::Store::open().expect("a cache");
    let tcc = store.find("tcc").unwrap_or_else(|error| panic!("{error}")).binary();
    let seeded = world.directory.path().join("seeded");
    fs::create_dir(&seeded).expect("it is made");
    let programs = crate::project().join("tests/programs/localize");
    let build = tcc.parent().expect("a directory");
    crate::run_ok(Command::new(programs.join("seed-tcc")).arg(build).arg(&seeded));
    // The cache is the user's: the name must be nobody's, and it goes at the end.
    let name = format!("tcc-seeded-{}", std::process::id());
    let path = |name: &str| seeded.join(name).to_str().expect("a plain path").to_owned();
    let (binary, notes) = (path("tcc"), path(""));
    let added = world.command(&["subject", "add", &name, "--binary", &binary, "--notes", &notes]);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let program = programs.join("division.c");
    let program = program.to_str().expect("a plain path");
    let arguments = [
        "localize",
        program,
        "--subject",
        &name,
        "--reference=tcc",
        "--fail=",
        "--count=120",
        "--budget=300",
        "--json",
    ];
    let output = world.command(&arguments);
    let other_linker = world.command_with(&arguments, &world.path_without_gold());
    let options = world.command(&[&arguments[..], &["--technique=options"]].concat());
    let removed = world.command(&["subject", "remove", "--yes", &name]);
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let same: Value = serde_json::from_slice(&other_linker.stdout).expect("JSON");
    assert_eq!(same["witnesses"], found["witnesses"], "which linker there is makes no difference");
    let functions = found["functions"].as_array().expect("a list");
    let guilty = functions.iter().find(|function| function["function"] == "gen_opic").expect("it is there");
    assert!(guilty["rank"].as_u64().expect("a rank") <= 3, "{functions:?}");
    assert!(functions.len() > 3, "all others are as suspicious: {functions:?}");
    let said = String::from_utf8_lossy(&options.stderr);
    assert!(said.contains("no options of optimization to turn"), "{said}");
}

/// Witnesses of a bug, with the arguments for its program and options.
fn witnesses_of(world: &World, bug: &Value, more: &[&str]) -> Vec<Value> {
    let (program, fail, pass) = program_and_options(bug);
    let program = program.to_str().expect("a plain path");
    let arguments = ["localize", program, "--subject=gcc-11", &fail, &pass, "--budget=300", "--json"];
    let output = world.command(&[&arguments[..], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    found["witnesses"].as_array().expect("a list").clone()
}

/// Does a program trap when another compiler has it checked for what C leaves undefined?
fn is_undefined(world: &World, program: &str) -> bool {
    let [source, binary] = ["checked.c", "checked"].map(|name| world.directory.path().join(name));
    fs::write(&source, program).expect("it is written");
    let screen = ["-w", "-O0", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-o"];
    crate::run_ok(Command::new("gcc-12").args(screen).args([&binary, &source]));
    let status = Command::new("timeout").arg("10").arg(&binary).status().expect("it runs");
    status.signal() == Some(libc::SIGILL) || status.code() == Some(128 + libc::SIGILL)
}

/// Mutants that do what C leaves undefined are witnesses unless they are screened.
fn undefined_mutants_are_screened(world: &World, bug: &Value) {
    let more = ["--technique=diwi", "--count=40"];
    let undefined = |witnesses: &[Value]| {
        let passing: Vec<&str> = witnesses.iter().filter_map(|witness| witness["program"].as_str()).collect();
        assert!(passing.len() > 10, "{} pass", passing.len());
        passing.into_iter().filter(|program| is_undefined(world, program)).count()
    };
    assert!(undefined(&witnesses_of(world, bug, &more)) > 0, "there is something to screen");
    let screened = witnesses_of(world, bug, &[&more[..], &["--screen"]].concat());
    assert_eq!(undefined(&screened), 0);
    let reasons = screened.iter().filter(|witness| witness["reason"] == "has undefined behaviour");
    assert!(reasons.count() > 0);
}

/// Of a crash that no option prevents, and hardly a mutant, the stack tells.
fn the_stack_of_a_crash_counts(world: &World) {
    let sources = hearth_subject::Store::open().expect("a cache").root().join("sources/gcc-12-source");
    let program = sources.join("gcc/testsuite/gcc.target/i386/pr105970.c");
    let fail = "--fail=-O0 -mx32 -mgeneral-regs-only -maddress-mode=long";
    let output = world.localize(&program, &[fail, "--count=10", "--budget=300", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (file, function) = (&found["files"][0], &found["functions"][0]);
    assert!(
        file["source"].as_str().is_some_and(|source| source.ends_with("gcc/config/i386/i386.c")),
        "{file}"
    );
    assert!(
        function["function"].as_str().is_some_and(|name| name.starts_with("ix86_function_arg(")),
        "{function}"
    );
}

/// Where a bug's program is, and the options it fails and passes with.
fn program_and_options(bug: &Value) -> (PathBuf, String, String) {
    let sources = hearth_subject::Store::open().expect("a cache").root().join("sources/gcc-12-source");
    let program = sources.join(bug["program"].as_str().expect("a path"));
    let words = |name: &str| {
        let words = bug[name].as_array().expect("a list").iter().map(|word| word.as_str().expect("a word"));
        words.collect::<Vec<_>>().join(" ")
    };
    (program, format!("--fail={}", words("fail")), format!("--pass={}", words("pass")))
}

/// A technique on a bug, twice with the same seed and number of mutants, and once with another seed.
fn equal_seeds_find_the_same(world: &World, bug: &Value, technique: &str) {
    const MUTANTS: usize = 40;
    let (program, fail, pass) = program_and_options(bug);
    let localize = |seed: &str, cores: &str| {
        let options = [
            "--technique",
            technique,
            "--count",
            &MUTANTS.to_string(),
            "--budget=300",
            "--json",
            "--seed",
            seed,
            &fail,
            &pass,
        ];
        let mut command = Command::new("taskset");
        command.args(["-c", cores]).arg(hearth()).arg("localize").arg(&program).args(["--subject", "gcc-11"]);
        command.args(options).env("HEARTH_RUNTIME_DIR", world.directory.path().join("run"));
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (found["files"].clone(), found["witnesses"].clone())
    };
    let first = localize("3", "0-1023");
    let witnesses = first.1.as_array().expect("a list");
    match technique {
        "fused" => assert!(witnesses.len() > 3 * MUTANTS, "options and mutants"),
        _ => assert_eq!(witnesses.len(), MUTANTS),
    }
    assert!(witnesses.iter().any(|witness| witness["verdict"] == "pass" && witness["program"].is_string()));
    assert!(witnesses.iter().any(|witness| witness["verdict"] == "fail"));
    let files = first.0.as_array().expect("a list");
    assert!(!files.is_empty());
    let is_foreign = |file: &&Value| file["source"].as_str().is_some_and(|path| path.starts_with("/usr/"));
    assert_eq!(files.iter().find(is_foreign), None, "the machine's headers are not the compiler's");
    assert_eq!(localize("3", "0"), first, "on one core");
    assert_ne!(localize("4", "0-1023").1, first.1, "another seed makes other mutants");
}

/// Three real bugs: the newer package's programs fail with the subject, and the file that was mended is found.
#[test]
#[ignore = "needs the subject gcc-11 and the sources of gcc-12: tools/test --full"]
fn real_bugs_are_found_and_localized() {
    let world = World::new();
    let manifest = world.directory.path().join("bugs.json");
    let manifest_path = manifest.to_str().expect("a plain path");
    let output =
        world.command(&["bench", "bugs", "--output", manifest_path, "--report", "105263,106032,106513"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bugs: Value = serde_json::from_slice(&fs::read(&manifest).expect("it is written")).expect("JSON");
    let bugs = bugs["bugs"].as_array().expect("a list").clone();
    let found: Vec<(&Value, &Value)> = bugs.iter().map(|bug| (&bug["kind"], &bug["files"][0])).collect();
    let expected = [
        ("crash", "gcc/tree-ssa-reassoc.c"),
        ("wrong-code", "gcc/ifcvt.c"),
        ("wrong-code", "gcc/gimple-ssa-store-merging.c"),
    ]
    .map(|(kind, file)| (Value::from(kind), Value::from(file)));
    assert_eq!(found, expected.iter().map(|(kind, file)| (kind, file)).collect::<Vec<_>>());

    let [state, plots] = ["replay.jsonl", "plots"].map(|name| world.directory.path().join(name));
    let replay = || {
        let state = state.to_str().expect("a plain path");
        let plots = plots.to_str().expect("a plain path");
        let output = world.command(&[
            "replay",
            manifest_path,
            "--techniques=options",
            "--state",
            state,
            "--budget=300",
            "--plots",
            plots,
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let lines = |path: &Path| {
        let text = fs::read_to_string(path).expect("it is written");
        let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        values
            .map(|value| (value["program"].clone(), value["files"].clone(), value["functions"].clone()))
            .collect::<Vec<_>>()
    };
    let said = replay();
    // What reports a crash is executed by all that crash, and by nothing else.
    let text = fs::read_to_string(&state).expect("it is written");
    let crash = text.lines().find(|line| line.contains("pr105263.c")).expect("it was replayed");
    assert!(!crash.contains("/diagnostic") && !crash.contains("/pretty-print.c"), "{crash}");
    let first = lines(&state);
    assert_eq!(first.len(), 3);
    for (program, files, _) in &first {
        let rank = files[0].as_u64().expect("a rank");
        assert!(rank <= 5, "the guilty file of {program} has rank {rank}");
    }
    for part in ["wrong code: 2 bugs", "crashes: 1 bugs"] {
        assert!(said.contains(part), "{said}");
    }
    for name in ["files", "functions", "course"] {
        let drawing = fs::read_to_string(plots.join(format!("wrong-code-{name}.svg"))).expect("it is drawn");
        assert!(drawing.contains("<svg") && drawing.contains("options"), "{drawing}");
    }
    for technique in ["diwi", "recbi", "fused"] {
        equal_seeds_find_the_same(&world, &bugs[1], technique);
    }
    undefined_mutants_are_screened(&world, &bugs[2]);
    the_stack_of_a_crash_counts(&world);
    // Nothing is done twice; a line that was cut off is done again, with the same ranking.
    let text = fs::read_to_string(&state).expect("it is there");
    fs::write(&state, &text[..text.trim_end().len() - 10]).expect("it is written");
    let again = replay();
    assert_eq!(again.lines().filter(|line| line.contains(" judged pass, ")).count(), 1, "{again}");
    assert_eq!(lines(&state), first);
}
