//! The benchmark `warm`: one small program through an instrumented compiler, the ways there are to learn what
//! it executed.
//!
//! (a) a plain run, then gcov's JSON over all files, to nowhere; (b) the same with fastcov; (c) a plain run that writes its
//! data files, and nothing more; (d) a plain run of the compiler without instrumentation; (e) Hearth, warm at
//! `main`; (f) Hearth, warm before the input is opened, spectrum included.
//!
//! Every round has a variant of the program with another constant, as a mutant has, and is run at each of the
//! compiler's levels of optimization. The ratios are of the medians over all levels; the levels' own are beside
//! them.

use crate::measure::{Results, SubjectResult, each};
use crate::needs;
use crate::plain_run::data_files;
use crate::programs::csmith_program;
use anyhow::{Context, bail};
use hearth_runner::limits::RunLimits;
use hearth_runner::run::Times;
use hearth_runner::{Outcome, Pool, RunRequest, SubjectMap, WarmPoint, ZygoteKey};
use hearth_sandbox::Policy;
use hearth_subject::{Store, Subject};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the throughput of one core, and of two, is measured, and for how long each time; what comes before gets the
/// zygotes warm.
const THROUGHPUT_TURNS: usize = 15;
const THROUGHPUT_WARM_UPS: usize = 2;
const THROUGHPUT_TIME: Duration = Duration::from_secs(1);

/// The levels of optimization of a GCC.
const LEVELS: [&str; 5] = ["-O0", "-O1", "-O2", "-O3", "-Os"];
/// The level for the throughput, the contrasts and compilers without levels.
const MIDDLE: usize = 2;
/// Runs of one program after another one, each.
const ALTERNATING_RUNS: usize = 20;

/// Programs of the size of bug reports. `@` stands for a number that is another one in every round.
const SMALL: [&str; 4] = [
    "int a, b;\nint f(int x) {\n  for (int i = 0; i < 8; i++)\n    a += x << i;\n  return a ^ b ^ @;\n}\n",
    "struct S { int x : 5; unsigned y : 11; } s;\nint g(struct S *p, int n) {\n  int sum = 0;\n  while (n-- > 0) {\n    p->x += n;\n    sum += p->x * p->y;\n    if (sum & 1)\n      continue;\n    p->y ^= sum;\n  }\n  return sum;\n}\nint main(void) {\n  return g(&s, 9) == @;\n}\n",
    "typedef unsigned long u64;\nstatic u64 t[16];\nstatic u64 mix(u64 h, u64 k) {\n  h ^= k;\n  h *= 0x9e3779b97f4a7c15ul;\n  return h >> 7 | h << 57;\n}\nu64 fill(int n) {\n  u64 h = 1;\n  for (int i = 0; i < n; i++)\n    t[i & 15] = h = mix(h, i);\n  switch (h & 3) {\n  case 0: return t[1];\n  case 1: return t[2] + t[3];\n  case 2: return t[4] - h;\n  default: return h;\n  }\n}\nint main(void) {\n  return fill(100 + @) & 1;\n}\n",
    "double w[32];\ndouble norm(const double *v, int n) {\n  double s = 0;\n  for (int i = 0; i < n; i++)\n    s += v[i] * v[i];\n  return s;\n}\nvoid scale(double *v, int n, double f) {\n  for (int i = 0; i < n; i++)\n    v[i] = v[i] * f + 1;\n}\nint main(void) {\n  scale(w, 32, 0.5);\n  return norm(w, 32) > @;\n}\n",
];

