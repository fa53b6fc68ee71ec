//! The ways to localize, by name.

use crate::search::Choice;
use crate::search::guide::Guide;

/// How witnesses are found, and what is made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Technique {
    /// Options first, then mutants, and one ranking of both and of a crash's stack.
    Fused,
    /// Each option turned the other way; passing option sets vote.
    Options,
    /// DiWi: mutants by its rules; Ochiai, the mean of a file's lines.
    Diwi(Choice),
    /// RecBi: mutants by its operators; ranked as by DiWi.
    Recbi(Guide),
}

impl Technique {
    /// All of them, the default first.
    pub const ALL: [Self; 8] = [
        Self::Fused,
        Self::Options,
        Self::Diwi(Choice::MetropolisHastings),
        Self::Diwi(Choice::Random),
        Self::Recbi(Guide::ActorCritic),
        Self::Recbi(Guide::MetropolisHastings),
        Self::Recbi(Guide::Random),
        Self::Recbi(Guide::Filter),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fused => "fused",
            Self::Options => "options",
            Self::Diwi(Choice::MetropolisHastings) => "diwi",
            Self::Diwi(Choice::Random) => "diwi-random",
            Self::Recbi(Guide::ActorCritic) => "recbi",
            Self::Recbi(Guide::MetropolisHastings) => "recbi-mh",
            Self::Recbi(Guide::Random) => "recbi-random",
            Self::Recbi(Guide::Filter) => "recbi-filter",
        }
    }

    /// What it does, in a line.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Fused => {
                "Options first, then mutants of the program, and the stack of a crash; one ranking of all"
            }
            Self::Options => "Each option of optimization turned the other way; what passes votes",
            Self::Diwi(Choice::MetropolisHastings) => {
                "DiWi: mutants of the program, rules that bring diverse witnesses preferred"
            }
            Self::Diwi(Choice::Random) => "DiWi with rules chosen at random",
            Self::Recbi(Guide::ActorCritic) => {
                "RecBi: mutants, also of the program's structure, chosen by an actor and a critic"
            }
            Self::Recbi(Guide::MetropolisHastings) => "RecBi with DiWi's way to choose",
            Self::Recbi(Guide::Random) => "RecBi with mutants chosen at random",
            Self::Recbi(Guide::Filter) => {
                "RecBi with mutants chosen at random, and witnesses that improve the set"
            }
        }
    }

    /// The one of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|technique| technique.name() == name)
    }

    /// Is it Hearth's own? The others rank as the papers do.
    #[must_use]
    pub fn is_own(self) -> bool {
        match self {
            Self::Fused | Self::Options => true,
            Self::Diwi(_) | Self::Recbi(_) => false,
        }
    }

    /// Does it mutate the program?
    #[must_use]
    pub fn mutates(self) -> bool {
        match self {
            Self::Fused | Self::Diwi(_) | Self::Recbi(_) => true,
            Self::Options => false,
        }
    }

    /// Does it insert parts of other programs?
    #[must_use]
    pub fn inserts(self) -> bool {
        match self {
            Self::Fused | Self::Recbi(_) => true,
            Self::Options | Self::Diwi(_) => false,
        }
    }

    /// Does it rank by the stack of a crash, too?
    #[must_use]
    pub fn reads_stack(self) -> bool {
        match self {
            Self::Fused => true,
            Self::Options | Self::Diwi(_) | Self::Recbi(_) => false,
        }
    }
}
