//! What a run tells the daemon.

use bytemuck::{Pod, Zeroable};

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

/// A process of a run begins, with a keeper; `value` says what it is: [`CHILD_FORKED`] and those beside it.
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
/// A process that a run has made, or a program that it has executed, has written its data files for a second time: it has set
/// its counters back to zero in between.
pub const NOTE_RESET: u32 = 14;

/// What the `value` of [`NOTE_CHILD`] says: a process that the run has forked, a program that it has executed, or a process that
/// such a program has forked.
pub const CHILD_FORKED: u32 = 0;
/// See [`CHILD_FORKED`].
pub const CHILD_EXECUTED: u32 = 1;
/// See [`CHILD_FORKED`].
pub const CHILD_OF_EXECUTED: u32 = 2;

const _: () = assert!(size_of::<Note>() == 16);
