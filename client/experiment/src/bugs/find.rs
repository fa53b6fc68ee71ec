//! Finds real bugs of GCC 11.3 with GCC 12.2: programs of the newer test suite that the older compiler crashes on or
//! miscompiles. The newer one's change logs name the files and functions that were mended.

use super::changelog::{self, Fix};
use super::dejagnu::{self, Action, Test};
use super::{Bug, BugKind};
use crate::error::{Error, Result};
use hearth_client::Connection;
use hearth_client::protocol::Outcome;
use hearth_compiler::compiled::Compiled;
use hearth_compiler::options::at_level;
use hearth_compiler::toolchain::Toolchain;
use hearth_localize::connections::Connections;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Where the programs are in GCC's source.
pub const PROGRAMS: [&str; 4] = [
    "gcc/testsuite/gcc.dg",
    "gcc/testsuite/gcc.c-torture",
    "gcc/testsuite/gcc.target/i386",
    "gcc/testsuite/c-c++-common",
];
/// Where the newer one's change logs are.
const LOGS: [&str; 5] =
    ["gcc/ChangeLog", "gcc/ChangeLog-2021", "gcc/c/ChangeLog", "gcc/c-family/ChangeLog", "libcpp/ChangeLog"];
/// All parts of the newer one's source that are needed.
#[must_use]
pub fn parts() -> Vec<&'static str> {
    [&PROGRAMS[..], &LOGS[..]].concat()
}

/// The day GCC 11 was branched off: older entries of the change logs are in both.
const BRANCHED: &str = "2021-04-20";
/// How long a tool or a program may take.
const TOOL_LIMIT: Duration = Duration::from_secs(10);
/// How long all of it may take.
const WHOLE_LIMIT: Duration = Duration::from_secs(3600);
/// Between two looks at it.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Where everything is.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The name of the subject.
    pub name: &'a str,
    /// Its source.
    pub subject: &'a Path,
    /// Programs of the version with the bugs.
    pub old: &'a Path,
    /// Programs and change logs of the version with the fixes.
    pub new: &'a Path,
    /// A driver of that version.
    pub new_driver: &'a str,
    /// A `hearth`.
    pub launcher: &'a Path,
    /// A directory for what is compiled.
    pub scratch: &'a Path,
    /// The reports to look at; none for all.
    pub reports: &'a [u32],
}

/// Finds bugs. `tell` is called with how many programs were tried, how many there are, and how many bugs were found.
///
/// # Errors
/// If the sources cannot be read or a compiler not be started.
pub fn find(
    connections: &mut Connections,
    sources: &Sources<'_>,
    tell: impl Fn(usize, usize, usize) + Sync,
) -> Result<Vec<Bug>> {
    let fixes = read_fixes(sources)?;
    let programs = new_programs(sources, &fixes)?;
    let (tried, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let deadline = Instant::now() + WHOLE_LIMIT;
    let toolchain = Toolchain::new(connections.one(), sources.name, sources.new, sources.launcher)?;
    let found = connections.each(&programs, deadline, |connection, (report, program)| -> Result<_> {
        let bug = try_program(connection, sources, &toolchain, *report, program, &fixes[report])
            .map_err(|error| Error::Trying { program: program.clone(), source: Box::new(error) })?;
        let count = count.fetch_add(usize::from(bug.is_some()), Ordering::Relaxed);
        tell(tried.fetch_add(1, Ordering::Relaxed) + 1, programs.len(), count + usize::from(bug.is_some()));
        Ok(bug)
    })?;
    let mut found: Vec<Bug> = found.into_iter().flatten().flatten().collect();
    found.sort();
    Ok(found)
}

/// The fixes by report, with the files that the subject has.
fn read_fixes(sources: &Sources<'_>) -> Result<BTreeMap<u32, Fix>> {
    let mut fixes: BTreeMap<u32, Fix> = BTreeMap::new();
    for log in LOGS {
        let path = sources.new.join(log);
        let text = fs::read(&path).map_err(|source| Error::Read { path, source })?;
        let directory = &log[..log.find("ChangeLog").unwrap_or_default()];
        for (report, fix) in changelog::fixes(&String::from_utf8_lossy(&text), BRANCHED) {
            let known = fixes.entry(report).or_default();
            let files = fix.files.iter().filter_map(|file| old_name(sources.subject, directory, file));
            known.files.extend(files);
            known.functions.extend(fix.functions);
        }
    }
    fixes.retain(|_, fix| !fix.files.is_empty());
    Ok(fixes)
}

/// The name a file has in the subject's source, where `.cc` is `.c` still; `None` if it has no code of the compiler's.
fn old_name(subject: &Path, directory: &str, file: &str) -> Option<String> {
    let file = format!("{directory}{file}");
    let old = file.strip_suffix(".cc").map(|stem| format!("{stem}.c"));
    let mut names = old.into_iter().chain([file]);
    names.find(|name| {
        [".c", ".h", ".pd", ".md"].iter().any(|end| name.ends_with(end)) && subject.join(name).is_file()
    })
}

/// The programs that are new and belong to a report with a known fix.
fn new_programs(sources: &Sources<'_>, fixes: &BTreeMap<u32, Fix>) -> Result<Vec<(u32, String)>> {
    let mut programs = Vec::new();
    let mut directories: Vec<PathBuf> = PROGRAMS.iter().map(PathBuf::from).collect();
    while let Some(directory) = directories.pop() {
        let whole = sources.new.join(&directory);
        for entry in fs::read_dir(&whole).map_err(|source| Error::List { path: whole, source })? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                directories.push(path);
            } else if let Some(report) = report_of(&entry.file_name().to_string_lossy())
                && fixes.contains_key(&report)
                && (sources.reports.is_empty() || sources.reports.contains(&report))
                && !sources.old.join(&path).exists()
            {
                programs.push((report, path.to_string_lossy().into_owned()));
            }
        }
    }
    programs.sort();
    Ok(programs)
}

