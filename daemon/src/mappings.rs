//! What a process has mapped, as `/proc/<pid>/maps` lists it.

use crate::error::{Error, ProgramProblem, Result};
use crate::program;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// A process's mappings.
#[derive(Debug)]
pub struct Mappings(Vec<Mapping>);

#[derive(Debug)]
struct Mapping {
    addresses: Range<u64>,
    is_writable: bool,
    is_private: bool,
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

    /// Where gcov's lists of objects are: one in the program, and one in each instrumented library.
    ///
    /// # Errors
    /// If there are none.
    pub fn gcov_roots(&self, binary: &Path) -> Result<Vec<u64>> {
        let mut roots = Vec::new();
        let mut stripped = false;
        let mut first_mappings: BTreeMap<&str, u64> = BTreeMap::new();
        for mapping in self.0.iter().filter(|mapping| mapping.offset == 0 && !mapping.path.is_empty()) {
            first_mappings.entry(&mapping.path).or_insert(mapping.addresses.start);
        }
        for (path, start) in first_mappings {
            // What cannot be read (the shim, a deleted file) has no counters that anybody could name.
            let Ok(program) = program::inspect(Path::new(path), None) else { continue };
            stripped |= !program.has_symbols && same_file(path, binary);
            roots.extend(
                program.gcov_root.map(|root| start.wrapping_sub(program.first_address).wrapping_add(root)),
            );
        }
        if roots.is_empty() {
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
            offset: number(fields.next()?)?,
            path: line.find('/').map_or_else(String::new, |path| line[path..].to_owned()),
        })
    }
}

fn same_file(one: &str, other: &Path) -> bool {
    other.canonicalize().is_ok_and(|other| other == Path::new(one))
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
    }
}
