//! How alike spectra are, and which lines, functions and files they make suspicious.
//!
//! Lines stand for statements. Places (files or functions) are given as the place of each line.

use super::counts::{BLOCK, Counts, set_bits};
use std::cmp::Ordering;

/// A line that belongs to no place.
pub const NOWHERE: u32 = u32::MAX;

/// Jaccard's distance of the lines two runs executed: RecBi's formula 3.
#[must_use]
pub fn jaccard_distance(one: &Counts, other: &Counts) -> f64 {
    let (both, either) = one.overlap(other);
    1.0 - share(both, either)
}

/// Jaccard's distance of the places two runs were in.
#[must_use]
pub fn place_distance(one: &Counts, other: &Counts, places: &Places<'_>) -> f64 {
    1.0 - places.similarity(&places.touched(one), &places.touched(other))
}

/// LocSeq's similarity (its formulas 3 to 5) of a passing run to the failing one: that of the passing run's lines in
/// files both were in to all of the failing one's, over one minus that of the files. Where the files are the same it is that of the lines.
#[must_use]
pub fn locseq_similarity(passing: &Counts, failing: &Counts, files: &Places<'_>) -> f64 {
    let (touched, failing_touched) = (files.touched(passing), files.touched(failing));
    let of_files = files.similarity(&touched, &failing_touched);
    let is_common = |line: u32| {
        let file = files.of(line) as usize;
        failing_touched.get(file).copied().unwrap_or(false)
    };
    let in_common = passing.iter().filter(|&(line, _)| is_common(line)).count();
    let (both, _) = passing.overlap(failing);
    let of_lines = share(both, in_common + failing.executed() - both);
    if of_files >= 1.0 { of_lines } else { of_lines / (1.0 - of_files) }
}

/// How good a set of passing runs is: RecBi's formulas 1, 2 and 4.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// How alike the passing runs are to the failing one, on average.
    pub similarity: f64,
    /// How far apart they are from each other, on average; 0 if there are fewer than two.
    pub diversity: f64,
    /// Their number times the weighted sum of both.
    pub quality: f64,
}

/// Measures a set of passing runs; `alpha` is the weight of diversity.
#[must_use]
pub fn quality(failing: &Counts, passing: &[&Counts], alpha: f64) -> Quality {
    let count = passing.len() as f64;
    let mean = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
    let similarity = mean(passing.iter().map(|run| 1.0 - jaccard_distance(run, failing)).sum(), count);
    let apart = |(index, run): (usize, &&Counts)| -> f64 {
        passing[index + 1..].iter().map(|other| jaccard_distance(run, other)).sum()
    };
    let diversity = mean(passing.iter().enumerate().map(apart).sum(), count * (count - 1.0) / 2.0);
    let quality = count * (alpha * diversity + (1.0 - alpha) * similarity);
    Quality { similarity, diversity, quality }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// The place of each line: its file, its function.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// By line id; [`NOWHERE`] if it has none.
    pub of_lines: &'a [u32],
    /// How many places there are.
    pub count: usize,
}

impl Places<'_> {
    fn of(&self, line: u32) -> u32 {
        self.of_lines.get(line as usize).copied().unwrap_or(NOWHERE)
    }

    /// The places a run was in.
    fn touched(&self, run: &Counts) -> Vec<bool> {
        let mut touched = vec![false; self.count];
        for (line, _) in run.iter() {
            if let Some(place) = touched.get_mut(self.of(line) as usize) {
                *place = true;
            }
        }
        touched
    }

    fn similarity(&self, one: &[bool], other: &[bool]) -> f64 {
        let count = |is: fn(bool, bool) -> bool| {
            one.iter().zip(other).filter(|&(&one, &other)| is(one, other)).count()
        };
        share(count(|one, other| one && other), count(|one, other| one || other))
    }
}

/// What a formula is given about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Failing runs that executed it.
    pub failed: u32,
    /// Passing runs that executed it.
    pub passed: u32,
    /// All failing runs.
    pub all_failed: u32,
    /// All passing runs.
    pub all_passed: u32,
}

/// A formula of suspiciousness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Formula {
    /// ef / sqrt((ef + nf)(ef + ep)).
    #[default]
    Ochiai,
    /// The share of failing runs over that and the share of passing ones.
    Tarantula,
    /// ef / (ef + nf + ep).
    Jaccard,
    /// ef² / (ep + nf).
    DStar,
    /// ef - ep / (all passing + 1).
    Op2,
    /// 1 - ep / (ep + ef).
    Barinel,
}

