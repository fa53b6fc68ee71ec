//! What is found on the machine: the assembler, the linkers and the C library.

use crate::error::{Error, Result};
use std::process::Command;

/// The machine's name among directories of headers and libraries.
pub const MULTIARCH: &str = "x86_64-linux-gnu";

/// The path of a tool.
pub fn path_of(tool: &str) -> Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(tool)).find(|path| path.is_file());
    let found = found.ok_or_else(|| Error::NoTool(tool.to_owned()))?;
    Ok(found.display().to_string())
}

/// The assembler's arguments.
pub fn assemble_arguments() -> Vec<String> {
    ["--64", "{}", "-o", "output.o"].map(str::to_owned).to_vec()
}

/// The linker's arguments: everything but the program comes first, except archives, which are looked at only for
/// what is missing so far. The compiler may have one of its own.
pub fn link_arguments(own: Option<String>) -> Result<Vec<String>> {
    let mut arguments =
        ["-m", "elf_x86_64", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", "-o", "output"]
            .map(str::to_owned)
            .to_vec();
    for name in ["crt1.o", "crti.o", "crtbegin.o", "libc.so.6", "libm.so.6"] {
        arguments.push(library(name)?);
    }
    arguments.push("{}".to_owned());
    arguments.extend(own);
    for name in ["libc_nonshared.a", "libgcc.a", "crtend.o", "crtn.o"] {
        arguments.push(library(name)?);
    }
    Ok(arguments)
}

/// The path of a part of the C library.
fn library(name: &str) -> Result<String> {
    let answer = Command::new("gcc").arg(format!("-print-file-name={name}")).output();
    let path = String::from_utf8_lossy(&answer.map_err(Error::NoDriver)?.stdout).trim().to_owned();
    match path.starts_with('/') {
        true => Ok(path),
        false => Err(Error::NoLibrary(name.to_owned())),
    }
}
