//! Starts subjects with the shim preloaded, in a sandbox that nothing gets out of.
//!
//! The daemon's side is [`Launched`]: it starts a [`Launcher`], a process with one thread that makes the sandbox
//! ([`launcher`]) and the subject in it, stays above the subject, and makes its [`Areas`](areas::Areas) fresh between runs.
//! What the machine lacks for all that is told, and refused unless the [`Policy`] says otherwise.
//!
//! Both sides talk in packets with descriptors, as the daemon and the shim do:
//!
//! ```
//! use hearth_sandbox::packet::{self, Received};
//! use std::time::Instant;
//!
//! let (daemon, launcher) = packet::pair()?;
//! packet::send(&daemon, &7_u32, b"text", &[])?;
//! let Received::Packet(packet) = packet::receive::<u32>(&launcher, 64, Instant::now())? else { panic!() };
//! assert_eq!((packet.head, &packet.text[..]), (7, &b"text"[..]));
//! # Ok::<(), std::io::Error>(())
//! ```

#![deny(unsafe_code)]

pub mod areas;
pub mod error;
pub mod launched;
pub mod launcher;
pub mod limits;
pub mod memory_file;
pub mod packet;
pub mod shim;
mod word;

pub use error::Error;
pub use launched::{LAUNCH_ARGUMENT, Launched, Launcher, Policy};
pub use word::Launch;