impl Formula {
    /// The score of a line.
    #[must_use]
    pub fn score(self, tally: Tally) -> f64 {
        let [ef, ep, all_failed, all_passed] =
            [tally.failed, tally.passed, tally.all_failed, tally.all_passed].map(f64::from);
        let nf = all_failed - ef;
        let over = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { part / whole };
        match self {
            Self::Ochiai => over(ef, ((ef + nf) * (ef + ep)).sqrt()),
            Self::Tarantula => {
                let (failing, passing) = (over(ef, all_failed), over(ep, all_passed));
                over(failing, failing + passing)
            }
            Self::Jaccard => over(ef, ef + nf + ep),
            // A line that only failing runs executed is as suspicious as can be.
            Self::DStar if ep + nf == 0.0 => f64::from(u32::MAX),
            Self::DStar => ef * ef / (ep + nf),
            Self::Op2 => ef - ep / (all_passed + 1.0),
            Self::Barinel => 1.0 - over(ep, ep + ef),
        }
    }
}

/// The lines that any of some runs executed, as bits by block.
fn executed_by_any(runs: &[&Counts]) -> Vec<u64> {
    let mut any = vec![0; runs.iter().map(|run| run.bits().count()).max().unwrap_or(0)];
    for run in runs {
        any.iter_mut().zip(run.bits()).for_each(|(any, bits)| *any |= bits);
    }
    any
}

/// The scores of the lines that failing runs executed, and innocent ones did not, by line id, in order.
#[must_use]
pub fn line_scores(
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
                scores.push(((block * BLOCK + index) as u32, formula.score(tally)));
            }
        }
    });
    scores
}

/// Of this many failing runs one may lack a line that the others have in common: it may fail for reasons of its own.
const ONE_MAY_LACK: usize = 200;

