//! The benchmark `localize`: witnesses evaluated per minute by Hearth, where its time goes, and the papers' own way on the
//! same bug and the same mutants, all of which pass: compile, clear the .gcda files, gcov for each file.

use crate::daemon::Daemon;
use crate::measure::{Results, SubjectResult, each};
use crate::needs;
use crate::plain_run::data_files;
use crate::warm::{link_notes, timed};
use anyhow::{Context, ensure};
use fastrand::Rng;
use hearth_client::protocol::RunRef;
use hearth_client::{Ask, protocol::Address};
use hearth_compiler::toolchain::Toolchain;
use hearth_experiment::bugs;
use hearth_localize::connections::Connections;
use hearth_localize::mutate::{ParsedProgram, rules};
use hearth_localize::oracle::{Oracle, Verdict};
use hearth_subject::{Store, Subject, recipes, source};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The bug: a loop that is compiled wrong, of middle size among the real bugs of GCC 11.3.
const PROGRAM: &str = "gcc/testsuite/gcc.dg/pr101885.c";
const FAIL: &str = "-O3";
const PASS: &str = "-O0";
/// Mutants that Hearth judges to find those that pass.
const MUTANTS: usize = 200;
/// Of these that pass, mutants that are evaluated both ways for each repeat.
const BOTH_WAYS: usize = 4;

/// Measures.
pub fn run(hearth: &Path, subjects: &[String], repeat: usize) -> anyhow::Result<Results> {
    let store = Store::open()?;
    let found = needs::subjects(&store, subjects)?;
    let program = source::unpack(&store, &recipes::GCC_12, &bugs::parts())?.join(PROGRAM);
    let named = subjects.iter().cloned().zip(found);
    each(named, |subject| measure(hearth, subject, &program, repeat), print)
}

fn measure(hearth: &Path, subject: &Subject, program: &Path, repeat: usize) -> anyhow::Result<SubjectResult> {
    let permissions = fs::Permissions::from_mode(0o700);
    let scratch = tempfile::Builder::new().permissions(permissions).tempdir()?;
    let text = fs::read(program)?;
    let mutants = mutants(&text)?;
    let directory = scratch.path().join("run");
    let _daemon = Daemon::start(&hearth.with_file_name("hearthd"), &directory, &[]);
    let mut connections = Connections::open(&Address::at(directory.clone()))?;
    let oracle = |connections: &mut Connections| -> anyhow::Result<Oracle> {
        let toolchain = Toolchain::new(connections.one(), subject.id(), program, hearth)?;
        let (fail, pass) = (vec![FAIL.to_owned()], vec![PASS.to_owned()]);
        Ok(Oracle::new(connections.one(), toolchain, None, &text, fail, Some(pass))?)
    };
    let judge = |connections: &mut Connections, oracle: &Oracle, mutants: &[String]| {
        let began = Instant::now();
        let judged = connections.each(
            mutants,
            began + Duration::from_secs(3600),
            |connection, mutant| -> anyhow::Result<_> {
                let judged = oracle.judge(connection, mutant.as_bytes(), &oracle.fail)?;
                if judged.run > 0 {
                    connection.call(Ask::Forget { runs: vec![RunRef::Id(judged.run)] })?;
                }
                Ok(judged.verdict)
            },
        )?;
        anyhow::Ok((judged.into_iter().flatten().collect::<Vec<Verdict>>(), began.elapsed()))
    };
    // This also gets everything warm.
    let first = oracle(&mut connections)?;
    let (verdicts, all) = judge(&mut connections, &first, &mutants)?;
    let passing = mutants.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == Verdict::Pass);
    let witnesses: Vec<String> = passing.map(|(mutant, _)| mutant.clone()).take(repeat * BOTH_WAYS).collect();
    ensure!(!witnesses.is_empty(), "no mutant passes");
    // Another oracle remembers nothing of them.
    let second = oracle(&mut connections)?;
    let before = second.toolchain.spent();
    let (again, own) = judge(&mut connections, &second, &witnesses)?;
    ensure!(
        again.iter().all(|verdict| *verdict == Verdict::Pass),
        "another verdict the second time: {again:?}"
    );
    let spent = second.toolchain.spent();
    let slow = witnesses
        .iter()
        .enumerate()
        .map(|(number, witness)| {
            eprintln!("the papers' way: witness {} of {}", number + 1, witnesses.len());
            papers_way(subject, witness, scratch.path(), program)
        })
        .sum::<anyhow::Result<Duration>>()?;
    let spent = [
        spent.compile.saturating_sub(before.compile),
        spent.link.saturating_sub(before.link),
        spent.execute.saturating_sub(before.execute),
    ];
    Measured { verdicts, all, witnesses: witnesses.len(), own, slow, spent }.result()
}

/// What was measured.
struct Measured {
    /// Of all mutants, and how long they took.
    verdicts: Vec<Verdict>,
    all: Duration,
    /// How many witnesses were judged in both ways, and how long each way took.
    witnesses: usize,
    own: Duration,
    slow: Duration,
    /// Hearth's time for compiles, assembler and linker, executions.
    spent: [Duration; 3],
}

