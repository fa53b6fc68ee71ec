//! The symbols of an ELF file.

use goblin::container::Endian;
use goblin::elf::section_header::SHN_UNDEF;
use goblin::elf::sym::sym64::{SIZEOF_SYM, Sym};
use goblin::elf::sym::{STT_FUNC, st_type};
use scroll::Pread;

use super::text_at;

/// Which symbols are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// All, which stripping removes.
    All,
    /// Those that a file is linked by when it is loaded.
    Dynamic,
}

/// A symbol table.
#[derive(Debug)]
pub struct Symbols {
    pub(super) entries: Vec<u8>,
    pub(super) names: Vec<u8>,
    pub(super) order: Endian,
}

/// A symbol that is defined in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name, a NUL and what follows in the table: few symbols are asked for their names, so few are searched for ends.
    text: &'a [u8],
    /// Its value: the address of what it stands for.
    pub value: u64,
    /// Does it stand for a function?
    pub is_function: bool,
}

impl Symbols {
    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.len() < SIZEOF_SYM
    }

    /// Those that are defined in the file.
    pub fn defined(&self) -> impl Iterator<Item = Symbol<'_>> {
        let entries = self.entries.chunks_exact(SIZEOF_SYM);
        let symbols = entries.filter_map(|bytes| bytes.pread_with::<Sym>(0, self.order).ok());
        let defined = symbols.filter(|symbol| u32::from(symbol.st_shndx) != SHN_UNDEF);
        defined.filter_map(|symbol| {
            let text = self.names.get(symbol.st_name as usize..)?;
            Some(Symbol { text, value: symbol.st_value, is_function: st_type(symbol.st_info) == STT_FUNC })
        })
    }
}

impl<'a> Symbol<'a> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        text_at(self.text, 0).unwrap_or(self.text)
    }

    /// Does its name begin with this?
    #[must_use]
    pub fn begins_with(&self, prefix: &[u8]) -> bool {
        self.text.starts_with(prefix)
    }

    /// Is this its name?
    #[must_use]
    pub fn is_named(&self, name: &[u8]) -> bool {
        self.text.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0))
    }
}