/// The votes of passing runs for lines that the first failing run and, but for one in 200, all others executed, and
/// innocent ones did not, by line id, in order. The lines that a passing run has not executed share its vote evenly; the fewer they are, the more they
/// tell, so the vote of a run that lacks n lines weighs 1 / sqrt(n).
#[must_use]
pub fn line_votes(failing: &[&Counts], passing: &[&Counts], innocent: &[&Counts]) -> Vec<(u32, f64)> {
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

/// How the scores of a place's lines make the place's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// A line or place in a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The line or the place.
    pub id: u32,
    /// Its score.
    pub score: f64,
    /// Its rank, from 1; of equals all have the last one's.
    pub rank: u32,
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

/// Sorts by score, the most suspicious first; equals by what else is known of them, which are the same ids in the same
/// order, if it is given, then by id.
#[must_use]
pub fn rank(scores: Vec<(u32, f64)>, ties: Option<&[(u32, f64)]>) -> Vec<Ranked> {
    let second = |index: usize| ties.and_then(|ties| ties.get(index)).map_or(0.0, |&(_, tie)| tie);
    let mut all: Vec<(u32, f64, f64)> =
        scores.into_iter().enumerate().map(|(index, (id, score))| (id, score, second(index))).collect();
    let order = |one: &(u32, f64, f64), other: &(u32, f64, f64)| -> Ordering {
        other.1.total_cmp(&one.1).then(other.2.total_cmp(&one.2))
    };
    all.sort_unstable_by(|one, other| order(one, other).then(one.0.cmp(&other.0)));
    let mut ranked = Vec::with_capacity(all.len());
    for tie in all.chunk_by(|one, other| order(one, other).is_eq()) {
        let rank = (ranked.len() + tie.len()) as u32;
        ranked.extend(tie.iter().map(|&(id, score, _)| Ranked { id, score, rank }));
    }
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectrum::Known;

    fn run(lines: &[u32]) -> Counts {
        let mut block = [0; BLOCK];
        lines.iter().for_each(|&line| block[line as usize] = 2);
        let mut counts = Counts::zeros(BLOCK);
        counts.set_block(0, &block, &mut Known::new(BLOCK));
        counts
    }

    /// Files: lines 0 to 3, 4 to 7, 8 to 9.
    const FILES: Places<'static> = Places { of_lines: &[0, 0, 0, 0, 1, 1, 1, 1, 2, 2], count: 3 };

    #[track_caller]
    fn assert_close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-12, "{one} and {other}");
    }

    #[test]
    fn distances_are_those_of_the_papers() {
        let (failing, passing) = (run(&[0, 1, 2, 4]), run(&[0, 1, 5, 8, 9]));
        // Two of seven lines; two of three files; of the lines in both files two of five.
        assert_close(jaccard_distance(&failing, &passing), 5.0 / 7.0);
        assert_close(place_distance(&failing, &passing, &FILES), 1.0 / 3.0);
        assert_close(locseq_similarity(&passing, &failing, &FILES), (2.0 / 5.0) / (1.0 / 3.0));
        let same_files = run(&[0, 4]);
        assert_close(locseq_similarity(&same_files, &failing, &FILES), 0.5);
        assert_close(jaccard_distance(&run(&[]), &run(&[])), 0.0);
    }

    #[test]
    fn quality_is_recbis() {
        let failing = run(&[0, 1, 2, 3]);
        let (one, two, three) = (run(&[0, 1]), run(&[2, 3]), run(&[0, 1, 2]));
        let found = quality(&failing, &[&one, &two, &three], 0.8);
        let similarity = (0.5 + 0.5 + 0.75) / 3.0;
        let diversity = (1.0 + 1.0 / 3.0 + 0.75) / 3.0;
        assert_close(found.similarity, similarity);
        assert_close(found.diversity, diversity);
        assert_close(found.quality, 3.0 * (0.8 * diversity + 0.2 * similarity));
        assert_close(quality(&failing, &[&one], 0.8).diversity, 0.0);
        assert_close(quality(&failing, &[], 0.8).quality, 0.0);
    }

    #[test]
    fn counts_decide_between_equals() {
        let times = |counts: &[i64]| {
            let mut block = [0; BLOCK];
            block[..counts.len()].copy_from_slice(counts);
            let mut run = Counts::zeros(BLOCK);
            run.set_block(0, &block, &mut Known::new(BLOCK));
            run
        };
        let failing = times(&[4, 8, 2, 6]);
        let (one, two) = (times(&[4, 2, 0, 6]), times(&[4, 16, 2, 3]));
        let scores: Vec<(u32, f64)> = (0..4).map(|line| (line, 1.0)).collect();
        let changes = count_changes(&failing, &[&one, &two], &scores);
        for ((_, change), expected) in changes.iter().zip([0.0, (0.75 + 0.5) / 2.0, 0.5, 0.25]) {
            assert_close(*change, expected);
        }
        let order =
            |ties| rank(scores.clone(), ties).iter().map(|line| (line.id, line.rank)).collect::<Vec<_>>();
        assert_eq!(order(Some(&changes[..])), [(1, 1), (2, 2), (3, 3), (0, 4)]);
        assert_eq!(order(None), [(0, 4), (1, 4), (2, 4), (3, 4)]);
    }

    #[test]
    fn lines_and_places_are_ranked_with_ties_at_their_worst() {
        let failing = run(&[0, 1, 4, 5, 8]);
        let passing = [run(&[0, 4]), run(&[0, 4]), run(&[0, 1, 9])];
        let passing: Vec<&Counts> = passing.iter().collect();
        let scores = line_scores(&[&failing], &passing, &[], Formula::Ochiai);
        // With one failing run the formula is 1 / sqrt(1 + ep).
        let expected = [(0, 0.5), (1, 0.5_f64.sqrt()), (4, (1.0 / 3.0_f64).sqrt()), (5, 1.0), (8, 1.0)];
        for (&(line, score), (expected_line, expected_score)) in scores.iter().zip(expected) {
            assert_eq!(line, expected_line);
            assert_close(score, expected_score);
        }
        assert_eq!(scores.len(), expected.len());
        let lines: Vec<(u32, u32)> =
            rank(scores.clone(), None).iter().map(|line| (line.id, line.rank)).collect();
        assert_eq!(lines, [(5, 2), (8, 2), (1, 3), (4, 4), (0, 5)]);
        let means = place_scores(&scores, &FILES, Aggregation::Mean);
        assert_close(means[0].1, f64::midpoint(0.5, 0.5_f64.sqrt()));
        let weighted = place_scores(&scores, &FILES, Aggregation::RankWeighted);
        assert_close(weighted[0].1, (2.0 * 0.5_f64.sqrt() + 0.5) / 3.0);
        // Of lines that are equally suspicious three and seven make equals.
        let equals: Vec<(u32, f64)> = (0..10).map(|line| (line, (1.0 / 3.0_f64).sqrt())).collect();
        for aggregation in [Aggregation::Mean, Aggregation::RankWeighted] {
            let ranked = rank(place_scores(&equals, &FILES, aggregation), None);
            assert!(ranked.iter().all(|file| file.rank == 3), "{ranked:?}");
        }
        let files: Vec<(u32, u32)> = rank(means, None).iter().map(|file| (file.id, file.rank)).collect();
        assert_eq!(files, [(2, 1), (1, 2), (0, 3)]);
    }

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

    #[test]
    fn formulas_are_the_usual_ones() {
        let tally = Tally { failed: 2, passed: 3, all_failed: 4, all_passed: 9 };
        assert_close(Formula::Ochiai.score(tally), 2.0 / (4.0_f64 * 5.0).sqrt());
        assert_close(Formula::Tarantula.score(tally), 0.5 / (0.5 + 3.0 / 9.0));
        assert_close(Formula::Jaccard.score(tally), 2.0 / 7.0);
        assert_close(Formula::DStar.score(tally), 4.0 / 5.0);
        assert_close(Formula::Op2.score(tally), 2.0 - 0.3);
        assert_close(Formula::Barinel.score(tally), 0.4);
        assert!(Formula::DStar.score(Tally { failed: 1, passed: 0, all_failed: 1, all_passed: 3 }) > 1e9);
    }
}
