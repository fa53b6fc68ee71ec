//! Talks to the Hearth daemon.
//!
//! [`Connection`] sends a request and waits for its answer; with the feature `async`, `AsyncConnection` has many under way at a
//! time. Both start the daemon when none is running.
//!
//! ```no_run
//! use hearth_client::{Ask, Connection, protocol::{Order, RunInput}};
//!
//! let mut hearth = Connection::open()?;
//! let order = Order { subject: "tcc".into(), arguments: vec!["-c".into(), "{}".into()], ..Order::here()? };
//! let run = hearth.run(order, RunInput { input: Some("int x;".into()), ..RunInput::default() })?;
//! println!("{} lines ran", run.lines_executed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "async")]
pub mod asynchronous;
pub mod blocking;
pub mod error;
pub mod start;

#[cfg(feature = "async")]
pub use asynchronous::AsyncConnection;
pub use blocking::Connection;
pub use error::{Error, Result};
pub use hearth_protocol as protocol;
pub use protocol::{Answer, Ask};
