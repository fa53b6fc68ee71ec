//! The words, strings and records that .gcno and .gcda files are made of.

use super::error::Error;
use super::version::Version;

/// A cursor over a file, or over one record of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// Where `rest` ends in the file, for messages.
    end: usize,
    big_endian: bool,
    /// Since GCC 12 lengths count bytes and strings are not padded to words.
    byte_lengths: bool,
}

/// One tagged record: its payload follows in `body`.
pub(crate) struct Record<'a> {
    pub tag: u32,
    /// The length word as written; negative means an all-zero counter array without data.
    pub length: i32,
    /// Where the record begins in the file.
    pub offset: usize,
    pub body: Reader<'a>,
}

impl<'a> Reader<'a> {
    /// Reads magic and version, the head that notes and data share.
    pub fn open(bytes: &'a [u8], magic: u32, expected: &'static str) -> Result<(Self, Version), Error> {
        let found = || Error::Foreign { expected, found: bytes.iter().take(4).copied().collect() };
        let (&head, rest) = bytes.split_first_chunk().ok_or_else(found)?;
        let big_endian = match head {
            _ if u32::from_le_bytes(head) == magic => false,
            _ if u32::from_be_bytes(head) == magic => true,
            _ => return Err(found()),
        };
        let mut reader = Self { rest, end: bytes.len(), big_endian, byte_lengths: false };
        let version = Version::from_word(reader.word("version")?);
        if !version.at_least(Version::OLDEST) {
            return Err(Error::UnsupportedVersion { found: version });
        }
        reader.byte_lengths = version.at_least(120);
        Ok((reader, version))
    }

    /// Where it is in the file.
    pub fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[cold]
    fn truncated(&self, what: &'static str, needed: usize) -> Error {
        Error::Truncated { what, offset: self.offset(), needed, available: self.remaining() }
    }

    #[inline]
    fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.truncated(what, length));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// The next word; `what` it is, for messages.
    #[inline]
    pub fn word(&mut self, what: &'static str) -> Result<u32, Error> {
        let Some((&word, rest)) = self.rest.split_first_chunk() else {
            return Err(self.truncated(what, 4));
        };
        self.rest = rest;
        Ok(self.decode(word))
    }

    #[inline]
    fn decode(&self, word: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    /// The pairs of words up to the end of the record; an odd word stays.
    #[inline]
    pub fn pairs(&mut self) -> impl ExactSizeIterator<Item = (u32, u32)> + use<'a> {
        let reader = *self;
        let (pairs, rest) = self.rest.as_chunks::<8>();
        self.rest = rest;
        pairs
            .iter()
            .map(move |&[a, b, c, d, e, f, g, h]| (reader.decode([a, b, c, d]), reader.decode([e, f, g, h])))
    }

    /// A string without its terminator; `None` for the null string of length 0.
    #[inline]
    pub fn string(&mut self, what: &'static str) -> Result<Option<&'a [u8]>, Error> {
        Ok(self.padded_string(what)?.map(unpadded))
    }

    /// A string with its terminator and what follows it up to a whole word.
    #[inline]
    pub fn padded_string(&mut self, what: &'static str) -> Result<Option<&'a [u8]>, Error> {
        let length = self.word(what)? as usize;
        if length == 0 {
            return Ok(None);
        }
        let length = if self.byte_lengths { length } else { length.saturating_mul(4) };
        self.take(length, what).map(Some)
    }

    /// The next record; `None` at the end of the file or at a zero tag.
    #[inline]
    pub fn record(&mut self) -> Result<Option<Record<'a>>, Error> {
        let offset = self.offset();
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.word("record tag")?;
        if tag == 0 {
            return self.check_end(offset);
        }
        let length = self.word("record length")?.cast_signed();
        let unit = if self.byte_lengths { 1 } else { 4 };
        // A negative length stands for zero counters that are not written out.
        let size = (length.max(0) as usize).saturating_mul(unit);
        let rest = self.take(size, "record")?;
        let body = Reader { rest, end: self.offset(), ..*self };
        Ok(Some(Record { tag, length, offset, body }))
    }

    /// After the end marker there is nothing but zeros; else the marker is a damaged tag.
    fn check_end(&self, offset: usize) -> Result<Option<Record<'a>>, Error> {
        match self.rest.iter().position(|&byte| byte != 0) {
            None => Ok(None),
            Some(_) => Err(Error::Corrupt { what: "record tag before the end", offset, value: 0 }),
        }
    }

    /// How many counters a record length stands for, written out or not.
    pub fn counters_in(&self, length: i32) -> Option<u32> {
        let unit = if self.byte_lengths { 8 } else { 2 };
        let length = length.unsigned_abs();
        length.is_multiple_of(unit).then_some(length / unit)
    }
}

/// The part of a padded string before its terminator.
pub(crate) fn unpadded(padded: &[u8]) -> &[u8] {
    let end = memchr::memchr(0, padded).unwrap_or(padded.len());
    &padded[..end]
}
