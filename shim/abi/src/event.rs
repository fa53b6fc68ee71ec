//! What a zygote tells the daemon.

use bytemuck::{Pod, Zeroable};

/// What a zygote tells the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Event {
    /// `EVENT_*`.
    pub kind: u32,
    /// What a kind says: a wait status, an error number, a count.
    pub value: i32,
    /// When, in nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// Processor time of a run that ended, in microseconds: its own and the kernel's for it.
    pub user_us: u64,
    /// See `user_us`.
    pub system_us: u64,
    /// Page faults of a run that ended.
    pub faults: u64,
    /// The largest memory of a run that ended, in KiB.
    pub peak_kib: u64,
    /// When the request came in, for [`EVENT_FORKED`].
    pub asked_ns: u64,
    /// For [`EVENT_WARM`], where the pointer to the library behind the last one is, or 0: it is null until
    /// another library is loaded.
    pub address: u64,
    /// For [`EVENT_WARM`], where a word is that is zero until a process of a run cannot tell the daemon something.
    pub untold: u64,
}

/// At the warm point; `value` has a bit for each thing that was done before it, `EARLY_*`. Comes with the zygote's memory,
/// its page map and the list of what is mapped.
pub const EVENT_WARM: u32 = 1;
/// The input was opened.
pub const EARLY_INPUT: i32 = 1;
/// Standard input was read. It is a file in memory whose time of access is [`UNREAD_TIME_S`] until then.
pub const EARLY_STDIN: i32 = 2;
/// The program asked for the number of its process.
pub const EARLY_PID: i32 = 4;
/// Other processes were made, or programs executed.
pub const EARLY_PROCESSES: i32 = 8;
/// It has pipes, sockets or the like open, which all runs share.
pub const EARLY_SHARED: i32 = 16;
/// See [`EARLY_STDIN`]; in seconds. The kernel changes it when the file is read, because it is before that of the last change.
pub const UNREAD_TIME_S: i64 = 1;
/// `value` threads are running at the warm point, and a fork would leave out all but one.
pub const EVENT_THREADS: u32 = 2;
/// The run was forked.
pub const EVENT_FORKED: u32 = 3;
/// The run could not be forked: error number `value`.
pub const EVENT_NOT_FORKED: u32 = 4;
/// The run ended with wait status `value`.
pub const EVENT_ENDED: u32 = 5;
/// Nothing of the run is left; `value` other processes had to be killed.
pub const EVENT_CLEARED: u32 = 6;
/// The warm point could not be prepared: error number `value`.
pub const EVENT_NO_HOOK: u32 = 7;
/// `main` returned or the process exits, and the warm point was not reached.
pub const EVENT_MISSED: u32 = 8;

/// `main` is about to begin, and the shim asks where to wait. Comes with the list of what is mapped.
pub const EVENT_MAPPED: u32 = 9;

const _: () = assert!(size_of::<Event>() == 72);
