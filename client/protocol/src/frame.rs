//! Frames: a length of four bytes, the least significant first, and as many bytes.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

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

/// The length that a frame's head announces; `None` if it is beyond the limit.
#[must_use]
pub fn frame_length(head: [u8; HEAD_BYTES]) -> Option<usize> {
    Some(u32::from_le_bytes(head) as usize).filter(|&length| length <= FRAME_LIMIT)
}

/// Reads what a frame's head announces. Memory grows with what comes.
///
/// # Errors
/// If the frame is too long, or does not come to its end.
pub async fn read_payload<R: AsyncRead + Unpin>(
    reader: &mut R,
    head: [u8; HEAD_BYTES],
) -> io::Result<Vec<u8>> {
    let announced = u32::from_le_bytes(head);
    let length = frame_length(head)
        .ok_or_else(|| io::Error::other(format!("a frame of {announced} bytes is too long")))?;
    let mut payload = Vec::new();
    reader.take(length as u64).read_to_end(&mut payload).await?;
    if payload.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(payload)
}
