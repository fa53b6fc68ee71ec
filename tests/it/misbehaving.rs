//! Runs that hang, bomb, flood, scribble and try to get out: each has its outcome and its counters, the runs
//! beside it go on, and nothing is left.

mod outside;

use crate::small_subject::SmallSubject;
use crate::{hearth, project};
use hearth_runner::limits::RunLimits;
use hearth_runner::{CoveredRun, Observe, Outcome, Pool, RunRequest, WarmPoint, ZygoteKey};
use hearth_sandbox::Policy;
use outside::Outside;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Rounds of all ways of misbehaving.
const ROUNDS: usize = 100;
/// Runs that never end are given this long.
const WALL_MS: u64 = 150;
const MEMORY_BYTES: u64 = 64 << 20;
const OUTPUT_BYTES: u64 = 1 << 20;

/// What is expected of a way of misbehaving.
struct Way {
    name: &'static str,
    outcome: Outcome,
    /// How often `mark` counts; `None` if the run destroys its counters.
    marks: Option<i64>,
}

const fn way(name: &'static str, outcome: Outcome, marks: i64) -> Way {
    Way { name, outcome, marks: Some(marks) }
}

const WAYS: &[Way] = &[
    way("hang", Outcome::TimedOut, 3),
    way("spin", Outcome::TimedOut, 4),
    way("fork_bomb", Outcome::TimedOut, 5),
    way("eat_memory", Outcome::OutOfMemory, 6),
    way("flood_output", Outcome::OutputLimit, 7),
    way("flood_file", Outcome::OutputLimit, 8),
    Way { name: "scribble", outcome: Outcome::Signalled(libc::SIGSEGV), marks: None },
    way("close_all", Outcome::Exited(18), 10),
    way("kill_parent", Outcome::Exited(19), 11),
    Way { name: "kill_everything", outcome: Outcome::Exited(20), marks: None },
    way("ignore_signals", Outcome::TimedOut, 13),
    way("change_directory", Outcome::Exited(21), 14),
    way("daemonize", Outcome::Exited(22), 15),
    way("underscore_exit", Outcome::Exited(23), 16),
    way("quick", Outcome::Exited(24), 17),
    way("exit_now", Outcome::Exited(25), 18),
    way("raw_exit", Outcome::Exited(26), 19),
    way("call_abort", Outcome::Signalled(libc::SIGABRT), 20),
    way("crash", Outcome::Signalled(libc::SIGSEGV), 21),
    way("kill_self", Outcome::Signalled(libc::SIGKILL), 22),
    way("return_normally", Outcome::Exited(27), 23),
    way("break_out", Outcome::Exited(28), 24),
    way("exec_other", Outcome::Exited(29), 25),
    way("connect_socket", Outcome::Exited(30), 26),
    way("write_fifo", Outcome::Exited(31), 27),
    way("use_devices", Outcome::Exited(32), 28),
    way("ask_the_kernel", Outcome::Exited(33), 29),
    way("use_descriptors", Outcome::Exited(34), 30),
    way("read_secrets", Outcome::Exited(35), 31),
    way("share_memory", Outcome::OutOfMemory, 32),
    way("child_eats_memory", Outcome::OutOfMemory, 33),
    way("fill_memory_files", Outcome::OutOfMemory, 34),
    way("many_files", Outcome::OutputLimit, 35),
    way("fork_often", Outcome::Exited(36), 36),
    way("lock_away", Outcome::Exited(37), 37),
];

