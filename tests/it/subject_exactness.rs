//! Plain runs of the real subjects: `hearth report` equals gcov on every file, function, line and branch.

use crate::exact::{Compared, compare};
use crate::option_sets::{CC1_OPTIONS, TCC_OPTIONS};
use crate::plain_run::plain_run;
use crate::programs::{csmith_program, preprocess};
use crate::{hearth, project};
use hearth_subject::Store;
use std::path::{Path, PathBuf};

/// One program with one option set each.
const CASES: usize = 20;

/// Compares the subject's runs on its option sets, each with another program.
fn check(subject: &str, option_sets: &[&str], output: &[&str]) -> Compared {
    let store = Store::open().expect("a cache directory");
    let subject = store.find(subject).unwrap_or_else(|error| panic!("{error}"));
    let inputs = tempfile::tempdir().expect("a temporary directory");
    let programs = programs(inputs.path());
    assert!(option_sets.len() >= CASES && programs.len() >= CASES);
    let mut compared = Compared::default();
    for (program, options) in programs.iter().zip(option_sets).take(CASES) {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let mut arguments: Vec<String> = options.split(' ').map(str::to_owned).collect();
        arguments.push(program.to_string_lossy().into_owned());
        arguments.extend(output.iter().map(|&word| word.to_owned()));
        let tree = plain_run(&subject.binary(), &subject.notes_directory(), &arguments, scratch.path());
        let result = compare("gcov-12", &hearth(), &tree);
        let case = result.unwrap_or_else(|error| panic!("{} {arguments:?}: {error}", subject.id()));
        println!("{} {options} {}: {case}", subject.id(), program.file_name().expect("a file").display());
        compared.add(case);
    }
    println!("{}: {CASES} runs, 0 differences in {compared}", subject.id());
    compared
}

/// The project's own C programs, in order.
fn own_c_programs(project: &Path) -> Vec<PathBuf> {
    let directory = project.join("tests/programs");
    let mut programs: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", directory.display()))
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    programs.sort();
    programs
}

/// The project's own programs, then random ones.
fn programs(directory: &Path) -> Vec<PathBuf> {
    let mut programs: Vec<PathBuf> =
        own_c_programs(&project()).iter().map(|program| preprocess(program, directory)).collect();
    let missing = CASES.saturating_sub(programs.len()) as u64;
    programs.extend((0..missing).map(|seed| csmith_program(seed, directory)));
    programs
}

#[test]
fn tcc() {
    let compared = check("tcc", TCC_OPTIONS, &["-o", "out"]);
    assert!(compared.lines > 100_000, "{compared}");
    assert!(compared.lines_executed > 20_000, "{compared}");
}

#[test]
#[ignore = "needs the subject gcc-11: tools/test --full"]
fn gcc_11() {
    let compared = check("gcc-11-noopt", CC1_OPTIONS, &["-quiet", "-o", "out.s"]);
    assert!(compared.lines > 10_000_000, "{compared}");
    assert!(compared.lines_executed > 1_000_000, "{compared}");
}
