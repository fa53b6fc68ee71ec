//! Does tasks on this machine, by its daemon.

use crate::error::{Error, Result};
use crate::results::Replayed;
use crate::tasks::{Experiment, Task};
use hearth_localize::connections::Connections;
use hearth_localize::error::Error as LocalizeError;
use hearth_localize::localization::Progress;
use hearth_localize::localize::localize;
use std::fs;
use std::path::Path;

/// Does tasks, one at a time on all cores.
#[derive(Debug)]
pub struct Local<'a> {
    /// To the daemon.
    pub connections: &'a mut Connections,
    /// The source that the bugs' programs are below.
    pub programs: &'a Path,
    /// What all tasks have in common.
    pub experiment: &'a Experiment<'a>,
}

impl Local<'_> {
    /// Does a task. That a bug cannot be localized is a result, too. `tell` is called now and then.
    ///
    /// # Errors
    /// If the program cannot be read, or the daemon cannot.
    pub fn run(&mut self, task: &Task<'_>, tell: impl Fn(&Progress) + Sync) -> Result<Replayed> {
        let program = self.programs.join(&task.bug.program);
        let text = fs::read(&program).map_err(|source| Error::Read { path: program.clone(), source })?;
        let assignment = task.assignment(self.experiment, &program, &text);
        let setting = task.setting(self.experiment);
        match localize(self.connections, &assignment, tell) {
            Ok(found) => Ok(Replayed::new(task.bug, &setting, &found)),
            Err(LocalizeError::Refused(refusal)) => {
                Ok(Replayed::refused(task.bug, &setting, Some(refusal.to_string())))
            }
            Err(error) => Err(error.into()),
        }
    }
}
