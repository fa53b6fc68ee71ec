//! The version word of notes and data files.

use std::fmt;

/// A gcov format version: four characters such as `B22*` (GCC 12.2) or `408*` (GCC 4.8, and clang).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// GCC 4.8, the oldest supported: from here on the exit block is block 1.
    pub const OLDEST: u32 = 48;

    /// Wraps the version word, in the host's byte order.
    #[must_use]
    pub fn from_word(word: u32) -> Self {
        Self(word)
    }

    /// The version word.
    #[must_use]
    pub fn word(self) -> u32 {
        self.0
    }

    /// Ten times the major plus the minor version: 48 for GCC 4.8, 113 for 11.3; `None` if malformed.
    #[must_use]
    pub fn number(self) -> Option<u32> {
        let [a, b, c, _] = self.0.to_be_bytes();
        let digit = |byte: u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
        match a {
            // Letters count tens of the major version since GCC 5: A is 0, B is 10.
            b'A'..=b'Z' => Some(u32::from(a - b'A') * 100 + digit(b)? * 10 + digit(c)?),
            _ => Some(digit(a)? * 10 + digit(b)? * 10 + digit(c)?),
        }
    }

    /// Major and minor version, if well-formed.
    #[must_use]
    pub fn major_minor(self) -> Option<(u32, u32)> {
        self.number().map(|number| (number / 10, number % 10))
    }

    /// Is the file at least of this version (as [`Version::number`] counts)?
    pub(crate) fn at_least(self, number: u32) -> bool {
        self.number().is_some_and(|own| own >= number)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.major_minor() {
            Some((major, minor)) => write!(f, "{major}.{minor}"),
            None => write!(f, "{:#010x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_letter_scheme() {
        for (text, number, shown) in [
            (b"408*", 48, "4.8"),
            (b"409*", 49, "4.9"),
            (b"A73*", 73, "7.3"),
            (b"A93*", 93, "9.3"),
            (b"B13*", 113, "11.3"),
            (b"B22*", 122, "12.2"),
            (b"B51*", 151, "15.1"),
        ] {
            let version = Version::from_word(u32::from_be_bytes(*text));
            assert_eq!(version.number(), Some(number));
            assert_eq!(version.to_string(), shown);
        }
        assert_eq!(Version::from_word(0).number(), None);
    }
}
