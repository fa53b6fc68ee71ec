//! Names of files as text, without loss: bytes that are not UTF-8 stand as characters that no name has.
//!
//! A byte `b` that is not part of UTF-8 becomes the character U+10FF00 + `b`. A name that has such a character
//! itself has its bytes written this way, so that every name can be had back.

use std::borrow::Cow;

/// The character before those that stand for bytes.
const BASE: u32 = 0x10_FF00;
/// Bytes that are not UTF-8 are at least this.
const FIRST: u32 = 0x80;
/// The first byte of all characters that stand for bytes.
const LEAD: u8 = 0xf4;

/// A name's text.
#[must_use]
pub fn from_bytes(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name)
        && !name.contains(&LEAD)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(name.len() * 4);
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            if byte_of(character).is_some() {
                push_bytes(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut text);
            } else {
                text.push(character);
            }
        }
        push_bytes(chunk.invalid(), &mut text);
    }
    Cow::Owned(text)
}

/// The name that a text stands for.
#[must_use]
pub fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if !text.as_bytes().contains(&LEAD) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut name = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte_of(character) {
            Some(byte) => name.push(byte),
            None => name.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(name)
}

/// The text for people and XML: what is not UTF-8, or a character that XML has not, shows as a replacement.
#[must_use]
pub fn shown(name: &[u8]) -> String {
    let is_bad = |character: char| matches!(character, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    let text = String::from_utf8_lossy(name);
    text.chars()
        .map(|character| if is_bad(character) { char::REPLACEMENT_CHARACTER } else { character })
        .collect()
}

fn byte_of(character: char) -> Option<u8> {
    u32::from(character)
        .checked_sub(BASE)
        .filter(|&byte| byte >= FIRST)
        .and_then(|byte| u8::try_from(byte).ok())
}

fn push_bytes(bytes: &[u8], text: &mut String) {
    // All bytes here are of 0x80 or more, so there is such a character.
    text.extend(bytes.iter().filter_map(|&byte| char::from_u32(BASE + u32::from(byte))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        let names: [&[u8]; 7] = [
            b"",
            b"/usr/include/stdio.h",
            "/tmp/ä/日本.c".as_bytes(),
            b"/tmp/\xff\xe9/a.c",
            b"\xe6\x97",
            "\u{10ffff}\u{10ff80}\u{10ff00}\u{100000}".as_bytes(),
            b"\xf4\x8f\xbf\xbf\xff\xf4",
        ];
        for name in names {
            let text = from_bytes(name);
            assert_eq!(&*to_bytes(&text), name, "{text}");
            assert_eq!(
                matches!(text, Cow::Borrowed(_)),
                std::str::from_utf8(name).is_ok() && !name.contains(&LEAD)
            );
        }
        assert_ne!(from_bytes(b"\xff"), from_bytes(b"\xfe"));
    }

    #[test]
    fn what_is_shown_is_plain() {
        assert_eq!(shown(b"/tmp/\xff/\x01.c"), "/tmp/\u{fffd}/\u{fffd}.c");
        assert_eq!(shown("/ä\t.c".as_bytes()), "/ä\t.c");
    }
}
