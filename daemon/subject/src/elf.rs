//! Reading ELF files: what the headers, sections and symbols of a program or library say.
//!
//! Only what is asked for is read, each table in one go: a compiler has a hundred megabytes, and its names, read one by one,
//! would take a second. Files are read, not mapped: one that is cut short meanwhile is to be an error, not a signal.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use goblin::container::{Container, Ctx};
use goblin::elf::Elf;
use goblin::elf::header::{self, Header};
use goblin::elf::program_header::{PT_INTERP, PT_LOAD, ProgramHeader};
use goblin::elf::section_header::{SHN_XINDEX, SectionHeader};
use scroll::Pread;

mod sections;
mod symbols;

pub use sections::Sections;
pub use symbols::{Symbol, SymbolKind, Symbols};

/// What `e_phnum` is if there are more program headers than it can tell.
const MANY_SEGMENTS: u16 = 0xffff;
/// Pages begin at multiples of this.
const PAGE_BYTES: u64 = 0x1000;
/// The result of looking into an ELF file.
pub type Result<T, E = ElfError> = std::result::Result<T, E>;

/// Why an ELF file could not be looked into.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is something else.
    #[error("it does not start with the ELF magic")]
    NoElf,
    /// It is for machines of another kind.
    #[error("it is not a 64-bit ELF file")]
    Foreign,
    /// It does not hold what its headers say.
    #[error("its headers are damaged: {0}")]
    Damaged(&'static str),
}

/// A 64-bit ELF file of any processor and either byte order.
#[derive(Debug)]
pub struct ElfFile {
    file: File,
    length_bytes: u64,
    header: Header,
    context: Ctx,
}

/// What kind of file an ELF file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A program.
    Program,
    /// A shared library.
    Library,
    /// An object file.
    Object,
    /// Something else, with this number.
    Other(u16),
}

/// What the loader is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Is a loader named? A static program names none.
    pub has_loader: bool,
    /// The lowest address, of the first page; the greatest number if nothing is loaded.
    pub first_address: u64,
}

impl ElfFile {
    /// Reads the header.
    ///
    /// # Errors
    /// If the file cannot be read, or is no 64-bit ELF file.
    pub fn new(file: File) -> Result<ElfFile> {
        let length_bytes = file.metadata().map_err(ElfError::Unreadable)?.len();
        let mut bytes = [0; header::header64::SIZEOF_EHDR];
        let length = read_beginning(&file, &mut bytes).map_err(ElfError::Unreadable)?;
        let bytes = &bytes[..length];
        if !bytes.starts_with(header::ELFMAG) {
            return Err(ElfError::NoElf);
        }
        let ident = bytes.get(..header::SIZEOF_IDENT).ok_or(ElfError::Foreign)?;
        let has_order = matches!(ident[header::EI_DATA], header::ELFDATA2LSB | header::ELFDATA2MSB);
        if ident[header::EI_CLASS] != header::ELFCLASS64
            || ident[header::EI_VERSION] != header::EV_CURRENT
            || !has_order
        {
            return Err(ElfError::Foreign);
        }
        let header = Elf::parse_header(bytes).map_err(|_| ElfError::Foreign)?;
        let order = header.endianness().map_err(|_| ElfError::Foreign)?;
        Ok(ElfFile { file, length_bytes, header, context: Ctx::new(Container::Big, order) })
    }

