//! The contract of Hearth's daemon and its clients, as `shim/abi` is of shim and daemon: messages, frames, and where the daemon
//! listens. `PROTOCOL.md` beside this crate describes it for everybody else.
//!
//! ```
//! use hearth_protocol::{Ask, Encoding, Request, decode, encode};
//!
//! let request = Request { id: 1, ask: Ask::Status {} };
//! let bytes = encode(Encoding::Json, &request)?;
//! assert_eq!(bytes, br#"{"id":1,"ask":{"status":{}}}"#);
//! assert_eq!(decode::<Request>(Encoding::Json, &bytes)?, request);
//! # Ok::<(), hearth_protocol::CodecError>(())
//! ```
#![forbid(unsafe_code)]

pub mod address;
mod bytes;
mod codec;
mod frame;
mod limited;
mod message;

pub use address::Address;
pub use bytes::Bytes;
pub use codec::{CodecError, Encoding, decode, encode, message_frame};
pub use frame::{FRAME_LIMIT, HEAD_BYTES, announced, frame, whole};
pub use hearth_coverage::spectrum::{Aggregation, Formula, Quality};
pub use limited::{INPUTS_LIMIT, RUNS_LIMIT, WORDS_LIMIT};
pub use message::*;

/// The version of the protocol. It changes with every change that an older program would misunderstand.
pub const PROTOCOL: u32 = 6;
/// What the first frame of either side begins with.
pub const MAGIC: &str = "hearth";
/// The build, for people who compare.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");
