//! What became of a compile, by how it ended, what it wrote and what it says.

use crate::compiler::Compiler;
use hearth_client::protocol::{Outcome, RunDone};

/// What became of a compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compiled {
    /// It wrote this: assembly, or an object.
    Code(Vec<u8>),
    /// It crashed; this is what it says of it, or the signal that ended it.
    Crash(String),
    /// It refused the program, or ran into a limit; this is the first error.
    Refused(String),
}

impl Compiled {
    /// Looks at a run of a compiler.
    pub(crate) fn new(compiler: &dyn Compiler, done: RunDone) -> Self {
        let errors = String::from_utf8_lossy(&done.stderr.0).into_owned();
        if let Some(crash) = compiler.crash(&errors) {
            return Self::Crash(crash);
        }
        match done.outcome {
            Outcome::Signalled(signal) => Self::Crash(format!("signal {signal}")),
            Outcome::Exited(0) => match written(done) {
                Some(code) => Self::Code(code),
                None => Self::Refused("the compiler wrote nothing".to_owned()),
            },
            Outcome::Exited(_) => Self::Refused(first_error(&errors)),
            limit @ (Outcome::TimedOut
            | Outcome::OutOfMemory
            | Outcome::OutputLimit
            | Outcome::ZygoteLost) => Self::Refused(limit.to_string()),
        }
    }
}

/// The file that a tool wrote, if it succeeded.
pub(crate) fn written(done: RunDone) -> Option<Vec<u8>> {
    let is_done = done.outcome == Outcome::Exited(0);
    done.files.into_iter().next().filter(|_| is_done)?.bytes.map(|bytes| bytes.0)
}

/// What a compiler says of its own crash, with the pass it was in unless it says where it was.
pub(crate) fn crash(errors: &str) -> Option<String> {
    let (before, rest) = errors.split_once("internal compiler error: ")?;
    let crash = rest.lines().next().unwrap_or_default().trim();
    let during = before.lines().rfind(|line| line.starts_with("during "));
    Some(match during {
        Some(pass) if !crash.contains(", at ") => format!("{crash}, {pass}"),
        _ => crash.to_owned(),
    })
}

/// The first error, without where it is.
pub(crate) fn first_error(errors: &str) -> String {
    let error = errors.lines().find_map(|line| line.split_once("error: ").map(|(_, error)| error));
    error.or_else(|| errors.lines().next()).unwrap_or("it says nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_named_by_its_place_or_else_its_pass() {
        let placed =
            "during GIMPLE pass: vect\np.c:3:1: internal compiler error: in fold, at fold.c:7\n0x1 f\n";
        assert_eq!(crash(placed).as_deref(), Some("in fold, at fold.c:7"));
        let signalled = "during RTL pass: expand\np.c: internal compiler error: Segmentation fault\n";
        assert_eq!(crash(signalled).as_deref(), Some("Segmentation fault, during RTL pass: expand"));
        assert_eq!(crash("p.c:1:1: error: no"), None);
    }

    #[test]
    fn the_first_error_is_told_without_its_place() {
        for (errors, first) in [
            ("p.c: In function 'f':\np.c:2:3: error: expected ';'\np.c:3: error: x\n", "expected ';'"),
            ("cc1: no such thing\n", "cc1: no such thing"),
            ("", "it says nothing"),
        ] {
            assert_eq!(first_error(errors), first);
        }
    }
}
