//! Does a program still fail? A crash must be the same crash; wrong code must still behave differently from what
//! the passing options make of the same program.

mod refusal;
mod verdict;

pub use refusal::Refusal;
pub use verdict::{Reason, Verdict};

use crate::error::Result;
use hearth_client::Connection;
use hearth_client::protocol::Outcome;
use hearth_compiler::compiled::Compiled;
use hearth_compiler::toolchain::{Behaviour, Toolchain, forget};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_128;

/// How the bug shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Symptom {
    /// The compiler crashes, and says this.
    Crash(String),
    /// The compiled program behaves differently from what the passing options make of it.
    WrongCode,
}

/// A verdict, and the run by which the coverage of the compile is kept.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The run; 0 if there is none.
    pub run: u64,
    /// How many lines of the compiler it executed.
    pub lines: u64,
}

/// Judges programs and options that are close to the failing ones.
#[derive(Debug)]
pub struct Oracle {
    /// The tools.
    pub toolchain: Toolchain,
    /// The tools that compile it to pass: the same with other options, or another compiler's.
    reference: Toolchain,
    /// How the bug shows.
    pub symptom: Symptom,
    /// The options with which it fails.
    pub fail: Vec<String>,
    /// The options with which it passes; a crash needs none.
    pub pass: Option<Vec<String>>,
    /// The run of the failing compile.
    pub failing_run: u64,
    /// How the program ends when it is compiled to pass.
    ending: Option<Outcome>,
    /// Does the failing program not end?
    fails_by_limit: bool,
    /// What code does, by its hash.
    known: Mutex<HashMap<u128, Executed>>,
    /// What the passing options make of a program, by its hash; `None` if they do not compile it.
    expected: Mutex<HashMap<u128, Option<Executed>>>,
    /// Whether a program does what C leaves undefined, by its hash; `None` if nobody wants to know.
    undefined: Option<Mutex<HashMap<u128, bool>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Executed {
    Behaves(Behaviour),
    Limit,
    Flaky,
    DoesNotLink,
}

impl Executed {
    fn reason(&self) -> Option<Reason> {
        match self {
            Self::Behaves(_) => None,
            Self::Limit => Some(Reason::Limit),
            Self::Flaky => Some(Reason::Flaky),
            Self::DoesNotLink => Some(Reason::DoesNotLink),
        }
    }
}

impl Oracle {
    /// Sees how a program fails.
    ///
    /// # Errors
    /// If it does not fail, fails always or not in the same way each time.
    pub fn new(
        connection: &mut Connection,
        toolchain: Toolchain,
        reference: Option<(Toolchain, &str)>,
        text: &[u8],
        fail: Vec<String>,
        pass: Option<Vec<String>>,
    ) -> Result<Self> {
        // Another compiler is given the same options unless others are named.
        let pass = pass.or_else(|| reference.is_some().then(|| fail.clone()));
        let (fail_text, mut pass_text) = (shown(&fail), shown(pass.as_deref().unwrap_or_default()));
        if let Some((_, name)) = &reference {
            pass_text = format!("{pass_text} of {name}");
        }
        let reference =
            reference.map_or_else(|| toolchain.clone(), |(reference, _)| reference.timed_with(&toolchain));
        let compile = toolchain.compile(connection, text, &fail)?;
        let oracle = Self {
            toolchain,
            reference,
            symptom: Symptom::WrongCode,
            fail,
            pass,
            failing_run: compile.run,
            ending: None,
            fails_by_limit: false,
            known: Mutex::default(),
            expected: Mutex::default(),
            undefined: None,
        };
        let run = oracle.failing_run;
        let seen = oracle.see(connection, text, compile.compiled, fail_text, pass_text);
        if seen.is_err() {
            forget(connection, run)?;
        }
        seen
    }

