//! Why a bug cannot be localized.

use crate::oracle::Refusal;
use hearth_client::Answer;
use std::io;
use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is none that can be localized.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The programs from which parts are inserted cannot be read.
    #[error("cannot read the programs in {}", directory.display())]
    Ingredients {
        /// The directory they should be in.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There are no such programs.
    #[error("there is nothing to insert in {}; --ingredients names a directory of C programs", .0.display())]
    NoIngredients(PathBuf),
    /// A thread that judges panicked.
    #[error("localization: a thread panicked")]
    Panicked,
    /// The daemon said something unexpected.
    #[error("the daemon answers {0:?}")]
    Answers(Box<Answer>),
    /// The compiler and its tools cannot be used.
    #[error(transparent)]
    Compiler(#[from] hearth_compiler::error::Error),
    /// The daemon cannot.
    #[error(transparent)]
    Daemon(#[from] hearth_client::Error),
}

impl Error {
    /// An answer to another question.
    pub(crate) fn answers(answer: Answer) -> Self {
        Self::Answers(Box::new(answer))
    }
}