    /// What kind of file it is.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        match self.header.e_type {
            header::ET_EXEC => FileType::Program,
            // A position-independent program and a shared library differ in having an entry point.
            header::ET_DYN if self.header.e_entry != 0 => FileType::Program,
            header::ET_DYN => FileType::Library,
            header::ET_REL => FileType::Object,
            other => FileType::Other(other),
        }
    }

    /// Is it for x86-64?
    #[must_use]
    pub fn is_x86_64(&self) -> bool {
        self.header.e_machine == header::EM_X86_64
    }

    /// Reads what the loader is told.
    ///
    /// # Errors
    /// If the headers are damaged.
    pub fn segments(&self) -> Result<Segments> {
        let mut segments = Segments { has_loader: false, first_address: u64::MAX };
        for segment in self.program_headers()? {
            match segment.p_type {
                PT_INTERP => segments.has_loader = true,
                PT_LOAD => {
                    let page = segment.p_vaddr & !(PAGE_BYTES - 1);
                    segments.first_address = segments.first_address.min(page);
                }
                _ => {}
            }
        }
        Ok(segments)
    }

    /// Reads the list of sections.
    ///
    /// # Errors
    /// If the headers are damaged.
    pub fn sections(&self) -> Result<Sections<'_>> {
        let headers = self.section_headers()?;
        if headers.is_empty() {
            return Ok(Sections { elf: self, headers, names: 0 });
        }
        let names = match u32::from(self.header.e_shstrndx) {
            SHN_XINDEX => headers[0].sh_link as usize,
            index => index as usize,
        };
        match names {
            0 => Err(ElfError::Damaged("Missing ELF e_shstrndx")),
            _ if names >= headers.len() => Err(ElfError::Damaged("Invalid ELF e_shstrndx")),
            _ => Ok(Sections { elf: self, headers, names }),
        }
    }

    fn program_headers(&self) -> Result<Vec<ProgramHeader>> {
        let Header { e_phoff: offset, e_phnum: count, e_phentsize: size, .. } = self.header;
        let count = match count {
            _ if offset == 0 => 0,
            MANY_SEGMENTS => {
                let first = self.first_section()?;
                let missing = ElfError::Damaged("Missing ELF section headers for e_phnum overflow");
                u64::from(first.ok_or(missing)?.sh_info)
            }
            count => u64::from(count),
        };
        if count == 0 {
            return Ok(Vec::new());
        }
        if usize::from(size) != ProgramHeader::size(self.context) {
            return Err(ElfError::Damaged("Invalid ELF program header entry size"));
        }
        let damaged = "Invalid ELF program header size or alignment";
        let bytes = self.read(offset, count.saturating_mul(u64::from(size)), damaged)?;
        ProgramHeader::parse(&bytes, 0, count as usize, self.context).map_err(|_| ElfError::Damaged(damaged))
    }

    fn section_headers(&self) -> Result<Vec<SectionHeader>> {
        let Header { e_shoff: offset, e_shnum: count, e_shentsize: size, .. } = self.header;
        let count = match count {
            0 => self.first_section()?.map_or(0, |first| first.sh_size),
            count => u64::from(count),
        };
        if offset == 0 || count == 0 {
            return Ok(Vec::new());
        }
        self.check_section_size()?;
        let damaged = "Invalid ELF section header offset/size/alignment";
        let bytes = self.read(offset, count.saturating_mul(u64::from(size)), damaged)?;
        SectionHeader::parse_from(&bytes, 0, count as usize, self.context)
            .map_err(|_| ElfError::Damaged(damaged))
    }

    /// The first section header, which holds the numbers that are too large for the file's header.
    fn first_section(&self) -> Result<Option<SectionHeader>> {
        if self.header.e_shoff == 0 {
            return Ok(None);
        }
        self.check_section_size()?;
        let damaged = "Invalid ELF section header offset or size";
        let bytes = self.read(self.header.e_shoff, SectionHeader::size(self.context) as u64, damaged)?;
        bytes.pread_with(0, self.context).map(Some).map_err(|_| ElfError::Damaged(damaged))
    }

    fn check_section_size(&self) -> Result<()> {
        match usize::from(self.header.e_shentsize) == SectionHeader::size(self.context) {
            true => Ok(()),
            false => Err(ElfError::Damaged("Invalid ELF section header entry size")),
        }
    }

    /// Reads a part of the file. What is not in it is not asked for: a damaged header must not take all memory.
    fn read(&self, offset: u64, size_bytes: u64, damaged: &'static str) -> Result<Vec<u8>> {
        let is_inside = offset.checked_add(size_bytes).is_some_and(|end| end <= self.length_bytes);
        let size = usize::try_from(size_bytes).ok().filter(|_| is_inside);
        let mut bytes = vec![0; size.ok_or(ElfError::Damaged(damaged))?];
        self.file.read_exact_at(&mut bytes, offset).map_err(ElfError::Unreadable)?;
        Ok(bytes)
    }
}