    /// Sees how the program fails, given what became of the failing compile.
    fn see(
        mut self,
        connection: &mut Connection,
        text: &[u8],
        failing: Compiled,
        fail_text: String,
        pass_text: String,
    ) -> Result<Self> {
        let passing = match (&self.pass, &failing) {
            (Some(pass), _) => self.reference.compile_only(connection, text, pass)?,
            (None, Compiled::Crash(crash)) => {
                self.symptom = Symptom::Crash(crash.clone());
                return Ok(self);
            }
            (None, Compiled::Refused(problem)) => {
                return Err(Refusal::of_compiler(&fail_text, problem).into());
            }
            (None, Compiled::Code(_)) => return Err(Refusal::NothingToCompare { fail: fail_text }.into()),
        };
        let (failing, passing) = match (failing, passing) {
            (Compiled::Refused(problem), _) => return Err(Refusal::of_compiler(&fail_text, &problem).into()),
            (_, Compiled::Refused(problem)) => return Err(Refusal::of_compiler(&pass_text, &problem).into()),
            (Compiled::Crash(one), Compiled::Crash(other)) => {
                let behaviour =
                    if one == other { format!("crash: {one}") } else { format!("crashes: {one}, {other}") };
                return Err(Refusal::FailsBoth { fail: fail_text, pass: pass_text, behaviour }.into());
            }
            (Compiled::Crash(crash), _) => {
                self.symptom = Symptom::Crash(crash);
                return Ok(self);
            }
            (_, Compiled::Crash(crash)) => {
                let behaviour = format!("compiles; the crash with {pass_text} is another matter: {crash}");
                return Err(Refusal::Passes { fail: fail_text, pass: pass_text, behaviour }.into());
            }
            (Compiled::Code(failing), Compiled::Code(passing)) => (failing, passing),
        };
        let (failing, failing_time) = self.executed_in(connection, &self.toolchain, failing)?;
        let (passing, passing_time) = self.executed_in(connection, &self.reference, passing)?;
        for (executed, options) in [(&failing, &fail_text), (&passing, &pass_text)] {
            let options = options.clone();
            match executed {
                Executed::Flaky => return Err(Refusal::Flaky { options }.into()),
                Executed::DoesNotLink => return Err(Refusal::DoesNotLink { options }.into()),
                Executed::Behaves(_) | Executed::Limit => {}
            }
        }
        let Executed::Behaves(passing) = passing else {
            return Err(Refusal::DoesNotEnd { options: pass_text }.into());
        };
        if failing == Executed::Behaves(passing.clone()) {
            let behaviour = passing.outcome.to_string();
            let refusal = match passing.outcome {
                Outcome::Exited(0) => Refusal::Passes { fail: fail_text, pass: pass_text, behaviour },
                _ => Refusal::FailsBoth { fail: fail_text, pass: pass_text, behaviour },
            };
            return Err(refusal.into());
        }
        self.ending = Some(passing.outcome);
        let expected = Executed::Behaves(passing);
        locked(&self.expected).insert(xxh3_128(text), Some(expected));
        self.fails_by_limit = failing == Executed::Limit;
        // Where not to end is the failure, being slow must not be taken for it.
        if !self.fails_by_limit {
            let longer = failing_time.max(passing_time);
            self.toolchain.expect_executions_of(longer);
            self.reference.expect_executions_of(longer);
        }
        Ok(self)
    }

    /// From now on, programs that do what C leaves undefined are neither passing nor failing. A crash of the compiler is
    /// one whatever the program would do.
    ///
    /// # Errors
    /// If the failing program is one of them, or nothing can tell.
    pub fn screen(&mut self, connection: &mut Connection, text: &[u8]) -> Result<()> {
        match self.symptom {
            Symptom::WrongCode => {}
            Symptom::Crash(_) => return Ok(()),
        }
        if !self.reference.can_screen() {
            return Err(Refusal::NoScreen.into());
        }
        self.undefined = Some(Mutex::default());
        match self.is_undefined(connection, text)? {
            true => {
                Err(Refusal::Undefined { options: shown(self.pass.as_deref().unwrap_or_default()) }.into())
            }
            false => Ok(()),
        }
    }

    /// Judges a program compiled with some options instead of the failing ones.
    ///
    /// # Errors
    /// If the daemon cannot.
    pub fn judge(&self, connection: &mut Connection, text: &[u8], options: &[String]) -> Result<Judged> {
        let compile = self.toolchain.compile(connection, text, options)?;
        let (run, lines) = (compile.run, compile.lines);
        let judged = |verdict| Judged { verdict, run, lines };
        let unusable = |reason| Ok(judged(Verdict::Unusable(reason)));
        let code = match (compile.compiled, &self.symptom) {
            (Compiled::Refused(_), _) => return unusable(Reason::DoesNotCompile),
            (Compiled::Crash(crash), Symptom::Crash(same)) if crash == *same => {
                return Ok(judged(Verdict::Fail));
            }
            (Compiled::Crash(_), _) => return unusable(Reason::OtherCrash),
            (Compiled::Code(_), Symptom::Crash(_)) => return Ok(judged(Verdict::Pass)),
            (Compiled::Code(code), Symptom::WrongCode) => code,
        };
        let found = self.executed(connection, &self.toolchain, code)?;
        // The failing program may be one that does not end.
        let is_failure = found == Executed::Limit && self.fails_by_limit;
        if let Some(reason) = found.reason().filter(|_| !is_failure) {
            return unusable(reason);
        }
        let Some(expected) = self.expected(connection, text)? else {
            return unusable(Reason::DoesNotCompile);
        };
        let Executed::Behaves(behaviour) = &expected else {
            return unusable(expected.reason().unwrap_or(Reason::Limit));
        };
        let verdict = match found {
            _ if found == expected && Some(behaviour.outcome) == self.ending => Verdict::Pass,
            _ if found == expected => return unusable(Reason::EndsOtherwise),
            _ => Verdict::Fail,
        };
        match self.is_undefined(connection, text)? {
            true => unusable(Reason::Undefined),
            false => Ok(judged(verdict)),
        }
    }

