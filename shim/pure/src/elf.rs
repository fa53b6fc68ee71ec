//! What a program's file says about itself, as far as it matters when it is executed.

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;
const SEGMENT_LOAD: u32 = 1;
const SEGMENT_DYNAMIC: u32 = 2;
const SEGMENT_INTERPRETER: u32 = 3;
const SECTION_SYMBOLS: u32 = 2;
const DYNAMIC_NEEDED: u64 = 1;
const DYNAMIC_STRINGS: u64 = 5;
/// Entries of any table that are looked at.
const LIMIT: usize = 4096;
/// The library of the address sanitizer wants to be the first of all.
const SANITIZER: &[u8] = b"libasan.so";
/// The longest name of it that is used.
pub const NAME_LIMIT: usize = 32;

/// The bytes of a file. Whatever they are, there is an answer.
#[derive(Clone, Copy)]
pub struct Elf<'f>(pub &'f [u8]);

impl<'f> Elf<'f> {
    /// Is it a program, or a library, of this machine's?
    pub fn is_program(self) -> bool {
        self.0.starts_with(MAGIC)
    }

    /// Is it started by the loader, so that libraries can be preloaded?
    pub fn is_dynamic(self) -> bool {
        self.segment_of_kind(SEGMENT_INTERPRETER).is_some()
    }

    /// Has it a table of all its symbols? Without one nobody finds its counters.
    pub fn has_symbols(self) -> bool {
        let start = self.number::<8>(40).unwrap_or(0) as usize;
        let count = self.number::<2>(60).unwrap_or(0) as usize;
        let kind = |index: usize| self.number::<4>(start.checked_add(index * SECTION)?.checked_add(4)?);
        self.0.len() > HEADER
            && (0..count.min(LIMIT)).any(|index| kind(index) == Some(u64::from(SECTION_SYMBOLS)))
    }

