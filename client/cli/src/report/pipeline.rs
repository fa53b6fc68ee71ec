//! Runs a job for each item on all cores and hands the results over in order, in bounded memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};

/// Results that may be finished or under way at once, for each core.
const BUFFERS_PER_CORE: usize = 8;

/// Calls `job` for each item, with a worker made by `worker` on each thread, and `consume` with the results
/// in the order of the items. A buffer handed to `consume` is reused for a later item.
pub fn in_order<T: Sync, W, R: Send>(
    items: &[T],
    worker: impl Fn() -> W + Sync,
    job: impl Fn(&mut W, &T, &mut Vec<u8>) -> R + Sync,
    mut consume: impl FnMut(&[u8], R) -> io::Result<()>,
) -> io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(items.len().max(1));
    let next = AtomicUsize::new(0);
    let buffers = Buffers::new(cores * BUFFERS_PER_CORE);
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            let sender = sender.clone();
            let (worker, job, next, buffers) = (&worker, &job, &next, &buffers);
            scope.spawn(move || {
                let _guard = CloseOnPanic(buffers);
                let mut state = worker();
                // The buffer is taken before the item, so the earliest item under way always has one.
                while let Some(mut buffer) = buffers.take() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    buffer.clear();
                    let result = job(&mut state, item, &mut buffer);
                    if sender.send((index, buffer, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut expected = 0;
        for (index, buffer, result) in results {
            early.insert(index, (buffer, result));
            while let Some((buffer, result)) = early.remove(&expected) {
                let consumed = consume(&buffer, result);
                if consumed.is_err() {
                    buffers.close();
                    return consumed;
                }
                expected += 1;
                buffers.give(buffer);
            }
        }
        Ok(())
    })
}

/// A bounded set of buffers. The one given back last is handed out first, because it is still in the cache.
struct Buffers {
    /// `None` once closed.
    free: Mutex<Option<Vec<Vec<u8>>>>,
    given: Condvar,
}

impl Buffers {
    fn new(count: usize) -> Self {
        Self { free: Mutex::new(Some(vec![Vec::new(); count])), given: Condvar::new() }
    }

    /// Waits for a buffer; `None` if there will be none.
    fn take(&self) -> Option<Vec<u8>> {
        // The list is whole at all times, so a thread that died with the lock did no harm to it.
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let is_empty = |free: &mut Option<Vec<Vec<u8>>>| free.as_ref().is_some_and(Vec::is_empty);
        let mut free = self.given.wait_while(free, is_empty).unwrap_or_else(PoisonError::into_inner);
        free.as_mut().and_then(Vec::pop)
    }

    fn give(&self, buffer: Vec<u8>) {
        if let Some(free) = self.free.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            free.push(buffer);
        }
        self.given.notify_one();
    }

    fn close(&self) {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.given.notify_all();
    }
}

/// A thread that panics would leave the others waiting for the buffers behind its own result.
struct CloseOnPanic<'a>(&'a Buffers);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_errors_stop_the_work() {
        let items: Vec<u64> = (0..500).collect();
        let job = |_: &mut (), item: &u64, buffer: &mut Vec<u8>| {
            // Some items take longer, so that later ones are finished first.
            std::thread::sleep(std::time::Duration::from_micros(item % 7 * 50));
            buffer.extend_from_slice(&item.to_le_bytes());
            *item
        };
        let mut seen = Vec::new();
        let consume = |bytes: &[u8], item: u64| {
            assert_eq!(bytes, item.to_le_bytes());
            seen.push(item);
            Ok(())
        };
        in_order(&items, || (), job, consume).expect("nothing fails");
        assert_eq!(seen, items);

        let mut consumed = 0;
        let result = in_order(
            &items,
            || (),
            job,
            |_, _| {
                consumed += 1;
                if consumed == 3 { Err(io::Error::other("full")) } else { Ok(()) }
            },
        );
        assert_eq!((result.is_err(), consumed), (true, 3));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_job_that_panics_does_not_leave_the_others_waiting() {
        let items: Vec<u64> = (0..500).collect();
        let job = |_: &mut (), item: &u64, _: &mut Vec<u8>| assert_ne!(*item, 0, "broken on purpose");
        let _ = in_order(&items, || (), job, |_, ()| Ok(()));
    }
}
