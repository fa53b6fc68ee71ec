//! From a program to what it does: the orders for compiler, assembler, linker and the program itself.
//!
//! All four are kept warm. The compiler waits at `main`, so that one zygote serves all options: a later one for the options
//! that all mutants have makes no difference that could be measured. The linker is given the program last, so that it has
//! read everything else when it waits.

use crate::spent::{Spent, Times, timed};
use crate::stack::{Frame, frames};
use anyhow::{Context, bail, ensure};
use hearth_client::protocol::{CRASH_PATH, Limits, Observe, Order, Outcome, RunDone, RunInput, RunRef};
use hearth_client::{Answer, Ask, Connection};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// How long a compile may take, in milliseconds.
const COMPILE_MS: u64 = 10_000;
/// How long a program may run, in milliseconds, until it is known how long those take that end.
const EXECUTION_MS: u64 = 2_000;
/// How long it may run after that at the least: stalls of a busy machine are no signs of a loop.
const SHORT_EXECUTION_MS: u64 = 300;
/// How many times as long as one that ends.
const EXECUTION_FACTOR: u64 = 50;
/// What a program may write, in bytes.
const EXECUTION_OUTPUT_BYTES: u64 = 1 << 20;

/// The argument that makes `hearth` execute the program it is given as input.
pub const EXECUTE_ARGUMENT: &str = "__execute";

/// The kinds of compilers whose arguments are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// GCC's cc1, which writes assembly and tells its options.
    Cc1,
    /// tcc, which writes an object and has no options of optimization.
    Tcc,
}

impl Dialect {
    fn of(compiler: &Path) -> anyhow::Result<Self> {
        match compiler.file_name().and_then(OsStr::to_str) {
            Some("cc1") => Ok(Self::Cc1),
            Some("tcc") => Ok(Self::Tcc),
            _ => bail!("only GCC's cc1 and tcc can be localized in, and {} is neither", compiler.display()),
        }
    }

    /// The arguments that every compile has.
    fn always(self, compiler: &Path) -> Vec<String> {
        let beside = |name: &str| compiler.with_file_name(name).display().to_string();
        match self {
            Self::Cc1 => {
                let mut always =
                    words(&["-quiet", "-w", "-fno-diagnostics-show-caret", "-imultiarch", MULTIARCH]);
                always.extend(["-isystem".to_owned(), beside("include")]);
                always.extend(["-isystem".to_owned(), beside("include-fixed")]);
                always
            }
            // Its own headers are where its libraries are.
            Self::Tcc => vec!["-w".to_owned(), "-c".to_owned(), format!("-B{}", beside(""))],
        }
    }

    /// The passes in which it can be made to crash on purpose, one of each kind, as its options name them.
    fn crashing_passes(self) -> &'static [&'static str] {
        match self {
            Self::Cc1 => &["tree-lower", "ipa-visibility", "rtl-expand"],
            Self::Tcc => &[],
        }
    }

    /// The library that its code needs beside the C library, if it is there.
    fn library(self, compiler: &Path) -> Option<String> {
        let library = compiler.with_file_name("libtcc1.a");
        (self == Self::Tcc && library.is_file()).then(|| library.display().to_string())
    }
}

/// What a compile is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    /// Its code and its coverage.
    Coverage,
    /// Its code alone.
    Code,
    /// What a compiler that crashes says of its stack.
    Stack,
}

/// The orders.
#[derive(Debug, Clone)]
pub struct Toolchain {
    dialect: Dialect,
    /// Where the compiler was built, from which it names its source.
    built_in: PathBuf,
    compile: Order,
    /// Options that every compile has.
    always: Vec<String>,
    assemble: Order,
    link: Order,
    /// The linker that is asked when that one refuses, if there is another.
    link_otherwise: Option<Order>,
    execute: Order,
    times: Arc<Times>,
}

/// What became of a compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compiled {
    /// It wrote this: assembly, or an object.
    Code(Vec<u8>),
    /// It crashed; this is what it says of it, or the signal that ended it.
    Crash(String),
    /// It refused the program, or ran into a limit; this is the first error.
    Refused(String),
}

/// A compile, and the run by which its coverage is kept.
#[derive(Debug)]
pub struct Compile {
    /// What became of it.
    pub compiled: Compiled,
    /// The number of the run; 0 if it has no coverage.
    pub run: u64,
    /// How many lines of the compiler it executed.
    pub lines: u64,
}

/// What a program did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    /// How it ended.
    pub outcome: Outcome,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
}

