//! Looking into a program: can Hearth find its gcov counters?

use std::fs::File;
use std::path::Path;

use crate::elf::{ElfError, ElfFile, FileType, Symbol, SymbolKind};
use crate::error::{AtPath, Error, Result};

/// What a usable program says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstrumentedProgram {
    /// The compiler named in its `.comment` section.
    pub compiler: Option<String>,
}

/// Checks that `path` is an ELF executable with a symbol table and gcov's run-time in it.
pub fn inspect(path: &Path) -> Result<InstrumentedProgram> {
    let path_buf = || path.to_path_buf();
    let file = File::open(path).at("read", path)?;
    match examine(file) {
        Ok(Fact::Instrumented(program)) => Ok(program),
        Ok(Fact::Uninstrumented) => Err(Error::NotInstrumented { path: path_buf() }),
        Ok(Fact::Stripped) => Err(Error::Stripped { path: path_buf() }),
        Ok(Fact::Other(reason)) => Err(Error::NotExecutable { path: path_buf(), reason }),
        Err(ElfError::Unreadable(error)) => Err(error).at("read", path),
        Err(problem) => Err(Error::NotExecutable { path: path_buf(), reason: problem.to_string() }),
    }
}

enum Fact {
    Other(String),
    Stripped,
    Uninstrumented,
    Instrumented(InstrumentedProgram),
}

fn examine(file: File) -> Result<Fact, ElfError> {
    let elf = ElfFile::new(file)?;
    match elf.file_type() {
        FileType::Program => {}
        FileType::Library => return Ok(Fact::Other("it is a shared library".into())),
        FileType::Object => return Ok(Fact::Other("it is an object file".into())),
        FileType::Other(number) => return Ok(Fact::Other(format!("its ELF type is {number}"))),
    }
    let sections = elf.sections()?;
    let symbols = sections.symbols(SymbolKind::All)?;
    if symbols.is_empty() {
        return Ok(Fact::Stripped);
    }
    // Hidden in the program when libgcov is linked statically, as gcc does.
    let is_runtime = |symbol: Symbol<'_>| symbol.is_named(b"__gcov_root") || symbol.is_named(b"__gcov_init");
    if !symbols.defined().any(is_runtime) {
        return Ok(Fact::Uninstrumented);
    }
    let compiler = sections.named(b".comment").and_then(|data| first_text(&data));
    Ok(Fact::Instrumented(InstrumentedProgram { compiler }))
}

/// The first of the NUL-separated texts in a `.comment` section.
fn first_text(data: &[u8]) -> Option<String> {
    let text = data.split(|&byte| byte == 0).find(|text| !text.is_empty())?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn examine_bytes(bytes: &[u8]) -> Result<Fact, ElfError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        examine(file.into_file())
    }

    fn reason(bytes: &[u8]) -> String {
        examine_bytes(bytes).err().map(|problem| problem.to_string()).unwrap_or_default()
    }

    #[test]
    fn other_files_are_named() {
        assert!(reason(b"").contains("ELF magic"));
        assert!(reason(b"#!/bin/sh\n").contains("ELF magic"));
        assert!(reason(b"\x7fELF\x01\x01\x01").contains("64-bit"));
    }

    #[test]
    fn the_test_itself_is_a_program_without_gcov() {
        let path = std::env::current_exe().unwrap();
        assert!(matches!(inspect(&path), Err(Error::NotInstrumented { .. })));
    }

    #[test]
    fn damaged_programs_do_not_panic() {
        let mut bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
        bytes.truncate(4096);
        let _ = examine_bytes(&bytes);
        for position in 4..64 {
            let saved = std::mem::replace(&mut bytes[position], 0xff);
            let _ = examine_bytes(&bytes);
            bytes[position] = saved;
        }
    }
}
