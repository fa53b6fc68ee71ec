//! Frames: a length of four bytes, the least significant first, and as many bytes.

use std::io;

/// The longest frame, in bytes.
pub const FRAME_LIMIT: usize = 64 << 20;
/// Bytes of the length before each frame.
pub const HEAD_BYTES: usize = 4;

/// The frame of a payload; `None` if it is too long.
#[must_use]
pub fn frame(payload: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(payload.len()).ok().filter(|&length| length as usize <= FRAME_LIMIT)?;
    let mut frame = Vec::with_capacity(HEAD_BYTES + payload.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(payload);
    Some(frame)
}

/// The length that a frame's head announces.
///
/// # Errors
/// If it is beyond a limit, of at most [`FRAME_LIMIT`].
pub fn announced(head: [u8; HEAD_BYTES], limit: usize) -> io::Result<usize> {
    let length = u32::from_le_bytes(head) as usize;
    match length <= limit {
        true => Ok(length),
        false => Err(io::Error::other(format!("it announces a frame of over {limit} bytes"))),
    }
}

/// A payload, if it has come to its end. Who reads it should let memory grow with what comes.
///
/// # Errors
/// If it has not.
pub fn whole(payload: Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    if payload.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(payload) }
}