/// The report in a program's name: `pr100740-2.c`.
fn report_of(name: &str) -> Option<u32> {
    let rest = name.strip_suffix(".c")?.strip_prefix("pr")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// Is a program a bug of the old compiler, and of it alone?
fn try_program(
    connection: &mut Connection,
    sources: &Sources<'_>,
    toolchain: &Toolchain,
    report: u32,
    program: &str,
    fix: &Fix,
) -> Result<Option<Bug>> {
    let path = sources.new.join(program);
    let text = fs::read(&path)?;
    let Some(test) = dejagnu::read(program, &String::from_utf8_lossy(&text)) else { return Ok(None) };
    let toolchain = toolchain.beside(&path)?;
    let mut try_old = |options: &[String]| try_subject(connection, &toolchain, &test, &text, options);
    for fail in &test.option_sets {
        let found = try_old(fail)?;
        let kind = match found {
            Tried::Crash(_) => BugKind::Crash,
            Tried::WrongCode => BugKind::WrongCode,
            Tried::Fine | Tried::Refused => continue,
        };
        if try_driver(sources, &test, &path, fail)? != Tried::Fine {
            continue;
        }
        // Options close to the failing ones that pass: another level.
        let mut pass = None;
        for level in ["-O0", "-O1", "-Os", "-O2", "-O3"] {
            let options = at_level(fail, level);
            if try_old(&options)? == Tried::Fine {
                pass = Some(options);
                break;
            }
        }
        // Wrong code shows only beside right code.
        if pass.is_none() && kind == BugKind::WrongCode {
            continue;
        }
        let crash = if let Tried::Crash(crash) = found { Some(crash) } else { None };
        let list = |set: &BTreeSet<String>| set.iter().cloned().collect();
        let (files, functions) = (list(&fix.files), list(&fix.functions));
        let (program, fail) = (program.to_owned(), fail.clone());
        return Ok(Some(Bug { report, program, kind, fail, pass, crash, files, functions }));
    }
    Ok(None)
}

#[derive(Debug, PartialEq, Eq)]
enum Tried {
    Fine,
    Crash(String),
    WrongCode,
    /// The compiler or the linker refuses, or takes too long.
    Refused,
}

/// Compiles a program with the subject and, if it is to be run, runs it.
fn try_subject(
    connection: &mut Connection,
    toolchain: &Toolchain,
    test: &Test,
    text: &[u8],
    options: &[String],
) -> Result<Tried> {
    let assembly = match toolchain.compile_only(connection, text, options)? {
        Compiled::Crash(crash) => return Ok(Tried::Crash(crash)),
        Compiled::Refused(_) => return Ok(Tried::Refused),
        Compiled::Code(_) if test.action == Action::Compile => return Ok(Tried::Fine),
        Compiled::Code(assembly) => assembly,
    };
    let Some(program) = toolchain.link(connection, assembly)? else { return Ok(Tried::Refused) };
    let is_fine = toolchain.execute(connection, &program)?.outcome == Outcome::Exited(0);
    Ok(if is_fine { Tried::Fine } else { Tried::WrongCode })
}

/// The same with the driver of the new compiler.
fn try_driver(sources: &Sources<'_>, test: &Test, path: &Path, options: &[String]) -> Result<Tried> {
    let (driver, scratch) = (sources.new_driver, tempfile::tempdir_in(sources.scratch)?);
    let output = scratch.path().join("program");
    let mut compile = Command::new(driver);
    compile.arg("-w").args(options).arg(path).arg("-o").arg(&output).current_dir(scratch.path());
    match test.action {
        Action::Run => compile.arg("-lm"),
        Action::Compile => compile.arg("-S"),
    };
    let status = run(&mut compile).map_err(|source| Error::NoDriver { driver: driver.to_owned(), source })?;
    if !status.is_some_and(|status| status.success()) {
        return Ok(Tried::Refused);
    }
    if test.action == Action::Compile {
        return Ok(Tried::Fine);
    }
    let status = run(Command::new(&output).current_dir(scratch.path())).map_err(Error::NotRun)?;
    Ok(if status.is_some_and(|status| status.success()) { Tried::Fine } else { Tried::WrongCode })
}

/// Runs a command; ends it, and what it has started, when it takes too long.
fn run(command: &mut Command) -> io::Result<Option<ExitStatus>> {
    let mut child =
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let deadline = Instant::now() + TOOL_LIMIT;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        kill_process_group(group, Signal::KILL)?;
    }
    child.wait()?;
    Ok(None)
}
