//! Tells a file that was built anew, at the same path, from what it was.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Another number for a file that was written or replaced; 0 for one that is not there.
#[must_use]
pub fn of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |data| {
        let parts =
            [data.ino(), data.mtime().cast_unsigned(), data.mtime_nsec().cast_unsigned(), data.size()];
        parts
            .into_iter()
            .fold(0, |hash: u64, part| (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
    })
}

/// Files as they were at some time.
#[derive(Debug, Default)]
pub struct Files(Vec<(PathBuf, u64)>);

impl Files {
    /// As they are now.
    #[must_use]
    pub fn now<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        Self(paths.into_iter().map(|path| (path.to_owned(), of(path))).collect())
    }

    /// Are they what they were?
    #[must_use]
    pub fn are_the_same(&self) -> bool {
        self.0.iter().all(|(path, revision)| of(path) == *revision)
    }
}
