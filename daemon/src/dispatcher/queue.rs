//! The cores, each with a thread that does runs, and what waits for one of them.
//!
//! Work is begun in the order it came in. Work that nobody wants any more when its turn comes is not begun.

use crate::limits::QUEUED;
use crate::metrics::LiveCount;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use hearth_protocol::{Failure, FailureKind};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

type Result<T> = std::result::Result<T, Failure>;
type Job = Box<dyn FnOnce() + Send>;

/// The queue before the cores.
#[derive(Debug)]
pub struct Queue {
    jobs: Sender<Job>,
    cores: u32,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    queued: Arc<AtomicU32>,
    running: AtomicU32,
    is_closed: AtomicBool,
    /// Told when work has ended.
    ended: Notify,
}

impl Queue {
    /// A queue before so many cores. `begin` is called on each core's thread.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn new(cores: u32, begin: fn()) -> io::Result<Self> {
        let (jobs, taken) = bounded::<Job>(QUEUED);
        for number in 0..cores {
            let taken: Receiver<Job> = taken.clone();
            // They end with the queue, when nothing is left in it.
            thread::Builder::new().name(format!("core {number}")).spawn(move || {
                begin();
                taken.iter().for_each(|job| job());
            })?;
        }
        Ok(Self { jobs, cores, state: Arc::default() })
    }

    /// How many cores there are.
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// How much waits, and how much is worked on.
    pub fn sizes(&self) -> (u32, u32) {
        (self.state.queued.load(Ordering::Relaxed), self.state.running.load(Ordering::Relaxed))
    }

    /// Works on a core, which is taken until the work is done, whether anybody still waits for it or not.
    ///
    /// # Errors
    /// What the work says, or why it was not done.
    pub async fn work<T: Send + 'static>(
        &self,
        unwanted: Arc<AtomicBool>,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, answer) = oneshot::channel();
        let state = self.state.clone();
        let queued = LiveCount::new(&state.queued);
        let job = move || {
            let running = Running::new(&state);
            drop(queued);
            if state.is_closed.load(Ordering::Relaxed) || unwanted.load(Ordering::Relaxed) {
                return;
            }
            // What is shared is whole between its locks, so a panic leaves it so.
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(ended_badly()));
            drop(running);
            // Who has gone is told nothing.
            let _ = done.send(result);
        };
        match self.jobs.try_send(Box::new(job)) {
            Ok(()) => answer.await.unwrap_or_else(|_| Err(stopping())),
            Err(TrySendError::Full(_)) => {
                Err(Failure::new(FailureKind::Busy, format!("{QUEUED} runs wait for a core; try later")))
            }
            Err(TrySendError::Disconnected(_)) => Err(stopping()),
        }
    }

    /// Begins no more work.
    pub fn close(&self) {
        self.state.is_closed.store(true, Ordering::Relaxed);
    }

    /// Waits until nothing is worked on, for a while.
    pub async fn finish(&self, patience: Duration) {
        let all_ended = async {
            loop {
                let ended = self.state.ended.notified();
                if self.sizes().1 == 0 {
                    break;
                }
                ended.await;
            }
        };
        // What goes on after that ends with the process.
        let _ = timeout(patience, all_ended).await;
    }
}

/// Work under way. Who waits for its end is told.
struct Running(Arc<State>);

impl Running {
    fn new(state: &Arc<State>) -> Self {
        state.running.fetch_add(1, Ordering::Relaxed);
        Self(state.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.ended.notify_waiters();
    }
}

fn stopping() -> Failure {
    Failure::new(FailureKind::Stopping, "the daemon is about to end")
}

fn ended_badly() -> Failure {
    Failure::new(FailureKind::Internal, "the run ended badly in the daemon; its log tells more")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
    }

    fn wanted() -> Arc<AtomicBool> {
        Arc::default()
    }

    #[test]
    fn work_is_begun_in_order_and_counted() {
        let queue = Queue::new(1, || ()).expect("a queue");
        let begun = Arc::new(Mutex::new(Vec::new()));
        let (go, held) = bounded::<()>(0);
        runtime().block_on(async {
            let first = queue.work(wanted(), move || held.recv().map_err(|_| stopping()));
            let note = |number: u32| {
                let begun = begun.clone();
                queue.work(wanted(), move || {
                    begun.lock().expect("a list").push(number);
                    Ok(number)
                })
            };
            let rest = async { tokio::join!(biased; note(1), note(2), note(3)) };
            let watch = async {
                while queue.sizes() != (3, 1) {
                    tokio::task::yield_now().await;
                }
                go.send(()).expect("it waits");
            };
            let (first, (one, two, three), ()) = tokio::join!(biased; first, rest, watch);
            assert!(first.is_ok());
            assert_eq!([one, two, three].map(|done| done.expect("done")), [1, 2, 3]);
        });
        assert_eq!(*begun.lock().expect("a list"), [1, 2, 3]);
        assert_eq!(queue.sizes(), (0, 0));
    }

    #[test]
    fn what_panics_is_told_and_the_core_goes_on() {
        let queue = Queue::new(1, || ()).expect("a queue");
        let failed = runtime().block_on(queue.work(wanted(), || -> Result<()> { panic!("on purpose") }));
        assert_eq!(failed.expect_err("it panics").kind, FailureKind::Internal);
        assert_eq!(runtime().block_on(queue.work(wanted(), || Ok(7))).expect("done"), 7);
    }

    #[test]
    fn what_nobody_wants_and_what_comes_after_the_end_is_not_begun() {
        let queue = Queue::new(2, || ()).expect("a queue");
        let unwanted = Arc::new(AtomicBool::new(true));
        let never = || -> Result<()> { unreachable!("it was begun") };
        assert!(runtime().block_on(queue.work(unwanted, never)).is_err());
        queue.close();
        let late = runtime().block_on(queue.work(wanted(), never));
        assert_eq!(late.expect_err("it is closed").kind, FailureKind::Stopping);
        runtime().block_on(queue.finish(Duration::from_secs(60)));
        assert_eq!(queue.sizes(), (0, 0));
    }
}
