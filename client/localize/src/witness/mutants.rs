//! Witness programs: mutants of the failing program that pass.

use super::{Candidate, WitnessSource};
use crate::assignment::Assignment;
use crate::error::{Error, Result};
use crate::investigation::Investigation;
use crate::mutate::ingredients::Ingredients;
use crate::mutate::{ParsedProgram, Rule, rules};
use crate::oracle::{Judged, Verdict};
use crate::search::Rules;
use crate::search::guide::{Chosen, Distances, Guide, Operators, mean};
use crate::technique::Technique;
use fastrand::Rng;
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_128;

/// Mutants that are made before any of them is judged: the same on all machines, so that they find the same.
const BATCH: usize = 16;
/// Rules that are tried for a batch; a small program has no place for most.
const TRIES: usize = 2000;
/// Mutants of which none passes before failing ones are mutated further.
const ESCALATION: usize = 200;
/// Failing mutants whose coverage is kept; more say little more about what they have in common.
const FAILING: usize = 200;
/// Failing mutants that may be mutated further.
const SEEDS: usize = 1000;
/// Programs from which ingredients are taken.
const INGREDIENTS: usize = 2000;

/// Mutants of the failing program, by what was learned from those before.
pub struct Mutants<'a> {
    assignment: &'a Assignment<'a>,
    random: Rng,
    mutator: Mutator,
    /// The programs that are mutated.
    seeds: Vec<ParsedProgram>,
    /// Failing mutants, which may be mutated further.
    failing: Vec<String>,
    /// Hashes of all that were made.
    known: HashSet<u128>,
    accepted: Vec<Accepted>,
    /// What is being judged, and what was chosen in between and made no mutant.
    batch: Vec<(Pick, Option<String>)>,
    /// How many were judged.
    judged: usize,
    /// So many must be judged before failing ones are mutated further.
    next_escalation: usize,
    is_exhausted: bool,
}

impl<'a> Mutants<'a> {
    /// Reads what it needs: what is missing is told before time is spent. `None` if the program is no text.
    ///
    /// # Errors
    /// If there are no ingredients where they should be.
    pub fn new(assignment: &'a Assignment<'a>) -> Result<Option<Self>> {
        let Some(program) = ParsedProgram::new(assignment.text) else { return Ok(None) };
        let mut random = Rng::with_seed(assignment.seed);
        let mutator = Mutator::new(assignment, &mut random)?;
        Ok(Some(Self {
            assignment,
            random,
            mutator,
            seeds: vec![program],
            failing: Vec::new(),
            known: HashSet::from([xxh3_128(assignment.text)]),
            accepted: Vec::new(),
            batch: Vec::new(),
            judged: 0,
            next_escalation: ESCALATION,
            is_exhausted: false,
        }))
    }

    /// Goes a step further where nothing passes that is one step away. Small programs have few mutants; the papers leave
    /// it at them.
    fn escalate(&mut self, has_no_more: bool) {
        let is_far = match self.accepted.is_empty() {
            true => has_no_more || self.judged >= self.next_escalation,
            false => has_no_more && self.assignment.technique.is_own(),
        };
        if is_far && !self.failing.is_empty() {
            self.seeds =
                self.failing.drain(..).filter_map(|text| ParsedProgram::new(text.as_bytes())).collect();
            self.next_escalation = self.judged + ESCALATION;
        } else {
            self.is_exhausted = has_no_more;
        }
    }
}

impl WitnessSource for Mutants<'_> {
    fn is_done(&self) -> bool {
        self.is_exhausted || self.judged >= self.assignment.count
    }

    fn next_batch(&mut self) -> Vec<Candidate<'_>> {
        let size = BATCH.min(self.assignment.count - self.judged);
        self.batch = self.mutator.batch(&self.seeds, &mut self.random, &mut self.known, size);
        let options = &self.assignment.fail;
        let made = self.batch.iter().filter_map(|(pick, text)| Some((pick, text.as_ref()?)));
        made.map(|(pick, text)| Candidate { change: pick.to_string(), text: text.as_bytes(), options })
            .collect()
    }

    fn learn(&mut self, investigation: &mut Investigation<'_>, judged: Vec<Option<Judged>>) -> Result<()> {
        let has_no_more = judged.is_empty();
        self.judged += judged.iter().flatten().count();
        let mut judged = judged.into_iter();
        let mut useless: Vec<u64> = Vec::new();
        // In the order they were chosen, those without a mutant included.
        for (pick, text) in std::mem::take(&mut self.batch) {
            let Some(text) = text else {
                self.mutator.learn(pick, None);
                continue;
            };
            let Some(judged) = judged.next().flatten() else { continue };
            let passes = judged.verdict == Verdict::Pass && judged.run > 0;
            let distances =
                passes.then(|| distances(investigation, &judged, &self.accepted)).transpose()?.flatten();
            let is_accepted = self.mutator.learn(pick, distances);
            let programs = &mut investigation.evidence.programs;
            if is_accepted {
                self.accepted.push(Accepted { run: judged.run, lines: judged.lines });
                programs.passing.push(judged.run);
            } else if judged.verdict == Verdict::Fail && judged.run > 0 && programs.failing.len() < FAILING {
                programs.failing.push(judged.run);
            } else {
                useless.push(judged.run);
            }
            if judged.verdict == Verdict::Fail && self.failing.len() < SEEDS {
                self.failing.push(text);
            }
        }
        investigation.connections.forget(useless);
        self.escalate(has_no_more);
        Ok(())
    }
}

/// An accepted witness.
struct Accepted {
    run: u64,
    lines: u64,
}

