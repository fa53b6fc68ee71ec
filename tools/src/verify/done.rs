//! The cases that were done, by this call and earlier ones: a check goes on where it stopped.

use anyhow::Context;
use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The cases that were done.
pub struct Done {
    earlier: HashSet<String>,
    path: Option<PathBuf>,
    /// How many of earlier calls were met again.
    pub skipped: usize,
}

impl Done {
    /// Those that a file lists.
    pub fn read(path: Option<&Path>) -> Self {
        let text = path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let earlier = text.lines().map(str::to_owned).collect();
        Self { earlier, path: path.map(Path::to_owned), skipped: 0 }
    }

    /// Was a case done by an earlier call? Then it is skipped.
    pub fn skips(&mut self, case: &str) -> bool {
        let is_known = self.earlier.contains(case);
        self.skipped += usize::from(is_known);
        is_known
    }

    /// Remembers a case.
    pub fn add(&self, case: &str) -> anyhow::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{case}").context("cannot remember the case")
    }
}
