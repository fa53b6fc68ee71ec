//! What happens from the warm point on: the zygote serves, and each run, with the processes and programs that it starts, is
//! kept for the daemon to read.

pub mod channel;
pub mod cores;
pub mod executed;
pub mod executing;
pub mod keeper;
pub mod large_pages;
pub mod libraries;
pub mod processes;
pub mod run;
pub mod server;
pub mod standby;
