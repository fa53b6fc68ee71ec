//! The zygotes that wait for runs, the last used last; those that are too many, too large or too old are taken out.

use crate::limits::{ZYGOTE_AGE, ZYGOTE_BYTES, ZYGOTES};
use crate::zygote::ZygoteKey;
use std::time::{Duration, Instant};

/// Zygotes that wait.
#[derive(Debug)]
pub struct Shelf<W> {
    waiting: Vec<Waiting<W>>,
}

#[derive(Debug)]
struct Waiting<W> {
    key: ZygoteKey,
    worker: W,
    since: Instant,
}

impl<W> Default for Shelf<W> {
    fn default() -> Self {
        Self { waiting: Vec::new() }
    }
}

impl<W> Shelf<W> {
    /// One waits from now on.
    pub fn put(&mut self, key: ZygoteKey, worker: W, now: Instant) {
        self.waiting.push(Waiting { key, worker, since: now });
    }

    /// Takes the one that was used last of those that will do; one that is preferred comes first.
    pub fn take(
        &mut self,
        key: &ZygoteKey,
        will_do: impl Fn(&W) -> bool,
        is_preferred: impl Fn(&W) -> bool,
    ) -> Option<W> {
        let alike = || {
            let all = self.waiting.iter().enumerate().rev();
            all.filter(|(_, waiting)| waiting.key == *key && will_do(&waiting.worker))
        };
        let preferred = alike().find(|(_, waiting)| is_preferred(&waiting.worker));
        let found = preferred.or_else(|| alike().next()).map(|(index, _)| index)?;
        Some(self.waiting.remove(found).worker)
    }

    /// Takes out all that are stale.
    pub fn take_stale(&mut self, is_stale: impl Fn(&ZygoteKey, &W) -> bool) -> Vec<W> {
        let is_stale = |waiting: &mut Waiting<W>| is_stale(&waiting.key, &waiting.worker);
        self.waiting.extract_if(.., is_stale).map(|waiting| waiting.worker).collect()
    }

    /// Takes out what is too old or too much, the longest unused first. `bytes` says what one takes.
    pub fn evict(&mut self, now: Instant, bytes: impl Fn(&W) -> u64) -> Vec<W> {
        let (mut kept, mut kept_bytes) = (0, 0);
        let is_kept = |waiting: &&Waiting<W>| {
            kept += 1;
            kept_bytes += bytes(&waiting.worker);
            let age = now.saturating_duration_since(waiting.since);
            kept <= ZYGOTES && kept_bytes <= ZYGOTE_BYTES && age <= ZYGOTE_AGE
        };
        let kept = self.waiting.iter().rev().take_while(is_kept).count();
        let evicted = self.waiting.len() - kept;
        self.waiting.drain(..evicted).map(|waiting| waiting.worker).collect()
    }

    /// All of them, and for how long they have waited.
    pub fn iter(&self) -> impl Iterator<Item = (&ZygoteKey, &W, Duration)> {
        self.waiting.iter().map(|waiting| (&waiting.key, &waiting.worker, waiting.since.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::tests::key;

    /// A shelf of workers that are their own size in bytes, each put there a second after the one before.
    fn shelf(sizes: &[u64], began: Instant) -> Shelf<u64> {
        let mut shelf = Shelf::default();
        for (&size, second) in sizes.iter().zip(0..) {
            shelf.put(key("a"), size, began + Duration::from_secs(second));
        }
        shelf
    }

    #[test]
    fn the_last_used_of_a_kind_is_taken_unless_another_is_preferred() {
        let mut shelf = shelf(&[1, 2, 3, 4], Instant::now());
        shelf.put(key("b"), 5, Instant::now());
        let any = |_: &u64| true;
        assert_eq!(shelf.take(&key("a"), any, |_| false), Some(4));
        assert_eq!(shelf.take(&key("a"), any, |&worker| worker == 2), Some(2));
        assert_eq!(shelf.take(&key("a"), |&worker| worker != 3, |_| false), Some(1));
        assert_eq!(shelf.take(&key("a"), |&worker| worker != 3, |_| true), None);
        assert_eq!(shelf.take(&key("b"), any, any), Some(5));
        assert_eq!(shelf.take(&key("c"), any, any), None);
    }

    #[test]
    fn too_many_too_large_and_too_old_ones_go_the_longest_unused_first() {
        let began = Instant::now();
        let soon = began + Duration::from_secs(300);
        let bytes = |&size: &u64| size;
        assert_eq!(shelf(&[1; ZYGOTES], began).evict(soon, bytes), [0; 0]);
        let mut sizes = vec![1; ZYGOTES];
        sizes.splice(0..0, [7, 8]);
        assert_eq!(shelf(&sizes, began).evict(soon, bytes), [7, 8], "beyond the number");
        let half = ZYGOTE_BYTES / 2;
        assert_eq!(shelf(&[1, half, half], began).evict(soon, bytes), [1], "beyond the memory");
        assert_eq!(
            shelf(&[1, half, half + 1], began).evict(soon, bytes),
            [1, half],
            "what fits no more, and all before"
        );
        let late = began + ZYGOTE_AGE + Duration::from_millis(1500);
        let mut old = shelf(&[1, 2, 3], began);
        assert_eq!(old.evict(late, bytes), [1, 2], "beyond the age");
        assert_eq!(old.iter().map(|(_, &size, _)| size).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn stale_ones_are_taken_out() {
        let mut shelf = shelf(&[1, 2, 3], Instant::now());
        shelf.put(key("b"), 2, Instant::now());
        assert_eq!(shelf.take_stale(|of, &worker| *of == key("a") && worker == 2), [2]);
        assert_eq!(shelf.iter().map(|(_, &worker, _)| worker).collect::<Vec<_>>(), [1, 3, 2]);
    }
}