/// Runs the benchmark on each subject.
pub fn run(hearth: &Path, subjects: &[String], repeat: usize) -> anyhow::Result<Results> {
    let store = Store::open()?;
    // All of them are looked for first: measuring one takes minutes.
    let pairs = needs::subjects(&store, subjects)?
        .into_iter()
        .map(|subject| Ok((plain(&store, &subject)?, subject)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let named = subjects.iter().cloned().zip(pairs);
    each(named, |(plain, subject)| measure(hearth, subject, plain, repeat), print)
}

/// The subject of the same version and optimization without instrumentation.
fn plain(store: &Store, subject: &Subject) -> anyhow::Result<Subject> {
    let id = subject.id();
    let name = match subject.manifest.level {
        Some(level) if level.is_instrumented() => format!("{}-plain-{level}", subject.manifest.name),
        _ => bail!("{id} is not a built-in instrumented subject; give --subjects tcc or gcc-11"),
    };
    needs::subject(store, &name)
        .with_context(|| format!("{id} is compared with {name}, the same compiler without instrumentation"))
}

/// Times by name.
type Samples = BTreeMap<String, Vec<Duration>>;

fn measure(
    hearth: &Path,
    subject: &Subject,
    plain: &Subject,
    repeat: usize,
) -> anyhow::Result<SubjectResult> {
    let scratch = tempfile::tempdir()?;
    let setting = Setting::new(hearth, subject, plain, scratch.path())?;
    let mut samples = Samples::new();
    let mut parts: Vec<Times> = Vec::new();
    for level in setting.levels() {
        eprintln!("{} {level}: {} small programs, also by gcov and fastcov", subject.id(), SMALL.len());
        for program in SMALL {
            let names = ["".to_owned(), format!("{level} ")];
            setting.fast_rounds(level, &names, program, repeat, &mut samples, &mut parts)?;
            // Between them, so that what else the machine does weighs on all alike.
            setting.slow_round(level, &variant(program, 0), &mut samples)?;
        }
    }
    let middle = setting.middle();
    for seed in 1..=2 {
        eprintln!("{}: random program {seed}", subject.id());
        let program = fs::read_to_string(csmith_program(seed, scratch.path()))?;
        let names = ["csmith ".to_owned()];
        setting.fast_rounds(middle, &names, &program, repeat.div_ceil(4), &mut samples, &mut Vec::new())?;
    }
    let medians_s: BTreeMap<String, f64> =
        samples.iter().map(|(name, times)| (name.clone(), median(times.clone()).as_secs_f64())).collect();
    let own = medians_s["hearth input"];
    let ratios = [
        ("gcov", "gcov"),
        ("fastcov", "fastcov"),
        ("gcda", "gcda"),
        ("plain", "plain"),
        ("main", "hearth main"),
    ]
    .iter()
    .map(|(ratio, name)| ((*ratio).to_owned(), medians_s[*name] / own))
    .collect();
    let mut about = shares(&parts);
    for level in setting.levels().iter().filter(|level| !level.is_empty()) {
        let of = |name: &str| medians_s[&format!("{level} {name}")];
        let [gcov, plain] = ["gcov", "plain"].map(|name| of(name) / of("hearth input"));
        about.insert(format!("{level}: gcov, plain over Hearth"), format!("{gcov:.0}x, {plain:.2}x"));
    }
    let after_another = format!("{:.2}", setting.harvest_after_another()?.as_secs_f64() * 1000.0);
    about.insert("3a harvest and sums after another program ms".to_owned(), after_another);
    about.insert("throughput of 2 cores over 1".to_owned(), format!("{:.2}", setting.throughput()?));
    about.insert("cores".to_owned(), std::thread::available_parallelism()?.to_string());
    let repeats = samples.iter().map(|(name, times)| (name.clone(), times.len())).collect();
    Ok(SubjectResult { ratios, medians_s, repeats, about })
}

/// Where Hearth's time goes, as medians in milliseconds.
fn shares(parts: &[Times]) -> BTreeMap<String, String> {
    let of = |part: fn(&Times) -> Duration| median(parts.iter().map(part).collect()).as_secs_f64() * 1000.0;
    let rest = |times: &Times| times.total.saturating_sub(times.fork + times.run + times.harvest);
    let over = |times: &Times| times.total.saturating_sub(times.run);
    let overhead = of(over) / of(|times| times.run);
    [
        ("1 fork ms", of(|times| times.fork)),
        ("2 compile in the child ms", of(|times| times.run)),
        ("2a of it the kernel, mostly page copies, ms", of(|times| times.system)),
        ("3 harvest and sums ms", of(|times| times.harvest)),
        ("4 rest ms", of(rest)),
        ("overhead over the compile %", overhead * 100.0),
    ]
    .into_iter()
    .map(|(name, number)| (name.to_owned(), format!("{number:.2}")))
    .collect()
}

/// A subject and all that is run.
struct Setting<'a> {
    hearth: &'a Path,
    subject: &'a Subject,
    plain: &'a Subject,
    pool: Pool,
    map: Arc<SubjectMap>,
    directory: &'a Path,
}

impl<'a> Setting<'a> {
    fn new(
        hearth: &'a Path,
        subject: &'a Subject,
        plain: &'a Subject,
        directory: &'a Path,
    ) -> anyhow::Result<Self> {
        let map = Arc::new(SubjectMap::open(subject)?);
        Ok(Self { hearth, subject, plain, pool: Pool::new(hearth.to_owned()), map, directory })
    }

    /// The levels of optimization that are measured; one without a name for compilers that have none.
    fn levels(&self) -> &'static [&'static str] {
        if self.subject.manifest.name == "tcc" { &[""] } else { &LEVELS }
    }

    fn middle(&self) -> &'static str {
        self.levels().get(MIDDLE).copied().unwrap_or_default()
    }

    fn arguments(&self, level: &str) -> Vec<String> {
        let options = if level.is_empty() { ["-c"].as_slice() } else { &["-quiet", level] };
        options.iter().chain(&["input.c", "-o", "output"]).map(|&word| word.to_owned()).collect()
    }

    fn key(&self, level: &str, warm: WarmPoint) -> ZygoteKey {
        let binary = self.subject.binary();
        let mut arguments = vec![binary.clone().into_os_string()];
        arguments.extend(self.arguments(level).into_iter().map(Into::into));
        ZygoteKey {
            revision: 0,
            binary,
            arguments,
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            directory: self.directory.to_owned(),
            input: Some("input.c".into()),
            warm,
            sandbox: Policy::Required,
            processes: RunLimits::default().processes,
            shown: Vec::new(),
        }
    }

    /// Times what takes milliseconds, in turn; the times go under each of the names' beginnings.
    fn fast_rounds(
        &self,
        level: &str,
        names: &[String],
        program: &str,
        repeat: usize,
        samples: &mut Samples,
        parts: &mut Vec<Times>,
    ) -> anyhow::Result<()> {
        let mut add = |name: &str, time| {
            for beginning in names {
                samples.entry(format!("{beginning}{name}")).or_default().push(time);
            }
        };
        let warm_ups = 3;
        for round in 0..repeat + warm_ups {
            let input = variant(program, round);
            fs::write(self.directory.join("input.c"), &input)?;
            let gcda = self.plain_run(level, &self.subject.binary())?;
            let plain = self.plain_run(level, &self.plain.binary())?;
            let main = self.hearth_run(&self.pool, level, WarmPoint::Main, &input)?;
            let best = self.hearth_run(&self.pool, level, WarmPoint::Input, &input)?;
            if round >= warm_ups {
                add("gcda", gcda);
                add("plain", plain);
                add("hearth main", main.total);
                add("hearth input", best.total);
                parts.push(best);
            }
        }
        Ok(())
    }

    fn hearth_run(&self, pool: &Pool, level: &str, warm: WarmPoint, input: &str) -> anyhow::Result<Times> {
        let request = RunRequest { input: Some(input.into()), ..RunRequest::default() };
        let answer = pool.run(&self.key(level, warm), Some(&self.map), &request)?;
        // A compile error is as good a run as any: tcc does not take all of Csmith's programs.
        if !matches!(answer.run.outcome, Outcome::Exited(_)) {
            bail!("{}: {}", answer.run.outcome, String::from_utf8_lossy(&answer.run.stderr));
        }
        answer.observation.map_err(anyhow::Error::msg)?;
        Ok(answer.run.times)
    }

    /// The time of a harvest where each run is of another program than the one before.
    fn harvest_after_another(&self) -> anyhow::Result<Duration> {
        let mut times = Vec::new();
        for round in 0..ALTERNATING_RUNS {
            let input = variant(SMALL[round % SMALL.len()], round);
            times.push(self.hearth_run(&self.pool, self.middle(), WarmPoint::Input, &input)?.harvest);
        }
        Ok(median(times))
    }

    fn plain_run(&self, level: &str, binary: &Path) -> anyhow::Result<Duration> {
        let data = self.directory.join("data");
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        let started = Instant::now();
        let status = Command::new(binary)
            .args(self.arguments(level))
            .current_dir(self.directory)
            .env("GCOV_PREFIX", &data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        let elapsed = started.elapsed();
        if status.code().is_none() {
            bail!("{}: {status}", binary.display());
        }
        Ok(elapsed)
    }

    /// Times a plain run with gcov, and with fastcov, over all its data files.
    fn slow_round(&self, level: &str, input: &str, samples: &mut Samples) -> anyhow::Result<()> {
        fs::write(self.directory.join("input.c"), input)?;
        let notes = self.subject.notes_directory();
        let tree = self.directory.join("data").join(notes.strip_prefix("/").unwrap_or(&notes));
        let mut add = |name: &str, time| {
            for name in [name.to_owned(), format!("{level} {name}")] {
                samples.entry(name).or_default().push(time);
            }
        };
        let run = self.plain_run(level, &self.subject.binary())?;
        link_notes(&tree, &notes)?;
        let files = data_files(&tree)?;
        let mut gcov = Command::new("gcov");
        gcov.args(["--json-format", "--stdout"]).args(&files);
        add("gcov", run + timed(gcov.current_dir(self.directory))?);
        // Without being told otherwise it compresses what it writes; nobody who is in a hurry wants that.
        let output = tempfile::tempdir_in(self.directory)?;
        let mut gcov = Command::new("gcov");
        gcov.arg("--json-format").args(&files);
        add("gcov, compressed files", run + timed(gcov.current_dir(output.path()))?);
        let mut fastcov = Command::new("fastcov");
        let cores = std::thread::available_parallelism()?.to_string();
        fastcov.arg("-d").arg(&tree).args(["-j", &cores, "--lcov", "-o", "fastcov.info"]);
        add("fastcov", run + timed(fastcov.current_dir(self.directory))?);
        Ok(())
    }

    /// Runs per second of two threads on two cores over those of one thread on one core: both in turn, so that what else
    /// the machine does weighs on both, and the medians of what they reach.
    fn throughput(&self) -> anyhow::Result<f64> {
        let lanes = [Lanes::new(self, 1), Lanes::new(self, 2)];
        let mut rates = [Vec::new(), Vec::new()];
        for turn in 0..THROUGHPUT_TURNS + THROUGHPUT_WARM_UPS {
            for (lanes, rates) in lanes.iter().zip(&mut rates) {
                let rate = lanes.rate(THROUGHPUT_TIME)?;
                if turn >= THROUGHPUT_WARM_UPS {
                    rates.push(rate);
                }
            }
        }
        let [one, two] = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        });
        eprintln!("{}: {one:.1} runs per second on one core, {two:.1} on two", self.subject.id());
        Ok(two / one)
    }
}

