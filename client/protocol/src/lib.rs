//! Protocol version 3: the bytes on the socket. `PROTOCOL.md` beside this crate describes it for everybody else.

mod bytes;
mod codec;
mod frame;
mod limited;
mod message;

pub use bytes::Bytes;
pub use codec::{CodecError, Encoding, decode, encode, message_frame};
pub use frame::{FRAME_LIMIT, HEAD_BYTES, frame, frame_length, read_payload};
pub use limited::{INPUTS_LIMIT, RUNS_LIMIT, WORDS_LIMIT};
pub use message::*;

/// The version of the protocol. It changes with every change that an older program would misunderstand.
pub const PROTOCOL: u32 = 4;
/// What the first frame of either side begins with.
pub const MAGIC: &str = "hearth";
/// The build, for people who compare.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");
