//! What was found out about a program: the bug shows, does not show, or neither.

use std::fmt;

/// What was found out about a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The bug does not show.
    Pass,
    /// The bug shows.
    Fail,
    /// Neither.
    Unusable(Reason),
}

/// Why a program is neither passing nor failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The compiler refuses it.
    DoesNotCompile,
    /// The compiler crashes in another way.
    OtherCrash,
    /// It does not end in time, or runs into another limit.
    Limit,
    /// Two executions differ.
    Flaky,
    /// It cannot be linked.
    DoesNotLink,
    /// It passes, but ends otherwise than the failing program does when it is compiled to pass: one of its checks fails, or
    /// none is reached, so the bug may be there and not show.
    EndsOtherwise,
    /// It has undefined behaviour that GCC's sanitizer notices.
    Undefined,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DoesNotCompile => "does not compile",
            Self::OtherCrash => "crashes in another way",
            Self::Limit => "runs into a limit",
            Self::Flaky => "two executions differ",
            Self::DoesNotLink => "cannot be linked",
            Self::EndsOtherwise => "passes, but ends otherwise than before",
            Self::Undefined => "has undefined behaviour",
        })
    }
}
