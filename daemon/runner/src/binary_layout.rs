//! What the daemon needs to know of a program's file before it starts it, and of libraries it has loaded.

use crate::error::{Error, ProgramProblem, Result};
use hearth_coverage::demangle::demangle;
use hearth_subject::elf::{self, ElfFile, Segments, Symbol, SymbolKind};
use std::fs::File;
use std::path::Path;

/// The address sanitizer's run-time, as GCC links it.
const SANITIZER: &str = "libasan.so";

/// A program or library: where things are in its file's address space.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BinaryLayout {
    /// Does it name a loader? A static program does not.
    pub has_loader: bool,
    /// Does it have a symbol table?
    pub has_symbols: bool,
    /// The lowest address, of the first page.
    pub first_address: u64,
    /// gcov's list of objects.
    pub gcov_root: Option<u64>,
    /// Does it have gcov's own fork, by which counters begin anew in a process that is made?
    pub has_gcov_fork: bool,
    /// The function asked for.
    pub function: Option<u64>,
    /// A library that refuses to be loaded after any other: the address sanitizer's run-time.
    pub first_library: Option<String>,
}

/// Looks into a file; `function` is the name of one to find.
///
/// # Errors
/// If it is no ELF file for this machine.
pub fn inspect(path: &Path, function: Option<&str>) -> Result<BinaryLayout> {
    let at = |problem| Error::Program { path: path.to_owned(), problem };
    let file = File::open(path).map_err(|error| at(ProgramProblem::Unreadable(error)))?;
    examine(file, function.map(str::as_bytes)).map_err(|problem| at(ProgramProblem::Foreign(problem)))
}

/// Looks into a program that is to be kept warm. The function may also be a library's.
///
/// # Errors
/// If it cannot be.
pub fn inspect_for_warming(path: &Path, function: Option<&str>) -> Result<BinaryLayout> {
    let program = inspect(path, function)?;
    match program.has_loader {
        true => Ok(program),
        false => Err(Error::Program { path: path.to_owned(), problem: ProgramProblem::Static }),
    }
}

impl BinaryLayout {
    /// Where an address of the file is if the file is mapped from `start` on.
    #[must_use]
    pub fn address(&self, in_file: u64, start: u64) -> u64 {
        start.wrapping_sub(self.first_address).wrapping_add(in_file)
    }

    /// Why a function is found neither here nor in a library.
    #[must_use]
    pub fn lacks(&self, function: &str) -> ProgramProblem {
        match self.has_symbols {
            true => ProgramProblem::NoSymbol(function.to_owned()),
            false => ProgramProblem::Stripped { what: format!("the function `{function}`") },
        }
    }

    /// Takes note of a symbol that is looked for.
    fn take_symbol(&mut self, symbol: Symbol<'_>, function: Option<&[u8]>) {
        if symbol.is_named(b"__gcov_root") {
            self.gcov_root = Some(symbol.value);
        } else if symbol.is_named(b"__gcov_fork") {
            self.has_gcov_fork = true;
        } else if symbol.is_function && function.is_some_and(|wanted| is_known_as(symbol, wanted)) {
            self.function = Some(symbol.value);
        }
    }
}

fn examine(file: File, function: Option<&[u8]>) -> std::result::Result<BinaryLayout, &'static str> {
    let elf = ElfFile::new(file).map_err(|_| "it is not a 64-bit ELF file")?;
    if !elf.is_x86_64() {
        return Err("it is for another processor");
    }
    facts(&elf, function).map_err(|_| "its headers are damaged")
}

fn facts(elf: &ElfFile, function: Option<&[u8]>) -> elf::Result<BinaryLayout> {
    let Segments { has_loader, first_address } = elf.segments()?;
    let sections = elf.sections()?;
    let first_library =
        sections.needed_libraries()?.into_iter().find(|library| library.starts_with(SANITIZER));
    let symbols = sections.symbols(SymbolKind::All)?;
    let has_symbols = !symbols.is_empty();
    let mut program =
        BinaryLayout { has_loader, has_symbols, first_address, first_library, ..BinaryLayout::default() };
    symbols.defined().for_each(|symbol| program.take_symbol(symbol, function));
    // A library that was stripped has those left that it is linked by.
    if function.is_some() && program.function.is_none() {
        let symbols = sections.symbols(SymbolKind::Dynamic)?;
        symbols.defined().for_each(|symbol| program.take_symbol(symbol, function));
    }
    Ok(program)
}

/// Is a function known by this name, as it is or, in C++, as people write it without its parameters?
fn is_known_as(symbol: Symbol<'_>, wanted: &[u8]) -> bool {
    if symbol.is_named(wanted) {
        return true;
    }
    if !symbol.begins_with(b"_Z") {
        return false;
    }
    // The last part of a qualified name stands in the mangled one as it is.
    let (mangled, last) = (symbol.name(), wanted.rsplit(|&byte| byte == b':').next().unwrap_or(wanted));
    if !mangled.windows(last.len()).any(|part| part == last) {
        return false;
    }
    let mut readable = Vec::new();
    demangle(mangled, &mut readable);
    readable.split(|&byte| byte == b'(').next() == Some(wanted)
}
