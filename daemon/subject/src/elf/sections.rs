//! The sections of an ELF file, and the tables in them.

use goblin::container::Container;
use goblin::elf::dynamic::{DT_NEEDED, Dyn};
use goblin::elf::section_header::{
    SHT_DYNAMIC, SHT_DYNSYM, SHT_NOBITS, SHT_STRTAB, SHT_SYMTAB, SectionHeader,
};
use scroll::Pread;

use super::symbols::{SymbolKind, Symbols};
use super::{ElfError, ElfFile, Result, text_at};

/// The longest name of a library that is read, in bytes; names of files are no longer.
const LIBRARY_NAME_LIMIT: u64 = 256;

/// What is wrong with a section that is not inside of its file.
const NOT_INSIDE: &str = "Invalid ELF section size or offset";

/// The sections of a file.
#[derive(Debug)]
pub struct Sections<'a> {
    pub(super) elf: &'a ElfFile,
    pub(super) headers: Vec<SectionHeader>,
    /// The section with the names of sections.
    pub(super) names: usize,
}

impl Sections<'_> {
    /// Reads a symbol table; an empty one if there is none.
    ///
    /// # Errors
    /// If the headers are damaged.
    pub fn symbols(&self, kind: SymbolKind) -> Result<Symbols> {
        let wanted = match kind {
            SymbolKind::All => SHT_SYMTAB,
            SymbolKind::Dynamic => SHT_DYNSYM,
        };
        let order = self.elf.context.le;
        let Some(table) = self.headers.iter().find(|section| section.sh_type == wanted) else {
            return Ok(Symbols { entries: Vec::new(), names: Vec::new(), order });
        };
        let entries = self.data(table, "Invalid ELF symbol table data")?;
        let names = match self.strings(table)? {
            Some(strings) => self.data(strings, NOT_INSIDE)?,
            None => Vec::new(),
        };
        Ok(Symbols { entries, names, order })
    }

    /// The names of the libraries that are loaded with the file, as far as they are text.
    ///
    /// # Errors
    /// If the headers are damaged.
    pub fn needed_libraries(&self) -> Result<Vec<String>> {
        let Some(table) = self.headers.iter().find(|section| section.sh_type == SHT_DYNAMIC) else {
            return Ok(Vec::new());
        };
        let entries = self.data(table, NOT_INSIDE)?;
        let Some(strings) = self.strings(table)? else { return Ok(Vec::new()) };
        let entries = entries.chunks_exact(Dyn::size(Container::Big));
        let entries = entries.filter_map(|bytes| bytes.pread_with::<Dyn>(0, self.elf.context).ok());
        let needed = entries.filter(|entry| entry.d_tag == DT_NEEDED);
        Ok(needed.filter_map(|entry| self.short_text(strings, entry.d_val)).collect())
    }

    /// The bytes of the first section with this name.
    #[must_use]
    pub fn named(&self, name: &[u8]) -> Option<Vec<u8>> {
        let names = self.data(self.headers.get(self.names)?, NOT_INSIDE).ok()?;
        let section = self.headers.iter().find(|section| text_at(&names, section.sh_name) == Some(name))?;
        self.data(section, NOT_INSIDE).ok()
    }

    /// The section with the names that a table refers to.
    fn strings(&self, table: &SectionHeader) -> Result<Option<&SectionHeader>> {
        match table.sh_link as usize {
            0 => Ok(None),
            link => match self.headers.get(link) {
                Some(strings) if strings.sh_type == SHT_STRTAB => Ok(Some(strings)),
                Some(_) => Err(ElfError::Damaged("Invalid ELF string section type")),
                None => Err(ElfError::Damaged("Invalid ELF section index")),
            },
        }
    }

    fn data(&self, section: &SectionHeader, damaged: &'static str) -> Result<Vec<u8>> {
        match section.sh_type {
            SHT_NOBITS => Ok(Vec::new()),
            _ => self.elf.read(section.sh_offset, section.sh_size, damaged),
        }
    }

    /// A text that begins so far inside a section. The names that libraries are linked by can be megabytes: they are not
    /// read for the sake of a few.
    fn short_text(&self, section: &SectionHeader, offset: u64) -> Option<String> {
        let size = section.sh_size.checked_sub(offset)?.min(LIBRARY_NAME_LIMIT);
        let bytes = self.elf.read(section.sh_offset.checked_add(offset)?, size, NOT_INSIDE).ok()?;
        std::str::from_utf8(text_at(&bytes, 0)?).ok().map(str::to_owned)
    }
}
