//! Rankings: scores in order, with a rank for each.

use std::cmp::Ordering;

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
    use crate::spectrum::handmade::{FILES, assert_close, counted, run};
    use crate::spectrum::score::{Aggregation, count_changes, line_scores, place_scores};
    use crate::spectrum::{Counts, Formula};

    #[test]
    fn counts_decide_between_equals() {
        let failing = counted(&[4, 8, 2, 6]);
        let (one, two) = (counted(&[4, 2, 0, 6]), counted(&[4, 16, 2, 3]));
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
}
