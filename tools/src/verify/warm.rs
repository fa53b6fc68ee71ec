//! The checks `exact` and `soak`: runs from warm processes, compared with plain ones, and in great number.

use crate::done::Done;
use crate::programs::csmith_program;
use crate::warm_exact::{Bench, WarmCompared};
use anyhow::bail;
use hearth_runner::limits::RunLimits;
use hearth_runner::{Pool, RunRequest, SubjectMap, WarmPoint, ZygoteKey};
use hearth_sandbox::Policy;
use hearth_subject::{Store, Subject};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The levels every program is compiled at.
const CC1_LEVELS: [&str; 5] = ["-O0", "-O1", "-O2", "-O3", "-Os"];
const TCC_LEVELS: [&str; 2] = ["-c", "-c -g"];
/// Where a GCC subject keeps its own test programs.
const TEST_SUITE: &str = "gcc/testsuite/gcc.c-torture";

/// What to compare.
pub struct Plan {
    /// The subjects' names.
    pub subjects: Vec<String>,
    /// The first random program's seed.
    pub seed: u64,
    /// How many programs: one half random, the other from the subject's test suite if it has one.
    pub programs: usize,
}

/// Compares until the plan is done or the time is up; `done` lists the cases of earlier calls.
pub fn run(hearth: &Path, plan: &Plan, limit: Duration, done: Option<&Path>) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut done = Done::read(done);
    let store = Store::open()?;
    let mut compared = WarmCompared::default();
    for name in &plan.subjects {
        let subject = store.find(name)?;
        let map = Arc::new(SubjectMap::open(&subject)?);
        let inputs = tempfile::tempdir()?;
        let programs = programs(&subject, plan, inputs.path())?;
        let is_tcc = subject.manifest.name == "tcc";
        let levels = if is_tcc { &TCC_LEVELS[..] } else { &CC1_LEVELS[..] };
        for level in levels {
            let options = if is_tcc { (*level).to_owned() } else { format!("-quiet -w {level}") };
            let directory = tempfile::tempdir()?;
            let bench = Bench::new(hearth, &subject, &map, &options, WarmPoint::Input, directory.path())
                .map_err(anyhow::Error::msg)?;
            for program in &programs {
                let file = program.file_name().unwrap_or_default().display().to_string();
                let case = format!("{} {} {file} {level}", subject.id(), subject.manifest.binary.sha256);
                if done.skips(&case) {
                    continue;
                }
                if started.elapsed() > limit {
                    let skipped = done.skipped;
                    println!("time is up ({skipped} done before): equal in {compared}; call again to go on");
                    return Ok(());
                }
                match bench.check(&fs::read(program)?) {
                    Ok(result) => compared.add(result),
                    Err(difference) => bail!("{case}: {difference}"),
                }
                done.add(&case)?;
            }
            println!("{} {level}: {} programs equal; {compared} so far", subject.id(), programs.len());
        }
    }
    println!("0 differences in {compared} ({} runs done before)", done.skipped);
    Ok(())
}

/// Random programs, and as many of the subject's own tests.
fn programs(subject: &Subject, plan: &Plan, directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut own = Vec::new();
    let suite =
        subject.source_directory().map(|source| source.join(TEST_SUITE)).filter(|suite| suite.is_dir());
    if let Some(suite) = suite {
        let mut pending = vec![suite];
        while let Some(next) = pending.pop() {
            for entry in fs::read_dir(next)? {
                let path = entry?.path();
                if path.is_dir() {
                    pending.push(path);
                } else if path.extension().is_some_and(|extension| extension == "c") && !includes(&path) {
                    own.push(path);
                }
            }
        }
        own.sort();
        // Spread over the whole suite.
        let step = (own.len() / plan.programs.div_ceil(2).max(1)).max(1);
        own = own.into_iter().step_by(step).take(plan.programs.div_ceil(2)).collect();
    }
    let random = plan.programs - own.len();
    own.extend((0..random as u64).map(|index| csmith_program(plan.seed + index, directory)));
    Ok(own)
}

/// Does a program include files, which may lie beside it?
fn includes(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("#include"))
}

/// Runs a subject many times and sees that nothing in its directory, the working directory and the temporary
/// directory has changed.
pub fn soak(hearth: &Path, name: &str, runs: usize) -> anyhow::Result<()> {
    let subject = Store::open()?.find(name)?;
    let map = Arc::new(SubjectMap::open(&subject)?);
    let directory = tempfile::tempdir()?;
    let key = key(&subject, directory.path());
    let watched = [subject.directory.clone(), directory.path().to_owned()];
    let before = snapshot(&watched)?;
    let temporary = names(&std::env::temp_dir())?;
    let pool = Pool::new(hearth.to_owned());
    let started = Instant::now();
    let input = b"int f(int x) { while (x > 1) x = x & 1 ? 3 * x + 1 : x / 2; return x; }\n";
    let request = RunRequest { input: Some(input.to_vec()), ..RunRequest::default() };
    let first = pool.run(&key, Some(&map), &request)?;
    let expected = first.observation.map_err(anyhow::Error::msg)?.spectrum;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| -> anyhow::Result<()> {
                    for index in 0..runs / 2 {
                        let answer = pool.run(&key, Some(&map), &request)?;
                        if answer.observation.as_ref().map(|seen| &seen.spectrum) != Ok(&expected) {
                            bail!("run {index} has another spectrum: {:?}", answer.run.outcome);
                        }
                        if index % 500 == 0 {
                            println!("{index} of {} runs on this thread, {:?}", runs / 2, started.elapsed());
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| bail!("a panic")))
    })?;
    drop(pool);
    let after = snapshot(&watched)?;
    if before != after {
        let changed: Vec<_> =
            after.iter().filter(|(path, hash)| before.get(*path) != Some(hash)).take(5).collect();
        bail!("files changed or appeared: {changed:?}");
    }
    let appeared: Vec<_> = names(&std::env::temp_dir())?.difference(&temporary).cloned().collect();
    if !appeared.is_empty() {
        bail!("files appeared in the temporary directory: {appeared:?}");
    }
    println!("{runs} runs of {}: all spectra equal, {} files as they were", subject.id(), before.len());
    Ok(())
}

fn key(subject: &Subject, directory: &Path) -> ZygoteKey {
    let binary = subject.binary();
    let mut arguments = vec![binary.clone().into_os_string()];
    let options: &[&str] = if subject.manifest.name == "tcc" { &["-c"] } else { &["-quiet", "-O0"] };
    arguments.extend(options.iter().chain(&["input.c", "-o", "output"]).map(Into::into));
    ZygoteKey {
        revision: 0,
        binary,
        arguments,
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: directory.to_owned(),
        input: Some("input.c".into()),
        warm: WarmPoint::Input,
        sandbox: Policy::Required,
        processes: RunLimits::default().processes,
        shown: Vec::new(),
    }
}

/// A checksum of every file below some directories.
fn snapshot(directories: &[PathBuf]) -> anyhow::Result<BTreeMap<PathBuf, u64>> {
    let mut files = BTreeMap::new();
    let mut pending = directories.to_vec();
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            } else if entry.file_type()?.is_file() {
                files.insert(entry.path(), xxhash_rust::xxh3::xxh3_64(&fs::read(entry.path())?));
            }
        }
    }
    Ok(files)
}

fn names(directory: &Path) -> anyhow::Result<HashSet<PathBuf>> {
    let entry = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.path());
    fs::read_dir(directory)?.map(entry).collect()
}
