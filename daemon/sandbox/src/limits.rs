//! Every limit of sandboxes, with its unit.

use std::time::Duration;

/// Processes besides a run's own that count for its user or group: the launcher and the zygote.
pub const OWN_PROCESSES: u64 = 2;
/// Processes for each of a run's: itself and its keeper.
pub const PROCESSES_EACH: u64 = 2;
/// What the kernel has for a process (its stack, page tables and descriptions), in bytes; what it has beyond that is the run's
/// memory, too.
pub const KERNEL_BYTES_EACH: u64 = 512 << 10;
/// Files that a run may leave behind.
pub const FILES: usize = 4096;
/// Things a run has written and that cannot be told that are named one by one.
pub const MISSING_NAMED: usize = 8;
/// Areas that a sandbox has, besides those that the order needs.
pub const AREAS: usize = 64;
/// Files and directories that a run may have at a time in an area.
pub const AREA_INODES: usize = 1 << 16;
/// Directories below each other in which files of a run are looked for.
pub const AREA_DEPTH: usize = 128;
/// An area in which the order names nothing is made fresh if it was used and is older than this: what changes there on the
/// machine is seen so much later at the most.
pub const AREA_AGE: Duration = Duration::from_secs(1);
/// Directories below each other in which settings of the machine are looked for that only root may read.
pub const SETTINGS_DEPTH: usize = 4;
/// Descriptors that come with a packet.
pub const PACKET_DESCRIPTORS: usize = 8;
/// What the daemon asks of a launcher, in bytes.
pub const COMMAND_BYTES: usize = 16 << 10;
/// What a launcher says, in bytes.
pub const REPORT_BYTES: usize = 512 << 10;
/// How long a launcher may take to say what it has done.
pub const LAUNCH_DEADLINE: Duration = Duration::from_secs(10);
/// How long a launcher may take to end its subject.
pub const ENDING_DEADLINE: Duration = Duration::from_secs(1);
/// What a subject may write to a file before its warm point, in bytes.
pub const START_FILE_BYTES: u64 = 16 << 20;
/// Signals that wait to be taken, of all processes of a sandbox together.
pub const PENDING_SIGNALS: u64 = 1024;
/// What a zygote writes before its warm point and is shown if it fails, in bytes.
pub const START_OUTPUT_BYTES: usize = 4096;
/// What a zygote writes to a stream before its warm point and its runs begin with, in bytes.
pub const EARLY_OUTPUT_BYTES: u64 = 1 << 20;

/// How far runs stand back behind what works on them in the daemon, and that behind what answers questions, in steps
/// of niceness.
pub const RUN_NICENESS: i32 = 5;

/// All processes of a namespace in which a run may have so many.
#[must_use]
pub fn most_processes(of_run: u64) -> u64 {
    of_run.saturating_mul(PROCESSES_EACH).saturating_add(OWN_PROCESSES)
}