    /// The library that must be the first of all.
    pub fn first_library(self) -> Option<&'f [u8]> {
        let dynamic = self.field(self.segment_of_kind(SEGMENT_DYNAMIC)?, 8)? as usize;
        let entry = |index: usize| {
            let at = dynamic.checked_add(index * 16)?;
            Some((self.number::<8>(at)?, self.field(at, 8)?))
        };
        let entries = || (0..LIMIT).map_while(entry).take_while(|&(tag, _)| tag != 0);
        let (_, strings) = entries().find(|&(tag, _)| tag == DYNAMIC_STRINGS)?;
        let strings = self.offset_of(strings)?;
        let name = |offset: u64| {
            let rest = self.0.get(strings.checked_add(offset as usize)?..)?;
            rest.split(|&byte| byte == 0).next()
        };
        let mut needed =
            entries().filter(|&(tag, _)| tag == DYNAMIC_NEEDED).filter_map(|(_, offset)| name(offset));
        needed.find(|name| name.starts_with(SANITIZER) && name.len() <= NAME_LIMIT)
    }

    /// Where in the file an address is.
    fn offset_of(self, address: u64) -> Option<usize> {
        self.segments().find_map(|segment| {
            let is_loaded = self.number::<4>(segment)? == u64::from(SEGMENT_LOAD);
            let (offset, start, size) =
                (self.field(segment, 8)?, self.field(segment, 16)?, self.field(segment, 32)?);
            let inside = address.checked_sub(start).filter(|&inside| is_loaded && inside < size)?;
            Some(offset.checked_add(inside)? as usize)
        })
    }

    fn segment_of_kind(self, kind: u32) -> Option<usize> {
        self.segments().find(|&segment| self.number::<4>(segment) == Some(u64::from(kind)))
    }

    /// The segments: where their records are.
    fn segments(self) -> impl Iterator<Item = usize> {
        let start = self.number::<8>(32).unwrap_or(0) as usize;
        let count = self.number::<2>(56).unwrap_or(0) as usize;
        (0..count.min(LIMIT)).filter_map(move |index| start.checked_add(index * SEGMENT))
    }

    /// Eight bytes of a record, so many behind its beginning.
    fn field(self, record: usize, offset: usize) -> Option<u64> {
        self.number::<8>(record.checked_add(offset)?)
    }

    fn number<const N: usize>(self, at: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(N)?)?;
        let mut word = [0_u8; 8];
        word[..N].copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use core::mem::offset_of;
    use std::vec::Vec;

    /// Where the file below is loaded.
    const BASE: u64 = 0x40_0000;
    /// `DT_NEEDED`.
    const NEEDED: u64 = 1;
    /// `DT_STRTAB`.
    const STRING_TABLE: u64 = 5;

    fn put(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
        file.resize(file.len().max(at + bytes.len()), 0);
        file[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// A file as `elf.h` has it: segments for the whole of it and for what is given, libraries that it needs, and kinds of
    /// sections.
    fn file(interpreted: bool, needed: &[&str], sections: &[u32]) -> Vec<u8> {
        let (segments, dynamic, strings, table) = (64, 512, 1024, 2048);
        let mut file = Vec::new();
        put(&mut file, 0, b"\x7fELF\x02\x01");
        put(&mut file, 32, &(segments as u64).to_le_bytes());
        put(&mut file, 40, &(table as u64).to_le_bytes());
        put(&mut file, 56, &[if interpreted { 3 } else { 2 }, 0]);
        put(&mut file, 60, &(sections.len() as u16).to_le_bytes());
        let kinds = [libc::PT_LOAD, libc::PT_DYNAMIC, libc::PT_INTERP];
        // Offset, address and size; the dynamic table is found by its offset.
        let places = [(0, BASE, 4096_u64), (dynamic as u64, BASE + 512, 256), (300, BASE + 300, 8)];
        for (index, (kind, (offset, address, size))) in kinds.into_iter().zip(places).enumerate() {
            let at = segments + index * size_of::<libc::Elf64_Phdr>();
            put(&mut file, at + offset_of!(libc::Elf64_Phdr, p_type), &kind.to_le_bytes());
            put(&mut file, at + offset_of!(libc::Elf64_Phdr, p_offset), &offset.to_le_bytes());
            put(&mut file, at + offset_of!(libc::Elf64_Phdr, p_vaddr), &address.to_le_bytes());
            put(&mut file, at + offset_of!(libc::Elf64_Phdr, p_filesz), &size.to_le_bytes());
        }
        let mut entries = std::vec![(STRING_TABLE, BASE + strings as u64)];
        let mut end = strings + 1;
        for name in needed {
            entries.push((NEEDED, (end - strings) as u64));
            put(&mut file, end, name.as_bytes());
            end += name.len() + 1;
        }
        entries.push((0, 0));
        for (index, (tag, value)) in entries.into_iter().enumerate() {
            put(&mut file, dynamic + index * 16, &tag.to_le_bytes());
            put(&mut file, dynamic + index * 16 + 8, &value.to_le_bytes());
        }
        put(&mut file, table, &[]);
        for (index, kind) in sections.iter().enumerate() {
            let at = table + index * size_of::<libc::Elf64_Shdr>();
            put(&mut file, at + offset_of!(libc::Elf64_Shdr, sh_type), &kind.to_le_bytes());
        }
        file
    }

    #[test]
    fn files_say_whether_they_are_programs() {
        let cases: [(&[u8], _); 5] = [
            (&file(true, &[], &[]), true),
            (b"\x7fELF\x01\x01", false),
            (b"\x7fELF\x02\x02", false),
            (b"#!/bin/sh\n", false),
            (b"", false),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Elf(bytes).is_program(), expected);
        }
    }

    #[test]
    fn programs_that_are_interpreted_are_dynamic() {
        assert!(Elf(&file(true, &["libc.so.6"], &[])).is_dynamic());
        assert!(!Elf(&file(false, &["libc.so.6"], &[])).is_dynamic());
        assert!(!Elf(MAGIC).is_dynamic());
    }

    #[test]
    fn symbols_are_a_section_of_their_own() {
        let cases: [(&[u32], bool); 4] =
            [(&[0, 1, 2, 3], true), (&[2], true), (&[0, 1, 3, 11], false), (&[], false)];
        for (sections, expected) in cases {
            assert_eq!(Elf(&file(true, &[], sections)).has_symbols(), expected, "{sections:?}");
        }
    }

    #[test]
    fn the_sanitizer_is_first() {
        let long = ["libasan.so.", &"9".repeat(NAME_LIMIT)].concat();
        let cases: [(&[&str], Option<&str>); 6] = [
            (&["libasan.so.6", "libc.so.6"], Some("libasan.so.6")),
            (&["libc.so.6", "libasan.so.8"], Some("libasan.so.8")),
            (&["libc.so.6"], None),
            (&["libc.so.6", "notlibasan.so.6"], None),
            (&[], None),
            (&[&long], None),
        ];
        for (needed, expected) in cases {
            assert_eq!(
                Elf(&file(true, needed, &[])).first_library(),
                expected.map(str::as_bytes),
                "{needed:?}"
            );
        }
    }

    #[test]
    fn strings_that_are_not_loaded_are_nowhere() {
        let mut file = file(true, &["libasan.so.6"], &[]);
        // The first segment is loaded elsewhere.
        put(&mut file, 64 + 16, &(BASE * 2).to_le_bytes());
        assert_eq!(Elf(&file).first_library(), None);
    }

    #[test]
    fn this_program_is_one() {
        let own = std::fs::read("/proc/self/exe").expect("readable");
        assert!(Elf(&own).is_program() && Elf(&own).is_dynamic());
    }

    #[test]
    fn any_bytes_have_an_answer() {
        let whole = file(true, &["libasan.so.6", "libc.so.6"], &[0, 2]);
        let ask = |bytes: &[u8]| {
            let elf = Elf(bytes);
            let _ = (elf.is_program(), elf.is_dynamic(), elf.has_symbols(), elf.first_library());
        };
        for end in 0..whole.len() {
            ask(&whole[..end]);
        }
        // Numbers that lead out of the file, or beyond all of them.
        for at in (0..768).step_by(8) {
            for number in [u64::MAX, u64::MAX - 8, 1 << 63, whole.len() as u64] {
                let mut bytes = whole.clone();
                bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
                ask(&bytes);
            }
        }
    }
}
