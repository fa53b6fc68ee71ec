//! One run: what is asked for, and what came of it.

use crate::limits::RunLimits;
pub use hearth_protocol::{Observe, Outcome};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a run is to do.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The bytes that the input path stands for.
    pub input: Option<Vec<u8>>,
    /// Standard input.
    pub stdin: Vec<u8>,
    /// Other arguments than the zygote's, its name among them; the zygote must wait at `main`.
    pub arguments: Option<Vec<OsString>>,
    /// The working directory, if not the zygote's.
    pub directory: Option<PathBuf>,
    /// Variables added to the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What it may use.
    pub limits: RunLimits,
    /// What is observed of it.
    pub observe: Observe,
    /// The run does not find the file of its own program, from which a compiler that crashes reads for a second what to
    /// call the functions on its stack.
    pub hides_program: bool,
    /// Set when nobody wants the run any more: it is then ended as if it had timed out.
    pub unwanted: Option<Arc<AtomicBool>>,
}

/// A file that a run wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Its path.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Its permissions.
    pub mode: u32,
}

/// Where a run's time went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// From the request to the answer.
    pub total: Duration,
    /// In `fork`.
    pub fork: Duration,
    /// From the fork to the end of the run.
    pub run: Duration,
    /// Reading the counters and turning them into a spectrum.
    pub harvest: Duration,
    /// Processor time of the run.
    pub user: Duration,
    /// Processor time of the kernel for the run.
    pub system: Duration,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Run {
    /// How it ended.
    pub outcome: Outcome,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// The files it wrote.
    pub files: Vec<OutputFile>,
    /// It made other processes of itself, whose counters are among these.
    pub forked: bool,
    /// What of it could not be counted.
    pub missing: Vec<String>,
    /// Its page faults, most of them for pages it was the first to write.
    pub page_faults: u64,
    /// The most memory it had, in KiB.
    pub peak_kib: u64,
    /// Where its time went.
    pub times: Times,
}

impl Run {
    /// A run of which nothing is known.
    pub(crate) fn lost() -> Self {
        Self {
            outcome: Outcome::ZygoteLost,
            stdout: Vec::new(),
            stderr: Vec::new(),
            files: Vec::new(),
            forked: false,
            missing: Vec::new(),
            page_faults: 0,
            peak_kib: 0,
            times: Times::default(),
        }
    }
}