/// Reads as much of a file's beginning as there is.
fn read_beginning(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// The text that begins at `offset` and ends before a NUL.
fn text_at(names: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = names.get(offset..)?;
    Some(&rest[..memchr::memchr(0, rest)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn this_program() -> Vec<u8> {
        fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    fn file_of(bytes: &[u8]) -> File {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        file.into_file()
    }

    #[test]
    fn a_program_tells_its_symbols_libraries_and_sections() {
        let elf = ElfFile::new(File::open(std::env::current_exe().unwrap()).unwrap()).unwrap();
        assert_eq!(elf.file_type(), FileType::Program);
        let segments = elf.segments().unwrap();
        assert!(segments.has_loader && segments.first_address < u64::MAX, "{segments:?}");
        let sections = elf.sections().unwrap();
        let libraries = sections.needed_libraries().unwrap();
        assert!(libraries.iter().any(|library| library.starts_with("libc.so")), "{libraries:?}");
        assert!(!sections.named(b".comment").unwrap().is_empty());
        assert_eq!(sections.named(b".no-such-section"), None);
        let symbols = sections.symbols(SymbolKind::All).unwrap();
        let main = symbols.defined().find(|symbol| symbol.is_named(b"main")).unwrap();
        assert!(main.is_function && main.value != 0 && main.name() == b"main", "{main:?}");
        assert!(main.begins_with(b"ma") && !main.is_named(b"mai") && !main.is_named(b"main2"));
        let linked = sections.symbols(SymbolKind::Dynamic).unwrap();
        assert!(!linked.is_empty() && linked.defined().all(|symbol| symbol.name() != b"malloc"));
    }

    #[test]
    fn files_for_other_machines_are_told_apart() {
        let bytes = this_program();
        let table: [(usize, u8, &str); 4] = [
            (header::EI_CLASS, header::ELFCLASS32, "64-bit"),
            (header::EI_DATA, 0, "64-bit"),
            (header::EI_VERSION, 0, "64-bit"),
            (0, b'M', "ELF magic"),
        ];
        for (position, value, expected) in table {
            let mut bytes = bytes[..4096].to_vec();
            bytes[position] = value;
            let problem = ElfFile::new(file_of(&bytes)).unwrap_err().to_string();
            assert!(problem.contains(expected), "{position}: {problem}");
        }
        for length in [4, 15, 16, 63] {
            assert!(matches!(ElfFile::new(file_of(&bytes[..length])), Err(ElfError::Foreign)), "{length}");
        }
    }

    #[test]
    fn both_byte_orders_are_read() {
        let mut bytes = [0; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x02\x01");
        bytes[16..20].copy_from_slice(&[0, 1, 0, 22]);
        let elf = ElfFile::new(file_of(&bytes)).unwrap();
        assert_eq!((elf.file_type(), elf.is_x86_64()), (FileType::Object, false));
        assert!(elf.sections().unwrap().symbols(SymbolKind::All).unwrap().is_empty());
        assert!(!elf.segments().unwrap().has_loader);
    }

    #[test]
    fn what_is_not_in_the_file_is_damage_and_takes_no_memory() {
        let bytes = this_program();
        let cut = ElfFile::new(file_of(&bytes[..4096])).unwrap();
        assert!(matches!(cut.sections(), Err(ElfError::Damaged(_))));
        let mut bytes = bytes[..4096].to_vec();
        // The section headers lie behind the file's header, and the first says how many there are: too many to count.
        bytes[40..48].copy_from_slice(&64_u64.to_le_bytes());
        bytes[60..62].copy_from_slice(&[0, 0]);
        bytes[64 + 32..64 + 40].copy_from_slice(&u64::MAX.to_le_bytes());
        let endless = ElfFile::new(file_of(&bytes)).unwrap();
        assert!(matches!(endless.sections(), Err(ElfError::Damaged(_))));
    }
}
