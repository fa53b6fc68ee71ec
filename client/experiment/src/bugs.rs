//! Real bugs of a compiler, and the list of them.

mod changelog;
mod dejagnu;
mod find;

pub use find::{PROGRAMS, Sources, find, parts};

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The version of the list.
pub const FORMAT: u32 = 1;

/// A list of real bugs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BugList {
    /// [`FORMAT`].
    pub format: u32,
    /// The compiler that has them.
    pub subject: String,
    /// The package whose test suite the programs are in.
    pub package: String,
    /// The bugs, by report and program.
    pub bugs: Vec<Bug>,
}

impl BugList {
    /// Reads one.
    ///
    /// # Errors
    /// If it cannot be read, or is of another version.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).map_err(|source| Error::NoBugs { path: path.to_owned(), source })?;
        let list: Self =
            serde_json::from_str(&text).map_err(|source| Error::NotBugs { path: path.to_owned(), source })?;
        match list.format {
            FORMAT => Ok(list),
            format => Err(Error::Format { path: path.to_owned(), format }),
        }
    }

    /// One program of each report: the first.
    #[must_use]
    pub fn first_programs(&self) -> Vec<&Bug> {
        let mut known = BTreeSet::new();
        self.bugs.iter().filter(|bug| known.insert(bug.report)).collect()
    }
}

/// A bug.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Bug {
    /// The number of its report.
    pub report: u32,
    /// The program, below the package's source.
    pub program: String,
    /// What goes wrong.
    pub kind: BugKind,
    /// Options it fails with.
    pub fail: Vec<String>,
    /// Options it passes with; a crash may have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Vec<String>>,
    /// What the compiler says, for a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<String>,
    /// The files that were mended, below `gcc/` or `libcpp/` of the subject's source.
    pub files: Vec<String>,
    /// The functions that were mended.
    pub functions: Vec<String>,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BugKind {
    /// The program does what it should not.
    WrongCode,
    /// The compiler crashes.
    Crash,
}

impl BugKind {
    /// Bugs of this kind, in words.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::WrongCode => "wrong code",
            Self::Crash => "crashes",
        }
    }
}
