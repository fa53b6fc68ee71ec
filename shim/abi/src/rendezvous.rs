//! Where shim and daemon find each other: variables, descriptors, paths.

use core::ffi::CStr;

/// The environment variable that names the control socket's descriptor; [`INACTIVE`] makes the shim stay out
/// of the way. The shim takes it, and what else Hearth added, out of the environment before `main`.
pub const CONTROL_VARIABLE: &str = "HEARTH_CONTROL";
/// As long as a descriptor's number, so that an inactive shim leaves the stack where an active one has it.
pub const INACTIVE: &str = "off";
/// What the shim finds there in a program that a run has executed; as long as the others, too.
pub const EXECUTED: &str = "run";
/// Environment variables that are Hearth's, not the subject's.
pub const OWN_VARIABLES: [&str; 3] = ["LD_PRELOAD", "LD_BIND_NOW", CONTROL_VARIABLE];

/// The control socket's descriptor in a zygote.
pub const CONTROL_FD: i32 = 200;
/// The descriptor the shim itself is loaded from.
pub const SHIM_FD: i32 = 201;
/// The channel's descriptor in a run, also in programs that it executes.
pub const CHANNEL_FD: i32 = 700;
/// The descriptors of the shim in a run are this and above, out of the subject's way.
pub const FIRST_OWN_FD: i32 = 701;

/// Where programs that a run executes find the shim. As long as the path by which a subject does.
pub const SHIM_PATH: &str = "/dev/hearth-sh.so";
/// Where a process finds the file of its own program.
pub const PROGRAM_PATH: &CStr = c"/proc/self/exe";
/// A run that opens this path gets a `SIGSEGV`: what a program does only because it crashes can be seen in a run that would not.
pub const CRASH_PATH: &str = "/dev/hearth-crash";
