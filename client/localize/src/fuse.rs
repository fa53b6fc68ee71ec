//! One ranking of two: what options say and what mutants say count alike.
//!
//! Of each the first has the score 1, and the scores are added up. So what one of them points at alone stays at the head, and
//! further down comes first what both have. On the real bugs of GCC 11.3 this does as well at the head as options alone, and
//! better below; sums of reciprocal ranks put more among the first ten and fewer first.

use hearth_client::protocol::Suspect;
use std::collections::HashMap;

/// Fuses two rankings into one of at most so many suspects; 0 for all.
pub fn fuse(options: Vec<Suspect>, programs: Vec<Suspect>, limit: u32) -> Vec<Suspect> {
    // One alone keeps its scores.
    let mut fused = if options.is_empty() || programs.is_empty() {
        if options.is_empty() { programs } else { options }
    } else {
        both(options, programs)
    };
    if limit > 0 {
        fused.truncate(limit as usize);
    }
    fused
}

fn both(options: Vec<Suspect>, programs: Vec<Suspect>) -> Vec<Suspect> {
    let mut places: HashMap<(String, u32, String), usize> = HashMap::new();
    let mut fused: Vec<Suspect> = Vec::new();
    let scaled = |ranking: Vec<Suspect>| {
        let most = ranking.first().map_or(1.0, |first| first.score);
        ranking.into_iter().map(move |suspect| Suspect { score: suspect.score / most, ..suspect })
    };
    for suspect in scaled(options).chain(scaled(programs)) {
        let key = (suspect.source.clone(), suspect.line, suspect.function.clone());
        match places.get(&key) {
            Some(&index) => fused[index].score += suspect.score,
            None => {
                places.insert(key, fused.len());
                fused.push(suspect);
            }
        }
    }
    // Equals stay in their order, and all have the last one's rank.
    fused.sort_by(|one, other| other.score.total_cmp(&one.score));
    let mut first = 0;
    while let Some(score) = fused.get(first).map(|suspect| suspect.score) {
        let equals =
            fused[first..].iter().take_while(|suspect| suspect.score.total_cmp(&score).is_eq()).count();
        fused[first..first + equals].iter_mut().for_each(|suspect| suspect.rank = (first + equals) as u32);
        first += equals;
    }
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(places: &[(&str, f64)]) -> Vec<Suspect> {
        let suspect = |(&(source, score), rank): (&(&str, f64), u32)| Suspect {
            rank,
            score,
            source: source.to_owned(),
            line: 0,
            function: String::new(),
        };
        places.iter().zip(1..).map(suspect).collect()
    }

    #[test]
    fn both_count_alike_and_equals_have_the_last_ones_rank() {
        let options = ranking(&[("a", 8.0), ("b", 6.0), ("c", 2.0)]);
        let programs = ranking(&[("d", 0.4), ("b", 0.2), ("e", 0.1), ("c", 0.1)]);
        let fused = fuse(options.clone(), programs.clone(), 0);
        let order: Vec<(&str, u32)> = fused.iter().map(|place| (place.source.as_str(), place.rank)).collect();
        assert_eq!(order, [("b", 1), ("a", 3), ("d", 3), ("c", 4), ("e", 5)]);
        let scores: Vec<f64> = fused.iter().map(|place| place.score).collect();
        assert_eq!(scores, [1.25, 1.0, 1.0, 0.5, 0.25]);
        assert_eq!(fuse(options.clone(), programs, 2).len(), 2);
        assert_eq!(fuse(options.clone(), Vec::new(), 0), options);
    }
}
