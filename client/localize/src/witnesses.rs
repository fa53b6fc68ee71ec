//! Witness programs: mutants of the failing program that pass.

use crate::localize::{Progress, Request, Witness, count};
use crate::mutate::{Program, Rule, rules};
use crate::oracle::{Judged, Oracle, Verdict};
use crate::parallel::Connections;
use crate::search::{Choice, Rules};
use anyhow::{Context, bail};
use fastrand::Rng;
use hearth_client::protocol::{Measure, RunRef};
use hearth_client::{Answer, Ask};
use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_128;

/// Mutants that are made before any of them is judged: the same on all machines, so that they find the same.
const BATCH: usize = 16;
/// Rules that are tried for a batch; a small program has no place for most.
const TRIES: usize = 2000;
/// Mutants of which none passes before failing ones are mutated further.
const ESCALATION: usize = 200;

/// What was found.
pub struct Found {
    /// Everything that was judged.
    pub witnesses: Vec<Witness>,
    /// The runs of the accepted witnesses.
    pub accepted: Vec<u64>,
    /// Was it done before the time was over?
    pub is_complete: bool,
}

/// An accepted witness.
struct Accepted {
    run: u64,
    lines: u64,
}

/// Finds witnesses until the time is over, enough mutants were judged, or there are no more. Rules learn between
/// batches, in the order the mutants were made, so that equal seeds and counts find the same.
pub fn find(
    connections: &mut Connections,
    oracle: &Oracle,
    request: &Request<'_>,
    deadline: Instant,
    choice: Choice,
    tell: &(impl Fn(Progress) + Sync),
) -> anyhow::Result<Found> {
    let mut random = Rng::with_seed(request.seed);
    let mut rules = Rules::new(rules(), choice, &mut random);
    let mut seeds =
        vec![Program::new(request.text).context("the program is no UTF-8 text, so it cannot be mutated")?];
    let mut failing: Vec<String> = Vec::new();
    let mut known: HashSet<u128> = HashSet::new();
    let mut accepted: Vec<Accepted> = Vec::new();
    let mut witnesses: Vec<Witness> = Vec::new();
    let progress = Mutex::new(Progress::default());
    let mut next_escalation = ESCALATION;
    let mut is_complete = false;
    while Instant::now() < deadline && witnesses.len() < request.count {
        let size = BATCH.min(request.count - witnesses.len());
        let batch = batch(&seeds, &mut rules, &mut random, &mut known, size);
        let is_exhausted = batch.is_empty();
        let judged = connections.each(&batch, deadline, |connection, (_, text)| {
            let judged = oracle.judge(connection, text.as_bytes(), &oracle.fail)?;
            count(&progress, judged.verdict, tell);
            Ok(judged)
        })?;
        let mut useless: Vec<u64> = Vec::new();
        for ((rule, text), judged) in batch.into_iter().zip(judged) {
            let Some(judged) = judged else { continue };
            let distance = match judged.verdict {
                Verdict::Pass if judged.run > 0 => distance(connections, &judged, &accepted)?,
                _ => None,
            };
            rules.learn(rule, distance);
            match distance {
                Some(_) => accepted.push(Accepted { run: judged.run, lines: judged.lines }),
                None => useless.push(judged.run),
            }
            let program = (judged.verdict == Verdict::Pass).then(|| text.clone());
            witnesses.push(Witness {
                change: rule.to_string(),
                verdict: judged.verdict,
                program,
                at: Duration::ZERO,
                lacks: None,
            });
            if judged.verdict == Verdict::Fail && accepted.is_empty() {
                failing.push(text);
            }
        }
        connections.forget(useless);
        if accepted.is_empty() && (is_exhausted || witnesses.len() >= next_escalation) && !failing.is_empty()
        {
            // Nothing passes that is one step away: a step further.
            seeds = std::mem::take(&mut failing)
                .iter()
                .filter_map(|text| Program::new(text.as_bytes()))
                .collect();
            next_escalation = witnesses.len() + ESCALATION;
        } else if is_exhausted {
            is_complete = true;
            break;
        }
    }
    let is_complete = is_complete || witnesses.len() >= request.count;
    Ok(Found { witnesses, accepted: accepted.iter().map(|accepted| accepted.run).collect(), is_complete })
}

/// Mutants that were not made before, with the rules that made them.
fn batch(
    seeds: &[Program],
    rules: &mut Rules,
    random: &mut Rng,
    known: &mut HashSet<u128>,
    size: usize,
) -> Vec<(Rule, String)> {
    let mut batch = Vec::new();
    for _ in 0..TRIES {
        if batch.len() == size {
            break;
        }
        let rule = rules.next(random);
        let Some(seed) = random.choice(seeds) else { break };
        match seed.mutate(rule, random).filter(|text| known.insert(xxh3_128(text.as_bytes()))) {
            Some(text) => batch.push((rule, text)),
            None => rules.learn(rule, None),
        }
    }
    batch
}

/// How far a passing run is from the accepted ones, on average; `None` if one of them executed the same lines.
fn distance(
    connections: &mut Connections,
    judged: &Judged,
    accepted: &[Accepted],
) -> anyhow::Result<Option<f64>> {
    let mut distance = |against: u64| {
        let (run, against) = (RunRef::Id(judged.run), RunRef::Id(against));
        match connections.one().call(Ask::Distance { run, against, measure: Measure::JaccardLines })? {
            Answer::Distance(distance) => Ok(distance),
            other => bail!("the daemon answers {other:?}"),
        }
    };
    for same in accepted.iter().filter(|accepted| accepted.lines == judged.lines) {
        if distance(same.run)? == 0.0 {
            return Ok(None);
        }
    }
    if accepted.is_empty() {
        return Ok(Some(1.0));
    }
    let sum = accepted.iter().map(|accepted| distance(accepted.run)).sum::<anyhow::Result<f64>>()?;
    Ok(Some(sum / accepted.len() as f64))
}
