//! Lines of `/proc/self/maps`, as far as it matters for large pages.

use core::ffi::c_int;

/// Bytes in a large page.
pub const LARGE: usize = 2 << 20;
/// The longest line that is looked at, in bytes; the names behind it do not matter.
pub const LINE_LIMIT: usize = 128;

/// A part of a mapping that can be on large pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Part {
    /// Its first address.
    pub start: usize,
    /// The address behind it.
    pub end: usize,
    /// `PROT_*`.
    pub protection: c_int,
}

impl Part {
    /// What of a line's mapping can be moved: `start-end rwxp offset device inode path`.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
        let range = fields.next()?;
        let dash = range.iter().position(|&byte| byte == b'-')?;
        let protection = match fields.next()? {
            b"r-xp" => libc::PROT_READ | libc::PROT_EXEC,
            b"r--p" => libc::PROT_READ,
            _ => return None,
        };
        let has_file = fields.nth(2)? != b"0";
        // The first page stays, so that the list of mappings goes on to tell where the file is.
        let start = hexadecimal(&range[..dash])?.checked_add(1)?.checked_next_multiple_of(LARGE)?;
        let end = hexadecimal(&range[dash + 1..])? / LARGE * LARGE;
        (has_file && start < end).then_some(Self { start, end, protection })
    }
}

fn hexadecimal(digits: &[u8]) -> Option<usize> {
    usize::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{PROT_EXEC, PROT_READ};

    #[test]
    fn lines_have_parts_for_large_pages() {
        let part = |start, end, protection| Some(Part { start, end, protection });
        let cases: [(&[u8], _); 16] = [
            (
                b"00400000-01c00000 r-xp 00000000 fd:00 1835027    /usr/lib/cc1",
                part(0x60_0000, 0x1c0_0000, PROT_READ | PROT_EXEC),
            ),
            (
                b"00401000-01c01000 r-xp 00001000 fd:00 1835027 /usr/lib/cc1",
                part(0x60_0000, 0x1c0_0000, PROT_READ | PROT_EXEC),
            ),
            (
                b"7f0000000000-7f0000400000 r--p 00000000 fd:00 9",
                part(0x7f00_0020_0000, 0x7f00_0040_0000, PROT_READ),
            ),
            // A large page, but its first small one stays.
            (b"00400000-00600000 r-xp 00000000 fd:00 9 /a", None),
            (b"00400000-007ff000 r-xp 00000000 fd:00 9 /a", None),
            (b"00401000-00402000 r-xp 00000000 fd:00 9 /a", None),
            // No file, or one that is written to or shared.
            (b"00400000-01c00000 r-xp 00000000 00:00 0", None),
            (b"00400000-01c00000 rw-p 00000000 fd:00 9 /a", None),
            (b"00400000-01c00000 r--s 00000000 fd:00 9 /a", None),
            (b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", None),
            // Nothing of the kind.
            (b"", None),
            (b"00400000 r-xp 00000000 fd:00 9 /a", None),
            (b"00400000-01c00000 r-xp 00000000", None),
            (b"xyz-01c00000 r-xp 00000000 fd:00 9 /a", None),
            (b"ffffffffffffffff-01c00000 r-xp 00000000 fd:00 9 /a", None),
            (b"fffffffffffff000-01c00000 r-xp 00000000 fd:00 9 /a", None),
        ];
        for (line, expected) in cases {
            assert_eq!(Part::parse(line), expected, "{}", line.escape_ascii());
        }
    }
}
