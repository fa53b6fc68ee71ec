//! Everything that can be wrong with a notes or data file, one sentence each.

use super::version::Version;
use thiserror::Error;

/// The result of reading or computing coverage.
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong with a file, and what the user can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The file does not begin with the magic word of its kind.
    #[error(
        "not a {expected} file: it begins with {found:02x?}; remove it or point Hearth at the right directory"
    )]
    Foreign {
        /// The kind that was expected: `.gcno` or `.gcda`.
        expected: &'static str,
        /// The first four bytes, fewer if the file is shorter.
        found: Vec<u8>,
    },
    /// The file was written by a compiler older than the readers support, or its version word is damaged.
    #[error(
        "version {found} is not supported (GCC 4.8 and later are); rebuild the program with a newer compiler"
    )]
    UnsupportedVersion {
        /// The version the file carries.
        found: Version,
    },
    /// The file ends in the middle of a record.
    #[error(
        "truncated: {what} at byte {offset} needs {needed} bytes, {available} are left; {}",
        remedy(*.offset)
    )]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Where it begins.
        offset: usize,
        /// How long it claims to be.
        needed: usize,
        /// How many bytes are left.
        available: usize,
    },
    /// The data file stops without its end marker, so counters may be missing.
    #[error("truncated: no end marker after the last record; run the program again to write it anew")]
    NoEndMarker,
    /// A record holds a value that contradicts the rest of the file.
    #[error(
        "corrupt: {what} at byte {offset} is {value}; rebuild the object, or run the program again for a .gcda"
    )]
    Corrupt {
        /// Which value.
        what: &'static str,
        /// Where its record is.
        offset: usize,
        /// The value.
        value: u64,
    },
    /// The arcs of a function do not determine all its counts.
    #[error("corrupt: the flow graph of function `{function}` cannot be solved; rebuild the object")]
    Unsolvable {
        /// The function's name as the notes spell it.
        function: String,
    },
    /// Notes and data come from different versions of the compiler.
    #[error(
        "written by version {data}, but the notes are of version {notes}; run the program that belongs to the notes"
    )]
    VersionMismatch {
        /// The data file's version.
        data: Version,
        /// The notes file's version.
        notes: Version,
    },
    /// Notes and data come from different builds of the object.
    #[error(
        "stamp {data:#010x} does not match the notes' {notes:#010x}: the object was rebuilt since; run the program again"
    )]
    StampMismatch {
        /// The data file's stamp.
        data: u32,
        /// The notes file's stamp.
        notes: u32,
    },
    /// A function's checksums or counters differ between notes and data.
    #[error(
        "{what} of function `{function}` is {data:#x}, the notes say {notes:#x}: the object was rebuilt since, or the file is damaged; run the program again"
    )]
    FunctionMismatch {
        /// The function's name as the notes spell it.
        function: String,
        /// What differs.
        what: &'static str,
        /// The data file's value.
        data: u32,
        /// The notes file's value.
        notes: u32,
    },
    /// The data file counts a function that the notes do not describe.
    #[error(
        "counts a function (ident {ident:#010x}) that the notes do not describe: the notes are truncated or of another build; rebuild the object"
    )]
    UnknownFunction {
        /// The function's ident.
        ident: u32,
    },
    /// One line of the source holds more loops than can be counted in bounded time.
    #[error("line {line} of `{function}` holds too many loops to count exactly ({steps} steps tried)")]
    TooManyCycles {
        /// The function's name.
        function: String,
        /// The source line.
        line: u32,
        /// How many steps were spent.
        steps: u64,
    },
    /// A cached atlas cannot be used.
    #[error("unusable atlas: {what}; it will be built anew from the notes")]
    Atlas {
        /// Why.
        what: &'static str,
    },
}

fn remedy(offset: usize) -> &'static str {
    if offset == 0 { "the file is empty or nearly so; write it anew" } else { "write it anew" }
}
