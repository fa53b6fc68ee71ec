//! What the daemon needs to know of a program's file before it starts it, and of libraries it has loaded.

use crate::error::{Error, ProgramProblem, Result};
use hearth_coverage::demangle::demangle;
use object::elf;
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};
use std::fs::File;
use std::path::Path;

type Header = elf::FileHeader64<object::Endianness>;
type Symbol = elf::Sym64<object::Endianness>;

/// The address sanitizer's run-time, as GCC links it.
const SANITIZER: &str = "libasan.so";

/// A program or library: where things are in its file's address space.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
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
pub fn inspect(path: &Path, function: Option<&str>) -> Result<Program> {
    let at = |problem| Error::Program { path: path.to_owned(), problem };
    let file = File::open(path).map_err(|error| at(ProgramProblem::Unreadable(error)))?;
    let data = ReadCache::new(file);
    examine(&data, function.map(str::as_bytes)).map_err(|problem| at(ProgramProblem::Foreign(problem)))
}

/// Looks into a program that is to be kept warm. The function may also be a library's.
///
/// # Errors
/// If it cannot be.
pub fn inspect_for_warming(path: &Path, function: Option<&str>) -> Result<Program> {
    let program = inspect(path, function)?;
    match program.has_loader {
        true => Ok(program),
        false => Err(Error::Program { path: path.to_owned(), problem: ProgramProblem::Static }),
    }
}

impl Program {
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
    fn take_symbol(
        &mut self,
        symbol: &Symbol,
        endian: object::Endianness,
        names: &[u8],
        function: Option<&[u8]>,
    ) {
        let Some(name) = names.get(symbol.st_name(endian) as usize..) else { return };
        let Some(name) = name.split(|&byte| byte == 0).next() else { return };
        if name == b"__gcov_root" {
            self.gcov_root = Some(symbol.st_value(endian));
        } else if name == b"__gcov_fork" {
            self.has_gcov_fork = true;
        } else if symbol.st_type() == elf::STT_FUNC && function.is_some_and(|wanted| is_named(name, wanted)) {
            self.function = Some(symbol.st_value(endian));
        }
    }
}

fn examine(data: &ReadCache<File>, function: Option<&[u8]>) -> std::result::Result<Program, &'static str> {
    let header = Header::parse(data).map_err(|_| "it is not a 64-bit ELF file")?;
    let endian = header.endian().map_err(|_| "its byte order is unknown")?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Err("it is for another processor");
    }
    let damaged = |_| "its headers are damaged";
    let mut program = Program { first_address: u64::MAX, ..Program::default() };
    for segment in header.program_headers(endian, data).map_err(damaged)? {
        match segment.p_type(endian) {
            elf::PT_INTERP => program.has_loader = true,
            elf::PT_LOAD => {
                program.first_address = program.first_address.min(segment.p_vaddr(endian) & !0xfff)
            }
            _ => {}
        }
    }
    let sections = header.sections(endian, data).map_err(damaged)?;
    if let Some((entries, strings)) = sections.dynamic(endian, data).map_err(damaged)? {
        let strings = sections.strings(endian, data, strings).map_err(damaged)?;
        let needed = entries.iter().filter(|entry| entry.tag32(endian) == Some(elf::DT_NEEDED));
        let names = needed.filter_map(|entry| strings.get(entry.val32(endian)?).ok());
        let names = names.filter_map(|name| std::str::from_utf8(name).ok());
        program.first_library = names.filter(|name| name.starts_with(SANITIZER)).map(str::to_owned).next();
    }
    let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB).map_err(damaged)?;
    program.has_symbols = !symbols.is_empty();
    // A library that was stripped has those left that it is linked by.
    let others = match function {
        Some(_) => Some(sections.symbols(endian, data, elf::SHT_DYNSYM).map_err(damaged)?),
        None => None,
    };
    for symbols in [Some(symbols), others].into_iter().flatten() {
        // All names in one read: one by one they would take a second.
        let names = match sections.section(symbols.string_section()) {
            Ok(section) => section.data(endian, data).map_err(damaged)?,
            Err(_) => &[],
        };
        let defined = symbols.iter().filter(|symbol| symbol.st_shndx(endian) != elf::SHN_UNDEF);
        for symbol in defined {
            program.take_symbol(symbol, endian, names, function);
        }
        if program.function.is_some() {
            break;
        }
    }
    Ok(program)
}

/// Is a function known by this name, as it is or, in C++, as people write it without its parameters?
fn is_named(symbol: &[u8], wanted: &[u8]) -> bool {
    if symbol == wanted {
        return true;
    }
    // The last part of a qualified name stands in the mangled one as it is.
    let last = wanted.rsplit(|&byte| byte == b':').next().unwrap_or(wanted);
    if !symbol.starts_with(b"_Z") || !symbol.windows(last.len()).any(|part| part == last) {
        return false;
    }
    let mut readable = Vec::new();
    demangle(symbol, &mut readable);
    readable.split(|&byte| byte == b'(').next() == Some(wanted)
}
