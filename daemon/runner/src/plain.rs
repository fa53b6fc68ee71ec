//! A plain run of what a zygote would be, to compare with.

use crate::binary_layout;
use crate::zygote::ZygoteKey;
use command_fds::{CommandFdExt, FdMapping};
use hearth_sandbox::launched::{environment, fix_addresses};
use hearth_sandbox::shim;
use hearth_shim_abi::{INACTIVE, SHIM_FD};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A plain run, laid out in memory as the zygote is: the shim is loaded and stays
/// inactive, addresses are fixed, and arguments and environment are as long.
///
/// # Errors
/// If there is no memory for the shim.
pub fn plain_command(key: &ZygoteKey) -> io::Result<Command> {
    let program = binary_layout::inspect(&key.binary, None).map_err(io::Error::other)?;
    let first_library = program.first_library;
    let mut command = Command::new(&key.binary);
    // SAFETY: the function makes one system call, which is all that may be done there.
    unsafe { command.pre_exec(fix_addresses) };
    command
        .arg0(key.arguments.first().map_or(key.binary.as_os_str(), |name| name))
        .args(key.arguments.iter().skip(1))
        .env_clear()
        .envs(environment(&key.environment, INACTIVE, first_library.as_deref()))
        .current_dir(&key.directory)
        .fd_mappings(vec![FdMapping { parent_fd: shim::file()?.into(), child_fd: SHIM_FD }])
        .map_err(io::Error::other)?;
    Ok(command)
}