impl Measured {
    fn result(&self) -> anyhow::Result<SubjectResult> {
        let count = self.witnesses as u32;
        let (each, papers) = (self.own / count, self.slow / count);
        let cores = std::thread::available_parallelism()?.get();
        let per_minute = |time: Duration| format!("{:.1}", 60.0 / time.as_secs_f64());
        let of = |verdict| self.verdicts.iter().filter(|&&known| known == verdict).count();
        let all_spent = self.spent.iter().sum::<Duration>().as_secs_f64();
        let [compiles, links, executions] =
            self.spent.map(|part| format!("{:.0} %", 100.0 * part.as_secs_f64() / all_spent));
        let of_any_kind = self.all / self.verdicts.len().max(1) as u32;
        let about = [
            ("witnesses per minute by Hearth", per_minute(each)),
            ("witnesses per minute in the papers' way", per_minute(papers)),
            ("mutants of all kinds per minute by Hearth", per_minute(of_any_kind)),
            ("of the mutants pass", of(Verdict::Pass).to_string()),
            ("of the mutants fail", of(Verdict::Fail).to_string()),
            ("of the time: compiles", compiles),
            ("of the time: assembler and linker", links),
            ("of the time: executions", executions),
            ("cores that Hearth uses (the papers' way one)", cores.to_string()),
            ("program", format!("{PROGRAM} {FAIL}")),
        ];
        let seconds = [("hearth", each.as_secs_f64()), ("papers", papers.as_secs_f64())];
        let named = |(name, seconds): (&str, f64)| (name.to_owned(), seconds);
        Ok(SubjectResult {
            ratios: [("papers".to_owned(), papers.as_secs_f64() / each.as_secs_f64())].into(),
            medians_s: seconds.map(named).into(),
            repeats: ["hearth", "papers"].map(|name| (name.to_owned(), self.witnesses)).into(),
            about: about.into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
        })
    }
}

/// Different mutants by DiWi's rules, the same in every run.
fn mutants(text: &[u8]) -> anyhow::Result<Vec<String>> {
    let program = ParsedProgram::new(text).context("the program is no text")?;
    let (rules, mut random, mut known) = (rules(), Rng::with_seed(1), BTreeSet::new());
    let mut mutants = Vec::new();
    for _ in 0..100 * MUTANTS {
        let rule = rules[random.usize(..rules.len())];
        if let Some(mutant) = program.mutate(rule, &mut random).filter(|mutant| known.insert(mutant.clone()))
        {
            mutants.push(mutant);
        }
        if mutants.len() == MUTANTS {
            break;
        }
    }
    ensure!(mutants.len() > 50, "the program has only {} mutants", mutants.len());
    Ok(mutants)
}

/// One mutant in the papers' way: compiled both ways, executed twice each, and gcov for each data file.
fn papers_way(subject: &Subject, mutant: &str, scratch: &Path, program: &Path) -> anyhow::Result<Duration> {
    let directory = scratch.join("papers");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir(&directory)?;
    fs::write(directory.join("input.c"), mutant)?;
    let data = directory.join("data");
    let compiler = subject.binary();
    let started = Instant::now();
    let cc1 = |level: &str, output: &str, data: &Path| {
        let mut command = Command::new(&compiler);
        command.args(["-quiet", "-w", level, "input.c", "-o", output]);
        command.arg("-I").arg(program.with_file_name(""));
        finish(command.current_dir(&directory).env("GCOV_PREFIX", data))
    };
    // The failing compile is measured, the passing one is not.
    let compiles = cc1(FAIL, "fail.s", &data)? && cc1(PASS, "pass.s", &directory.join("unused"))?;
    if compiles {
        for name in ["fail", "pass"] {
            let assembly = format!("{name}.s");
            let linked = finish(Command::new("gcc").args([&assembly, "-o", name]).current_dir(&directory))?;
            for _ in 0..if linked { 2 } else { 0 } {
                finish(Command::new("timeout").args(["2", &format!("./{name}")]).current_dir(&directory))?;
            }
        }
    }
    let mut elapsed = started.elapsed();
    let notes = subject.notes_directory();
    let tree = data.join(notes.strip_prefix("/").unwrap_or(&notes));
    // The notes lie beside the data in the papers' builds.
    link_notes(&tree, &notes)?;
    for file in data_files(&tree)? {
        let mut gcov = Command::new("gcov");
        gcov.args(["--json-format", "--stdout"]).arg(file);
        elapsed += timed(gcov.current_dir(&directory))?;
    }
    Ok(elapsed)
}

/// Runs a command, and says whether it succeeded.
fn finish(command: &mut Command) -> anyhow::Result<bool> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status().with_context(|| format!("cannot start {command:?}"))?.success())
}

fn print(subject: &str, result: &SubjectResult) {
    println!("\n{subject}");
    for (name, median) in &result.medians_s {
        println!("{name:<44} {:>9.1} ms a witness, {} witnesses", median * 1000.0, result.repeats[name]);
    }
    for (name, text) in &result.about {
        println!("{name:<44} {text:>9}");
    }
    println!("{:<44} {:>8.0}x", "the papers' way over Hearth", result.ratios["papers"]);
}
