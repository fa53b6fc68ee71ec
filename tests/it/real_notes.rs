//! Notes that GCC 11 and GCC 12 wrote for small programs, compared with each one's own gcov.

use crate::exact::{Compared, compare};
use crate::{hearth, project, run_ok};
use std::fs;
use std::path::Path;
use std::process::Command;

fn check(version: &str, flags: &[&str]) {
    let programs = project().join("tests/programs");
    let mut sources: Vec<_> =
        fs::read_dir(&programs).expect("programs").map(|e| e.expect("entry").path()).collect();
    sources.sort();
    let mut compared = Compared::default();
    for source in &sources {
        let compiler = match source.extension().and_then(|extension| extension.to_str()) {
            Some("c") => format!("gcc-{version}"),
            Some("cc") => format!("g++-{version}"),
            _ => continue,
        };
        let tree = tempfile::tempdir().expect("a temporary directory");
        build_and_run(&compiler, flags, source, tree.path());
        let result = compare(&format!("gcov-{version}"), &hearth(), tree.path());
        compared.add(result.unwrap_or_else(|error| panic!("{}: {error}", source.display())));
    }
    println!("gcc-{version} {flags:?}: 0 differences in {compared}");
    assert!(compared.documents >= 9, "all programs were compared");
}

/// Compiles in a directory of its own, because the notes record it.
fn build_and_run(compiler: &str, flags: &[&str], source: &Path, tree: &Path) {
    fs::copy(source, tree.join(source.file_name().expect("a file"))).expect("copied");
    let name = source.file_name().expect("a file");
    run_ok(
        Command::new(compiler)
            .current_dir(tree)
            .args(["-w", "--coverage", "-c", "-o", "x.o"])
            .args(flags)
            .arg(name),
    );
    run_ok(Command::new(compiler).current_dir(tree).args(["--coverage", "x.o", "-o", "x"]));
    for arguments in [&[][..], &["a", "b", "c", "d", "e", "f"]] {
        run_ok_or_code(Command::new(tree.join("x")).current_dir(tree).args(arguments));
    }
}

/// The programs may return any code, but must not crash.
fn run_ok_or_code(command: &mut Command) {
    let output = crate::run(command);
    assert!(output.status.code().is_some(), "{command:?}: {}", output.status);
}

#[test]
fn gcc_11_unoptimized() {
    check("11", &["-O0"]);
}

#[test]
fn gcc_11_optimized() {
    check("11", &["-O2", "-g"]);
}

#[test]
fn gcc_12_unoptimized() {
    check("12", &["-O0"]);
}

#[test]
fn gcc_12_optimized() {
    check("12", &["-O2", "-g"]);
}

/// Clang's notes, in the format of GCC 4.8, against LLVM's own gcov. Left out is jumps.c: where setjmp returns
/// twice, llvm-cov derives counts that cannot be (its `return 1` at the end, never reached, runs four times).
#[test]
fn clang_14() {
    for program in ["loops", "branches", "records", "interpreter", "one_line"] {
        let tree = tempfile::tempdir().expect("a temporary directory");
        let source = project().join("tests/programs").join(program).with_extension("c");
        let (name, object) = (format!("{program}.c"), format!("{program}.o"));
        fs::copy(source, tree.path().join(&name)).expect("copied");
        let clang = |arguments: &[&str]| {
            run_ok(Command::new("clang-14").current_dir(&tree).args(["-w", "--coverage"]).args(arguments));
        };
        clang(&["-c", &name, "-o", &object]);
        clang(&[&object, "-o", "x"]);
        run_ok_or_code(Command::new(tree.path().join("x")).current_dir(&tree));
        let data = format!("{program}.gcda");
        let theirs = run_ok(Command::new("llvm-cov-14").current_dir(&tree).args(["gcov", "-t", &data]));
        let report = ["report", "--gcda", ".", "--format", "text"];
        let ours = run_ok(Command::new(hearth()).current_dir(&tree).args(report));
        let body = |text: &str| {
            text.lines().filter(|line| !line.contains(":    0:")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(body(&theirs).len() > 15, "{theirs}");
        assert_eq!(body(&ours), body(&theirs), "{program}");
    }
}
