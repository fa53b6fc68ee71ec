//! Paths in fixed memory, made absolute without asking the file system more than it takes.

use crate::Result;
use core::ffi::c_int;
use hearth_shim_abi::PATH_LIMIT;

/// How the names of gcov's data files end.
const DATA_EXTENSION: &[u8] = b".gcda";

/// An absolute path without `.`, `..` and doubled slashes, followed by a NUL.
#[derive(Clone, Copy)]
pub struct Path {
    bytes: [u8; PATH_LIMIT + 1],
    length: usize,
}

impl Path {
    /// No path.
    pub const EMPTY: Self = Self { bytes: [0; PATH_LIMIT + 1], length: 0 };

    /// A path as it is seen from a directory. Only if it is relative, `directory` is asked to write the directory's path and to
    /// say how long that is.
    pub fn absolute(path: &[u8], directory: impl FnOnce(&mut [u8]) -> Result<usize>) -> Result<Self> {
        if path.is_empty() {
            return Err(libc::ENOENT);
        }
        let mut absolute = Self::EMPTY;
        if path[0] != b'/' {
            absolute.length = directory(&mut absolute.bytes[..PATH_LIMIT])?;
            if absolute.length == 1 {
                absolute.length = 0;
            }
        }
        for part in path.split(|&byte| byte == b'/') {
            absolute.push(part)?;
        }
        if absolute.length == 0 {
            absolute.bytes[0] = b'/';
            absolute.length = 1;
        }
        absolute.bytes[absolute.length] = 0;
        Ok(absolute)
    }

    /// The path's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The path's bytes and the NUL behind them.
    pub fn terminated(&self) -> &[u8] {
        &self.bytes[..=self.length]
    }

    /// The directory a path is in.
    pub fn parent(&self) -> Self {
        let mut parent = *self;
        let cut = self.as_bytes().iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        parent.length = cut.max(1);
        parent.bytes[parent.length] = 0;
        parent
    }

    /// What it is called in its directory.
    pub fn name(&self) -> &[u8] {
        self.as_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default()
    }

    /// Is it the path of one of gcov's data files?
    pub fn is_data_file(&self) -> bool {
        self.as_bytes().ends_with(DATA_EXTENSION)
    }

    /// A number that paths seldom share (FNV-1a).
    pub fn hash(&self) -> u64 {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        self.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix)
    }

    fn push(&mut self, part: &[u8]) -> Result<()> {
        match part {
            b"" | b"." => {}
            b".." => self.length = self.as_bytes().iter().rposition(|&byte| byte == b'/').unwrap_or(0),
            _ => {
                let end = self.length + 1 + part.len();
                if end > PATH_LIMIT {
                    return Err(libc::ENAMETOOLONG);
                }
                self.bytes[self.length] = b'/';
                self.bytes[self.length + 1..end].copy_from_slice(part);
                self.length = end;
            }
        }
        Ok(())
    }
}

/// The path of an open file, ending in NUL.
pub fn descriptor_path(fd: c_int) -> [u8; 32] {
    const PREFIX: &[u8] = b"/proc/self/fd/";
    let mut path = [0; 32];
    path[..PREFIX.len()].copy_from_slice(PREFIX);
    let mut digits = [0_u8; 10];
    let mut rest = fd.max(0).cast_unsigned();
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    path[PREFIX.len()..PREFIX.len() + digits.len() - first].copy_from_slice(&digits[first..]);
    path
}

