//! What is answered.

use super::Status;
use crate::Bytes;
use hearth_coverage::spectrum::Quality;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The answers, each to the question of its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The subjects.
    Subjects(Vec<SubjectInfo>),
    /// To `run`, and to each input of `batch`.
    Run(Box<RunDone>),
    /// To `spectrum` and `delta`.
    Coverage(Coverage),
    /// To `distance`.
    Distance(DistanceInfo),
    /// To `quality`.
    Quality(Quality),
    /// To `rank`.
    Ranking(Vec<Suspect>),
    /// To `runs`.
    Runs(Vec<RunInfo>),
    /// To `status`.
    Status(Box<Status>),
    /// To `warm`, `name`, `forget`, `stop`, and to a batch of nothing: it is done.
    Ok {},
}

/// How far two runs are apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DistanceInfo {
    /// By the measure that was asked for.
    pub distance: f64,
    /// Lines that both executed.
    pub both: u64,
    /// Lines that only the run executed.
    pub only_run: u64,
    /// Lines that only the other one executed.
    pub only_against: u64,
}

/// A subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectInfo {
    /// Its name, with the level it was compiled at.
    pub name: String,
    /// Its program.
    pub binary: String,
    /// Is it instrumented?
    pub instrumented: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ended by itself, with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It took too long, on the wall or of processor time.
    TimedOut,
    /// It took too much memory.
    OutOfMemory,
    /// It wrote too much.
    OutputLimit,
    /// Its zygote was lost.
    ZygoteLost,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Signalled(signal) => write!(f, "killed by signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::OutOfMemory => f.write_str("out of memory"),
            Self::OutputLimit => f.write_str("wrote too much"),
            Self::ZygoteLost => f.write_str("zygote lost"),
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunDone {
    /// Its number, by which it is kept; 0 if it has no coverage.
    pub run: u64,
    /// The input's place in a batch.
    pub index: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// What it wrote to standard output.
    pub stdout: Bytes,
    /// What it wrote to standard error.
    pub stderr: Bytes,
    /// The files it wrote.
    pub files: Vec<FileInfo>,
    /// Lines that ran.
    pub lines_executed: u64,
    /// Functions that ran.
    pub functions_executed: u64,
    /// Why there is no coverage.
    pub no_coverage: Option<String>,
    /// It made other processes of itself, whose counts are among these.
    pub forked: bool,
    /// What is lacking: of the sandbox, and of the notes.
    pub missing: Vec<String>,
    /// From the request to the answer, in microseconds.
    pub total_us: u64,
    /// The run itself, in microseconds.
    pub run_us: u64,
    /// The processor time of it and of what it waited for, in microseconds.
    pub cpu_us: u64,
    /// Reading its counters, in microseconds.
    pub harvest_us: u64,
}

/// A file that a run wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its path.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its contents, if they were asked for.
    pub bytes: Option<Bytes>,
}

/// Coverage, or a difference of coverage, at the level that was asked for; the others are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Lines by source file.
    pub lines: Vec<FileLines>,
    /// Functions.
    pub functions: Vec<FunctionCount>,
    /// Files.
    pub files: Vec<FileCount>,
}

/// The lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLines {
    /// The file.
    pub source: String,
    /// Line numbers and counts; in a delta those of the run.
    pub lines: Vec<(u32, i64)>,
    /// In a delta, the other run's counts of the same lines; else nothing.
    pub against: Vec<i64>,
}

/// A function's count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCount {
    /// Its name.
    pub name: String,
    /// The file it is in.
    pub source: String,
    /// The line it begins on.
    pub line: u32,
    /// How often it was called; in a delta by the run.
    pub count: i64,
    /// In a delta, how often by the other run; else 0.
    pub against: i64,
}

/// A file's count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCount {
    /// The file.
    pub source: String,
    /// How many of its lines ran; in a delta only in the run.
    pub lines: u64,
    /// In a delta, how many ran only in the other run; else 0.
    pub against: u64,
}

/// A suspicious line, function or file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    /// Its rank, from 1; of equals all have the last one's.
    pub rank: u32,
    /// Its score.
    pub score: f64,
    /// The file.
    pub source: String,
    /// The line, or the function's first one; 0 for a file.
    pub line: u32,
    /// The function's name; empty for lines and files.
    pub function: String,
}

/// A run that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Its number.
    pub run: u64,
    /// Its name.
    pub name: Option<String>,
    /// Its subject.
    pub subject: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Lines that ran.
    pub lines_executed: u64,
    /// What keeping it cost beyond what others have, in bytes.
    pub bytes: u64,
}
