//! Looking into an ELF program: can Hearth find its gcov counters?

use std::fs;
use std::path::Path;

use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};

use crate::error::{AtPath, Error, Result};

type Header = elf::FileHeader64<object::Endianness>;

/// What a usable program says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The compiler named in its `.comment` section.
    pub compiler: Option<String>,
}

/// Checks that `path` is an ELF executable with a symbol table and gcov's run-time in it.
pub fn inspect(path: &Path) -> Result<Program> {
    let bytes = fs::read(path).at("read", path)?;
    let fact = examine(&bytes).map_err(|reason| Error::NotExecutable { path: path.to_path_buf(), reason })?;
    match fact {
        Fact::Stripped => Err(Error::Stripped { path: path.to_path_buf() }),
        Fact::Uninstrumented => Err(Error::NotInstrumented { path: path.to_path_buf() }),
        Fact::Instrumented(program) => Ok(program),
    }
}

enum Fact {
    Stripped,
    Uninstrumented,
    Instrumented(Program),
}

fn examine(bytes: &[u8]) -> Result<Fact, String> {
    if !bytes.starts_with(&elf::ELFMAG) {
        return Err("it does not start with the ELF magic".into());
    }
    let header = Header::parse(bytes).map_err(|_| "it is not a 64-bit ELF file".to_string())?;
    let broken = |error: object::Error| format!("its headers are damaged: {error}");
    let endian = header.endian().map_err(broken)?;
    match header.e_type(endian) {
        elf::ET_EXEC => {}
        // A position-independent program and a shared library differ in having an entry point.
        elf::ET_DYN if header.e_entry(endian) != 0 => {}
        elf::ET_DYN => return Err("it is a shared library".into()),
        elf::ET_REL => return Err("it is an object file".into()),
        other => return Err(format!("its ELF type is {other}")),
    }
    let sections = header.sections(endian, bytes).map_err(broken)?;
    let symbols = sections.symbols(endian, bytes, elf::SHT_SYMTAB).map_err(broken)?;
    if symbols.is_empty() {
        return Ok(Fact::Stripped);
    }
    // Hidden in the program when libgcov is linked statically, as gcc does.
    let runtime = symbols.iter().any(|symbol| {
        let defined = symbol.st_shndx(endian) != elf::SHN_UNDEF;
        defined && matches!(symbol.name(endian, symbols.strings()), Ok(b"__gcov_root" | b"__gcov_init"))
    });
    if !runtime {
        return Ok(Fact::Uninstrumented);
    }
    let comment = sections.iter().find(|section| sections.section_name(endian, section) == Ok(b".comment"));
    let compiler = comment.and_then(|section| first_text(section.data(endian, bytes).ok()?));
    Ok(Fact::Instrumented(Program { compiler }))
}

/// The first of the NUL-separated texts in a `.comment` section.
fn first_text(data: &[u8]) -> Option<String> {
    let text = data.split(|&byte| byte == 0).find(|text| !text.is_empty())?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(bytes: &[u8]) -> String {
        examine(bytes).err().unwrap_or_default()
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
        let _ = examine(&bytes);
        for position in 4..64 {
            let saved = std::mem::replace(&mut bytes[position], 0xff);
            let _ = examine(&bytes);
            bytes[position] = saved;
        }
    }
}
