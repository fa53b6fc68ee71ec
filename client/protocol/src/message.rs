//! The messages.
//!
//! Every field is always written, so that both encodings read what the other wrote; where JSON may leave one
//! out, it has a default.

use crate::{BUILD, Bytes, Encoding, MAGIC, PROTOCOL, limited};
use hearth_coverage::spectrum::{Aggregation, Formula, Quality};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io;

/// The first frame of a client, in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`MAGIC`].
    pub magic: String,
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// How the messages after this one are written.
    pub encoding: Encoding,
    /// The client's name and version, for the log.
    #[serde(default)]
    pub build: String,
    /// What it can do beyond the protocol's version. Nothing so far.
    #[serde(default)]
    pub capabilities: Vec<String>,
}

impl Hello {
    /// A client of this version.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        let build = format!("hearth-client {BUILD}");
        Self { magic: MAGIC.to_owned(), protocol: PROTOCOL, encoding, build, capabilities: Vec::new() }
    }
}

/// The first frame of the daemon, in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`MAGIC`].
    pub magic: String,
    /// The daemon's version of the protocol.
    pub protocol: u32,
    /// The daemon's version.
    pub build: String,
    /// What it can do beyond the protocol's version. Nothing so far.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Why the connection is closed now; nothing if all is well.
    #[serde(default)]
    pub refused: Option<Failure>,
}

/// What a client asks, with a number of its choice that the answer has too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The number.
    pub id: u64,
    /// What it asks.
    pub ask: Ask,
}

/// The daemon's answer. Answers come as they are ready, in any order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The request's number.
    pub id: u64,
    /// Is it the last one? Only a batch has more than one.
    pub last: bool,
    /// The answer itself.
    pub body: Body,
}

/// An answer, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The answer.
    Done(Answer),
    /// Why there is none.
    Failed(Failure),
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Which subjects there are.
    Subjects {},
    /// Have a zygote ready.
    Warm {
        /// For runs of this order.
        order: Order,
    },
    /// Run once.
    Run {
        /// What to run.
        order: Order,
        /// On what.
        #[serde(default)]
        input: RunInput,
    },
    /// Run on many inputs; each answer comes when its run is done.
    Batch {
        /// What to run.
        order: Order,
        /// On what, in turn; at most [`INPUTS_LIMIT`](crate::INPUTS_LIMIT).
        #[serde(deserialize_with = "limited::inputs")]
        inputs: Vec<RunInput>,
    },
    /// What a run executed.
    Spectrum {
        /// Which run.
        run: RunRef,
        /// Lines, functions or files.
        #[serde(default)]
        level: Level,
        /// Counts; else 1 for what ran.
        #[serde(default)]
        counts: bool,
    },
    /// Where a run differs from another.
    Delta {
        /// The run.
        run: RunRef,
        /// The other one.
        against: RunRef,
        /// Lines, functions or files.
        #[serde(default)]
        level: Level,
        /// Differences of counts; else only of what ran.
        #[serde(default)]
        counts: bool,
    },
    /// How far a run is from another.
    Distance {
        /// The run; for LocSeq's measure, the passing one.
        run: RunRef,
        /// The other one; for LocSeq's measure, the failing one.
        against: RunRef,
        /// By which measure.
        #[serde(default)]
        measure: Measure,
    },
    /// How good a set of passing runs is for localizing, by RecBi's formulas.
    Quality {
        /// The failing run.
        failing: RunRef,
        /// The passing ones.
        #[serde(deserialize_with = "limited::runs")]
        passing: Vec<RunRef>,
        /// The weight of diversity against similarity.
        #[serde(default = "default_alpha")]
        alpha: f64,
    },
    /// What failing and passing runs make suspicious.
    Rank {
        /// The failing runs.
        #[serde(deserialize_with = "limited::runs")]
        failing: Vec<RunRef>,
        /// The passing ones.
        #[serde(deserialize_with = "limited::runs")]
        passing: Vec<RunRef>,
        /// Runs whose lines are not suspicious, whatever else executed them: what every crash executes, say.
        #[serde(default, deserialize_with = "limited::runs")]
        innocent: Vec<RunRef>,
        /// The formula for lines.
        #[serde(default)]
        formula: Formula,
        /// How lines make functions and files.
        #[serde(default)]
        aggregation: Aggregation,
        /// Lines, functions or files.
        #[serde(default = "default_rank_level")]
        level: Level,
        /// At most so many, the most suspicious ones; 0 for all.
        #[serde(default)]
        limit: u32,
        /// Do execution counts decide between equals: the more they differ in passing runs, the more suspicious?
        #[serde(default)]
        counts: bool,
    },
    /// Give a run a name. It is then kept until it is forgotten; another run of that name loses it.
    Name {
        /// The run.
        run: RunRef,
        /// The name.
        name: String,
    },
    /// Forget runs.
    Forget {
        /// Which ones; nothing for all that have no name.
        #[serde(default, deserialize_with = "limited::runs")]
        runs: Vec<RunRef>,
    },
    /// Which runs are kept.
    Runs {},
    /// How the daemon is.
    Status {},
    /// End the daemon, when the runs under way are done.
    Stop {},
}

