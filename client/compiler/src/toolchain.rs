//! From a program to what it does: the orders for compiler, assembler, linker and the program itself.
//!
//! All four are kept warm. The compiler waits at `main`, so that one zygote serves all options: a later one for the options
//! that all mutants have makes no difference that could be measured. The linker is given the program last, so that it has
//! read everything else when it waits.

use crate::compiled::{Compiled, first_error, written};
use crate::compiler::{Compiler, Form, of_subject};
use crate::error::{Error, Result};
use crate::machine::{assemble_arguments, link_arguments, path_of};
use crate::spent::{Spent, Times, timed};
use crate::stack::Frame;
use hearth_client::protocol::{Limits, Observe, Order, Outcome, RunDone, RunInput, RunRef};
use hearth_client::{Ask, Connection};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a compile may take, in milliseconds.
const COMPILE_MS: u64 = 10_000;
/// How long a program may run, in milliseconds, until it is known how long those take that end.
const EXECUTION_MS: u64 = 2_000;
/// How long it may run after that at the least. One that has had the processor for less than half of that is tried again: stalls of a
/// busy machine are no signs of a loop.
const SHORT_EXECUTION_MS: u64 = 300;
/// How many times as long as one that ends.
const EXECUTION_FACTOR: u64 = 50;
/// What a program may write, in bytes.
const EXECUTION_OUTPUT_BYTES: u64 = 1 << 20;

/// The argument that makes `hearth` execute the program it is given as input.
pub const EXECUTE_ARGUMENT: &str = "__execute";

/// What a compile is for.
#[derive(Debug, Clone, Copy)]
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
    compiler: Arc<dyn Compiler>,
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

/// A linked program.
#[derive(Debug, Clone)]
pub struct Executable(Vec<u8>);

impl Toolchain {
    /// The tools for a program, which is compiled in its own directory. `launcher` is a `hearth`.
    ///
    /// # Errors
    /// If a tool is missing.
    pub fn new(connection: &mut Connection, subject: &str, program: &Path, launcher: &Path) -> Result<Self> {
        let compiler = of_subject(connection, subject)?;
        let always = compiler.arguments();
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
        let assemble = tool(&path_of("as")?, assemble_arguments(), "input.s", limits);
        let arguments = link_arguments(compiler.library())?;
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
        let times = Arc::default();
        Ok(Self { compiler, compile, always, assemble, link, link_otherwise, execute, times })
    }

    /// The compiler.
    #[must_use]
    pub fn compiler(&self) -> &dyn Compiler {
        &*self.compiler
    }

    /// The same for another program, which is compiled in its own directory.
    ///
    /// # Errors
    /// If there is no working directory that its path could be relative to.
    pub fn beside(&self, program: &Path) -> Result<Self> {
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
    pub fn compile(&self, connection: &mut Connection, text: &[u8], options: &[String]) -> Result<Compile> {
        let done = self.run_compiler(connection, text, options, For::Coverage)?;
        Ok(Compile {
            run: done.run,
            lines: done.lines_executed,
            compiled: Compiled::new(&*self.compiler, done),
        })
    }

    fn run_compiler(
        &self,
        connection: &mut Connection,
        text: &[u8],
        options: &[String],
        purpose: For,
    ) -> Result<RunDone> {
        let output = words(&["{}", "-o", "output"]);
        let arguments = self.always.iter().chain(options).chain(&output).cloned().collect();
        let (hides_program, observe) = match purpose {
            For::Coverage => (true, Observe::Spectrum),
            For::Code => (true, Observe::Nothing),
            For::Stack => (false, Observe::Nothing),
        };
        let input = RunInput {
            input: Some(text.to_vec().into()),
            arguments: Some(arguments),
            send_files: true,
            hides_program,
            observe,
            ..RunInput::default()
        };
        Ok(timed(&self.times.compile, || connection.run(self.compile.clone(), input))?)
    }

    /// The stack of a compile that crashes, if the compiler prints it; it takes its time to find the names.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn stack(&self, connection: &mut Connection, text: &[u8], options: &[String]) -> Result<Vec<Frame>> {
        let done = self.run_compiler(connection, text, options, For::Stack)?;
        let errors = String::from_utf8_lossy(&done.stderr.0);
        Ok(self.compiler.stack(&errors))
    }

