//! Runs a job for each item on all cores and hands the results over in order, in bounded memory.
//!
//! There is no thread for the handing over: whoever finishes the item that is due does it, for that item and
//! for the finished ones behind it.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Items that may be finished or under way at once, for each core.
const ITEMS_PER_CORE: usize = 8;

/// Calls `job` for each item, with a worker made by `worker` on each thread, and `consume` with the bytes each
/// job wrote, in the order of the items. A job may offer what it has written so far, which is taken if its
/// item is due. The last bytes of an item come with the job's result.
pub fn in_order<T: Sync, W, R: Send>(
    items: &[T],
    worker: impl Fn() -> W + Sync,
    job: impl Fn(&mut W, &T, &mut Vec<u8>, &mut dyn FnMut(&mut Vec<u8>)) -> R + Sync,
    consume: impl FnMut(&[u8], Option<R>) -> io::Result<()> + Send,
) -> io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(items.len().max(1));
    let next = AtomicUsize::new(0);
    let line = Line {
        state: Mutex::new(State {
            due: 0,
            consuming: false,
            finished: BTreeMap::new(),
            spare: Vec::new(),
            end: None,
        }),
        advanced: Condvar::new(),
        consume: Mutex::new(consume),
    };
    std::thread::scope(|scope| {
        for _ in 0..cores {
            let (worker, job, next, line) = (&worker, &job, &next, &line);
            scope.spawn(move || {
                let _guard = CloseOnPanic(line);
                let mut state = worker();
                let mut buffer = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    if !line.wait_for_room(index, cores * ITEMS_PER_CORE) {
                        return;
                    }
                    buffer.clear();
                    let mut offer = |bytes: &mut Vec<u8>| line.hand_over_part(index, bytes);
                    let result = job(&mut state, item, &mut buffer, &mut offer);
                    buffer = line.finish(index, buffer, result);
                }
            });
        }
    });
    match line.state.into_inner().unwrap_or_else(PoisonError::into_inner).end {
        Some(End::Error(error)) => Err(error),
        Some(End::Panic) | None => Ok(()),
    }
}

/// The items that wait for their turn.
struct Line<R, C> {
    state: Mutex<State<R>>,
    /// Another item is due, or there is nothing to wait for any more.
    advanced: Condvar,
    /// Only who has set `State::consuming` calls it.
    consume: Mutex<C>,
}

struct State<R> {
    /// The first item that has not been handed over.
    due: usize,
    /// Somebody is handing over.
    consuming: bool,
    finished: BTreeMap<usize, (Vec<u8>, R)>,
    /// Buffers no longer used. The last one is taken first, because it is still in the cache.
    spare: Vec<Vec<u8>>,
    end: Option<End>,
}

/// Why the work ended early.
enum End {
    Error(io::Error),
    Panic,
}

impl<R, C: FnMut(&[u8], Option<R>) -> io::Result<()>> Line<R, C> {
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        // The state is whole at all times, so a thread that died with the lock did no harm to it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until an item is less than `room` items behind the one that is due; false if there is no use.
    fn wait_for_room(&self, index: usize, room: usize) -> bool {
        let full = |state: &mut State<R>| state.end.is_none() && index >= state.due + room;
        let state = self.advanced.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
        state.end.is_none()
    }

    /// Hands over the first bytes of an item, if it is due.
    fn hand_over_part(&self, index: usize, bytes: &mut Vec<u8>) {
        let mut state = self.lock();
        if state.due != index || state.consuming || state.end.is_some() {
            return;
        }
        state.consuming = true;
        drop(state);
        let consumed = self.consume(bytes, None);
        bytes.clear();
        self.lock().after_consuming(consumed);
    }

    /// Hands over a finished item and those behind it, or leaves that to another thread. Returns a buffer.
    fn finish(&self, index: usize, buffer: Vec<u8>, result: R) -> Vec<u8> {
        let mut state = self.lock();
        state.finished.insert(index, (buffer, result));
        while !state.consuming
            && state.end.is_none()
            && let Some((buffer, result)) = state.take_due()
        {
            state.consuming = true;
            drop(state);
            let consumed = self.consume(&buffer, Some(result));
            state = self.lock();
            state.after_consuming(consumed);
            state.due += 1;
            state.spare.push(buffer);
            self.advanced.notify_all();
        }
        state.spare.pop().unwrap_or_default()
    }

    fn consume(&self, bytes: &[u8], result: Option<R>) -> io::Result<()> {
        (self.consume.lock().unwrap_or_else(PoisonError::into_inner))(bytes, result)
    }
}

impl<R> State<R> {
    fn take_due(&mut self) -> Option<(Vec<u8>, R)> {
        self.finished.remove(&self.due)
    }

    fn after_consuming(&mut self, consumed: io::Result<()>) {
        self.consuming = false;
        if let Err(error) = consumed {
            self.end = Some(End::Error(error));
        }
    }
}

/// A thread that panics would leave the others waiting for its item.
struct CloseOnPanic<'a, R, C>(&'a Line<R, C>);

impl<R, C> Drop for CloseOnPanic<'_, R, C> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state.lock().unwrap_or_else(PoisonError::into_inner).end = Some(End::Panic);
            self.0.advanced.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = 1000;

    #[test]
    fn results_come_in_order_and_errors_stop_the_work() {
        let items: Vec<u64> = (0..500).collect();
        let job = |_: &mut (), item: &u64, bytes: &mut Vec<u8>, offer: &mut dyn FnMut(&mut Vec<u8>)| {
            // Some items take longer, so that later ones are finished first.
            std::thread::sleep(std::time::Duration::from_micros(item % 7 * 50));
            for _ in 0..3 {
                bytes.resize(bytes.len() + PIECE, *item as u8);
                offer(bytes);
            }
            *item
        };
        let mut seen = Vec::new();
        let mut parts = 0;
        let mut bytes_of_item = 0;
        let consume = |bytes: &[u8], item: Option<u64>| {
            assert!(bytes.iter().all(|&byte| byte == seen.len() as u8));
            parts += 1;
            bytes_of_item += bytes.len();
            if let Some(item) = item {
                assert_eq!(std::mem::take(&mut bytes_of_item), 3 * PIECE);
                seen.push(item);
            }
            Ok(())
        };
        in_order(&items, || (), job, consume).expect("nothing fails");
        assert_eq!(seen, items);
        assert!(parts > items.len(), "items that were due came in parts");

        let mut consumed = 0;
        let result = in_order(
            &items,
            || (),
            job,
            |_, item| {
                consumed += usize::from(item.is_some());
                if consumed == 3 { Err(io::Error::other("full")) } else { Ok(()) }
            },
        );
        assert_eq!((result.is_err(), consumed), (true, 3));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_job_that_panics_does_not_leave_the_others_waiting() {
        let items: Vec<u64> = (0..500).collect();
        let job = |_: &mut (), item: &u64, _: &mut Vec<u8>, _: &mut dyn FnMut(&mut Vec<u8>)| {
            assert_ne!(*item, 0, "broken on purpose");
        };
        let _ = in_order(&items, || (), job, |_, _| Ok(()));
    }
}
