//! Messages as bytes: JSON for everybody, bincode for Rust.

use crate::frame::{FRAME_LIMIT, HEAD_BYTES};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How messages are written after the first frame of either side, which is always JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// JSON, one value a frame.
    Json,
    /// bincode 2 in its standard configuration.
    Bincode,
}

/// Bytes that are no message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(String);

/// A short message is no longer than this, in bytes, and takes no more memory than [`SHORT_MEMORY`].
const SHORT: usize = 16 << 10;
/// What is set aside for a short message at the most, whatever lengths its bytes claim.
const SHORT_MEMORY: usize = 1 << 20;

/// Nothing decoded needs more memory than a frame, whatever lengths the bytes claim.
fn configuration() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<{ FRAME_LIMIT }>()
}

/// A message's bytes.
///
/// # Errors
/// If it cannot be written, or is longer than a frame can be.
pub fn encode<T: Serialize>(encoding: Encoding, message: &T) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::new();
    append(encoding, message, &mut bytes)?;
    Ok(bytes)
}

/// A message as a frame.
///
/// # Errors
/// If it cannot be written, or is longer than a frame can be.
pub fn message_frame<T: Serialize>(encoding: Encoding, message: &T) -> Result<Vec<u8>, CodecError> {
    // The message is written behind its head, so that a long one is not there twice.
    let mut frame = vec![0; HEAD_BYTES];
    append(encoding, message, &mut frame)?;
    let length = frame.len() - HEAD_BYTES;
    if length > FRAME_LIMIT {
        return Err(CodecError("the message is too long for a frame".to_owned()));
    }
    frame[..HEAD_BYTES].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

fn append<T: Serialize>(encoding: Encoding, message: &T, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
    match encoding {
        Encoding::Json => {
            serde_json::to_writer(bytes, message).map_err(|error| CodecError(error.to_string()))
        }
        Encoding::Bincode => bincode::serde::encode_into_std_write(message, bytes, configuration())
            .map(|_| ())
            .map_err(|error| CodecError(error.to_string())),
    }
}

/// A message from its bytes, all of them.
///
/// # Errors
/// If they are none.
pub fn decode<T: DeserializeOwned>(encoding: Encoding, bytes: &[u8]) -> Result<T, CodecError> {
    match encoding {
        Encoding::Json => serde_json::from_slice(bytes).map_err(|error| CodecError(error.to_string())),
        Encoding::Bincode => match decode_bincode(bytes) {
            Ok((message, used)) if used == bytes.len() => Ok(message),
            Ok((_, used)) => Err(CodecError(format!("{} bytes behind the message", bytes.len() - used))),
            Err(error) => Err(CodecError(error.to_string())),
        },
    }
}

fn decode_bincode<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, usize), bincode::error::DecodeError> {
    if bytes.len() <= SHORT {
        let short = bincode::config::standard().with_limit::<SHORT_MEMORY>();
        return bincode::serde::decode_from_slice(bytes, short);
    }
    bincode::serde::decode_from_slice(bytes, configuration())
}
