//! Why a program cannot be compiled, linked or executed at all.

use std::io;
use std::path::PathBuf;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The daemon did not answer which subjects it has.
    #[error("the daemon did not say which subjects there are")]
    NoSubjects,
    /// There is no such subject.
    #[error(
        "there is no subject {0}; `hearth subject list` shows those there are, `hearth subject build` makes GCC's and tcc"
    )]
    NoSubject(String),
    /// The subject has no counters.
    #[error("{0} is not instrumented, so nothing can be said about what it executes")]
    NotInstrumented(String),
    /// The subject's binary is no compiler that is known.
    #[error("only GCC's cc1 and tcc can be localized in, and {} is neither", .0.display())]
    NoCompiler(PathBuf),
    /// A tool is missing.
    #[error("there is no `{0}` in PATH; install binutils")]
    NoTool(String),
    /// What finds the C library is missing.
    #[error("gcc is needed to find the C library; install gcc")]
    NoDriver(#[source] io::Error),
    /// A part of the C library is missing.
    #[error("there is no {0} to link programs with; install libc6-dev")]
    NoLibrary(String),
    /// There is no working directory that a program's path could be relative to.
    #[error(transparent)]
    NoDirectory(io::Error),
    /// The compiler does not know what it was asked.
    #[error("the compiler answers: {0}")]
    Answers(String),
    /// The daemon cannot.
    #[error(transparent)]
    Daemon(#[from] hearth_client::Error),
}
