//! What can go wrong with subjects and runs: one sentence each, saying what to do.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The daemon's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong.
#[derive(Debug, Error)]
pub enum Error {
    /// The order cannot be carried out.
    #[error("{0}")]
    Order(String),
    /// The program's file cannot be used.
    #[error("{}: {problem}", path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// What is wrong with it.
        problem: ProgramProblem,
    },
    /// The subject cannot be started, or not be kept apart.
    #[error(transparent)]
    Sandbox(hearth_sandbox::Error),
    /// The subject did not get to its warm point.
    #[error("the subject never reached its warm point `{warm}`: {problem}{}", shown(output))]
    NotWarm {
        /// The warm point.
        warm: String,
        /// What happened instead.
        problem: String,
        /// What the subject wrote, cut.
        output: String,
    },
    /// Several threads at the warm point.
    #[error(
        "{count} threads are running at the warm point `{warm}`, and a fork would leave out all but one; \
         choose an earlier point, such as --warm main"
    )]
    Threads {
        /// How many.
        count: i32,
        /// The warm point.
        warm: String,
    },
    /// The subject has read its input already.
    #[error(
        "the subject opens its input before the warm point `{warm}`, so all runs have the input it found there; \
         choose --warm input"
    )]
    InputFrozen {
        /// The warm point.
        warm: String,
    },
    /// The zygote does not answer as it should.
    #[error("the zygote was lost: {0}")]
    ZygoteLost(String),
    /// The zygote was lost too often.
    #[error(
        "the zygotes of this subject were lost {losses} times in a row, last because {last}; it is not tried again for {seconds} s"
    )]
    Quarantined {
        /// How often.
        losses: u32,
        /// Why, the last time.
        last: String,
        /// How long it is left alone.
        seconds: u64,
    },
    /// A request is too large.
    #[error("{what} is {size} bytes, and {limit} is the limit")]
    TooLarge {
        /// What is.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The counters in memory and the notes are not of the same build.
    #[error(
        "the notes do not match the program: {problem}; build both anew, and register the subject with the \
         directory of that build"
    )]
    NotesMismatch {
        /// Where they differ.
        problem: String,
    },
    /// gcov's structures in memory make no sense.
    #[error("the counters cannot be found in the program's memory: {0}")]
    Counters(String),
    /// A count could not be computed.
    #[error(transparent)]
    Coverage(#[from] hearth_coverage::Error),
    /// The subject's atlas cannot be had.
    #[error(transparent)]
    Subject(#[from] hearth_subject::Error),
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// Why it was not.
        error: io::Error,
    },
}

/// What is wrong with a program.
#[derive(Debug, Error)]
pub enum ProgramProblem {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is no program.
    #[error("is no program for Linux on x86-64: {0}")]
    Foreign(&'static str),
    /// It is statically linked.
    #[error(
        "is statically linked, and Hearth can only keep programs warm that load shared libraries; link it without -static"
    )]
    Static,
    /// Its symbols are gone.
    #[error(
        "has no symbol table, so {what} cannot be found; keep the symbols when linking (no -s, no strip)"
    )]
    Stripped {
        /// What is looked for.
        what: String,
    },
    /// A symbol is not there.
    #[error(
        "has no function `{0}` to wait at, nor has a library that is there when it begins; `nm` lists those they have. \
         In a library that it loads later no run can begin; choose an earlier point, such as --warm main"
    )]
    NoSymbol(String),
}

impl From<hearth_sandbox::Error> for Error {
    fn from(error: hearth_sandbox::Error) -> Self {
        match error {
            hearth_sandbox::Error::Lost(why) => Self::ZygoteLost(why),
            hearth_sandbox::Error::System { what, error } => Self::System { what, error },
            error @ (hearth_sandbox::Error::Launch { .. } | hearth_sandbox::Error::Lacking { .. }) => {
                Self::Sandbox(error)
            }
        }
    }
}

fn shown(output: &str) -> String {
    if output.trim().is_empty() { String::new() } else { format!("; it wrote:\n{}", output.trim_end()) }
}

/// Says what a failed system call was for.
pub(crate) trait During<T> {
    fn during(self, what: &'static str) -> Result<T>;
}

impl<T, E: Into<io::Error>> During<T> for std::result::Result<T, E> {
    fn during(self, what: &'static str) -> Result<T> {
        self.map_err(|error| Error::System { what, error: error.into() })
    }
}
