//! Messages as bytes: JSON for everybody, bincode for Rust.

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
    bincode::config::standard().with_limit::<{ super::FRAME_LIMIT }>()
}

/// A message's bytes.
///
/// # Errors
/// If it is longer than a frame can be.
pub fn encode<T: Serialize>(encoding: Encoding, message: &T) -> Result<Vec<u8>, CodecError> {
    match encoding {
        Encoding::Json => serde_json::to_vec(message).map_err(|error| CodecError(error.to_string())),
        Encoding::Bincode => bincode::serde::encode_to_vec(message, configuration())
            .map_err(|error| CodecError(error.to_string())),
    }
}

/// A message as a frame.
///
/// # Errors
/// If it is longer than a frame can be.
pub fn message_frame<T: Serialize>(encoding: Encoding, message: &T) -> Result<Vec<u8>, CodecError> {
    let payload = encode(encoding, message)?;
    super::frame(&payload).ok_or_else(|| CodecError("the message is too long for a frame".to_owned()))
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
