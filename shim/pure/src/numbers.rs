//! Numbers in what the kernel tells: lists of processes, and directories of `/proc`.

use core::ffi::c_int;

/// What a record of a directory has before the name: inode, offset, its own length, type.
const RECORD_HEAD: usize = 19;
/// Where in it the length is, two bytes.
const RECORD_LENGTH: usize = 16;

/// The numbers of a list, each with a space behind it. One that is cut off at the end is left out.
pub fn listed(list: &[u8]) -> impl Iterator<Item = c_int> {
    list.split_inclusive(|&byte| byte == b' ').filter_map(|number| decimal(number.strip_suffix(b" ")?))
}

/// The names of a directory's entries that are numbers, as `getdents64` tells them.
pub fn named(records: &[u8]) -> impl Iterator<Item = c_int> {
    let mut rest = records;
    let names = core::iter::from_fn(move || {
        if rest.len() <= RECORD_HEAD {
            return None;
        }
        let length = usize::from(u16::from_le_bytes([rest[RECORD_LENGTH], rest[RECORD_LENGTH + 1]])).max(1);
        let name = rest.get(RECORD_HEAD..length).unwrap_or_default();
        rest = rest.get(length..).unwrap_or_default();
        Some(name.split(|&byte| byte == 0).next().unwrap_or_default())
    });
    names.filter_map(decimal)
}

fn decimal(digits: &[u8]) -> Option<c_int> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    #[test]
    fn lists_are_of_whole_numbers() {
        let cases: [(&[u8], &[c_int]); 6] = [
            (b"", &[]),
            (b"7 ", &[7]),
            (b"12 345 6 ", &[12, 345, 6]),
            (b"12 345 6", &[12, 345]),
            (b"12 x 6 ", &[12, 6]),
            (b"99999999999 3 ", &[3]),
        ];
        for (list, expected) in cases {
            assert_eq!(listed(list).collect::<Vec<_>>(), expected, "{}", list.escape_ascii());
        }
    }

    /// A record as the kernel writes it: inode, offset, length, type, name, and so many bytes that eight divide them.
    fn record(name: &[u8]) -> Vec<u8> {
        let length = (8 + 8 + 2 + 1 + name.len() + 1).next_multiple_of(8);
        let head = [&[0x11; 8], &[0x22; 8], &(length as u16).to_le_bytes()[..], &[4]].concat();
        let mut record = [&head[..], name, b"\0"].concat();
        // What is behind the name is left over from something else.
        record.resize(length, b'9');
        record
    }

    #[test]
    fn directories_have_numbers_among_their_names() {
        let names: [&[u8]; 7] = [b".", b"..", b"0", b"12", b"status", b"1234567", b"-x"];
        let records: Vec<u8> = names.iter().flat_map(|name| record(name)).collect();
        assert_eq!(named(&records).collect::<Vec<_>>(), [0, 12, 1_234_567]);
        assert_eq!(named(b"").count(), 0);
    }

    #[test]
    fn any_bytes_are_read_to_their_end() {
        let whole: Vec<u8> = [record(b"17"), record(b"18")].concat();
        for end in 0..whole.len() {
            assert!(named(&whole[..end]).count() <= 2);
        }
        for fill in [0, 1, 0x7f, 0xff] {
            assert_eq!(named(&[fill; 200]).count(), 0);
        }
    }
}