    /// Does a program do what C leaves undefined? No if nobody wants to know.
    fn is_undefined(&self, connection: &mut Connection, text: &[u8]) -> Result<bool> {
        let Some(undefined) = &self.undefined else { return Ok(false) };
        let hash = xxh3_128(text);
        if let Some(&known) = locked(undefined).get(&hash) {
            return Ok(known);
        }
        let traps = |executed: &Executed| matches!(executed, Executed::Behaves(behaviour) if behaviour.outcome == Toolchain::TRAP);
        let pass = self.pass.as_deref().unwrap_or_default();
        let is_undefined = match self.reference.compile_screened(connection, text, pass)? {
            Compiled::Code(code) => {
                // It may be one that traps by itself.
                let expected = self.expected(connection, text)?;
                let executed = self.executed(connection, &self.reference, code)?;
                // One that takes too long may be undefined later on.
                executed == Executed::Limit
                    || traps(&executed) && !expected.is_some_and(|expected| traps(&expected))
            }
            Compiled::Crash(_) | Compiled::Refused(_) => false,
        };
        locked(undefined).insert(hash, is_undefined);
        Ok(is_undefined)
    }

    /// What code does when it is linked and executed, twice.
    fn executed(
        &self,
        connection: &mut Connection,
        toolchain: &Toolchain,
        code: Vec<u8>,
    ) -> Result<Executed> {
        self.executed_in(connection, toolchain, code).map(|(executed, _)| executed)
    }

    /// The same, and how long the second time took: the first may have had to start what executes it.
    fn executed_in(
        &self,
        connection: &mut Connection,
        toolchain: &Toolchain,
        code: Vec<u8>,
    ) -> Result<(Executed, Duration)> {
        let hash = xxh3_128(&code);
        let mut time = Duration::ZERO;
        if let Some(known) = locked(&self.known).get(&hash) {
            return Ok((known.clone(), time));
        }
        let executed = match toolchain.link(connection, code)? {
            None => Executed::DoesNotLink,
            Some(program) => {
                let first = toolchain.execute(connection, &program)?;
                let began = Instant::now();
                let again = match first.outcome {
                    Outcome::Exited(_) | Outcome::Signalled(_) => {
                        Some(toolchain.execute(connection, &program)?)
                    }
                    Outcome::TimedOut | Outcome::OutOfMemory | Outcome::OutputLimit | Outcome::ZygoteLost => {
                        None
                    }
                };
                time = began.elapsed();
                match again {
                    None => Executed::Limit,
                    Some(again) if again == first => Executed::Behaves(first),
                    Some(_) => Executed::Flaky,
                }
            }
        };
        locked(&self.known).insert(hash, executed.clone());
        Ok((executed, time))
    }

    /// What the passing options make of a program.
    fn expected(&self, connection: &mut Connection, text: &[u8]) -> Result<Option<Executed>> {
        let hash = xxh3_128(text);
        if let Some(expected) = locked(&self.expected).get(&hash) {
            return Ok(expected.clone());
        }
        let pass = self.pass.as_deref().unwrap_or_default();
        let expected = match self.reference.compile_only(connection, text, pass)? {
            Compiled::Code(code) => Some(self.executed(connection, &self.reference, code)?),
            Compiled::Crash(_) | Compiled::Refused(_) => None,
        };
        locked(&self.expected).insert(hash, expected.clone());
        Ok(expected)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind it is whole between statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Options as they are shown.
#[must_use]
pub fn shown(options: &[String]) -> String {
    if options.is_empty() { "no options".to_owned() } else { options.join(" ") }
}