impl Toolchain {
    /// The tools for a program, which is compiled in its own directory. `launcher` is a `hearth`.
    ///
    /// # Errors
    /// If a tool is missing.
    pub fn new(
        connection: &mut Connection,
        subject: &str,
        program: &Path,
        launcher: &Path,
    ) -> anyhow::Result<Self> {
        let compiler = binary_of(connection, subject)?;
        let dialect = Dialect::of(&compiler)?;
        let always = dialect.always(&compiler);
        let compile = Order {
            subject: subject.to_owned(),
            arguments: vec!["{}".to_owned()],
            // The same for all programs of a directory, so that they share a zygote.
            input: Some("program.c".to_owned()),
            warm: Some("main".to_owned()),
            directory: directory_of(program)?,
            limits: Limits { wall_ms: Some(COMPILE_MS), ..Limits::default() },
            ..Order::default()
        };
        let tool = |name: &str, arguments: Vec<String>, input: &str, limits: Limits| Order {
            subject: name.to_owned(),
            arguments,
            input: Some(input.to_owned()),
            limits,
            ..Order::default()
        };
        let limits = Limits { wall_ms: Some(COMPILE_MS), ..Limits::default() };
        let assemble = tool(&path_of("as")?, words(&["--64", "{}", "-o", "output.o"]), "input.s", limits);
        let arguments = link_arguments(dialect.library(&compiler))?;
        let mut link = tool(&path_of("ld")?, arguments, "input.o", limits);
        let mut link_otherwise = None;
        let gold = path_of("ld.gold").map(|gold| Order { subject: gold, ..link.clone() });
        // ld goes through all symbols of the C library dozens of times once it has the program, which takes it five times as
        // long as gold. Not every gold can be kept warm.
        if let Ok(gold) = gold
            && connection.call(Ask::Warm { order: gold.clone() }).is_ok()
        {
            link_otherwise = Some(std::mem::replace(&mut link, gold));
        }
        let limits = Limits {
            wall_ms: Some(EXECUTION_MS),
            output_bytes: Some(EXECUTION_OUTPUT_BYTES),
            ..Limits::default()
        };
        let launcher = launcher.display().to_string();
        let execute = tool(&launcher, words(&[EXECUTE_ARGUMENT, "{}"]), "program", limits);
        let built_in = compiler.parent().unwrap_or(&compiler).to_owned();
        let times = Arc::default();
        Ok(Self { dialect, built_in, compile, always, assemble, link, link_otherwise, execute, times })
    }

    /// The same for another program, which is compiled in its own directory.
    ///
    /// # Errors
    /// If there is no working directory that its path could be relative to.
    pub fn beside(&self, program: &Path) -> anyhow::Result<Self> {
        let compile = Order { directory: directory_of(program)?, ..self.compile.clone() };
        Ok(Self { compile, ..self.clone() })
    }

    /// Gives later executions the time that mutants need of a program that takes this long: a mutant that loops would take
    /// most of the time of a search.
    pub fn expect_executions_of(&mut self, time: Duration) {
        let many = (time.as_millis() as u64).saturating_mul(EXECUTION_FACTOR);
        self.execute.limits.wall_ms = Some(many.clamp(SHORT_EXECUTION_MS, EXECUTION_MS));
    }

    /// Has its time counted with another's.
    #[must_use]
    pub fn timed_with(self, other: &Self) -> Self {
        Self { times: other.times.clone(), ..self }
    }

