//! Which lines, functions and files runs make suspicious.
//!
//! Lines stand for statements. Places (files or functions) are given as the place of each line.

use super::block::{BLOCK, set_bits};
use super::counts::Counts;
use super::formula::{Formula, Tally};
use super::places::Places;

/// The scores of the lines that failing runs executed, and innocent ones did not, by line id, in order.
#[must_use]
pub fn line_scores(
    failing: &[&Counts],
    passing: &[&Counts],
    innocent: &[&Counts],
    formula: Formula,
) -> Vec<(u32, f64)> {
    match formula {
        Formula::Votes => line_votes(failing, passing, innocent),
        Formula::Ochiai
        | Formula::Tarantula
        | Formula::Jaccard
        | Formula::Dstar
        | Formula::Op2
        | Formula::Barinel => tallied_scores(failing, passing, innocent, formula),
    }
}

/// How the scores of lines make those of the functions and files they are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Aggregation {
    /// The mean of the lines that failing runs executed: DiWi's and RecBi's.
    #[default]
    Mean,
    /// The mean with weights that fall evenly from the most suspicious line to the least.
    RankWeighted,
    /// The sum: for votes.
    Sum,
}

/// Sums of equal scores differ in their last digits with the number of lines, and equals are to stay equal.
const DIGITS: f64 = 1e12;

impl Aggregation {
    fn of(self, scores: &mut [f64]) -> f64 {
        let count = scores.len() as f64;
        let aggregated = match self {
            Self::Mean => scores.iter().sum::<f64>() / count,
            Self::Sum => scores.iter().sum(),
            Self::RankWeighted => {
                scores.sort_by(|one, other| other.total_cmp(one));
                let weighted = |(index, score): (usize, &f64)| (count - index as f64) * score;
                2.0 * scores.iter().enumerate().map(weighted).sum::<f64>() / (count * (count + 1.0))
            }
        };
        (aggregated * DIGITS).round() / DIGITS
    }
}

/// The scores of places from those of their lines, by place.
#[must_use]
pub fn place_scores(lines: &[(u32, f64)], places: &Places<'_>, aggregation: Aggregation) -> Vec<(u32, f64)> {
    let mut scores: Vec<Vec<f64>> = vec![Vec::new(); places.count];
    for &(line, score) in lines {
        if let Some(of_place) = scores.get_mut(places.of(line) as usize) {
            of_place.push(score);
        }
    }
    let named = (0..).zip(&mut scores).filter(|(_, scores)| !scores.is_empty());
    named.map(|(place, scores)| (place, aggregation.of(scores))).collect()
}

/// How much more or less often passing runs executed lines than a failing one, on average, from 0 (as often) to 1 (in
/// one of them only), for lines that have scores.
#[must_use]
pub fn count_changes(failing: &Counts, passing: &[&Counts], scores: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut sums = vec![0.0; failing.len()];
    for run in passing {
        for (line, one, other) in failing.differences(run) {
            let (one, other) = (one.unsigned_abs() as f64, other.unsigned_abs() as f64);
            sums[line as usize] += (one - other).abs() / one.max(other);
        }
    }
    let count = passing.len().max(1) as f64;
    let change = |&(line, _): &(u32, f64)| (line, sums.get(line as usize).copied().unwrap_or(0.0) / count);
    scores.iter().map(change).collect()
}

/// The scores of a formula that looks at each line by itself.
fn tallied_scores(
    failing: &[&Counts],
    passing: &[&Counts],
    innocent: &[&Counts],
    formula: Formula,
) -> Vec<(u32, f64)> {
    let innocent = executed_by_any(innocent);
    let (all_failed, all_passed) = (failing.len() as u32, passing.len() as u32);
    let mut failed: Vec<(usize, [u32; BLOCK])> = Vec::new();
    Counts::tally(failing, failing, |block, sums| failed.push((block, *sums)));
    let mut failed = failed.into_iter();
    let mut scores = Vec::new();
    // Both are asked for the same blocks, so they come in the same order.
    Counts::tally(passing, failing, |block, passed| {
        let Some((_, failed)) = failed.next() else { return };
        for (index, (&failed, &passed)) in failed.iter().zip(passed).enumerate() {
            let is_innocent = innocent.get(block).is_some_and(|bits| bits >> index & 1 == 1);
            if failed > 0 && !is_innocent {
                let tally = Tally { failed, passed, all_failed, all_passed };
                let line = (block * BLOCK + index) as u32;
                scores.extend(formula.score(tally).map(|score| (line, score)));
            }
        }
    });
    scores
}