    /// Compiles that crash on purpose in passes of each kind, while next to nothing is compiled: what they executed,
    /// the report of the crash above all, is no sign of a bug. `runs` gets their numbers.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn crash_on_purpose(&self, connection: &mut Connection, runs: &mut Vec<u64>) -> Result<()> {
        for option in self.compiler.crashing_options() {
            let compile = self.compile(connection, b"int main(void) { return 0; }\n", &[option])?;
            match compile.compiled {
                Compiled::Crash(_) if compile.run > 0 => runs.push(compile.run),
                // Another compiler of this kind may not dump; its rankings have the report of the crash in them.
                Compiled::Crash(_) | Compiled::Code(_) | Compiled::Refused(_) => {
                    forget(connection, compile.run)?;
                }
            }
        }
        Ok(())
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
    ) -> Result<Compiled> {
        let done = self.run_compiler(connection, text, options, For::Code)?;
        Ok(Compiled::new(&*self.compiler, done))
    }

    /// What the compiler says when it is asked.
    ///
    /// # Errors
    /// If the daemon cannot, or the compiler does not know the options.
    pub fn ask(&self, connection: &mut Connection, options: &[String]) -> Result<String> {
        let input = RunInput {
            input: Some("".into()),
            arguments: Some(with_input(options)),
            observe: Observe::Nothing,
            ..RunInput::default()
        };
        let done = connection.run(self.compile.clone(), input)?;
        let errors = String::from_utf8_lossy(&done.stderr.0).into_owned();
        if done.outcome != Outcome::Exited(0) {
            return Err(Error::Answers(first_error(&errors)));
        }
        Ok(String::from_utf8_lossy(&done.stdout.0).into_owned())
    }

    /// Can the compiler be asked for its options?
    #[must_use]
    pub fn has_options(&self) -> bool {
        self.compiler.optimizers().is_some()
    }

    /// Can the compiler be told to screen programs?
    #[must_use]
    pub fn can_screen(&self) -> bool {
        self.compiler.screen().is_some()
    }

    /// Compiles a program such that it ends by [`TRAP`](Self::TRAP) when it does what C leaves undefined, if the compiler
    /// can screen.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn compile_screened(
        &self,
        connection: &mut Connection,
        text: &[u8],
        options: &[String],
    ) -> Result<Compiled> {
        let screen = words(self.compiler.screen().unwrap_or_default());
        let options: Vec<String> = options.iter().cloned().chain(screen).collect();
        self.compile_only(connection, text, &options)
    }

    /// How a screened program ends that does what C leaves undefined.
    pub const TRAP: Outcome = Outcome::Signalled(4);

    /// Assembles, if that is needed, and links; `None` if that is refused.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn link(&self, connection: &mut Connection, code: Vec<u8>) -> Result<Option<Executable>> {
        let object = match self.compiler.form() {
            Form::Assembly => self.convert(connection, &self.assemble, code)?,
            Form::Object => Some(code),
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
    pub fn execute(&self, connection: &mut Connection, program: &Executable) -> Result<Behaviour> {
        let input = RunInput { input: Some(program.0.clone().into()), ..RunInput::default() };
        let mut order = self.execute.clone();
        let mut done = timed(&self.times.execute, || connection.run(order.clone(), input.clone()))?;
        let wall_us = order.limits.wall_ms.unwrap_or(EXECUTION_MS) * 1000;
        if done.outcome == Outcome::TimedOut && done.cpu_us < wall_us / 2 {
            // It had to wait for others, and might have ended.
            order.limits.wall_ms = Some(EXECUTION_MS);
            done = timed(&self.times.execute, || connection.run(order, input))?;
        }
        Ok(Behaviour { outcome: done.outcome, stdout: done.stdout.0 })
    }

    /// One file made into another by a tool; `None` if it refuses.
    fn convert(&self, connection: &mut Connection, order: &Order, bytes: Vec<u8>) -> Result<Option<Vec<u8>>> {
        let input = RunInput { input: Some(bytes.into()), send_files: true, ..RunInput::default() };
        let done = timed(&self.times.link, || connection.run(order.clone(), input))?;
        Ok(written(done))
    }
}

/// Has a run forgotten, if it was kept.
///
/// # Errors
/// If the daemon cannot.
pub fn forget(connection: &mut Connection, run: u64) -> Result<()> {
    if run > 0 {
        connection.call(Ask::Forget { runs: vec![RunRef::Id(run)] })?;
    }
    Ok(())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The directory that a program is in.
fn directory_of(program: &Path) -> Result<Option<String>> {
    let program = std::path::absolute(program).map_err(Error::NoDirectory)?;
    Ok(program.parent().map(|directory| directory.display().to_string()))
}

fn with_input(options: &[String]) -> Vec<String> {
    options.iter().cloned().chain(["{}".to_owned()]).collect()
}