    /// Where the time went so far.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.times.spent()
    }

    /// Compiles a program.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn compile(
        &self,
        connection: &mut Connection,
        text: &[u8],
        options: &[String],
    ) -> anyhow::Result<Compile> {
        let done = self.run_compiler(connection, text, options, For::Coverage)?;
        Ok(Compile { run: done.run, lines: done.lines_executed, compiled: compiled(done) })
    }

    fn run_compiler(
        &self,
        connection: &mut Connection,
        text: &[u8],
        options: &[String],
        purpose: For,
    ) -> anyhow::Result<RunDone> {
        let output = words(&["{}", "-o", "output"]);
        let arguments = self.always.iter().chain(options).chain(&output).cloned().collect();
        let input = RunInput {
            input: Some(text.to_vec().into()),
            arguments: Some(arguments),
            send_files: true,
            hides_program: purpose != For::Stack,
            observe: if purpose == For::Coverage { Observe::Spectrum } else { Observe::Nothing },
            ..RunInput::default()
        };
        Ok(timed(&self.times.compile, || connection.run(self.compile.clone(), input))?)
    }

    /// The stack of a compile that crashes, if the compiler prints it; it takes its time to find the names.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn stack(
        &self,
        connection: &mut Connection,
        text: &[u8],
        options: &[String],
    ) -> anyhow::Result<Vec<Frame>> {
        let done = self.run_compiler(connection, text, options, For::Stack)?;
        let errors = String::from_utf8_lossy(&done.stderr.0);
        Ok(frames(&errors, &self.built_in))
    }

    /// Compiles that crash on purpose in passes of each kind, while next to nothing is compiled: what they executed,
    /// the report of the crash above all, is no sign of a bug. `runs` gets their numbers.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn crash_on_purpose(&self, connection: &mut Connection, runs: &mut Vec<u64>) -> anyhow::Result<()> {
        for pass in self.dialect.crashing_passes() {
            let options = [format!("-fdump-{pass}={CRASH_PATH}")];
            let compile = self.compile(connection, b"int main(void) { return 0; }\n", &options)?;
            match compile.compiled {
                Compiled::Crash(_) if compile.run > 0 => runs.push(compile.run),
                // Another compiler of this kind may not dump; its rankings have the report of the crash in them.
                _ => forget(connection, compile.run)?,
            }
        }
        Ok(())
    }

    /// Is a file of the compiler's source there to report what goes wrong? A crash executes it because of that. Crashes on
    /// purpose show all of it but what reports an assertion that fails, which cannot be had on purpose.
    #[must_use]
    pub fn is_reporter(&self, source: &str) -> bool {
        self.dialect == Dialect::Cc1 && REPORTERS.iter().any(|name| source.contains(name))
    }

    /// Compiles a program whose coverage nobody wants.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn compile_only(
        &self,
        connection: &mut Connection,
        text: &[u8],
        options: &[String],
    ) -> anyhow::Result<Compiled> {
        self.run_compiler(connection, text, options, For::Code).map(compiled)
    }

    /// What the compiler says when it is asked.
    ///
    /// # Errors
    /// If the daemon cannot, or the compiler does not know the options.
    pub fn ask(&self, connection: &mut Connection, options: &[String]) -> anyhow::Result<String> {
        let input = RunInput {
            input: Some("".into()),
            arguments: Some(with_input(options)),
            observe: Observe::Nothing,
            ..RunInput::default()
        };
        let done = connection.run(self.compile.clone(), input)?;
        let errors = String::from_utf8_lossy(&done.stderr.0).into_owned();
        ensure!(done.outcome == Outcome::Exited(0), "the compiler answers: {}", first_error(&errors));
        Ok(String::from_utf8_lossy(&done.stdout.0).into_owned())
    }

    /// Can the compiler be asked for its options, and told to screen programs?
    #[must_use]
    pub fn has_options(&self) -> bool {
        self.dialect == Dialect::Cc1
    }

    /// Compiles a program such that it ends by [`TRAP`](Self::TRAP) when it does what C leaves undefined.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn compile_screened(
        &self,
        connection: &mut Connection,
        text: &[u8],
        options: &[String],
    ) -> anyhow::Result<Compiled> {
        let options: Vec<String> = options.iter().cloned().chain(words(&SCREEN)).collect();
        self.compile_only(connection, text, &options)
    }

    /// How a screened program ends that does what C leaves undefined.
    pub const TRAP: Outcome = Outcome::Signalled(4);

    /// Assembles, if that is needed, and links; `None` if that is refused.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn link(&self, connection: &mut Connection, code: Vec<u8>) -> anyhow::Result<Option<Executable>> {
        let object = match self.dialect {
            Dialect::Cc1 => self.convert(connection, &self.assemble, code)?,
            Dialect::Tcc => Some(code),
        };
        let Some(object) = object else { return Ok(None) };
        let linked = match (self.convert(connection, &self.link, object.clone())?, &self.link_otherwise) {
            (None, Some(other)) => self.convert(connection, other, object)?,
            (linked, _) => linked,
        };
        Ok(linked.map(Executable))
    }

    /// Executes a program.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn execute(&self, connection: &mut Connection, program: &Executable) -> anyhow::Result<Behaviour> {
        let input = RunInput { input: Some(program.0.clone().into()), ..RunInput::default() };
        let done = timed(&self.times.execute, || connection.run(self.execute.clone(), input))?;
        Ok(Behaviour { outcome: done.outcome, stdout: done.stdout.0 })
    }

    /// One file made into another by a tool; `None` if it refuses.
    fn convert(
        &self,
        connection: &mut Connection,
        order: &Order,
        bytes: Vec<u8>,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let input = RunInput { input: Some(bytes.into()), send_files: true, ..RunInput::default() };
        let done = timed(&self.times.link, || connection.run(order.clone(), input))?;
        Ok(written(done))
    }
}

/// Has a run forgotten, if it was kept.
///
/// # Errors
/// If the daemon cannot.
pub fn forget(connection: &mut Connection, run: u64) -> anyhow::Result<()> {
    if run > 0 {
        connection.call(Ask::Forget { runs: vec![RunRef::Id(run)] })?;
    }
    Ok(())
}

