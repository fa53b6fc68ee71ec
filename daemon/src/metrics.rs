//! How long answers took, and counts of what goes on.

use hearth_protocol::Latency;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Buckets for each doubling of the time: an answer's time is known to an eighth.
const STEPS: u32 = 8;
/// Buckets: from a microsecond to an hour and more.
const BUCKETS: usize = 33 * STEPS as usize;

/// The latencies of each kind of request.
#[derive(Debug, Default)]
pub struct Metrics {
    by_ask: Mutex<BTreeMap<&'static str, Histogram>>,
}

/// Counts up while it lives.
#[derive(Debug)]
pub struct LiveCount(Arc<AtomicU32>);

impl LiveCount {
    /// One more.
    pub fn new(counter: &Arc<AtomicU32>) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter.clone())
    }
}

impl Drop for LiveCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max_us: u64,
}

impl Metrics {
    /// Takes note of an answer.
    pub fn add(&self, ask: &'static str, time: Duration) {
        let mut by_ask = self.by_ask.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram =
            by_ask.entry(ask).or_insert_with(|| Histogram { buckets: vec![0; BUCKETS], count: 0, max_us: 0 });
        let us = time.as_micros() as u64;
        histogram.count += 1;
        histogram.max_us = histogram.max_us.max(us);
        histogram.buckets[bucket(us)] += 1;
    }

    /// All of them.
    pub fn latencies(&self) -> Vec<Latency> {
        let by_ask = self.by_ask.lock().unwrap_or_else(PoisonError::into_inner);
        let latency = |(&ask, histogram): (&&'static str, &Histogram)| Latency {
            ask: ask.to_owned(),
            count: histogram.count,
            p50_us: histogram.percentile(50),
            p90_us: histogram.percentile(90),
            p99_us: histogram.percentile(99),
            max_us: histogram.max_us,
        };
        by_ask.iter().map(latency).collect()
    }
}

impl Histogram {
    /// A time that so many of a hundred answers did not exceed, up to an eighth too long.
    fn percentile(&self, percent: u64) -> u64 {
        let wanted = (self.count * percent).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper_end(bucket).min(self.max_us);
            }
        }
        self.max_us
    }
}

fn bucket(us: u64) -> usize {
    let us = us.max(1);
    let doubling = us.ilog2();
    let step = (us << 3 >> doubling) - u64::from(STEPS);
    ((doubling * STEPS) as usize + step as usize).min(BUCKETS - 1)
}

fn upper_end(bucket: usize) -> u64 {
    let (doubling, step) = (bucket as u64 / u64::from(STEPS), bucket as u64 % u64::from(STEPS));
    ((u64::from(STEPS) + step + 1) << doubling).div_ceil(u64::from(STEPS))
}

/// This process's memory, in bytes.
pub fn own_memory() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_ascii_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * hearth_runner::memory::PAGE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_an_eighth() {
        let metrics = Metrics::default();
        (1..=1000).for_each(|us| metrics.add("run", Duration::from_micros(us)));
        metrics.add("stop", Duration::from_secs(7200));
        let latencies = metrics.latencies();
        let [run, stop] = &latencies[..] else { panic!("two kinds") };
        for (found, exact) in [(run.p50_us, 500), (run.p90_us, 900), (run.p99_us, 990), (run.max_us, 1000)] {
            assert!(found >= exact && found <= exact + exact / 8 + 1, "{found} for {exact}");
        }
        assert_eq!((stop.count, stop.max_us, stop.p50_us), (1, 7_200_000_000, 7_200_000_000));
    }
}
