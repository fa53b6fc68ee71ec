//! The messages: greetings, requests and replies here, what they are about in the files below.
//!
//! Every field is always written, so that both encodings read what the other wrote; where JSON may leave one
//! out, it has a default.

mod answer;
mod ask;
mod failure;
mod order;
mod status;

use crate::{BUILD, Encoding, MAGIC, PROTOCOL};
pub use answer::*;
pub use ask::*;
pub use failure::*;
pub use order::*;
use serde::{Deserialize, Serialize};
pub use status::*;

/// The first frame of a client, in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`MAGIC`].
    pub magic: String,
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// How the messages after this one are written.
    pub encoding: Encoding,
    /// The client's name and version, for the log.
    #[serde(default)]
    pub build: String,
    /// What it can do beyond the protocol's version. Nothing so far.
    #[serde(default)]
    pub capabilities: Vec<String>,
}

impl Hello {
    /// A client of this version.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        let build = format!("hearth-client {BUILD}");
        Self { magic: MAGIC.to_owned(), protocol: PROTOCOL, encoding, build, capabilities: Vec::new() }
    }
}

/// The first frame of the daemon, in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`MAGIC`].
    pub magic: String,
    /// The daemon's version of the protocol.
    pub protocol: u32,
    /// The daemon's version.
    pub build: String,
    /// What it can do beyond the protocol's version. Nothing so far.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Why the connection is closed now; nothing if all is well.
    #[serde(default)]
    pub refused: Option<Failure>,
}

/// What a client asks, with a number of its choice that the answer has too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The number.
    pub id: u64,
    /// What it asks.
    pub ask: Ask,
}

/// The daemon's answer. Answers come as they are ready, in any order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The request's number.
    pub id: u64,
    /// Is it the last one? Only a batch has more than one.
    pub last: bool,
    /// The answer itself.
    pub body: Body,
}

/// An answer, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The answer.
    Done(Answer),
    /// Why there is none.
    Failed(Failure),
}