/// How far a passing run is from the accepted ones and the failing one; `None` if one of them executed the same lines.
fn distances(
    investigation: &mut Investigation<'_>,
    judged: &Judged,
    accepted: &[Accepted],
) -> Result<Option<(Vec<f64>, f64)>> {
    let runs = |accepted: &mut dyn Iterator<Item = &Accepted>| {
        accepted.map(|accepted| accepted.run).collect::<Vec<u64>>()
    };
    let alike = runs(&mut accepted.iter().filter(|accepted| accepted.lines == judged.lines));
    if investigation.distances(judged.run, &alike)?.contains(&0.0) {
        return Ok(None);
    }
    let mut all = runs(&mut accepted.iter());
    all.push(investigation.oracle.failing_run);
    let mut distances = investigation.distances(judged.run, &all)?;
    Ok(distances.pop().map(|failing| (distances, failing)))
}

/// What makes mutants, and learns from what became of them.
enum Mutator {
    /// DiWi's rules.
    Rules(Box<Rules<Rule>>),
    /// RecBi's operators.
    Operators(Box<Operators>, Ingredients),
}

/// What was chosen for a mutant.
enum Pick {
    Rule(Rule),
    Operator(Chosen),
}

impl std::fmt::Display for Pick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule(rule) => rule.fmt(f),
            Self::Operator(chosen) => chosen.operator.fmt(f),
        }
    }
}

impl Mutator {
    fn new(assignment: &Assignment<'_>, random: &mut Rng) -> Result<Self> {
        let guide = match assignment.technique {
            Technique::Diwi(choice) => {
                return Ok(Self::Rules(Box::new(Rules::new(rules(), choice, random))));
            }
            Technique::Recbi(guide) => guide,
            Technique::Fused | Technique::Options => Guide::Filter,
        };
        let ingredients = match assignment.way.ingredients {
            Some(directory) => {
                let ingredients = Ingredients::read(directory, INGREDIENTS)
                    .map_err(|source| Error::Ingredients { directory: directory.to_owned(), source })?;
                if ingredients.is_empty() {
                    return Err(Error::NoIngredients(directory.to_owned()));
                }
                ingredients
            }
            None => Ingredients::new(std::iter::once(String::from_utf8_lossy(assignment.text).into_owned())),
        };
        Ok(Self::Operators(Box::new(Operators::new(guide, random)), ingredients))
    }

    /// Mutants that were not made before, with what made them, and what was chosen in between and made none.
    fn batch(
        &mut self,
        seeds: &[ParsedProgram],
        random: &mut Rng,
        known: &mut HashSet<u128>,
        size: usize,
    ) -> Vec<(Pick, Option<String>)> {
        let mut batch = Vec::new();
        let mut made = 0;
        for _ in 0..TRIES {
            if made == size {
                break;
            }
            let Some(seed) = random.choice(seeds) else { break };
            let (pick, text) = match self {
                Self::Rules(rules) => {
                    let rule = rules.next(random);
                    (Pick::Rule(rule), seed.mutate(rule, random))
                }
                Self::Operators(operators, ingredients) => {
                    let chosen = operators.next(random);
                    let text = seed.apply(chosen.operator, ingredients, random);
                    (Pick::Operator(chosen), text)
                }
            };
            let text = text.filter(|text| known.insert(xxh3_128(text.as_bytes())));
            made += usize::from(text.is_some());
            batch.push((pick, text));
        }
        batch
    }

    /// Takes note of what became of a mutant: how far it is from the accepted ones and the failing one if it passes.
    /// Says whether it is accepted.
    fn learn(&mut self, pick: Pick, distances: Option<(Vec<f64>, f64)>) -> bool {
        match (self, pick) {
            (Self::Rules(rules), Pick::Rule(rule)) => {
                let mean = distances.as_ref().map(|(accepted, _)| mean(accepted));
                rules.learn(rule, mean);
                mean.is_some()
            }
            (Self::Operators(operators, _), Pick::Operator(chosen)) => {
                let passed =
                    distances.as_ref().map(|(accepted, failing)| Distances { accepted, failing: *failing });
                operators.learn(chosen, passed)
            }
            (Self::Rules(_), Pick::Operator(_)) | (Self::Operators(..), Pick::Rule(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::Way;
    use std::path::Path;
    use std::time::Duration;

    /// The first batch of mutants by a seed, as they are judged.
    fn first_batch(technique: Technique, seed: u64) -> Vec<(String, Vec<u8>)> {
        let assignment = Assignment {
            subject: "gcc-11",
            program: Path::new("p.c"),
            text: b"int a = 3, b = 4; int main(void) { if (a < b) a += b * 7; return a - 31; }",
            fail: vec!["-O2".to_owned()],
            pass: None,
            reference: None,
            technique,
            seed,
            count: 10,
            limit: 0,
            way: Way::new(Duration::ZERO, Path::new("hearth")),
        };
        let mut mutants = Mutants::new(&assignment).expect("nothing is missing").expect("it is text");
        let batch = mutants.next_batch();
        assert!(batch.iter().all(|candidate| candidate.options == assignment.fail));
        batch.into_iter().map(|candidate| (candidate.change, candidate.text.to_vec())).collect()
    }

    #[test]
    fn equal_seeds_make_the_same_mutants() {
        for technique in Technique::ALL.into_iter().filter(|technique| technique.mutates()) {
            let first = first_batch(technique, 3);
            assert_eq!(first.len(), 10, "as many as are wanted");
            assert_eq!(first.iter().map(|(_, text)| text).collect::<HashSet<_>>().len(), 10);
            assert_eq!(first_batch(technique, 3), first);
            assert_ne!(first_batch(technique, 4), first);
        }
    }
}
