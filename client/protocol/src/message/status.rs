//! How the daemon is.

use serde::{Deserialize, Serialize};

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