/// A linked program.
#[derive(Debug, Clone)]
pub struct Executable(Vec<u8>);

/// The machine's name among directories of headers and libraries.
const MULTIARCH: &str = "x86_64-linux-gnu";

/// Files of GCC's that report errors: `.c`, later `.cc`.
const REPORTERS: [&str; 4] = ["/gcc/diagnostic.", "/gcc/pretty-print.", "/gcc/rtl-error.", "/gcc/print-rtl."];

/// The compiler's options that end a program when it does what C leaves undefined, without any library.
const SCREEN: [&str; 2] = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The directory that a program is in.
fn directory_of(program: &Path) -> anyhow::Result<Option<String>> {
    Ok(std::path::absolute(program)?.parent().map(|directory| directory.display().to_string()))
}

fn with_input(options: &[String]) -> Vec<String> {
    options.iter().cloned().chain(["{}".to_owned()]).collect()
}

fn written(done: RunDone) -> Option<Vec<u8>> {
    let is_done = done.outcome == Outcome::Exited(0);
    done.files.into_iter().next().filter(|_| is_done)?.bytes.map(|bytes| bytes.0)
}

fn compiled(done: RunDone) -> Compiled {
    let errors = String::from_utf8_lossy(&done.stderr.0).into_owned();
    if let Some(crash) = crash(&errors) {
        return Compiled::Crash(crash);
    }
    match done.outcome {
        Outcome::Signalled(signal) => Compiled::Crash(format!("signal {signal}")),
        Outcome::Exited(0) => match written(done) {
            Some(code) => Compiled::Code(code),
            None => Compiled::Refused("the compiler wrote nothing".to_owned()),
        },
        Outcome::Exited(_) => Compiled::Refused(first_error(&errors)),
        other => Compiled::Refused(other.to_string()),
    }
}

/// What a compiler says of its own crash, with the pass it was in unless it says where it was.
fn crash(errors: &str) -> Option<String> {
    let (before, rest) = errors.split_once("internal compiler error: ")?;
    let crash = rest.lines().next().unwrap_or_default().trim();
    let during = before.lines().rfind(|line| line.starts_with("during "));
    Some(match during {
        Some(pass) if !crash.contains(", at ") => format!("{crash}, {pass}"),
        _ => crash.to_owned(),
    })
}

/// The first error, without where it is.
fn first_error(errors: &str) -> String {
    let error = errors.lines().find_map(|line| line.split_once("error: ").map(|(_, error)| error));
    error.or_else(|| errors.lines().next()).unwrap_or("it says nothing").to_owned()
}

/// The binary of a subject.
fn binary_of(connection: &mut Connection, subject: &str) -> anyhow::Result<PathBuf> {
    let Answer::Subjects(subjects) = connection.call(Ask::Subjects {})? else {
        bail!("the daemon did not say which subjects there are");
    };
    let long = format!("{subject}-noopt");
    let found = subjects.iter().find(|known| known.name == subject || known.name == long);
    let found = found.with_context(|| {
        format!("there is no subject {subject}; build it with: hearth subject build {subject}")
    })?;
    ensure!(
        found.instrumented,
        "{subject} is not instrumented, so nothing can be said about what it executes"
    );
    Ok(PathBuf::from(&found.binary))
}

/// The path of a tool.
fn path_of(tool: &str) -> anyhow::Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(tool)).find(|path| path.is_file());
    let found = found.with_context(|| format!("there is no `{tool}` in PATH; install binutils"))?;
    Ok(found.display().to_string())
}

/// The linker's arguments: everything but the program comes first, except archives, which are looked at only for
/// what is missing so far. The compiler may have one of its own.
fn link_arguments(own: Option<String>) -> anyhow::Result<Vec<String>> {
    let mut arguments =
        words(&["-m", "elf_x86_64", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", "-o", "output"]);
    for name in ["crt1.o", "crti.o", "crtbegin.o", "libc.so.6", "libm.so.6"] {
        arguments.push(library(name)?);
    }
    arguments.push("{}".to_owned());
    arguments.extend(own);
    for name in ["libc_nonshared.a", "libgcc.a", "crtend.o", "crtn.o"] {
        arguments.push(library(name)?);
    }
    Ok(arguments)
}

/// The path of a part of the C library.
fn library(name: &str) -> anyhow::Result<String> {
    let answer = Command::new("gcc").arg(format!("-print-file-name={name}")).output();
    let answer = answer.context("gcc is needed to find the C library; install gcc")?;
    let path = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    ensure!(path.starts_with('/'), "there is no {name} to link programs with; install libc6-dev");
    Ok(path)
}
