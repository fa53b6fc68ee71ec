//! What makes zygotes alike: program, arguments, environment, and where they wait.

use hearth_sandbox::Policy;
use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// Where a subject waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WarmPoint {
    /// At the entry of `main`.
    Main,
    /// Before the input is first opened.
    Input,
    /// At the entry of a function.
    Symbol(String),
}

impl fmt::Display for WarmPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Input => f.write_str("input"),
            Self::Symbol(name) => write!(f, "symbol:{name}"),
        }
    }
}

impl std::str::FromStr for WarmPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("symbol:")) {
            ("main", _) => Ok(Self::Main),
            ("input", _) => Ok(Self::Input),
            (_, Some(name)) if !name.is_empty() => Ok(Self::Symbol(name.to_owned())),
            _ => Err(format!("`{text}` is no warm point: it is main, input or symbol:NAME")),
        }
    }
}

/// What makes two zygotes alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ZygoteKey {
    /// The program.
    pub binary: PathBuf,
    /// Another number for a program that was built anew at the same path.
    pub revision: u64,
    /// Its arguments, its own name first.
    pub arguments: Vec<OsString>,
    /// Its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub directory: PathBuf,
    /// The path, as in the arguments, that each run's input stands for.
    pub input: Option<PathBuf>,
    /// Where it waits.
    pub warm: WarmPoint,
    /// What becomes of a machine that lacks something.
    pub sandbox: Policy,
    /// Processes that runs may have at a time.
    pub processes: u64,
    /// Paths that runs see although they would be hidden.
    pub shown: Vec<PathBuf>,
}

impl ZygoteKey {
    /// Where the input is, as the shim spells it.
    #[must_use]
    pub fn input_path(&self) -> Option<PathBuf> {
        self.input.as_ref().map(|input| absolute(&self.directory, input))
    }
}

/// A path without `.` and `..`.
fn absolute(directory: &Path, path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in directory.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            part => result.push(part),
        }
    }
    result
}
