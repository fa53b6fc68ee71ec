//! Witness programs: mutants of the failing program that pass.

use crate::localize::Request;
use crate::mutate::ingredients::Pool;
use crate::mutate::{Program, Rule, rules};
use crate::oracle::{Judged, Verdict};
use crate::search::Rules;
use crate::search::guide::{Chosen, Distances, Guide, Operators, mean};
use crate::session::{Candidate, Session};
use crate::technique::Technique;
use anyhow::{Context, ensure};
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
/// Failing mutants that may be mutated further.
const SEEDS: usize = 1000;
/// Programs from which ingredients are taken.
const INGREDIENTS: usize = 2000;

/// An accepted witness.
struct Accepted {
    run: u64,
    lines: u64,
}

/// A search that is ready to begin.
pub struct Search {
    random: Rng,
    mutator: Mutator,
    program: Program,
}

impl Search {
    /// Reads what it needs: what is missing is told before time is spent. `None` if the program is no text.
    pub fn new(request: &Request<'_>) -> anyhow::Result<Option<Self>> {
        let Some(program) = Program::new(request.text) else { return Ok(None) };
        let mut random = Rng::with_seed(request.seed);
        let mutator = Mutator::new(request, &mut random)?;
        Ok(Some(Self { random, mutator, program }))
    }
}

/// Finds witnesses until the time is over, enough mutants were judged, the ranking stays as it is, or there are no more.
/// What was learned counts between batches, in the order the mutants were made, so that equal seeds and counts find the
/// same. Says whether it was done before the time was over.
pub fn find(session: &mut Session<'_>, search: Search) -> anyhow::Result<bool> {
    let request = session.request;
    let Search { mut random, mut mutator, program } = search;
    let mut seeds = vec![program];
    let mut failing: Vec<String> = Vec::new();
    let mut known: HashSet<u128> = HashSet::from([xxh3_128(request.text)]);
    let mut accepted: Vec<Accepted> = Vec::new();
    let (mut made, mut next_escalation) = (0, ESCALATION);
    session.unsettle();
    while Instant::now() < session.deadline && made < request.count && !session.is_settled() {
        let size = BATCH.min(request.count - made);
        let batch = mutator.batch(&seeds, &mut random, &mut known, size);
        let candidates: Vec<Candidate<'_>> = batch
            .iter()
            .filter_map(|(pick, text)| {
                let text = text.as_ref()?.as_bytes();
                Some(Candidate { change: pick.to_string(), text, options: &session.oracle.fail })
            })
            .collect();
        let is_exhausted = candidates.is_empty();
        let judged = session.judge(&candidates, session.deadline)?;
        made += judged.iter().flatten().count();
        let mut judged = judged.into_iter();
        let mut useless: Vec<u64> = Vec::new();
        // In the order they were chosen, those without a mutant included.
        for (pick, text) in batch {
            let Some(text) = text else {
                mutator.learn(pick, None);
                continue;
            };
            let Some(judged) = judged.next().flatten() else { continue };
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
            if judged.verdict == Verdict::Fail && failing.len() < SEEDS {
                failing.push(text);
            }
        }
        session.connections.forget(useless);
        session.sample()?;
        // Nothing passes that is one step away: a step further. Small programs have few mutants; the papers leave it at them.
        let is_far = match accepted.is_empty() {
            true => is_exhausted || made >= next_escalation,
            false => is_exhausted && request.technique.is_own(),
        };
        if is_far && !failing.is_empty() {
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
    let runs = |accepted: &mut dyn Iterator<Item = &Accepted>| {
        accepted.map(|accepted| accepted.run).collect::<Vec<u64>>()
    };
    let alike = runs(&mut accepted.iter().filter(|accepted| accepted.lines == judged.lines));
    if session.distances(judged.run, &alike)?.contains(&0.0) {
        return Ok(None);
    }
    let mut all = runs(&mut accepted.iter());
    all.push(session.oracle.failing_run);
    let mut distances = session.distances(judged.run, &all)?;
    Ok(distances.pop().map(|failing| (distances, failing)))
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
    fn new(request: &Request<'_>, random: &mut Rng) -> anyhow::Result<Self> {
        let guide = match request.technique {
            Technique::Diwi(choice) => {
                return Ok(Self::Rules(Box::new(Rules::new(rules(), choice, random))));
            }
            Technique::Recbi(guide) => guide,
            Technique::Fused | Technique::Options => Guide::Filter,
        };
        let pool = match request.ingredients {
            Some(directory) => {
                let pool = Pool::read(directory, INGREDIENTS)
                    .with_context(|| format!("cannot read the programs in {}", directory.display()))?;
                let advice = "--ingredients names a directory of C programs";
                ensure!(!pool.is_empty(), "there is nothing to insert in {}; {advice}", directory.display());
                pool
            }
            None => Pool::new(std::iter::once(String::from_utf8_lossy(request.text).into_owned())),
        };
        Ok(Self::Operators(Box::new(Operators::new(guide, random)), pool))
    }

    /// Mutants that were not made before, with what made them, and what was chosen in between and made none.
    fn batch(
        &mut self,
        seeds: &[Program],
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
                Self::Operators(operators, pool) => {
                    let chosen = operators.next(random);
                    let text = seed.apply(chosen.operator, pool, random);
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
            _ => false,
        }
    }
}
