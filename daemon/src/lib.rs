//! The daemon: answers clients on a socket.
//!
//! [`listen`] owns the socket, [`session`] one client's connection, [`Service`] everything they share.
//! Questions about kept runs are answered at once; runs wait for a core, in the order they were asked for.

mod answer;
mod dispatch;
pub mod limits;
mod listen;
mod metrics;
mod peer;
mod room;
mod runs;
mod session;
mod store;

use crate::limits::LONG_QUESTIONS;
use dispatch::Question;
use hearth_protocol::{Answer, BUILD, Failure, FailureKind, STATUS_FORMAT, Status, SubjectInfo, ZygoteInfo};
use hearth_runner::error::Error;
use hearth_runner::order::Resolver;
use hearth_runner::pool::Pool;
use hearth_sandbox::Launcher;
use hearth_subject::{Entry, Store as SubjectStore};
pub use listen::{Ended, Options, holder, serve};
use metrics::Metrics;
use room::Frames;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use store::Store;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};

/// Makes a function's name readable.
pub type Demangle = fn(&[u8], &mut Vec<u8>);

/// What all sessions share.
#[derive(Debug)]
pub struct Service {
    pool: Pool,
    resolver: Resolver,
    store: Mutex<Store>,
    metrics: Metrics,
    demangle: Demangle,
    /// Whose blocking threads do the runs.
    run_threads: Handle,
    /// One permit for each core.
    cores: Arc<Semaphore>,
    core_count: u32,
    /// One permit for each question that takes long and may be worked on.
    long_questions: Arc<Semaphore>,
    frames: Frames,
    queued: AtomicU32,
    running: AtomicU32,
    sessions: AtomicU32,
    started: Instant,
    /// Told when the daemon is to end.
    stop: Notify,
}

impl Service {
    /// A service that starts zygotes with `launcher`, keeps at most `kept_bytes` of spectra and works on runs on the
    /// blocking threads of `run_threads`.
    #[must_use]
    pub fn new(launcher: Launcher, kept_bytes: u64, demangle: Demangle, run_threads: Handle) -> Self {
        let core_count = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        Self {
            pool: Pool::new(launcher),
            resolver: Resolver::for_daemon(),
            store: Mutex::new(Store::new(kept_bytes)),
            metrics: Metrics::default(),
            demangle,
            run_threads,
            cores: Arc::new(Semaphore::new(core_count as usize)),
            core_count,
            long_questions: Arc::new(Semaphore::new(LONG_QUESTIONS)),
            frames: Frames::default(),
            queued: AtomicU32::new(0),
            running: AtomicU32::new(0),
            sessions: AtomicU32::new(0),
            started: Instant::now(),
            stop: Notify::new(),
        }
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // The store is whole between statements, so a thread that died with the lock did no harm to it.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a question. One that ends in a panic leaves the service whole: it is so between its locks.
    fn answer(&self, question: Question) -> Result<Answer, Failure> {
        catch_unwind(AssertUnwindSafe(|| question(self))).unwrap_or_else(|_| Err(ended_badly()))
    }

    fn status(&self) -> Status {
        let (kept_runs, kept_bytes, kept_limit_bytes) = self.store().sizes();
        let zygotes = self.pool.idle().into_iter().map(|(key, memory_bytes, idle)| ZygoteInfo {
            binary: key.binary.to_string_lossy().into_owned(),
            arguments: key.arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
            warm: key.warm.to_string(),
            memory_bytes,
            idle_ms: idle.as_millis() as u64,
        });
        Status {
            format: STATUS_FORMAT,
            build: BUILD.to_owned(),
            pid: std::process::id(),
            uptime_s: self.started.elapsed().as_secs(),
            sessions: self.sessions.load(Ordering::Relaxed),
            queued: self.queued.load(Ordering::Relaxed),
            running: self.running.load(Ordering::Relaxed),
            cores: self.core_count,
            memory_bytes: metrics::own_memory(),
            kept_runs,
            kept_bytes,
            kept_limit_bytes,
            zygotes: zygotes.collect(),
            latencies: self.metrics.latencies(),
        }
    }
}

/// Counts up while it lives.
struct Counted {
    service: Arc<Service>,
    counter: fn(&Service) -> &AtomicU32,
}

impl Counted {
    fn new(service: &Arc<Service>, counter: fn(&Service) -> &AtomicU32) -> Self {
        counter(service).fetch_add(1, Ordering::Relaxed);
        Self { service: service.clone(), counter }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.counter)(&self.service).fetch_sub(1, Ordering::Relaxed);
    }
}

/// What is said of a question that could not be answered because of a mistake in the daemon.
fn ended_badly() -> Failure {
    Failure::new(FailureKind::Internal, "the question ended badly in the daemon; its log tells more")
}

fn subjects() -> Result<Answer, Failure> {
    let internal = |error: hearth_subject::Error| Failure::new(FailureKind::Internal, error.to_string());
    let entries = SubjectStore::open().and_then(|store| store.list()).map_err(internal)?;
    let subjects = entries.into_iter().filter_map(|entry| match entry {
        Entry::Ready(subject) => Some(SubjectInfo {
            name: subject.id().to_owned(),
            binary: subject.binary().to_string_lossy().into_owned(),
            instrumented: subject.manifest.notes.count > 0,
        }),
        _ => None,
    });
    Ok(Answer::Subjects(subjects.collect()))
}

/// A failure to carry out an order, or one of the daemon's own.
fn failure(error: &Error) -> Failure {
    let kind = match error {
        Error::Sandbox(hearth_sandbox::Error::Launch { .. })
        | Error::System { .. }
        | Error::Quarantined { .. }
        | Error::ZygoteLost(_) => FailureKind::Internal,
        _ => FailureKind::Order,
    };
    Failure::new(kind, error.to_string())
}
