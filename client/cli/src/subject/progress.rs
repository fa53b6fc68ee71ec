//! Showing a build's progress: a bar on a terminal, a line now and then elsewhere.

use std::io;
use std::time::{Duration, Instant};

use crate::output::tell;
use crate::terminal;
use hearth_subject::{BuildStage, Progress};
use indicatif::{ProgressBar, ProgressStyle};

/// Between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(30);

/// Shows the progress of one build on standard error.
pub(super) struct Reporter {
    id: String,
    bar: Option<ProgressBar>,
    stage: BuildStage,
    stage_start: Instant,
    expected: Duration,
    first_step: Option<u64>,
    last_line: Instant,
}

impl Reporter {
    /// A reporter for the build of the subject `id`.
    pub(super) fn new(id: &str) -> Reporter {
        let now = Instant::now();
        Reporter {
            id: id.into(),
            bar: terminal::is_fancy(&io::stderr()).then(terminal::progress_bar),
            stage: BuildStage::Checking,
            stage_start: now,
            expected: Duration::ZERO,
            first_step: None,
            last_line: now,
        }
    }

    /// Takes the bar off the screen.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn title(&self) -> String {
        format!("{} {}", self.stage.as_str(), self.id)
    }

    /// The time the stage still needs: as expected at first, more and more by its own pace towards the end. The first
    /// steps of a build are the small ones, so the pace alone would promise too much.
    fn left(&self, done: u64, total: u64) -> Duration {
        let elapsed = self.stage_start.elapsed();
        let expected = self.expected.saturating_sub(elapsed);
        let fresh = done.saturating_sub(self.first_step.unwrap_or(done));
        if total == 0 || fresh == 0 {
            return expected;
        }
        let by_pace = elapsed.mul_f64(total.saturating_sub(done) as f64 / fresh as f64);
        let trust = (done as f64 / total as f64).min(1.0);
        by_pace.mul_f64(trust) + expected.mul_f64(1.0 - trust)
    }
}

impl Progress for Reporter {
    fn stage(&mut self, stage: BuildStage, expected: Duration) {
        (self.stage, self.expected, self.first_step) = (stage, expected, None);
        (self.stage_start, self.last_line) = (Instant::now(), Instant::now());
        match &self.bar {
            Some(bar) => {
                bar.set_style(spinner());
                bar.set_length(0);
                bar.set_position(0);
                bar.reset_elapsed();
                bar.set_prefix(self.title());
                bar.set_message(format!("about {}", words(expected)));
                bar.tick();
            }
            None => tell(format_args!("hearth: {} (about {})", self.title(), words(expected))),
        }
    }

    fn advance(&mut self, done: u64, total: u64) {
        self.first_step.get_or_insert(done);
        let left = words(self.left(done, total));
        if let Some(bar) = &self.bar {
            if total > 0 {
                bar.set_style(counted());
                bar.set_length(total);
                bar.set_position(done);
            }
            bar.set_message(format!("about {left} left"));
            bar.tick();
        } else if self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            let steps = if total > 0 { format!("{done}/{total}, ") } else { String::new() };
            let elapsed = words(self.stage_start.elapsed());
            tell(format_args!("hearth: {}: {steps}{elapsed} elapsed, about {left} left", self.title()));
        }
    }

    fn note(&mut self, message: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(format_args!("hearth: {message}"))),
            None => tell(format_args!("hearth: {message}")),
        }
    }
}

fn spinner() -> ProgressStyle {
    style("{spinner} {prefix}  {elapsed_precise}, {msg}")
}

fn counted() -> ProgressStyle {
    style("{spinner} {prefix}  {wide_bar} {pos}/{len}  {elapsed_precise}, {msg}")
}

/// The templates are constants; one that does not parse falls back to the plain bar.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// A duration as people say it.
pub(super) fn words(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds @ 90..5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        for (seconds, expected) in
            [(0, "0 s"), (89, "89 s"), (90, "2 min"), (480, "8 min"), (7260, "2 h 1 min")]
        {
            assert_eq!(words(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn the_rest_is_first_expected_then_extrapolated() {
        let mut reporter = Reporter::new("x");
        reporter.expected = Duration::from_secs(100);
        reporter.stage_start = Instant::now() - Duration::from_secs(20);
        reporter.first_step = Some(0);
        assert!((78..=80).contains(&reporter.left(0, 100).as_secs()));
        // By the pace 20 s are left, by the expectation 80 s; halfway both count the same.
        assert!((48..=51).contains(&reporter.left(50, 100).as_secs()));
        assert_eq!(reporter.left(100, 100).as_secs(), 0);
    }
}
