//! What the daemon asks of a zygote.

use bytemuck::{Pod, Zeroable};

/// What the daemon asks of a zygote. [`REQUEST_RUN`] comes with descriptors: channel, standard input, output
/// and error, and the input's bytes if it has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct ZygoteRequest {
    /// `REQUEST_*`.
    pub kind: u32,
    /// How many arguments the text ends with, each with a NUL behind it: they replace the zygote's, which must wait
    /// at [`WARM_MAIN`](crate::WARM_MAIN). 0 for the zygote's own.
    pub argument_count: u32,
    /// Processor time the run may use, in seconds.
    pub cpu_s: u64,
    /// Bytes a file may grow to, standard output and error included.
    pub file_bytes: u64,
    /// Processes the user may have; 0 for no limit of this kind.
    pub processes: u64,
    /// Length of the working directory's path; the text begins with it.
    pub directory_length: u32,
    /// How many environment additions follow it, each `NAME=value` with a NUL behind it.
    pub addition_count: u32,
    /// For [`REQUEST_MARK`] and [`REQUEST_WAIT_AT`].
    pub address: u64,
    /// 1 if the run is not to find [`PROGRAM_PATH`](crate::PROGRAM_PATH).
    pub hides_program: u32,
    /// `OBSERVE_*`: what the run's processes are to do so that they can be observed.
    pub observe: u32,
}

/// Nothing is observed of the run.
pub const OBSERVE_NOTHING: u32 = 0;
/// The counters of all its processes are, also those of programs that it executes.
pub const OBSERVE_COUNTERS: u32 = 1;

/// Fork a run.
pub const REQUEST_RUN: u32 = 1;
/// Kill the run.
pub const REQUEST_KILL: u32 = 2;
/// Kill everything that is left of the run, its keeper included.
pub const REQUEST_CLEAR: u32 = 3;
/// Set the lowest bit of the byte at `address`: gcov's mark that the counters have been written.
pub const REQUEST_MARK: u32 = 4;

/// Expect runs to write pages: the text is words, at most [`EXPECTED_LIMIT`](crate::EXPECTED_LIMIT), each the address of a page
/// plus how many pages follow one another from there.
pub const REQUEST_EXPECT: u32 = 5;

/// Wait at `address`, the answer to [`EVENT_MAPPED`](crate::EVENT_MAPPED).
pub const REQUEST_WAIT_AT: u32 = 6;

/// Pages are two to the power of this many bytes.
pub const PAGE_SHIFT: u32 = 12;

const _: () = assert!(size_of::<ZygoteRequest>() == 56);
