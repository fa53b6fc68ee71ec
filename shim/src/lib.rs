//! The library Hearth preloads into a subject: it waits at the warm point, forks runs, and keeps the files
//! they write in memory.
//!
//! Rules for everything here: after the warm point nothing is allocated and the subject's own C library is
//! asked for nothing that may allocate or lock (`sys/allocator.rs` ends the process if the rule is broken).
//! System calls are made directly. A run's memory is the subject's to scribble over, so nothing is read back
//! from it here: the daemon takes the counters from outside, through the keeper (`serve/keeper.rs`).

mod files;
mod serve;
mod start;
mod sys;
