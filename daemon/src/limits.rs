//! Every limit of the daemon, with its unit.

use std::time::Duration;

/// A subject that has not reached its warm point by then will not.
pub const WARM_DEADLINE: Duration = Duration::from_secs(30);
/// A zygote answers at once; one that does not is lost.
pub const ANSWER_DEADLINE: Duration = Duration::from_secs(10);
/// How often the memory of a run is looked at.
pub const MEMORY_INTERVAL: Duration = Duration::from_millis(10);
/// What a zygote writes before its warm point and is shown if it fails, in bytes.
pub const START_OUTPUT_BYTES: usize = 4096;
/// Zygotes a pool keeps at the most.
pub const ZYGOTES: usize = 64;
/// A zygote that was not used for so long is ended.
pub const ZYGOTE_AGE: Duration = Duration::from_secs(30 * 60);
/// Memory of all zygotes together, in bytes; beyond it those unused for longest are ended.
pub const ZYGOTE_BYTES: u64 = 4 << 30;
/// A key whose zygotes were lost so often in a row is not tried again for a while.
pub const LOSSES: u32 = 3;
/// For so long.
pub const QUARANTINE: Duration = Duration::from_secs(60);
/// gcov's structures are looked at up to these numbers, so that scribbled ones cannot lead anywhere.
pub const OBJECTS: usize = 1 << 16;
/// See [`OBJECTS`].
pub const FUNCTIONS: u32 = 1 << 24;

/// What a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Time on the wall, in milliseconds.
    pub wall_ms: u64,
    /// Processor time, in seconds.
    pub cpu_s: u64,
    /// Memory, with what it has from its zygote, in bytes.
    pub memory_bytes: u64,
    /// Standard output, standard error and each file, in bytes.
    pub output_bytes: u64,
    /// Processes at a time.
    pub processes: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { wall_ms: 60_000, cpu_s: 60, memory_bytes: 2 << 30, output_bytes: 64 << 20, processes: 400 }
    }
}
