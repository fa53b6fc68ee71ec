//! The library Hearth preloads into a subject: it waits at the warm point, forks runs, and keeps the files
//! they write in memory.
//!
//! Rules for everything here: after the warm point nothing is allocated and the subject's own C library is
//! asked for nothing that may allocate or lock (the allocator below ends the process if the rule is broken).
//! System calls are made directly. A run's memory is the subject's to scribble over, so nothing is read back
//! from it here: the daemon takes the counters from outside, through the keeper (`run.rs`).

mod allocator;
mod closing;
mod cores;
mod descriptors;
mod elf;
mod executed;
mod files;
mod hook;
mod interpose;
mod keeper;
mod large_pages;
mod message;
mod path;
mod processes;
mod real;
mod residue;
mod run;
mod server;
mod standby;
mod start;
mod sys;
