//! Why there is no answer.

use serde::{Deserialize, Serialize};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of reason.
    pub kind: FailureKind,
    /// What is wrong and what to do.
    pub message: String,
}

/// The kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The client is of another version of the protocol.
    Version,
    /// The client is another user's, or in another process or user namespace than the daemon.
    Foreign,
    /// There are as many clients, or as many bytes of frames under way, as there can be.
    Busy,
    /// The bytes are no message.
    Malformed,
    /// The order cannot be carried out: no such subject, program, warm point, file.
    Order,
    /// There is no such run, or it has been forgotten.
    NoSuchRun,
    /// The runs are of different subjects.
    Mixed,
    /// The answer is too long for a frame.
    TooLarge,
    /// The daemon is about to end.
    Stopping,
    /// Something on the daemon's side failed.
    Internal,
    /// Runs with a name fill the memory for kept runs.
    Full,
}

impl Failure {
    /// A failure.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
