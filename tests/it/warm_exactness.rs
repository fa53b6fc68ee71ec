//! Runs from warm processes: counters and lines from memory equal a plain run's.

use crate::programs::csmith_program;
use crate::small_subject::SmallSubject;
use crate::warm_exact::{Bench, WarmCompared};
use crate::{hearth, project};
use hearth_runner::limits::RunLimits;
use hearth_runner::{Pool, RunRequest, SubjectMap, WarmPoint, ZygoteKey};
use hearth_sandbox::Policy;
use hearth_subject::Store;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Checks a subject at some options and warm points, on own and random programs.
fn check(subject: &str, cases: &[(&str, WarmPoint)], random: u64) -> WarmCompared {
    let subject =
        Store::open().and_then(|store| store.find(subject)).unwrap_or_else(|error| panic!("{error}"));
    let map = Arc::new(SubjectMap::open(&subject).expect("an atlas"));
    let inputs = tempfile::tempdir().expect("a temporary directory");
    let mut programs: Vec<Vec<u8>> = vec![
        b"int main(void) { return 0; }\n".to_vec(),
        b"int f(int x) { return x + y; }\n".to_vec(),
        read(&project().join("tests/programs/loops.c")),
    ];
    programs.extend((1..=random).map(|seed| read(&csmith_program(seed, inputs.path()))));
    let mut compared = WarmCompared::default();
    for (options, warm) in cases {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let bench = Bench::new(&hearth(), &subject, &map, options, warm.clone(), directory.path())
            .unwrap_or_else(|error| panic!("{options}: {error}"));
        for (index, program) in programs.iter().enumerate() {
            let result = bench.check(program);
            compared.add(result.unwrap_or_else(|error| panic!("{options} {warm} program {index}: {error}")));
        }
    }
    println!("{}: 0 differences in {compared}", subject.id());
    compared
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn paths_of_files_in_memory() {
    check_small("paths.c");
}

#[test]
fn streams_on_files_in_memory() {
    check_small("streams.c");
}

/// What programs do to files has the same results as in a plain run, one after another and for each run anew.
#[test]
fn operations_on_files() {
    check_small("files.c");
}

/// Processes that a run makes of itself are counted as gcov counts them.
#[test]
fn processes_that_a_run_makes() {
    check_small("children.c");
}

/// Processes that share the run's memory count there.
#[test]
fn processes_that_share_a_runs_memory() {
    check_small("vfork.c");
}

/// Programs that a run executes, in any way, are counted, and write and see the run's files.
#[test]
fn programs_that_a_run_executes() {
    check_small("executes.c");
}

/// What a program finds in registers, below its stack and on its heap when it begins does not depend on the shim.
#[test]
fn memory_that_nobody_has_initialized() {
    check_small("uninitialized.c");
}

/// Checks a program of `tests/programs/warm`.
fn check_small(name: &str) {
    let small = SmallSubject::new(&project().join("tests/programs/warm").join(name));
    for warm in [WarmPoint::Main, WarmPoint::Input] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let bench = Bench::new(&hearth(), &small.subject, &small.map, "-c", warm.clone(), directory.path())
            .unwrap_or_else(|error| panic!("{warm}: {error}"));
        for input in ["one", "another one"] {
            bench.check(input.as_bytes()).unwrap_or_else(|error| panic!("{warm}: {error}"));
        }
    }
}

/// Where all cores have runs, each zygote is bound to one, and so is its standby. What runs find out must not depend on it.
#[test]
fn runs_find_all_cores_however_many_there_are_beside_them() {
    let plain = Command::new("nproc").output().expect("coreutils");
    let cores: usize = String::from_utf8_lossy(&plain.stdout).trim().parse().expect("a number");
    let key = ZygoteKey {
        revision: 0,
        binary: PathBuf::from("/usr/bin/nproc"),
        arguments: vec!["nproc".into()],
        environment: Vec::new(),
        directory: PathBuf::from("/"),
        input: None,
        warm: WarmPoint::Main,
        sandbox: Policy::Required,
        processes: RunLimits::default().processes,
        shown: Vec::new(),
    };
    let pool = Pool::new(hearth());
    let bound = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..=cores {
            scope.spawn(|| {
                for round in 0..100 {
                    let answer = pool.with_worker(&key, None, |worker| {
                        bound.fetch_add(usize::from(worker.zygote().core().is_some()), Ordering::Relaxed);
                        worker.run(&RunRequest::default())
                    });
                    let answer = answer.unwrap_or_else(|error| panic!("{error}"));
                    assert_eq!(answer.run.stdout, plain.stdout, "round {round}");
                }
            });
        }
    });
    assert!(bound.into_inner() > 0 || cores == 1, "no zygote was ever bound to a core");
}

#[test]
fn tcc() {
    let symbol = WarmPoint::Symbol("tcc_parse_args".to_owned());
    let cases = [("-c", WarmPoint::Main), ("-c -g", WarmPoint::Input), ("-c", symbol)];
    let compared = check("tcc", &cases, 3);
    assert!(compared.lines_executed > 10_000, "{compared}");
}

#[test]
#[ignore = "needs the subject gcc-11: tools/test --full"]
fn gcc_11() {
    let symbol = WarmPoint::Symbol("toplev::main".to_owned());
    let cases = [
        ("-quiet -O0", WarmPoint::Main),
        ("-quiet -O2", WarmPoint::Input),
        ("-quiet -O3", WarmPoint::Input),
        ("-quiet -Os", symbol),
    ];
    let compared = check("gcc-11-noopt", &cases, 2);
    assert!(compared.lines_executed > 1_000_000, "{compared}");
}

/// GCC reads memory that it has not initialized, on purpose: the counter of `sparseset_bit_p` tells what is in it.
#[test]
#[ignore = "needs the subject gcc-11: tools/test --full"]
fn gcc_11_finds_the_same_in_memory_it_has_not_initialized() {
    let cases = [("-quiet -O1", WarmPoint::Main), ("-quiet -O1", WarmPoint::Input)];
    check("gcc-11-noopt", &cases, 1);
}
