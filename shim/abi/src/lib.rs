//! The contract between the shim and the daemon: messages on two sockets, nothing else.
//!
//! The control socket joins the daemon and a zygote. The daemon sends one [`Config`], then [`Request`]s; the
//! zygote answers with [`Event`]s. The channel joins the daemon and one run, which sends [`Note`]s; it may be
//! written to by whatever the run executes, so the daemon trusts nothing that comes from it.
//!
//! Every message is one packet of a `SOCK_SEQPACKET` socket: a fixed head, and for some kinds text behind it.
//! Shim and daemon are built together; [`VERSION`] is a check against a shim that was left over.

#![no_std]
#![forbid(unsafe_code)]

use bytemuck::{Pod, Zeroable};
use core::ffi::CStr;

/// Changes with anything in this file.
pub const VERSION: u32 = 8;

/// The environment variable that names the control socket's descriptor; [`INACTIVE`] makes the shim stay out
/// of the way. The shim takes it, and what else Hearth added, out of the environment before `main`.
pub const CONTROL_VARIABLE: &str = "HEARTH_CONTROL";
/// As long as a descriptor's number, so that an inactive shim leaves the stack where an active one has it.
pub const INACTIVE: &str = "off";
/// What the shim finds there in a program that a run has executed; as long as the others, too.
pub const EXECUTED: &str = "run";
/// The control socket's descriptor in a zygote.
pub const CONTROL_FD: i32 = 200;
/// The descriptor the shim itself is loaded from.
pub const SHIM_FD: i32 = 201;
/// Where programs that a run executes find the shim. As long as the path by which a subject does.
pub const SHIM_PATH: &str = "/dev/hearth-sh.so";
/// The channel's descriptor in a run, also in programs that it executes.
pub const CHANNEL_FD: i32 = 700;
/// Environment variables that are Hearth's, not the subject's.
pub const OWN_VARIABLES: [&str; 3] = ["LD_PRELOAD", "LD_BIND_NOW", CONTROL_VARIABLE];

/// The longest path, in bytes.
pub const PATH_LIMIT: usize = 4096;
/// The longest request, in bytes: its text is the working directory, the environment additions and the arguments.
pub const REQUEST_LIMIT: usize = 32 * 1024;
/// The longest note, in bytes.
pub const NOTE_LIMIT: usize = 16 + PATH_LIMIT;
/// Where a process finds the file of its own program.
pub const PROGRAM_PATH: &CStr = c"/proc/self/exe";
/// A run that opens this path gets a `SIGSEGV`: what a program does only because it crashes can be seen in a run that would not.
pub const CRASH_PATH: &str = "/dev/hearth-crash";
/// How many arguments a run may be given.
pub const ARGUMENT_LIMIT: usize = 1024;
/// How many files a run may have written, and not removed again, at a time.
pub const FILE_LIMIT: usize = 256;
/// The descriptors of the shim in a run are this and above, out of the subject's way.
pub const FIRST_OWN_FD: i32 = 701;

/// What the daemon tells a zygote first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Config {
    /// [`VERSION`].
    pub version: u32,
    /// `WARM_*`.
    pub warm: u32,
    /// Where to wait, for [`WARM_SYMBOL`]: the address in the program's file; 0 if that is to be asked ([`EVENT_MAPPED`]).
    pub symbol: u64,
    /// Length of the input path.
    pub input_length: u32,
    /// 1 if what is written goes to memory without the shim's doing, almost everywhere.
    pub has_areas: u32,
    /// The input path, absolute and without `.` and `..`.
    pub input: [u8; PATH_LIMIT],
}

/// Wait at the entry of `main`.
pub const WARM_MAIN: u32 = 0;
/// Wait before the input path is first opened.
pub const WARM_INPUT: u32 = 1;
/// Wait at the entry of a function.
pub const WARM_SYMBOL: u32 = 2;

/// What the daemon asks of a zygote. [`REQUEST_RUN`] comes with descriptors: channel, standard input, output
/// and error, and the input's bytes if it has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Request {
    /// `REQUEST_*`.
    pub kind: u32,
    /// How many arguments the text ends with, each with a NUL behind it: they replace the zygote's, which must wait
    /// at [`WARM_MAIN`]. 0 for the zygote's own.
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
    /// 1 if the run is not to find [`PROGRAM_PATH`].
    pub hides_program: u32,
    /// One of the `OBSERVE` constants.
    pub observe: u32,
}

