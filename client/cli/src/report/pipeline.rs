//! Runs a job for each item on all cores and hands the results over in order, in bounded memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

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
    let (free_sender, free_buffers) = crossbeam_channel::unbounded::<Vec<u8>>();
    for _ in 0..cores * BUFFERS_PER_CORE {
        free_sender.send(Vec::new()).map_err(io::Error::other)?;
    }
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            let (sender, free_buffers) = (sender.clone(), free_buffers.clone());
            let (worker, job, next) = (&worker, &job, &next);
            scope.spawn(move || {
                let mut state = worker();
                // The buffer is taken before the item, so the earliest item under way always has one.
                while let Ok(mut buffer) = free_buffers.recv() {
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
        drop((sender, free_buffers));
        let free_sender = free_sender;
        let mut early = BTreeMap::new();
        let mut expected = 0;
        for (index, buffer, result) in results {
            early.insert(index, (buffer, result));
            while let Some((buffer, result)) = early.remove(&expected) {
                consume(&buffer, result)?;
                expected += 1;
                // All workers are gone when the last items are through.
                let _ = free_sender.send(buffer);
            }
        }
        Ok(())
    })
}