/// Threads that run the same program on so many cores, one each.
struct Lanes<'s> {
    setting: &'s Setting<'s>,
    pool: Pool,
    count: usize,
}

impl<'s> Lanes<'s> {
    fn new(setting: &'s Setting<'s>, count: usize) -> Self {
        Self { setting, pool: Pool::new(setting.hearth.to_owned()), count }
    }

    /// Runs per second.
    fn rate(&self, time: Duration) -> anyhow::Result<f64> {
        let began = Instant::now();
        let work = || -> anyhow::Result<f64> {
            // Every process a thread starts, zygotes and their runs, has its cores.
            use_cores(self.count)?;
            let mut runs = 0;
            while began.elapsed() < time {
                let program = variant(SMALL[1], runs);
                self.setting.hearth_run(&self.pool, self.setting.middle(), WarmPoint::Input, &program)?;
                runs += 1;
            }
            Ok(runs as f64 / began.elapsed().as_secs_f64())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.count).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a panic"))).sum()
        })
    }
}

/// Binds the calling thread, and what it starts, to the first cores.
fn use_cores(count: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    (0..count).try_for_each(|core| set.set(core))?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// A program with its number.
fn variant(program: &str, number: usize) -> String {
    program.replace('@', &number.to_string())
}

pub fn timed(command: &mut Command) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(started.elapsed())
}

pub fn link_notes(tree: &Path, notes: &Path) -> anyhow::Result<()> {
    for path in data_files(tree)? {
        let target: PathBuf = notes.join(path.strip_prefix(tree)?).with_extension("gcno");
        symlink(target, path.with_extension("gcno"))?;
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn print(subject: &str, result: &SubjectResult) {
    println!("\n{subject}");
    println!("{:<28} {:>12} {:>8}", "", "median", "repeats");
    for (name, median) in &result.medians_s {
        println!("{name:<28} {:>9.2} ms {:>8}", median * 1000.0, result.repeats[name]);
    }
    println!("over Hearth, warm at the input:");
    for (name, ratio) in &result.ratios {
        println!("{name:<28} {ratio:>11.2}x");
    }
    for (name, text) in &result.about {
        println!("{name:<44} {text:>8}");
    }
}