/// Nothing is observed of the run.
pub const OBSERVE_NOTHING: u32 = 0;
/// The counters of all its processes are, also of programs that it executes.
pub const OBSERVE_COUNTERS: u32 = 1;

/// Fork a run.
pub const REQUEST_RUN: u32 = 1;
/// Kill the run.
pub const REQUEST_KILL: u32 = 2;
/// Kill everything that is left of the run, its keeper included.
pub const REQUEST_CLEAR: u32 = 3;
/// Set the lowest bit of the byte at `address`: gcov's mark that the counters have been written.
pub const REQUEST_MARK: u32 = 4;

/// Expect runs to write pages: the text is words, at most [`EXPECTED_LIMIT`], each the address of a page plus how
/// many pages follow one another from there.
pub const REQUEST_EXPECT: u32 = 5;

/// Wait at `address`, the answer to [`EVENT_MAPPED`].
pub const REQUEST_WAIT_AT: u32 = 6;

/// See [`REQUEST_EXPECT`]. They fit into a request.
pub const EXPECTED_LIMIT: usize = (REQUEST_LIMIT - size_of::<Request>()) / 8;
/// Pages are two to the power of this many bytes.
pub const PAGE_SHIFT: u32 = 12;

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

/// What a run tells the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Note {
    /// `NOTE_*`.
    pub kind: u32,
    /// What a kind says.
    pub value: u32,
    /// For [`NOTE_BEGIN`] and [`NOTE_CHILD`], the process.
    pub process: u32,
    /// For these, its keeper's process.
    pub keeper: u32,
}

/// The run is about to begin; `value` is the processor time the kernel has spent on it, in microseconds, and the text the
/// page faults it has had, four bytes. Comes with its memory and its page map.
pub const NOTE_BEGIN: u32 = 1;
/// A file is written. Comes with it; its path follows.
pub const NOTE_FILE: u32 = 2;
/// A file was removed. Its path follows.
pub const NOTE_REMOVED: u32 = 3;
/// The run has made another process of itself. Told once.
pub const NOTE_FORKED: u32 = 4;
/// A step before the run failed: error number `value`.
pub const NOTE_FAILED: u32 = 5;

/// A process of a run begins, with a keeper: one that the run has made of itself or, if `value` is 1, one that has executed
/// another program.
pub const NOTE_CHILD: u32 = 6;
/// A process that a run has made of itself could not be kept: what it counts is lost.
pub const NOTE_UNKEPT: u32 = 7;
/// The run executes another program, or has one executed.
pub const NOTE_EXECUTED: u32 = 8;
/// That has failed.
pub const NOTE_NOT_EXECUTED: u32 = 9;
/// A program that was executed begins, and the shim with it.
pub const NOTE_ARRIVED: u32 = 10;
/// A process could not execute a program, and gcov may now set its counters back to zero: `keeper` keeps a copy of the memory
/// that the one in `process` keeps. `value` as for [`NOTE_CHILD`].
pub const NOTE_COPY: u32 = 11;

/// A process waits for a keeper: there are as many processes as there may be, and those that have ended are to be let go.
pub const NOTE_CROWDED: u32 = 12;
/// A library is unloaded that has counters; the text is the path of its data file.
pub const NOTE_UNLOADED: u32 = 13;

/// What the `value` of [`NOTE_CHILD`] says: a process that the run has forked, a program that it has executed, or a process that
/// such a program has forked.
pub const CHILD_FORKED: u32 = 0;
/// See [`CHILD_FORKED`].
pub const CHILD_EXECUTED: u32 = 1;
/// See [`CHILD_FORKED`].
pub const CHILD_OF_EXECUTED: u32 = 2;

const _: () = assert!(size_of::<Config>() == 24 + PATH_LIMIT);
const _: () = assert!(size_of::<Request>() == 56);
const _: () = assert!(size_of::<Event>() == 64);
const _: () = assert!(size_of::<Note>() == 16);
