//! The daemon: answers clients on a socket.
//!
//! [`serve`] owns the socket. Each client has a session, which reads requests and writes replies; one dispatcher, which
//! owns everything that clients share, answers them. Questions about kept runs are answered at once; runs wait for a core,
//! in the order they were asked for.
//!
//! A daemon leaves the number of its process in the file that it holds locked:
//!
//! ```
//! let directory = std::env::temp_dir().join("no daemon was ever here");
//! assert_eq!(hearth_daemon::holder(&hearth_protocol::Address::at(directory)), None);
//! ```

#![forbid(unsafe_code)]

mod dispatcher;
pub mod limits;
mod listen;
mod metrics;
mod peer;
mod room;
mod session;

pub use dispatcher::Demangle;
pub use listen::{Ended, Options, holder, serve};
