//! Talks to the Hearth daemon.
//!
//! [`Connection`] sends a request and waits for its answer; [`AsyncConnection`] has many under way at a time.
//! Both start the daemon when none is running.
//!
//! ```no_run
//! use hearth_client::{Ask, Connection, protocol::{Order, RunInput}};
//!
//! let mut hearth = Connection::open()?;
//! let order = Order { subject: "tcc".into(), arguments: vec!["-c".into(), "{}".into()], ..Order::here()? };
//! let run = hearth.run(order, RunInput { input: Some("int x;".into()), ..RunInput::default() })?;
//! println!("{} lines ran", run.lines_executed);
//! # Ok::<(), hearth_client::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod address;
pub mod asynchronous;
pub mod blocking;
pub mod error;
pub mod protocol;
pub mod start;

pub use asynchronous::AsyncConnection;
pub use blocking::Connection;
pub use error::{Error, Result};
pub use protocol::{Answer, Ask};
