//! What a process has mapped, as `/proc/<pid>/maps` lists it.

use crate::binary_layout;
use crate::error::{Error, ProgramProblem, Result};
use crate::revision;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

/// A process's mappings.
#[derive(Debug)]
pub struct Mappings(Vec<Mapping>);

/// Where gcov's lists of objects are.
#[derive(Debug, Default)]
pub struct GcovRoots {
    /// One in the program, and one in each instrumented library.
    pub addresses: Vec<u64>,
    /// There is gcov's own fork, by which counters begin anew in a process that is made.
    pub has_fork: bool,
}

#[derive(Debug)]
struct Mapping {
    addresses: Range<u64>,
    is_writable: bool,
    is_private: bool,
    is_code: bool,
    offset: u64,
    /// Empty if no file is behind it.
    path: String,
}

impl Mappings {
    /// Reads the list.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(Mapping::parse).collect())
    }

    /// The memory that can be written and is shared with nobody.
    pub fn writable(&self) -> impl Iterator<Item = Range<u64>> {
        let own = self.0.iter().filter(|mapping| mapping.is_writable && mapping.is_private);
        own.map(|mapping| mapping.addresses.clone())
    }

    /// Is there memory that can be written and is shared?
    #[must_use]
    pub fn shares_memory(&self) -> bool {
        self.0.iter().any(|mapping| mapping.is_writable && !mapping.is_private)
    }

    /// The files with code in them.
    pub fn programs(&self) -> impl Iterator<Item = &Path> {
        let paths: BTreeSet<&str> =
            self.0.iter().filter(|mapping| mapping.is_code).map(|mapping| mapping.path.as_str()).collect();
        paths.into_iter().filter(|path| !path.is_empty()).map(Path::new)
    }

    /// The files that are mapped, as they are on the machine, and where: alike for processes that execute the same program, in
    /// the same way.
    #[must_use]
    pub fn layout(&self) -> Vec<(String, u64, u64)> {
        let files = self.files().into_iter().filter(|(path, _)| path.starts_with('/'));
        files.map(|(path, start)| (path.to_owned(), revision::of(Path::new(path)), start)).collect()
    }

    /// Where gcov's lists of objects are: one in the program, and one in each instrumented library.
    ///
    /// # Errors
    /// If there are none.
    pub fn gcov_roots(&self, binary: &Path) -> Result<GcovRoots> {
        self.roots_in(binary, binary)
    }

    /// The same for a program of which the file is open: it may be in memory, or one that only the run sees.
    ///
    /// # Errors
    /// As above.
    pub fn gcov_roots_of(&self, binary: &Path, file: &File) -> Result<GcovRoots> {
        self.roots_in(binary, Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))
    }

    /// Looks for the program's at a path that may be another one than it is mapped by.
    fn roots_in(&self, binary: &Path, readable: &Path) -> Result<GcovRoots> {
        let mut roots = GcovRoots::default();
        let mut stripped = false;
        for (path, start) in self.files() {
            // What cannot be read (the shim, a deleted file) has no counters that anybody could name.
            let path = Path::new(path);
            let place = if path == binary { readable } else { path };
            let Ok(program) = binary_layout::inspect(place, None) else { continue };
            stripped |= !program.has_symbols && same_file(path, binary);
            roots.addresses.extend(program.gcov_root.map(|root| program.address(root, start)));
            roots.has_fork |= program.has_gcov_fork;
        }
        if roots.addresses.is_empty() {
            let what = "its counters".to_owned();
            let problem = ProgramProblem::Stripped { what };
            return Err(match stripped {
                true => Error::Program { path: binary.to_owned(), problem },
                false => Error::Counters(
                    "it is not instrumented; compile and link it with gcc --coverage".to_owned(),
                ),
            });
        }
        Ok(roots)
    }

    /// Where a function is, of the first library that has it. The loader puts each below those that it has loaded before.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<u64> {
        let mut files: Vec<(&str, u64)> = self.files().into_iter().collect();
        files.sort_by_key(|&(_, start)| std::cmp::Reverse(start));
        files.into_iter().find_map(|(path, start)| {
            let program = binary_layout::inspect(Path::new(path), Some(name)).ok()?;
            program.function.map(|function| program.address(function, start))
        })
    }

    /// The files that are mapped from their beginnings, and where.
    fn files(&self) -> BTreeMap<&str, u64> {
        let mut files: BTreeMap<&str, u64> = BTreeMap::new();
        for mapping in self.0.iter().filter(|mapping| mapping.offset == 0 && !mapping.path.is_empty()) {
            files.entry(&mapping.path).or_insert(mapping.addresses.start);
        }
        files
    }
}

impl Mapping {
    /// A line: `start-end rwxp offset device inode path`.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let rights = fields.next()?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        Some(Self {
            addresses: number(start)?..number(end)?,
            is_writable: rights.as_bytes().get(1) == Some(&b'w'),
            is_private: rights.ends_with('p'),
            is_code: rights.as_bytes().get(2) == Some(&b'x'),
            offset: number(fields.next()?)?,
            // The list has a line for each, so that line ends in names are written in digits.
            path: line.find('/').map_or_else(String::new, |path| line[path..].replace("\\012", "\n")),
        })
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    other.canonicalize().is_ok_and(|other| other == one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whatever_is_behind_the_mapping() {
        let text = "400000-401000 r--p 00000000 fe:00 12 /bin/a b\n\
            401000-403000 rw-p 00001000 fe:00 12 /bin/a b\n\
            7000000-7200000 r-xp 00000000 00:00 0\n\
            7ffff000-80000000 rw-s 00000000 00:01 9 /dev/zero\n\
            garbage\n";
        let mappings = Mappings::parse(text);
        assert_eq!(mappings.writable().next(), Some(0x40_1000..0x40_3000));
        assert_eq!(mappings.writable().count(), 1);
        assert_eq!(mappings.0[0].path, "/bin/a b");
        assert_eq!(mappings.programs().count(), 0);
        let mappings = Mappings::parse("400000-401000 r-xp 00000000 fe:00 12 /bin/a b\n");
        assert_eq!(mappings.programs().collect::<Vec<_>>(), [Path::new("/bin/a b")]);
    }
}
