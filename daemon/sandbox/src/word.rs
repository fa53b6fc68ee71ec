//! What the daemon and a launcher say to each other: the order to start a subject, requests for fresh areas, and the
//! launcher's reports. The text is JSON.

use crate::launcher::named;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// The launcher's descriptors: the socket to the daemon, and the order.
pub const DAEMON_FD: i32 = 202;
/// See [`DAEMON_FD`].
pub const ORDER_FD: i32 = 203;

/// A subject that is to be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Its program.
    pub binary: PathBuf,
    /// Its arguments, its name first.
    pub arguments: Vec<OsString>,
    /// Its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub directory: PathBuf,
    /// A library that is loaded before the shim.
    pub first_library: Option<String>,
    /// Processes that runs may have at a time.
    pub processes: u64,
    /// Paths that runs do not see, besides those that are always hidden.
    pub hidden: Vec<PathBuf>,
    /// Paths that runs see although they would be hidden.
    pub shown: Vec<PathBuf>,
}

impl Launch {
    /// What runs will most likely use: the working directory, what the arguments name, the home directory, and where temporary
    /// files are made. All exist.
    #[must_use]
    pub fn wanted(&self) -> Vec<PathBuf> {
        let variable = |wanted: &str| self.environment.iter().find(|(name, _)| name == wanted);
        let directories =
            ["HOME", "TMPDIR"].iter().filter_map(|name| variable(name)).map(|(_, value)| value.into());
        let named = named(&self.directory, &self.arguments).into_iter();
        let all =
            directories.chain(named).chain([self.directory.clone(), std::env::temp_dir(), "/tmp".into()]);
        // What a run makes is not there yet, but its directory is.
        let existing = |path: PathBuf| path.ancestors().take(2).find_map(|path| path.canonicalize().ok());
        let mut wanted: Vec<PathBuf> =
            all.filter_map(existing).filter(|path| path.parent().is_some()).collect();
        wanted.sort();
        wanted.dedup();
        wanted
    }
}

/// The head of all that they say; the rest is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Word;

/// What the daemon asks of the launcher: fresh areas, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refresh {
    /// They were written to.
    pub written: Vec<usize>,
    /// They were read at the most.
    pub read: Vec<usize>,
    /// In these the subject has written before its warm point.
    pub early: Vec<usize>,
}

/// What the launcher says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LauncherReport {
    /// The subject's process, as the daemon numbers it.
    Process(i32),
    /// The sandbox stands, without what is missing. Comes with its `/proc`, or the machine's, and with the staging of the areas,
    /// if there are any.
    Ready(Ready),
    /// Areas are fresh, or why not.
    Refreshed(Option<String>),
    /// It failed.
    Failed(String),
}

/// A sandbox that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// What the machine lacks.
    pub missing: Vec<String>,
    pub limits_processes_by_user: bool,
    /// It has a `/proc` of its own.
    pub has_proc: bool,
    /// The areas' directories, and why there are none.
    pub areas: Vec<PathBuf>,
    pub areas_problem: Option<String>,
    /// What runs do not see.
    pub hidden: Vec<PathBuf>,
}
