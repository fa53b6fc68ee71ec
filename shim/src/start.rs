//! How the shim gets into a process, and the process to its warm point.

pub mod config;
pub mod elf;
pub mod environment;
pub mod hook;
pub mod main;
pub mod real;
pub mod residue;
