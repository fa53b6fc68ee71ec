//! Witness programs: mutants of the failing program that pass.

use crate::mutate::ingredients::Pool;
use crate::mutate::{Program, Rule, rules};
use crate::oracle::{Judged, Verdict};
use crate::search::Rules;
use crate::search::guide::{Chosen, Distances, Guide, Operators, mean};
use crate::session::{Candidate, Session};
use crate::technique::Technique;
use anyhow::Context;
use fastrand::Rng;
use std::collections::HashSet;
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_128;

/// Mutants that are made before any of them is judged: the same on all machines, so that they find the same.
const BATCH: usize = 16;
/// Rules that are tried for a batch; a small program has no place for most.
const TRIES: usize = 2000;
/// Mutants of which none passes before failing ones are mutated further.
const ESCALATION: usize = 200;
/// Failing mutants whose coverage is kept; more say little more about what they have in common.
const FAILING: usize = 200;
/// Programs from which ingredients are taken.
const INGREDIENTS: usize = 2000;

/// An accepted witness.
struct Accepted {
    run: u64,
    lines: u64,
}

/// Finds witnesses until the time is over, enough mutants were judged, the ranking stays as it is, or there are no more.
/// What was learned counts between batches, in the order the mutants were made, so that equal seeds and counts find the
/// same. Says whether it was done before the time was over.
pub fn find(session: &mut Session<'_>) -> anyhow::Result<bool> {
    let request = session.request;
    let mut random = Rng::with_seed(request.seed);
    let mut mutator = Mutator::new(session, &mut random)?;
    let not_text = "the program is no UTF-8 text, so it cannot be mutated";
    let mut seeds = vec![Program::new(request.text).context(not_text)?];
    let mut failing: Vec<String> = Vec::new();
    let mut known: HashSet<u128> = HashSet::from([xxh3_128(request.text)]);
    let mut accepted: Vec<Accepted> = Vec::new();
    let (mut made, mut next_escalation) = (0, ESCALATION);
    while Instant::now() < session.deadline && made < request.count && !session.is_settled() {
        let size = BATCH.min(request.count - made);
        let batch = mutator.batch(&seeds, &mut random, &mut known, size);
        let is_exhausted = batch.is_empty();
        let candidates: Vec<Candidate<'_>> = batch
            .iter()
            .map(|(pick, text)| Candidate {
                change: pick.to_string(),
                text: text.as_bytes(),
                options: &session.oracle.fail,
            })
            .collect();
        let judged = session.judge(&candidates, session.deadline)?;
        made += judged.iter().flatten().count();
        let mut useless: Vec<u64> = Vec::new();
        for ((pick, text), judged) in batch.into_iter().zip(judged) {
            let Some(judged) = judged else { continue };
            let passes = judged.verdict == Verdict::Pass && judged.run > 0;
            let distances = passes.then(|| distances(session, &judged, &accepted)).transpose()?.flatten();
            let is_accepted = mutator.learn(pick, distances);
            if is_accepted {
                accepted.push(Accepted { run: judged.run, lines: judged.lines });
                session.programs.passing.push(judged.run);
            } else if judged.verdict == Verdict::Fail
                && judged.run > 0
                && session.programs.failing.len() < FAILING
            {
                session.programs.failing.push(judged.run);
            } else {
                useless.push(judged.run);
            }
            if judged.verdict == Verdict::Fail && accepted.is_empty() {
                failing.push(text);
            }
        }
        session.connections.forget(useless);
        session.sample()?;
        let is_far = is_exhausted || made >= next_escalation;
        if accepted.is_empty() && is_far && !failing.is_empty() {
            // Nothing passes that is one step away: a step further.
            seeds = failing.drain(..).filter_map(|text| Program::new(text.as_bytes())).collect();
            next_escalation = made + ESCALATION;
        } else if is_exhausted {
            return Ok(true);
        }
    }
    Ok(made >= request.count || session.is_settled())
}

/// How far a passing run is from the accepted ones and the failing one; `None` if one of them executed the same lines.
fn distances(
    session: &mut Session<'_>,
    judged: &Judged,
    accepted: &[Accepted],
) -> anyhow::Result<Option<(Vec<f64>, f64)>> {
    for same in accepted.iter().filter(|accepted| accepted.lines == judged.lines) {
        if session.distance(judged.run, same.run)? == 0.0 {
            return Ok(None);
        }
    }
    let distances = accepted
        .iter()
        .map(|accepted| session.distance(judged.run, accepted.run))
        .collect::<anyhow::Result<Vec<f64>>>()?;
    Ok(Some((distances, session.distance(judged.run, session.oracle.failing_run)?)))
}

/// What makes mutants, and learns from what became of them.
enum Mutator {
    /// DiWi's rules.
    Rules(Box<Rules<Rule>>),
    /// RecBi's operators.
    Operators(Box<Operators>, Pool),
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
    fn new(session: &Session<'_>, random: &mut Rng) -> anyhow::Result<Self> {
        let guide = match session.request.technique {
            Technique::Diwi(choice) => {
                return Ok(Self::Rules(Box::new(Rules::new(rules(), choice, random))));
            }
            Technique::Recbi(guide) => guide,
            Technique::Fused | Technique::Options => Guide::Filter,
        };
        let pool = match session.request.ingredients {
            Some(directory) => Pool::read(directory, INGREDIENTS)
                .with_context(|| format!("cannot read the programs in {}", directory.display()))?,
            None => Pool::new(std::iter::once(String::from_utf8_lossy(session.request.text).into_owned())),
        };
        Ok(Self::Operators(Box::new(Operators::new(guide, random)), pool))
    }

    /// Mutants that were not made before, with what made them.
    fn batch(
        &mut self,
        seeds: &[Program],
        random: &mut Rng,
        known: &mut HashSet<u128>,
        size: usize,
    ) -> Vec<(Pick, String)> {
        let mut batch = Vec::new();
        for _ in 0..TRIES {
            if batch.len() == size {
                break;
            }
            let Some(seed) = random.choice(seeds) else { break };
            let (pick, text) = match self {
                Self::Rules(rules) => {
                    let rule = rules.next(random);
                    (Pick::Rule(rule), seed.mutate(rule, random))
                }
                Self::Operators(operators, pool) => {
                    let chosen = operators.next(random);
                    let text = seed.apply(chosen.operator, pool, random);
                    (Pick::Operator(chosen), text)
                }
            };
            match text.filter(|text| known.insert(xxh3_128(text.as_bytes()))) {
                Some(text) => batch.push((pick, text)),
                None => {
                    self.learn(pick, None);
                }
            }
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
            _ => false,
        }
    }
}
