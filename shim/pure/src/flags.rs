//! What the flags of `open` and the modes of `fopen` ask for.

use core::ffi::c_int;

/// What the mode of `fopen` means for `open`; `None` if it means nothing.
pub fn of_mode(mode: &[u8]) -> Option<c_int> {
    let plus = mode.contains(&b'+');
    let access = |plain| if plus { libc::O_RDWR } else { plain };
    let flags = match mode.first()? {
        b'r' => access(libc::O_RDONLY),
        b'w' => access(libc::O_WRONLY) | libc::O_CREAT | libc::O_TRUNC,
        b'a' => access(libc::O_WRONLY) | libc::O_CREAT | libc::O_APPEND,
        _ => return None,
    };
    let exclusive = if mode.contains(&b'x') { libc::O_EXCL } else { 0 };
    let close = if mode.contains(&b'e') { libc::O_CLOEXEC } else { 0 };
    Some(flags | exclusive | close)
}

/// Can a descriptor that is opened so be written to?
pub fn can_write(flags: c_int) -> bool {
    flags & libc::O_ACCMODE != libc::O_RDONLY
}

/// Can opening a file so change it, or what comes after?
pub fn can_change(flags: c_int) -> bool {
    can_write(flags) || flags & (libc::O_CREAT | libc::O_TRUNC) != 0
}

/// Is it an error if the file is there?
pub fn must_create(flags: c_int) -> bool {
    flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL
}

/// Is it a file without a name that is asked for, in a directory?
pub fn is_nameless(flags: c_int) -> bool {
    flags & libc::O_TMPFILE == libc::O_TMPFILE
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{
        O_APPEND, O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_RDONLY, O_RDWR, O_TMPFILE, O_TRUNC, O_WRONLY,
    };

    #[test]
    fn modes_are_flags() {
        let cases: [(&[u8], _); 15] = [
            (b"r", Some(O_RDONLY)),
            (b"rb", Some(O_RDONLY)),
            (b"r+", Some(O_RDWR)),
            (b"rb+", Some(O_RDWR)),
            (b"re", Some(O_RDONLY | O_CLOEXEC)),
            (b"w", Some(O_WRONLY | O_CREAT | O_TRUNC)),
            (b"w+", Some(O_RDWR | O_CREAT | O_TRUNC)),
            (b"wx", Some(O_WRONLY | O_CREAT | O_TRUNC | O_EXCL)),
            (b"w+bxe", Some(O_RDWR | O_CREAT | O_TRUNC | O_EXCL | O_CLOEXEC)),
            (b"a", Some(O_WRONLY | O_CREAT | O_APPEND)),
            (b"a+", Some(O_RDWR | O_CREAT | O_APPEND)),
            (b"ab", Some(O_WRONLY | O_CREAT | O_APPEND)),
            (b"", None),
            (b"+", None),
            (b"br", None),
        ];
        for (mode, flags) in cases {
            assert_eq!(of_mode(mode), flags, "{}", mode.escape_ascii());
        }
    }

    #[test]
    fn flags_ask_for_something() {
        // Flags, and whether they can write, can change, must create and are nameless.
        let cases = [
            (O_RDONLY, [false, false, false, false]),
            (O_RDONLY | O_CLOEXEC, [false, false, false, false]),
            (O_RDONLY | O_DIRECTORY, [false, false, false, false]),
            (O_RDONLY | O_CREAT, [false, true, false, false]),
            (O_RDONLY | O_TRUNC, [false, true, false, false]),
            (O_RDONLY | O_EXCL, [false, false, false, false]),
            (O_WRONLY, [true, true, false, false]),
            (O_RDWR, [true, true, false, false]),
            (O_WRONLY | O_CREAT | O_TRUNC, [true, true, false, false]),
            (O_RDWR | O_CREAT | O_EXCL, [true, true, true, false]),
            (O_RDWR | O_TMPFILE, [true, true, false, true]),
        ];
        for (flags, expected) in cases {
            let asked = [can_write(flags), can_change(flags), must_create(flags), is_nameless(flags)];
            assert_eq!(asked, expected, "{flags:#o}");
        }
    }
}
