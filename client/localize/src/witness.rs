//! Sources of witnesses, and the one loop that judges what they have.

mod mutants;
mod option_sets;

pub use mutants::Mutants;
pub use option_sets::OptionSets;

use crate::error::Result;
use crate::investigation::Investigation;
use crate::oracle::Judged;
use std::time::Instant;

/// Something to judge: a program, the options to compile it with, and how the change is shown.
pub struct Candidate<'a> {
    /// What was changed.
    pub change: String,
    /// The program.
    pub text: &'a [u8],
    /// The options.
    pub options: &'a [String],
}

/// A source of witnesses. It has the same candidates in the same order on all machines: what it learns counts between
/// batches, whose size depends on nothing else.
pub trait WitnessSource {
    /// How many candidates it has, if that is known.
    fn all(&self) -> Option<usize> {
        None
    }

    /// Has it nothing more to judge?
    fn is_done(&self) -> bool;

    /// The next candidates.
    fn next_batch(&mut self) -> Vec<Candidate<'_>>;

    /// Takes note of what became of the last batch's candidates, in their order, and of which runs rankings need; `None`
    /// for those that were not judged before the time was over.
    ///
    /// # Errors
    /// If the daemon cannot.
    fn learn(&mut self, investigation: &mut Investigation<'_>, judged: Vec<Option<Judged>>) -> Result<()>;

    /// Decides which runs rankings need when it is over.
    fn finish(&mut self, _investigation: &mut Investigation<'_>) {}
}

/// Judges what a source has until the time is over, the ranking stays as it is, or there is no more. Says whether it was
/// done before the time was over.
///
/// # Errors
/// If the daemon cannot.
pub fn find(
    investigation: &mut Investigation<'_>,
    source: &mut dyn WitnessSource,
    deadline: Instant,
) -> Result<bool> {
    investigation.begin(source.all());
    let is_complete = loop {
        if investigation.is_settled() || source.is_done() {
            break true;
        }
        if Instant::now() >= deadline {
            break false;
        }
        let judged = investigation.judge(&source.next_batch(), deadline)?;
        let is_whole = judged.iter().all(Option::is_some);
        source.learn(investigation, judged)?;
        investigation.sample()?;
        if !is_whole {
            break investigation.is_settled();
        }
    };
    investigation.end();
    source.finish(investigation);
    Ok(is_complete)
}