fn key(subject: &SmallSubject, directory: &Path) -> ZygoteKey {
    ZygoteKey {
        revision: 0,
        binary: subject.subject.binary(),
        arguments: vec![subject.subject.binary().into_os_string()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: directory.to_owned(),
        input: None,
        warm: WarmPoint::Main,
        sandbox: Policy::Required,
        processes: RunLimits::default().processes,
        shown: Vec::new(),
    }
}

fn request(way: &Way, outside: &Outside) -> RunRequest {
    // Some need longer than this to get to what they are killed for.
    let wall_ms = if way.outcome == Outcome::TimedOut { WALL_MS } else { 20_000 };
    let limits = RunLimits {
        wall_ms,
        memory_bytes: MEMORY_BYTES,
        output_bytes: OUTPUT_BYTES,
        processes: 50,
        ..RunLimits::default()
    };
    RunRequest {
        environment: vec![
            ("WAY".into(), way.name.into()),
            ("OUTSIDE".into(), outside.directory.path().into()),
            ("HOME".into(), std::env::home_dir().unwrap_or_default().into()),
        ],
        limits,
        observe: Observe::Counters,
        ..RunRequest::default()
    }
}

/// How often the line in `mark` ran.
fn marks(subject: &SmallSubject, source: &str, answer: &CoveredRun) -> i64 {
    let number =
        1 + source.lines().position(|line| line == "    marks++;").expect("the line is there") as u32;
    let observation = answer.observation.as_ref().unwrap_or_else(|reason| panic!("no spectrum: {reason}"));
    let spectrum = &observation.spectrum;
    subject.map.with_atlas(|atlas| {
        let of_line = |(line, id): (&hearth_coverage::atlas::LineId, u32)| {
            let name = atlas.source_name(line.source).unwrap_or_default();
            (line.number == number && name.ends_with("misbehave.c")).then(|| spectrum.lines.get(id))
        };
        atlas.lines().iter().zip(0..).find_map(of_line).expect("the line is in the atlas")
    })
}

fn check(subject: &SmallSubject, source: &str, way: &Way, answer: &CoveredRun) {
    let name = way.name;
    // Only root may write where this one does, in the sandbox as elsewhere.
    let is_refused = name == "change_directory" && !rustix::process::getuid().is_root();
    let outcome = if is_refused { Outcome::Exited(2) } else { way.outcome };
    assert_eq!(answer.run.outcome, outcome, "{name}: {}", String::from_utf8_lossy(&answer.run.stderr));
    if let Some(expected) = way.marks {
        assert_eq!(marks(subject, source, answer), expected, "{name}");
    }
    let files = answer.run.files.iter().map(|file| file.bytes.len()).sum::<usize>();
    let written = answer.run.stdout.len() + answer.run.stderr.len() + files;
    assert!(written as u64 <= OUTPUT_BYTES, "{name}: {written}");
    let forked = ["fork_bomb", "daemonize", "child_eats_memory", "fork_often"].contains(&name);
    assert_eq!(answer.run.forked, forked, "{name}");
    let written: Vec<&Path> = answer.run.files.iter().map(|file| file.path.as_path()).collect();
    match name {
        "change_directory" if !is_refused => {
            assert_eq!(written, [Path::new("/written-elsewhere")]);
            assert_eq!(answer.run.files[0].bytes, b"here");
        }
        "kill_everything" => {
            // The keeper was killed. On a busy machine it may be on its way out still, and then nothing is lost.
            match &answer.observation {
                Err(reason) => assert!(reason.contains("memory is gone"), "{reason}"),
                Ok(_) => assert_eq!(marks(subject, source, answer), 12),
            }
        }
        // It may be killed before all are there.
        "many_files" => assert!(written.len() >= 2),
        "lock_away" => assert_eq!(answer.run.files[0].bytes, b"away"),
        // It has closed the way to the daemon, and its files are there all the same.
        "close_all" => assert!(written.len() == 1 && written[0].ends_with("file"), "{written:?}"),
        // In areas it can write, to memory.
        "break_out" => assert!(written.iter().all(|path| path.ends_with("broken-out")), "{written:?}"),
        "flood_file" => assert_eq!(answer.run.files[0].bytes.len() as u64, OUTPUT_BYTES),
        _ => assert!(written.is_empty(), "{name}: {written:?}"),
    }
}

#[test]
fn every_way_has_its_outcome_and_leaves_nothing() {
    let source_path = project().join("tests/programs/misbehaving/misbehave.c");
    let source = fs::read_to_string(&source_path).expect("the program");
    let subject = SmallSubject::new(&source_path);
    let directory = tempfile::tempdir().expect("a temporary directory");
    // A bomb of few processes: two of 400 keep the machine from everything else.
    let key = ZygoteKey { processes: 50, ..key(&subject, directory.path()) };
    let outside = Outside::new();
    let build = listing(&subject.directory.path().join("build"));
    {
        let pool = Pool::new(hearth());
        // Two threads, so that runs of every way go on beside runs of others.
        std::thread::scope(|scope| {
            for first in [0, WAYS.len() / 2] {
                let (pool, key, subject, source, outside) = (&pool, &key, &subject, &source, &outside);
                scope.spawn(move || {
                    for _ in 0..ROUNDS.div_ceil(2) {
                        for index in 0..WAYS.len() {
                            let way = &WAYS[(first + index) % WAYS.len()];
                            let answer = pool.run(key, Some(&subject.map), &request(way, outside));
                            check(
                                subject,
                                source,
                                way,
                                &answer.unwrap_or_else(|error| panic!("{}: {error}", way.name)),
                            );
                        }
                    }
                });
            }
        });
        assert_eq!(pool.started(), 2, "no zygote was lost");
    }
    wait_for_no_process(&subject.subject.binary());
    outside.check_untouched();
    assert_eq!(listing(&subject.directory.path().join("build")), build);
    assert_eq!(listing(directory.path()), Vec::<PathBuf>::new());
    for path in ["/written-elsewhere", "/broken-out", "/tmp/broken-out", "/dev/shm/broken-out"] {
        assert!(!Path::new(path).exists(), "{path}");
    }
}

/// However a run ends whose coverage nobody wants: it has its outcome, and the next one its counts.
#[test]
fn what_follows_a_skipped_run_does_not_notice_how_it_ended() {
    let source_path = project().join("tests/programs/misbehaving/misbehave.c");
    let source = fs::read_to_string(&source_path).expect("the program");
    let subject = SmallSubject::new(&source_path);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let key = key(&subject, directory.path());
    let outside = Outside::new();
    let pool = Pool::new(hearth());
    let run = |way: &Way, observe| {
        let request = RunRequest { observe, ..request(way, &outside) };
        pool.run(&key, Some(&subject.map), &request).unwrap_or_else(|error| panic!("{}: {error}", way.name))
    };
    for (skipped, next) in WAYS.iter().zip(WAYS.iter().cycle().skip(3)) {
        let answer = run(skipped, Observe::Nothing);
        assert_eq!(answer.run.outcome, skipped.outcome, "{}", skipped.name);
        assert_eq!(answer.observation.expect_err("none"), "nobody asked for it", "{}", skipped.name);
        check(&subject, &source, next, &run(next, Observe::Spectrum));
    }
    assert_eq!(pool.started(), 1, "no zygote was lost");
}

/// At the end of a run its counters are what a debugger reads there.
#[test]
fn counters_are_what_a_debugger_reads() {
    let source_path = project().join("tests/programs/misbehaving/misbehave.c");
    let subject = SmallSubject::new(&source_path);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let key = key(&subject, directory.path());
    let mut worker =
        hearth_runner::Worker::start(&hearth().into(), &key, Some(subject.map.clone())).expect("a zygote");
    let outside = Outside::new();
    // Where the debugger stops: the fatal signal itself, or the system call that ends the process.
    for (name, stop) in [
        ("crash", ""),
        ("call_abort", ""),
        ("kill_self", "-ex \"catch syscall kill\""),
        ("raw_exit", "-ex \"catch syscall exit_group\""),
        ("underscore_exit", "-ex \"catch syscall exit_group\""),
    ] {
        let way = WAYS.iter().find(|way| way.name == name).expect("a way of that name");
        let answer = worker.run(&request(way, &outside)).expect("a run");
        let observation = answer.observation.expect("they were read");
        let values = observation.counters.as_ref().expect("they were kept");
        let arrays = worker.arrays();
        let reads: String =
            arrays.iter().map(|array| format!(" -ex 'x/{}gd {:#x}'", array.count, array.address)).collect();
        let script = format!(
            "WAY={name} gdb -q -batch -nx -ex 'set debuginfod enabled off' {stop} -ex run{reads} {}",
            key.binary.display()
        );
        let output = crate::run(Command::new("sh").current_dir(directory.path()).args(["-c", &script]));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let read: Vec<i64> = text
            .lines()
            .filter(|line| line.starts_with("0x"))
            .filter_map(|line| line.split_once(':'))
            .flat_map(|(_, numbers)| numbers.split_ascii_whitespace())
            .map(|number| number.parse().expect("a number"))
            .collect();
        let ours: Vec<i64> = arrays
            .iter()
            .flat_map(|array| values[array.first as usize..][..array.count as usize].iter().copied())
            .collect();
        assert!(ours.iter().filter(|&&value| value != 0).count() > 5, "{name}");
        assert_eq!(ours, read, "{name}: {text}");
    }
}

/// The time of a run does not count what is left to do of the run before: here its zygote is stopped meanwhile.
#[test]
fn a_run_has_its_time_however_long_the_one_before_takes_to_go() {
    let subject = SmallSubject::new(&project().join("tests/programs/misbehaving/misbehave.c"));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let key = key(&subject, directory.path());
    let pool = Pool::new(hearth());
    let run = |name: &str, wall_ms| {
        let environment = vec![("WAY".into(), name.into())];
        let limits = RunLimits { wall_ms, ..RunLimits::default() };
        let request = RunRequest { environment, limits, ..RunRequest::default() };
        pool.run(&key, Some(&subject.map), &request).expect("a run").run.outcome
    };
    let limit = Duration::from_secs(1);
    for round in 0..4 {
        assert_eq!(run("large", 60_000), Outcome::Exited(37), "round {round}");
        signal_all(&subject.subject.binary(), libc::SIGSTOP);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(limit * 3 / 2);
                signal_all(&subject.subject.binary(), libc::SIGCONT);
            });
            let outcome = run("return_normally", limit.as_millis() as u64);
            assert_eq!(outcome, Outcome::Exited(27), "round {round}");
        });
    }
}

