//! How alike runs are: the distances and similarities of the papers.

use super::counts::Counts;
use super::places::Places;

/// Jaccard's distance of the lines two runs executed: RecBi's formula 3.
#[must_use]
pub fn jaccard_distance(one: &Counts, other: &Counts) -> f64 {
    let (both, either) = one.overlap(other);
    1.0 - share(both, either)
}

/// Jaccard's distance of the places two runs were in.
#[must_use]
pub fn place_distance(one: &Counts, other: &Counts, places: &Places<'_>) -> f64 {
    1.0 - place_similarity(&places.touched(one), &places.touched(other))
}

/// LocSeq's similarity (its formulas 3 to 5) of a passing run to the failing one: that of the passing run's lines in
/// files both were in to all of the failing one's, over one minus that of the files. Where the files are the same it
/// is that of the lines.
#[must_use]
pub fn locseq_similarity(passing: &Counts, failing: &Counts, files: &Places<'_>) -> f64 {
    let (touched, failing_touched) = (files.touched(passing), files.touched(failing));
    let of_files = place_similarity(&touched, &failing_touched);
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

/// How alike the places are that two runs were in.
fn place_similarity(one: &[bool], other: &[bool]) -> f64 {
    let count =
        |is: fn(bool, bool) -> bool| one.iter().zip(other).filter(|&(&one, &other)| is(one, other)).count();
    share(count(|one, other| one && other), count(|one, other| one || other))
}

/// What a part is of a whole: all of it, if the whole is nothing.
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectrum::handmade::{FILES, assert_close, run};

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
}