/// Writes a name behind the path of a directory that ends in NUL, and a NUL behind it. Says how long the new path is; `None` if
/// it does not fit.
pub fn append(path: &mut [u8], name: &[u8]) -> Option<usize> {
    let mut end = path.iter().position(|&byte| byte == 0).unwrap_or(path.len());
    // Only the root ends with a slash.
    if end > 1 && end < path.len() {
        path[end] = b'/';
        end += 1;
    }
    let length = end + name.len();
    let (last, place) = path.get_mut(end..=length).and_then(<[u8]>::split_last_mut)?;
    place.copy_from_slice(name);
    *last = 0;
    Some(length)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::String;
    use std::vec;

    /// The absolute path, seen from a directory.
    fn seen_from(directory: &str, path: &[u8]) -> Result<Path> {
        Path::absolute(path, |buffer| {
            buffer[..directory.len()].copy_from_slice(directory.as_bytes());
            Ok(directory.len())
        })
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn paths_become_absolute_and_normal() {
        let cases = [
            ("/", "a", "/a"),
            ("/", ".", "/"),
            ("/", "..", "/"),
            ("/", "../..", "/"),
            ("/home/user", "a.c", "/home/user/a.c"),
            ("/home/user", "./a.c", "/home/user/a.c"),
            ("/home/user", "a/./b//c/", "/home/user/a/b/c"),
            ("/home/user", "..", "/home"),
            ("/home/user", "../other/a.c", "/home/other/a.c"),
            ("/home/user", "../../../../a", "/a"),
            ("/home/user", "a/../b", "/home/user/b"),
            ("/home/user", "...", "/home/user/..."),
            ("/home/user", "..a", "/home/user/..a"),
            ("/home/user", "/", "/"),
            ("/home/user", "//", "/"),
            ("/home/user", "/etc//passwd", "/etc/passwd"),
            ("/home/user", "/..", "/"),
            ("/home/user", "/a/b/../..", "/"),
            ("/home/user", "/a/b/../../c", "/c"),
        ];
        for (directory, path, expected) in cases {
            let absolute = seen_from(directory, path.as_bytes()).expect(path);
            assert_eq!(text(absolute.as_bytes()), expected, "{path} in {directory}");
            assert_eq!(text(absolute.terminated()), String::from(expected) + "\0", "{path} in {directory}");
        }
    }

    #[test]
    fn a_directory_is_asked_for_only_if_need_be() {
        let refused = |_: &mut [u8]| Err(libc::EACCES);
        assert!(Path::absolute(b"/a", refused).is_ok());
        assert_eq!(Path::absolute(b"a", refused).err(), Some(libc::EACCES));
        assert_eq!(Path::absolute(b"", refused).err(), Some(libc::ENOENT));
    }

    #[test]
    fn paths_have_a_limit() {
        let mut path = vec![b'a'; PATH_LIMIT];
        path[0] = b'/';
        assert_eq!(seen_from("/", &path).expect("the longest").as_bytes(), path);
        path.push(b'a');
        assert_eq!(seen_from("/", &path).err(), Some(libc::ENAMETOOLONG));
        // What is taken back does not count.
        let mut path = vec![b'a'; PATH_LIMIT - 4];
        path[0] = b'/';
        path.extend_from_slice(b"/../bcd");
        assert_eq!(text(seen_from("/", &path).expect("short").as_bytes()), "/bcd");
    }

    #[test]
    fn parents_and_names() {
        let cases = [("/a/b.c", "/a", "b.c"), ("/a", "/", "a"), ("/", "/", ""), ("/a/b/c", "/a/b", "c")];
        for (path, parent, name) in cases {
            let path = seen_from("/", path.as_bytes()).expect(path);
            assert_eq!(text(path.parent().as_bytes()), parent);
            assert_eq!(text(path.parent().terminated()), String::from(parent) + "\0");
            assert_eq!(text(path.name()), name);
        }
    }

    #[test]
    fn data_files_are_known_by_their_names() {
        let cases = [
            ("/a/b.gcda", true),
            ("/.gcda", true),
            ("/a.gcda/b", false),
            ("/a.gcno", false),
            ("/a.gcda~", false),
            ("/gcda", false),
        ];
        for (path, expected) in cases {
            assert_eq!(seen_from("/", path.as_bytes()).expect(path).is_data_file(), expected, "{path}");
        }
    }

    #[test]
    fn descriptors_have_paths() {
        let cases = [
            (0, "/proc/self/fd/0"),
            (7, "/proc/self/fd/7"),
            (10, "/proc/self/fd/10"),
            (701, "/proc/self/fd/701"),
            (c_int::MAX, "/proc/self/fd/2147483647"),
            (-1, "/proc/self/fd/0"),
        ];
        for (fd, expected) in cases {
            let path = descriptor_path(fd);
            let end = path.iter().position(|&byte| byte == 0).expect("a NUL");
            assert_eq!(text(&path[..end]), expected);
            assert!(path[end..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn names_are_written_behind_directories() {
        let cases = [
            ("/", "a", 16, Some("/a")),
            ("/usr", "lib", 16, Some("/usr/lib")),
            ("/usr", "lib", 9, Some("/usr/lib")),
            ("/usr", "lib", 8, None),
            ("/usr", "lib", 5, None),
            ("/usr", "", 16, Some("/usr/")),
        ];
        for (directory, name, room, expected) in cases {
            let mut buffer = vec![0xff; room];
            buffer[..directory.len()].copy_from_slice(directory.as_bytes());
            buffer[directory.len()] = 0;
            let length = append(&mut buffer, name.as_bytes());
            assert_eq!(length.map(|length| text(&buffer[..length])).as_deref(), expected);
            assert!(length.is_none_or(|length| buffer[length] == 0));
        }
    }
}