/// A run has as many processes as it may have, itself among them.
#[test]
fn processes_are_limited_to_what_was_asked_for() {
    let subject = SmallSubject::new(&project().join("tests/programs/misbehaving/misbehave.c"));
    let directory = tempfile::tempdir().expect("a temporary directory");
    for processes in [1, 2, 50] {
        let key = ZygoteKey { processes, ..key(&subject, directory.path()) };
        let pool = Pool::new(hearth());
        let environment = vec![("WAY".into(), "count_processes".into())];
        let limits = RunLimits { processes, ..RunLimits::default() };
        let request = RunRequest { environment, limits, ..RunRequest::default() };
        for round in 0..ROUNDS {
            let answer = pool.run(&key, Some(&subject.map), &request).expect("a run");
            assert_eq!(answer.run.outcome, Outcome::Exited(processes as i32), "round {round}");
        }
    }
    let output = crate::run(Command::new(hearth()).args(["run", "tcc", "--processes", "0"]));
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("--processes"));
}

/// Address space that a program reserves and does not use costs nothing, and does not make its zygote too large to keep.
#[test]
fn reserved_address_space_costs_nothing() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let source = scratch.path().join("reserve.c");
    fs::write(&source, RESERVE).expect("written");
    let subject = SmallSubject::new(&source);
    let key = key(&subject, scratch.path());
    let pool = Pool::new(hearth());
    for _ in 0..8 {
        let answer = pool.run(&key, Some(&subject.map), &RunRequest::default()).expect("a run");
        assert_eq!(answer.run.outcome, Outcome::Exited(3));
    }
    assert_eq!(pool.started(), 1, "the zygote is kept");
    let (_, bytes, _) = pool.idle().pop().expect("a zygote");
    assert!(bytes < 64 << 20, "{bytes}");
    let peak = fs::read_to_string("/proc/self/status").expect("proc");
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak: u64 = peak.split_ascii_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number");
    assert!(peak < 400 << 10, "this process took {peak} KiB");
}

