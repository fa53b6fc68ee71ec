//! How a build tells its caller where it is.

use std::time::Duration;

/// The parts of a build, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStage {
    /// Looking for tools, headers and disk space.
    Checking,
    /// Fetching the source package.
    Downloading,
    /// Unpacking it.
    Extracting,
    /// Preparing the build, as by configure.
    Configuring,
    /// Compiling it.
    Compiling,
    /// Checking the program, pruning what is not needed, recording the manifest.
    Finishing,
}

impl BuildStage {
    /// It as a verb, as in "compiling gcc-11-noopt".
    pub fn as_str(self) -> &'static str {
        match self {
            BuildStage::Checking => "checking the machine for",
            BuildStage::Downloading => "downloading",
            BuildStage::Extracting => "extracting",
            BuildStage::Configuring => "configuring",
            BuildStage::Compiling => "compiling",
            BuildStage::Finishing => "finishing",
        }
    }
}

/// Receives the progress of a build. Calls come from the thread that builds, at most a few times a second.
pub trait Progress {
    /// A stage begins that is expected to take this long.
    fn stage(&mut self, stage: BuildStage, expected: Duration);
    /// The stage is at step `done` of about `total`; called regularly even if neither has changed.
    fn advance(&mut self, done: u64, total: u64);
    /// Something the user is to know, in one line.
    fn note(&mut self, message: &str);
}

/// A [`Progress`] for callers that show none.
pub struct Silent;

impl Progress for Silent {
    fn stage(&mut self, _stage: BuildStage, _expected: Duration) {}
    fn advance(&mut self, _done: u64, _total: u64) {}
    fn note(&mut self, _message: &str) {}
}
