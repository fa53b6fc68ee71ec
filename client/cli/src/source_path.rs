//! Where a source is, by its name in a report.

use hearth_coverage::name_text;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// What is said where no source is one of those asked for.
pub fn no_source(parts: &[String]) -> String {
    format!("hearth: there is nothing of a source whose path contains `{}`", parts.join("` or `"))
}

/// The path that a source's name stands for.
pub fn path_of(name: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(name_text::to_bytes(name).into_owned()))
}