/// Reserves 256 GiB before `main`.
const RESERVE: &str = "#include <sys/mman.h>\n\
    static char *space;\n\
    __attribute__((constructor)) static void reserve(void) {\n\
      space = mmap(0, 256UL << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);\n\
    }\n\
    int main(void) { space[4096] = 3; return space[4096]; }\n";

fn listing(directory: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    names
}

/// A zygote that somebody kills is replaced; one that keeps dying is an outcome, and then left alone.
#[test]
fn lost_zygotes_are_replaced_and_then_left_alone() {
    let subject = SmallSubject::new(&project().join("tests/programs/misbehaving/misbehave.c"));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let key = key(&subject, directory.path());
    let pool = Pool::new(hearth());
    let hang = WAYS.iter().find(|way| way.name == "hang").expect("a way of that name");
    let normal = WAYS.iter().find(|way| way.name == "return_normally").expect("a way of that name");
    let outside = Outside::new();
    let run = |way| pool.run(&key, Some(&subject.map), &request(way, &outside));
    assert_eq!(run(normal).expect("a run").run.outcome, normal.outcome);
    kill_all(&subject.subject.binary());
    assert_eq!(run(normal).expect("a new zygote").run.outcome, normal.outcome);
    assert_eq!(pool.started(), 2);
    let mut patient = request(hang, &outside);
    patient.limits.wall_ms = 60_000;
    // Runs, and kills the zygote whenever a run is under way: zygote, run and keeper are there.
    let run_and_kill = || {
        std::thread::scope(|scope| {
            let run = scope.spawn(|| pool.run(&key, Some(&subject.map), &patient));
            while !run.is_finished() {
                std::thread::sleep(Duration::from_millis(5));
                if processes(&subject.subject.binary()).len() == 3 {
                    kill_all(&subject.subject.binary());
                }
            }
            run.join().expect("no panic")
        })
    };
    assert_eq!(run_and_kill().expect("an answer").run.outcome, Outcome::ZygoteLost);
    let error = run_and_kill().expect_err("after the third loss in a row it is left alone").to_string();
    assert!(error.contains("3 times in a row"), "{error}");
}

