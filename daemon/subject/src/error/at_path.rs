//! Naming the verb and the path of a file operation that failed.

use std::io;
use std::path::Path;

use super::{Error, Result};

/// Adds the verb and the path to a file operation's error.
pub(crate) trait AtPath<T> {
    /// Names what was attempted, and on which path.
    fn at(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|cause| Error::Io { action, path: path.to_path_buf(), cause })
    }
}
