//! Option sets close to the failing one: the other levels, which are few, and each option turned the other way.

use super::{Candidate, WitnessSource};
use crate::error::Result;
use crate::investigation::Investigation;
use crate::oracle::{Judged, Verdict, shown};
use hearth_compiler::options::{flips, levels};

/// Option sets that are judged between two looks at the ranking.
const CHUNK: usize = 16;

/// The option sets, with those that were judged.
pub struct OptionSets<'a> {
    text: &'a [u8],
    /// How each is shown, and it.
    sets: Vec<(String, Vec<String>)>,
    /// How many of them are other levels, which come first.
    levels: usize,
    /// How many were judged.
    judged: usize,
    /// Runs of other levels that pass.
    far_passing: Vec<u64>,
    useless: Vec<u64>,
}

impl<'a> OptionSets<'a> {
    /// All option sets of a compiler that can be asked for its options.
    ///
    /// # Errors
    /// If the compiler does not tell its options.
    pub fn new(investigation: &mut Investigation<'a>) -> Result<Self> {
        let oracle = investigation.oracle;
        let flips = flips(investigation.connections.one(), &oracle.toolchain, &oracle.fail)?;
        let levels =
            levels(&oracle.fail).into_iter().map(|options| (format!("{} instead", shown(&options)), options));
        let flipped = flips.into_iter().map(|flip| {
            let options = oracle.fail.iter().chain([&flip.option]).cloned().collect::<Vec<_>>();
            (flip.option, options)
        });
        Ok(Self {
            text: investigation.assignment.text,
            levels: levels.len(),
            sets: levels.chain(flipped).collect(),
            judged: 0,
            far_passing: Vec::new(),
            useless: Vec::new(),
        })
    }
}

impl WitnessSource for OptionSets<'_> {
    fn all(&self) -> Option<usize> {
        Some(self.sets.len())
    }

    fn is_done(&self) -> bool {
        self.judged >= self.sets.len()
    }

    fn next_batch(&mut self) -> Vec<Candidate<'_>> {
        let sets = self.sets[self.judged..].iter().take(CHUNK);
        sets.map(|(change, options)| Candidate { change: change.clone(), text: self.text, options }).collect()
    }

    fn learn(&mut self, investigation: &mut Investigation<'_>, judged: Vec<Option<Judged>>) -> Result<()> {
        for judged in judged {
            let is_far = self.judged < self.levels;
            self.judged += 1;
            let Some(judged) = judged.filter(|judged| judged.run > 0) else { continue };
            match (judged.verdict, is_far) {
                (Verdict::Pass, true) => self.far_passing.push(judged.run),
                (Verdict::Pass, false) => investigation.evidence.options.passing.push(judged.run),
                (Verdict::Fail, false) => investigation.evidence.options.failing.push(judged.run),
                (Verdict::Fail, true) | (Verdict::Unusable(_), _) => self.useless.push(judged.run),
            }
        }
        Ok(())
    }

    fn finish(&mut self, investigation: &mut Investigation<'_>) {
        // Another level executes much else, and is asked only where no single option makes a difference.
        let passing = &mut investigation.evidence.options.passing;
        match passing.is_empty() {
            true => passing.append(&mut self.far_passing),
            false => self.useless.append(&mut self.far_passing),
        }
        investigation.connections.forget(self.useless.drain(..));
    }
}
