//! What to run, and what a run is given.

use crate::{Bytes, limited};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// What to run: what makes two runs come from one zygote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// A subject's name, or a program's path.
    pub subject: String,
    /// Its arguments; `{}` stands for the input's path.
    #[serde(default, deserialize_with = "limited::words")]
    pub arguments: Vec<String>,
    /// The input's path; `input.c` if there is none and `{}` is among the arguments.
    #[serde(default)]
    pub input: Option<String>,
    /// `main`, `input` or `symbol:NAME`; by default `input` if there is one, else `main`.
    #[serde(default)]
    pub warm: Option<String>,
    /// The working directory; by default the root directory.
    #[serde(default)]
    pub directory: Option<String>,
    /// The environment; by default only a `PATH`.
    #[serde(default, deserialize_with = "limited::optional_variables")]
    pub environment: Option<BTreeMap<String, String>>,
    /// What each run may use.
    #[serde(default)]
    pub limits: Limits,
    /// Go on where this machine has not all that keeps runs apart.
    #[serde(default)]
    pub best_effort_sandbox: bool,
    /// Paths that runs see although they would be hidden, such as a directory of settings below the user's home.
    #[serde(default)]
    pub shows: Vec<String>,
}

impl Order {
    /// An order in this process's directory and environment.
    ///
    /// # Errors
    /// If the working directory is gone.
    pub fn here() -> io::Result<Self> {
        let directory = std::env::current_dir()?;
        let variables = std::env::vars_os();
        let plain = |text: std::ffi::OsString| text.into_string().ok();
        let environment = variables.filter_map(|(name, value)| Some((plain(name)?, plain(value)?))).collect();
        Ok(Self {
            directory: Some(directory.to_string_lossy().into_owned()),
            environment: Some(environment),
            ..Self::default()
        })
    }
}

/// What a run may use; what is not said is the daemon's to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Time on the wall, in milliseconds.
    #[serde(default)]
    pub wall_ms: Option<u64>,
    /// Processor time, in seconds.
    #[serde(default)]
    pub cpu_s: Option<u64>,
    /// Memory, in bytes.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Standard output, standard error and all files together, in bytes.
    #[serde(default)]
    pub output_bytes: Option<u64>,
}

/// What one run is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunInput {
    /// The bytes that the input's path stands for; by default the file's.
    #[serde(default)]
    pub input: Option<Bytes>,
    /// Standard input.
    #[serde(default)]
    pub stdin: Bytes,
    /// Arguments instead of the order's, which must wait at `main`; `{}` stands for the input's path here, too.
    #[serde(default, deserialize_with = "limited::optional_words")]
    pub arguments: Option<Vec<String>>,
    /// Variables added to the environment.
    #[serde(default, deserialize_with = "limited::variables")]
    pub environment: BTreeMap<String, String>,
    /// The run's name, if it is to have one.
    #[serde(default)]
    pub name: Option<String>,
    /// Send the files that the run writes; else only their sizes.
    #[serde(default)]
    pub send_files: bool,
    /// The run does not find the file of its own program: a compiler that crashes then says so at once, without the
    /// names of the functions on its stack, for which it would read its debug information for a second.
    #[serde(default)]
    pub hides_program: bool,
    /// What is observed of the run.
    #[serde(default)]
    pub observe: Observe,
}

/// What is observed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observe {
    /// Nothing: its counters are not read, and it is not kept.
    Nothing,
    /// What it executed.
    #[default]
    Spectrum,
    /// Also the counters themselves, for a report of every branch. The daemon has no message for them, and refuses.
    Counters,
}

/// A run that opens this path gets a `SIGSEGV`: what a program does only because it crashes can be seen in a run that
/// would not.
pub const CRASH_PATH: &str = "/dev/hearth-crash";
