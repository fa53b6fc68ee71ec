//! Text in fixed memory.

/// Writes parts after one another, with a NUL behind them, and says how long they are. `None` if they do not fit.
pub fn join(parts: &[&[u8]], buffer: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    for part in parts {
        buffer.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    *buffer.get_mut(length)? = 0;
    Some(length)
}

/// Gathers lines from bytes as they come; of each the first `LIMIT` bytes are kept.
pub struct Lines<const LIMIT: usize> {
    bytes: [u8; LIMIT],
    length: usize,
}

impl<const LIMIT: usize> Lines<LIMIT> {
    /// The beginning of the first line.
    pub const fn new() -> Self {
        Self { bytes: [0; LIMIT], length: 0 }
    }

    /// Takes the next byte. At the end of a line there it is, without what ends it.
    pub fn push(&mut self, byte: u8) -> Option<&[u8]> {
        if byte == b'\n' {
            let length = core::mem::take(&mut self.length);
            return Some(&self.bytes[..length]);
        }
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
        None
    }
}

impl<const LIMIT: usize> Default for Lines<LIMIT> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    #[test]
    fn parts_are_joined_where_there_is_room() {
        let cases = [
            (["/usr/bin", "/", "as"], 16, Some("/usr/bin/as")),
            (["ab", "", "c"], 4, Some("abc")),
            (["ab", "c", ""], 3, None),
            (["ab", "c", ""], 2, None),
            (["", "", ""], 1, Some("")),
            (["", "", ""], 0, None),
        ];
        for (parts, room, expected) in cases {
            let mut buffer = std::vec![0xff; room];
            let length = join(&parts.map(str::as_bytes), &mut buffer);
            assert_eq!(length.map(|length| &buffer[..length]), expected.map(str::as_bytes));
            assert!(length.is_none_or(|length| buffer[length] == 0));
        }
    }

    #[test]
    fn lines_are_gathered_and_cut() {
        let cases: [(&[u8], &[&[u8]]); 5] = [
            (b"", &[]),
            (b"ab", &[]),
            (b"ab\ncd\n", &[b"ab", b"cd"]),
            (b"abcdef\ng\n\n", &[b"abcd", b"g", b""]),
            (b"abcd\nef", &[b"abcd"]),
        ];
        for (bytes, expected) in cases {
            let mut lines = Lines::<4>::new();
            let gathered: Vec<Vec<u8>> =
                bytes.iter().filter_map(|&byte| lines.push(byte).map(<[u8]>::to_vec)).collect();
            assert_eq!(gathered, expected, "{}", bytes.escape_ascii());
        }
    }
}
