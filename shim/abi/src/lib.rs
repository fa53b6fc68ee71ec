//! The contract between the shim and the daemon: messages on two sockets, nothing else.
//!
//! The control socket joins the daemon and a zygote. The daemon sends one [`Config`], then [`ZygoteRequest`]s; the
//! zygote answers with [`Event`]s. The channel joins the daemon and one run, which sends [`Note`]s; it may be
//! written to by whatever the run executes, so the daemon trusts nothing that comes from it.
//!
//! Every message is one packet of a `SOCK_SEQPACKET` socket: a fixed head, and for some kinds text behind it.
//! Shim and daemon are built together; [`VERSION`] is a check against a shim that was left over.
//!
//! ```
//! use hearth_shim_abi::{NOTE_REMOVED, Note};
//!
//! // A packet that says that a file was removed: the head, and the file's path.
//! let note = Note { kind: NOTE_REMOVED, ..Note::default() };
//! let packet = [bytemuck::bytes_of(&note), b"/tmp/a.o"].concat();
//!
//! let (head, path) = packet.split_at(size_of::<Note>());
//! assert_eq!(bytemuck::pod_read_unaligned::<Note>(head), note);
//! assert_eq!(path, b"/tmp/a.o");
//! ```

#![no_std]
#![forbid(unsafe_code)]

mod config;
mod event;
#[cfg(test)]
mod layout;
mod limit;
mod note;
mod rendezvous;
mod request;

pub use config::{Config, WARM_INPUT, WARM_MAIN, WARM_SYMBOL};
pub use event::{
    EARLY_INPUT, EARLY_PID, EARLY_PROCESSES, EARLY_SHARED, EARLY_STDIN, EVENT_CLEARED, EVENT_ENDED,
    EVENT_FORKED, EVENT_MAPPED, EVENT_MISSED, EVENT_NO_HOOK, EVENT_NOT_FORKED, EVENT_THREADS, EVENT_WARM,
    Event, UNREAD_TIME_S,
};
pub use limit::{ARGUMENT_LIMIT, EXPECTED_LIMIT, FILE_LIMIT, NOTE_LIMIT, PATH_LIMIT, REQUEST_LIMIT};
pub use note::{
    CHILD_EXECUTED, CHILD_FORKED, CHILD_OF_EXECUTED, NOTE_ARRIVED, NOTE_BEGIN, NOTE_CHILD, NOTE_COPY,
    NOTE_CROWDED, NOTE_EXECUTED, NOTE_FAILED, NOTE_FILE, NOTE_FORKED, NOTE_NOT_EXECUTED, NOTE_REMOVED,
    NOTE_RESET, NOTE_UNKEPT, NOTE_UNLOADED, Note,
};
pub use rendezvous::{
    CHANNEL_FD, CONTROL_FD, CONTROL_VARIABLE, CRASH_PATH, EXECUTED, FIRST_OWN_FD, INACTIVE, OWN_VARIABLES,
    PROGRAM_PATH, SHIM_FD, SHIM_PATH,
};
pub use request::{
    OBSERVE_COUNTERS, OBSERVE_NOTHING, PAGE_SHIFT, REQUEST_CLEAR, REQUEST_EXPECT, REQUEST_KILL, REQUEST_MARK,
    REQUEST_RUN, REQUEST_WAIT_AT, ZygoteRequest,
};

/// Changes with anything in this crate.
pub const VERSION: u32 = 9;