fn default_alpha() -> f64 {
    0.8
}

fn default_rank_level() -> Level {
    Level::Files
}

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
    /// Standard output, standard error and each file, in bytes.
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

/// A run that is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunRef {
    /// By the number it was given.
    Id(u64),
    /// By its name.
    Name(String),
    /// In a delta or distance: what the other run's zygote had executed at its warm point.
    Baseline,
}

impl From<u64> for RunRef {
    fn from(id: u64) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for RunRef {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Lines.
    #[default]
    Lines,
    /// Functions.
    Functions,
    /// Source files: how many of their lines ran.
    Files,
}

/// A measure of distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Jaccard's distance of the lines: DiWi's and RecBi's.
    #[default]
    JaccardLines,
    /// Jaccard's distance of the files.
    JaccardFiles,
    /// LocSeq's similarity: the larger, the closer.
    Locseq,
}

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
    Distance(f64),
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

/// How the daemon is. Its layout has the version [`STATUS_FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// [`STATUS_FORMAT`].
    pub format: u32,
    /// The daemon's version.
    pub build: String,
    /// Its process.
    pub pid: u32,
    /// How long it has been running, in seconds.
    pub uptime_s: u64,
    /// Clients connected.
    pub sessions: u32,
    /// Runs waiting for a core.
    pub queued: u32,
    /// Runs under way.
    pub running: u32,
    /// The most at a time.
    pub cores: u32,
    /// Its own memory, in bytes.
    pub memory_bytes: u64,
    /// Runs that are kept.
    pub kept_runs: u64,
    /// What they take, in bytes.
    pub kept_bytes: u64,
    /// What they may take, in bytes.
    pub kept_limit_bytes: u64,
    /// Zygotes that wait for runs.
    pub zygotes: Vec<ZygoteInfo>,
    /// How long answers took, by request.
    pub latencies: Vec<Latency>,
}

/// The version of [`Status`].
pub const STATUS_FORMAT: u32 = 1;

/// A zygote that waits for runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZygoteInfo {
    /// The program.
    pub binary: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it waits.
    pub warm: String,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
    /// Since when it was not used, in milliseconds.
    pub idle_ms: u64,
}

/// How long answers to one kind of request took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// The request.
    pub ask: String,
    /// How many.
    pub count: u64,
    /// The median, in microseconds.
    pub p50_us: u64,
    /// Nine of ten took no longer, in microseconds.
    pub p90_us: u64,
    /// Ninety-nine of a hundred took no longer, in microseconds.
    pub p99_us: u64,
    /// The longest, in microseconds.
    pub max_us: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of reason.
    pub kind: FailureKind,
    /// What is wrong and what to do.
    pub message: String,
}

/// The kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The client is of another version of the protocol.
    Version,
    /// The client is another user's, or in another process or user namespace than the daemon.
    Foreign,
    /// There are as many clients, or as many bytes of frames under way, as there can be.
    Busy,
    /// The bytes are no message.
    Malformed,
    /// The order cannot be carried out: no such subject, program, warm point, file.
    Order,
    /// There is no such run, or it has been forgotten.
    NoSuchRun,
    /// The runs are of different subjects.
    Mixed,
    /// The answer is too long for a frame.
    TooLarge,
    /// The daemon is about to end.
    Stopping,
    /// Something on the daemon's side failed.
    Internal,
    /// Runs with a name fill the memory for kept runs.
    Full,
}

impl Failure {
    /// A failure.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl Ask {
    /// The request's name, as in the protocol.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Subjects {} => "subjects",
            Self::Warm { .. } => "warm",
            Self::Run { .. } => "run",
            Self::Batch { .. } => "batch",
            Self::Spectrum { .. } => "spectrum",
            Self::Delta { .. } => "delta",
            Self::Distance { .. } => "distance",
            Self::Quality { .. } => "quality",
            Self::Rank { .. } => "rank",
            Self::Name { .. } => "name",
            Self::Forget { .. } => "forget",
            Self::Runs {} => "runs",
            Self::Status {} => "status",
            Self::Stop {} => "stop",
        }
    }
}
