//! The stack of a compiler that crashed, as GCC prints it.

use std::path::{Component, Path, PathBuf};

/// A place on the stack, as the compiler prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The function, with its parameters or without.
    pub function: String,
    /// The whole path of its source.
    pub source: String,
    /// The line.
    pub line: u32,
}

/// Reads the stack from what a compiler says of its crash, from where it crashed outward: a line with an address and a
/// function, then one with a file and a line. Files are named from the directory where the compiler was built.
#[must_use]
pub fn frames(errors: &str, directory: &Path) -> Vec<Frame> {
    let lines: Vec<&str> = errors.lines().collect();
    let frame = |pair: &[&str]| {
        let &[above, below] = pair else { return None };
        let (address, function) = above.strip_prefix("0x")?.split_once(' ')?;
        u64::from_str_radix(address, 16).ok()?;
        let (path, line) = below.strip_prefix('\t')?.rsplit_once(':')?;
        let (source, line) = (plain_path(&directory.join(path)).display().to_string(), line.parse().ok()?);
        Some(Frame { function: function.to_owned(), source, line })
    };
    lines.windows(2).filter_map(frame).collect()
}

/// A path without `.` and `..`.
fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}
