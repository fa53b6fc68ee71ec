//! The text of a request, which is taken apart where it is: the run keeps using the strings in it.

use crate::Result;
use core::ffi::c_char;
use core::ptr;
use hearth_shim_abi::PAGE_SHIFT;

/// The working directory, so many bytes, and the strings behind it, each with its NUL.
pub fn split(text: &mut [u8], directory_length: u32) -> Result<(&mut [u8], impl Iterator<Item = &mut [u8]>)> {
    let (directory, strings) = text.split_at_mut_checked(directory_length as usize).ok_or(libc::EINVAL)?;
    Ok((directory, strings.split_inclusive_mut(|&byte| byte == 0)))
}

/// Puts so many strings into a list that keeps room for the null pointer, and says how many they are.
pub fn take_strings<'a>(
    strings: &mut impl Iterator<Item = &'a mut [u8]>,
    count: u32,
    list: &mut [*mut c_char],
) -> Result<usize> {
    let mut taken = 0;
    for string in strings.take(count as usize) {
        *list.get_mut(taken).filter(|_| string.ends_with(&[0])).ok_or(libc::E2BIG)? =
            string.as_mut_ptr().cast();
        taken += 1;
    }
    *list.get_mut(taken).ok_or(libc::E2BIG)? = ptr::null_mut();
    Ok(taken)
}

/// The address and the length in bytes of pages that runs are expected to write; see
/// [`REQUEST_EXPECT`](hearth_shim_abi::REQUEST_EXPECT).
pub fn expected_pages(word: u64) -> (usize, usize) {
    let address = word >> PAGE_SHIFT << PAGE_SHIFT;
    let length = (word & ((1 << PAGE_SHIFT) - 1)) << PAGE_SHIFT;
    (address as usize, length as usize)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    /// The directory, the strings of two lists with room for so many pointers, or the error.
    type Taken = Result<(Vec<u8>, Vec<usize>, Vec<usize>)>;

    /// Takes a text apart as a run does; strings are told by where they begin.
    fn take(text: &[u8], directory_length: u32, counts: [u32; 2], rooms: [usize; 2]) -> Taken {
        let mut text = text.to_vec();
        let start = text.as_mut_ptr() as usize;
        let (directory, mut strings) = split(&mut text, directory_length)?;
        let mut lists = [Vec::new(), Vec::new()];
        for ((list, count), room) in lists.iter_mut().zip(counts).zip(rooms) {
            let mut pointers = std::vec![ptr::dangling_mut(); room];
            let taken = take_strings(&mut strings, count, &mut pointers)?;
            assert!(pointers[taken].is_null());
            list.extend(pointers[..taken].iter().map(|&string| string as usize - start));
        }
        let [additions, arguments] = lists;
        Ok((directory.to_vec(), additions, arguments))
    }

    #[test]
    fn texts_are_taken_apart() {
        let text = b"/home\0A=1\0B=\0cc1\0-O2\0a.c\0";
        let cases = [
            (6, [2, 3], [3, 4], Ok((b"/home\0".to_vec(), std::vec![6, 10], std::vec![13, 17, 21]))),
            (0, [1, 1], [9, 9], Ok((Vec::new(), std::vec![0], std::vec![6]))),
            (6, [0, 0], [1, 1], Ok((b"/home\0".to_vec(), std::vec![], std::vec![]))),
            // Fewer than were announced.
            (17, [1, 9], [9, 9], Ok((text[..17].to_vec(), std::vec![17], std::vec![21]))),
            // The directory is longer than the text, or there is no room for the null pointer.
            (99, [0, 0], [1, 1], Err(libc::EINVAL)),
            (6, [2, 0], [2, 1], Err(libc::E2BIG)),
            (6, [2, 0], [1, 1], Err(libc::E2BIG)),
            (6, [0, 0], [0, 1], Err(libc::E2BIG)),
        ];
        for (directory_length, counts, rooms, expected) in cases {
            assert_eq!(
                take(text, directory_length, counts, rooms),
                expected,
                "{directory_length}, {counts:?}"
            );
        }
    }

    #[test]
    fn a_string_without_an_end_is_refused() {
        assert_eq!(take(b"A=1\0B", 0, [2, 0], [9, 9]), Err(libc::E2BIG));
        assert_eq!(take(b"A=1\0B", 0, [1, 0], [9, 9]), Ok((Vec::new(), std::vec![0], std::vec![])));
    }

    #[test]
    fn words_are_pages() {
        let cases = [
            (0, (0, 0)),
            (0x1000 + 1, (0x1000, 0x1000)),
            (0x7fff_ffff_f000 + 3, (0x7fff_ffff_f000, 0x3000)),
            (0x40_0000 + 0xfff, (0x40_0000, 0xfff_000)),
        ];
        for (word, expected) in cases {
            assert_eq!(expected_pages(word), expected, "{word:#x}");
        }
    }
}
