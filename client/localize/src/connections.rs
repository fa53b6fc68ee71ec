//! Questions to the daemon from as many threads as there are cores, each with a connection of its own.

use crate::error::{Error, Result};
use hearth_client::protocol::Address;
use hearth_client::protocol::{Encoding, RunRef};
use hearth_client::{Ask, Connection};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Connections to one daemon.
#[derive(Debug)]
pub struct Connections(Vec<Connection>);

impl Connections {
    /// As many as there are cores.
    ///
    /// # Errors
    /// If the daemon cannot be reached or started.
    pub fn open(address: &Address) -> Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let connections = (0..cores).map(|_| Connection::open_at(address, Encoding::Bincode));
        Ok(Self(connections.collect::<hearth_client::Result<_>>()?))
    }

    /// One of them.
    pub fn one(&mut self) -> &mut Connection {
        &mut self.0[0]
    }

    /// Has runs forgotten; none if none are given. That some are gone already is no matter.
    pub fn forget(&mut self, runs: impl IntoIterator<Item = u64>) {
        for run in runs.into_iter().filter(|&run| run > 0) {
            // What cannot be forgotten now is when the memory for runs is used up.
            let _ = self.one().call(Ask::Forget { runs: vec![RunRef::Id(run)] });
        }
    }

    /// Calls a function with each item until the deadline; the answers in order, `None` for what was not begun.
    ///
    /// # Errors
    /// The first that a call had.
    pub fn each<T: Sync, R: Send, E: From<Error> + Send>(
        &mut self,
        items: &[T],
        deadline: Instant,
        work: impl Fn(&mut Connection, &T) -> Result<R, E> + Sync,
    ) -> Result<Vec<Option<R>>, E> {
        let next = AtomicUsize::new(0);
        let take = |connection: &mut Connection| -> Result<Vec<(usize, R)>, E> {
            let mut done = Vec::new();
            while Instant::now() < deadline {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else { break };
                done.push((index, work(connection, item)?));
            }
            Ok(done)
        };
        let take = &take;
        let mut answers: Vec<Option<R>> = items.iter().map(|_| None).collect();
        std::thread::scope(|scope| -> Result<(), E> {
            let threads: Vec<_> =
                self.0.iter_mut().map(|connection| scope.spawn(move || take(connection))).collect();
            for thread in threads {
                let done = thread.join().map_err(|_| Error::Panicked)?;
                for (index, answer) in done? {
                    answers[index] = Some(answer);
                }
            }
            Ok(())
        })?;
        Ok(answers)
    }
}