/// Of this many failing runs one may lack a line that the others have in common: it may fail for reasons of its own.
const ONE_MAY_LACK: usize = 200;

/// The votes of passing runs for lines that the first failing run and, but for one in 200, all others executed, and
/// innocent ones did not. The lines that a passing run has not executed share its vote evenly; the fewer they are,
/// the more they tell, so the vote of a run that lacks n lines weighs 1 / sqrt(n).
fn line_votes(failing: &[&Counts], passing: &[&Counts], innocent: &[&Counts]) -> Vec<(u32, f64)> {
    let Some((first, others)) = failing.split_first() else { return Vec::new() };
    let mut common: Vec<u64> = first.bits().collect();
    let mut lacking = vec![0_usize; common.len() * BLOCK];
    for run in others {
        for (block, (bits, other)) in common.iter().zip(run.bits()).enumerate() {
            set_bits(bits & !other).for_each(|index| lacking[block * BLOCK + index] += 1);
        }
    }
    for (line, _) in lacking.iter().enumerate().filter(|&(_, &count)| count > failing.len() / ONE_MAY_LACK) {
        common[line / BLOCK] &= !(1 << (line % BLOCK));
    }
    common.iter_mut().zip(executed_by_any(innocent)).for_each(|(bits, innocent)| *bits &= !innocent);
    let mut votes = vec![0.0; common.len() * BLOCK];
    for run in passing {
        let missing = || common.iter().zip(run.bits()).map(|(common, bits)| common & !bits).enumerate();
        let count: u32 = missing().map(|(_, bits)| bits.count_ones()).sum();
        let share = f64::from(count).powf(-1.5);
        for (block, bits) in missing() {
            set_bits(bits).for_each(|index| votes[block * BLOCK + index] += share);
        }
    }
    (0..).zip(votes).filter(|&(_, votes)| votes > 0.0).collect()
}

/// The lines that any of some runs executed, as bits by block.
fn executed_by_any(runs: &[&Counts]) -> Vec<u64> {
    let mut any = vec![0; runs.iter().map(|run| run.bits().count()).max().unwrap_or(0)];
    for run in runs {
        any.iter_mut().zip(run.bits()).for_each(|(any, bits)| *any |= bits);
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectrum::handmade::{FILES, assert_close, run};

    #[test]
    fn passing_runs_vote_for_what_they_lack() {
        let failing = [run(&[0, 1, 4, 8]), run(&[0, 1, 4, 9])];
        let failing: Vec<&Counts> = failing.iter().collect();
        let passing = [run(&[0]), run(&[0, 1, 9]), run(&[0, 1, 4])];
        let passing: Vec<&Counts> = passing.iter().collect();
        // Lines 0, 1 and 4 are common; the first run lacks 1 and 4, the second 4, the third nothing.
        let votes = line_votes(&failing, &passing, &[]);
        assert_eq!(votes.iter().map(|&(line, _)| line).collect::<Vec<_>>(), [1, 4]);
        let half = 0.5 / 2.0_f64.sqrt();
        assert_close(votes[0].1, half);
        assert_close(votes[1].1, half + 1.0);
        let files = place_scores(&votes, &FILES, Aggregation::Sum);
        assert_eq!(files.iter().map(|&(file, _)| file).collect::<Vec<_>>(), [0, 1]);
        assert_close(files[1].1, half + 1.0);
        assert_eq!(line_votes(&[], &passing, &[]), []);
        // What innocent runs executed has no votes, and the rest of the lines have theirs.
        let [one, other] = [run(&[2]), run(&[1])];
        let lines = |votes: Vec<(u32, f64)>| votes.into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        let failing = run(&[0, 1, 2, 3]);
        let failing = [&failing];
        let votes = line_votes(&failing, &[&run(&[0])], &[&one, &other]);
        assert_eq!(votes, [(3, 1.0)]);
        let scores = line_scores(&failing, &[&run(&[0])], &[&one, &other], Formula::Ochiai);
        assert_eq!(lines(scores), [0, 3]);
        // One of 200 that lacks a line does not matter, two do.
        let (usual, odd) = (run(&[0, 4]), run(&[0]));
        for (odd_count, lines) in [(1, &[4][..]), (2, &[])] {
            let mut many = vec![&usual; 200 - odd_count];
            many.resize(200, &odd);
            let votes = line_votes(&many, &[&run(&[0])], &[]);
            assert_eq!(votes.iter().map(|&(line, _)| line).collect::<Vec<_>>(), lines);
        }
    }
}
