//! How much time each tool takes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Where the time went, added up over all threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// Compiles.
    pub compile: Duration,
    /// The assembler and the linker.
    pub link: Duration,
    /// Executions of the compiled programs.
    pub execute: Duration,
    /// Comparisons of spectra, and rankings.
    pub rank: Duration,
}

/// Time that was spent, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Times {
    pub compile: AtomicU64,
    pub link: AtomicU64,
    pub execute: AtomicU64,
}

impl Times {
    /// What was added up so far.
    pub fn spent(&self) -> Spent {
        let Self { compile, link, execute } = self;
        let [compile, link, execute] =
            [compile, link, execute].map(|time| Duration::from_micros(time.load(Ordering::Relaxed)));
        Spent { compile, link, execute, rank: Duration::ZERO }
    }
}

/// Adds to a time what an action takes.
pub(crate) fn timed<T>(time: &AtomicU64, action: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let result = action();
    time.fetch_add(began.elapsed().as_micros() as u64, Ordering::Relaxed);
    result
}
