//! Limits of messages, and of what a run can have.

use crate::ZygoteRequest;

/// The longest path, in bytes.
pub const PATH_LIMIT: usize = 4096;
/// The longest request, in bytes: its text is the working directory, the environment additions and the arguments.
pub const REQUEST_LIMIT: usize = 32 * 1024;
/// The longest note, in bytes.
pub const NOTE_LIMIT: usize = 16 + PATH_LIMIT;
/// How many arguments a run may be given.
pub const ARGUMENT_LIMIT: usize = 1024;
/// How many files a run may have written, and not removed again, at a time.
pub const FILE_LIMIT: usize = 256;
/// How many words [`REQUEST_EXPECT`](crate::REQUEST_EXPECT) may have. They fit into a request.
pub const EXPECTED_LIMIT: usize = (REQUEST_LIMIT - size_of::<ZygoteRequest>()) / 8;
