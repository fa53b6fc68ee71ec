//! Names of temporary files: a template, and a number in it.

use crate::Result;
use core::ops::Range;

/// What stands in a template where the number goes.
const PLACE: &[u8] = b"XXXXXX";

/// Where the number goes: the last six characters before so many bytes of suffix.
pub fn place(template: &[u8], suffix: usize) -> Result<Range<usize>> {
    let end = template.len().checked_sub(suffix).ok_or(libc::EINVAL)?;
    let start = end.checked_sub(PLACE.len()).ok_or(libc::EINVAL)?;
    if &template[start..end] != PLACE {
        return Err(libc::EINVAL);
    }
    Ok(start..end)
}

/// Writes the last digits of a number, as many as there is room for.
pub fn write_number(digits: &mut [u8], mut number: u32) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_have_a_place() {
        let cases: [(&[u8], _, _); 9] = [
            (b"XXXXXX", 0, Ok(0..6)),
            (b"/tmp/ccXXXXXX", 0, Ok(7..13)),
            (b"/tmp/ccXXXXXX.s", 2, Ok(7..13)),
            (b"/tmp/ccXXXXXXXX", 0, Ok(9..15)),
            (b"/tmp/ccXXXXXX.s", 0, Err(libc::EINVAL)),
            (b"/tmp/ccXXXXXX.s", 1, Err(libc::EINVAL)),
            (b"/tmp/ccXXXXX", 0, Err(libc::EINVAL)),
            (b"XXXXX", 0, Err(libc::EINVAL)),
            (b"XXXXXX", 7, Err(libc::EINVAL)),
        ];
        for (template, suffix, expected) in cases {
            assert_eq!(place(template, suffix), expected, "{}, {suffix}", template.escape_ascii());
        }
    }

    #[test]
    fn numbers_fill_the_place() {
        let cases: [(u32, &[u8]); 5] = [
            (0, b"000000"),
            (7, b"000007"),
            (123_456, b"123456"),
            (1_234_567, b"234567"),
            (u32::MAX, b"967295"),
        ];
        for (number, expected) in cases {
            let mut digits = [b'X'; 6];
            write_number(&mut digits, number);
            assert_eq!(digits, expected, "{number}");
        }
    }
}