/// Kills all processes that run a program.
fn kill_all(binary: &Path) {
    signal_all(binary, libc::SIGKILL);
}

/// Sends a signal to all processes that run a program.
fn signal_all(binary: &Path, signal: i32) {
    for process in processes(binary) {
        let pid = process.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let Some(pid) = pid else { continue };
        // SAFETY: the call takes numbers; the process runs a program that this test has compiled for itself.
        unsafe { libc::kill(pid, signal) };
    }
}

/// The directories in `/proc` of all processes that run a program.
fn processes(binary: &Path) -> Vec<PathBuf> {
    fs::read_dir("/proc")
        .expect("proc")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|process| fs::read_link(process.join("exe")).is_ok_and(|exe| exe == binary))
        .collect()
}

/// A private daemon has as many descriptors after many rounds as after one.
#[test]
fn descriptors_do_not_add_up() {
    let subject = SmallSubject::new(&project().join("tests/programs/misbehaving/misbehave.c"));
    let mut daemon = Command::new(hearth())
        .current_dir(subject.directory.path())
        .env("HEARTH_CACHE", subject.directory.path().join("cache"))
        .args(["exec", "--jobs", "1", "--wall-ms", "60", "--memory-mib", "64", "--output-mib", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut orders = daemon.stdin.take().expect("piped");
    let mut answers = BufReader::new(daemon.stdout.take().expect("piped")).lines();
    let mut counts = Vec::new();
    for _ in 0..6 {
        for way in WAYS {
            writeln!(orders, "{{\"subject\": \"small\", \"env\": {{\"WAY\": \"{}\"}}}}", way.name)
                .expect("written");
            let answer = answers.next().expect("an answer").expect("text");
            assert!(answer.contains("\"outcome\""), "{}: {answer}", way.name);
        }
        counts.push(fs::read_dir(format!("/proc/{}/fd", daemon.id())).expect("proc").count());
    }
    drop(orders);
    assert!(daemon.wait().expect("it ends").success());
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    wait_for_no_process(&subject.subject.binary());
}

/// Waits until no process runs a program.
fn wait_for_no_process(binary: &Path) {
    let started = Instant::now();
    loop {
        let left = processes(binary);
        if left.is_empty() {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(3), "left behind: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
