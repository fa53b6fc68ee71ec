//! Every limit of runs and zygotes, with its unit.

use std::time::Duration;

/// A subject that has not reached its warm point by then will not.
pub const WARM_DEADLINE: Duration = Duration::from_secs(30);
/// A launcher whose subject has ended ends soon after.
pub const END_DEADLINE: Duration = Duration::from_millis(500);
/// A zygote answers at once; one that does not is lost.
pub const ANSWER_DEADLINE: Duration = Duration::from_secs(10);
/// How often the memory and the output of a run are looked at, at the most.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// A look is followed by a pause of so many times what it took, so that it costs little of a run's time.
pub const LOOK_PAUSE: u32 = 100;
/// But not by a longer one.
pub const LOOK_INTERVAL_MOST: Duration = Duration::from_millis(500);
/// What a control group says of memory is believed when it has said so for this long: what is left of the run before is
/// gone by then.
pub const GROUP_PATIENCE: Duration = Duration::from_secs(1);
/// Processes of a run that are counted.
pub const CHILDREN: usize = 1 << 16;
/// Processes of a run whose memory is kept before those that have ended are let go.
pub const CHILDREN_KEPT: usize = 16;
/// Programs that runs execute of which is kept where their counters are.
pub const IMAGES: usize = 64;
/// Objects without notes that are named one by one.
pub const NOTES_NAMED: usize = 3;
/// Notes of a run that are read before its limits are looked at again.
pub const NOTES_AT_ONCE: usize = 1024;
/// Private mappings larger than this, in bytes, are mostly reserved, not used; nothing is done ahead for them.
pub const RESERVED_BYTES: u64 = 1 << 30;
/// Zygotes a pool keeps at the most: the four kinds of a localization for each of 32 cores. Each takes five descriptors, of
/// which a process has 1024 by default.
pub const ZYGOTES: usize = 128;
/// A zygote that was not used for so long is ended.
pub const ZYGOTE_AGE: Duration = Duration::from_secs(30 * 60);
/// Memory of all zygotes together, and of what is kept to read their runs' counters, in bytes; beyond it those unused for
/// longest are ended.
pub const ZYGOTE_BYTES: u64 = 4 << 30;
/// A key whose zygotes were lost so often in a row is not tried again for a while.
pub const LOSSES: u32 = 3;
/// For so long.
pub const QUARANTINE: Duration = Duration::from_secs(60);
/// gcov's structures are looked at up to these numbers, so that scribbled ones cannot lead anywhere.
pub const OBJECTS: usize = 1 << 16;
/// See [`OBJECTS`].
pub const FUNCTIONS: u32 = 1 << 24;
/// Kinds of counters that an object is tried with; GCC 15 has ten.
pub const COUNTER_KINDS: u64 = 16;
/// The longest name of a data file, in bytes.
pub const DATA_NAME_BYTES: usize = 4096;

/// What a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Time on the wall, in milliseconds.
    pub wall_ms: u64,
    /// Processor time, in seconds.
    pub cpu_s: u64,
    /// Memory, with what it has from its zygote, in bytes.
    pub memory_bytes: u64,
    /// Standard output, standard error and all files together, in bytes.
    pub output_bytes: u64,
    /// Processes at a time.
    pub processes: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { wall_ms: 60_000, cpu_s: 60, memory_bytes: 2 << 30, output_bytes: 64 << 20, processes: 400 }
    }
}
