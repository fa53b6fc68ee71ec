//! The seconds a build has taken, over all its interruptions.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two records on disk; an interruption loses at most this much.
const RECORD_INTERVAL: Duration = Duration::from_secs(10);

/// Counts the time of this session on top of the earlier ones'.
pub(super) struct Clock {
    path: PathBuf,
    earlier_seconds: u64,
    start: Instant,
    recorded: Instant,
}

impl Clock {
    /// Continues the clock of the build in `directory`.
    pub(super) fn resume(directory: &Path) -> Clock {
        let path = directory.join("stage.seconds");
        let earlier = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
        let now = Instant::now();
        Clock { path, earlier_seconds: earlier.unwrap_or(0), start: now, recorded: now }
    }

    /// The seconds so far, rounded up so that no build takes none.
    pub(super) fn seconds(&self) -> u64 {
        self.earlier_seconds + self.start.elapsed().as_secs() + 1
    }

    /// Records the time now and then.
    pub(super) fn tick(&mut self) {
        if self.recorded.elapsed() >= RECORD_INTERVAL {
            self.recorded = Instant::now();
            // Only a statistic: a full disk shows elsewhere.
            let _ = fs::write(&self.path, self.seconds().to_string());
        }
    }
}
