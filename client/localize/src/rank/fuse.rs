//! One ranking of several: what options, mutants and the stack of a crash say count alike.
//!
//! Of each the first has the score 1, and the scores are added up. So what one of them points at alone stays at the head, and
//! further down comes first what several have. On the real bugs of GCC 11.3 this does as well at the head as options alone, and
//! better below; sums of reciprocal ranks put more among the first ten and fewer first.

use hearth_client::protocol::Suspect;
use std::collections::HashMap;

/// What a rank takes from a score, so that it matters between equals only.
const TIE: f64 = 1e-12;

/// Fuses rankings into one.
pub fn fuse(rankings: impl IntoIterator<Item = Vec<Suspect>>) -> Vec<Suspect> {
    let mut places: HashMap<(String, u32, String), usize> = HashMap::new();
    let mut fused: Vec<Suspect> = Vec::new();
    let scaled = |ranking: Vec<Suspect>| {
        let most = ranking.first().map_or(1.0, |first| first.score);
        // Of equal scores one may have the better rank: counts may have decided.
        let score = move |suspect: &Suspect| suspect.score / most - f64::from(suspect.rank) * TIE;
        ranking.into_iter().map(move |suspect| Suspect { score: score(&suspect), ..suspect })
    };
    for suspect in rankings.into_iter().flat_map(scaled) {
        let key = (suspect.source.clone(), suspect.line, suspect.function.clone());
        match places.get(&key) {
            Some(&index) => fused[index].score += suspect.score,
            None => {
                places.insert(key, fused.len());
                fused.push(suspect);
            }
        }
    }
    ranked(fused)
}

/// A function or line is as suspicious as by itself times as its file is: what is guilty of a bug is close to other code
/// that has to do with it.
pub fn weigh(places: Vec<Suspect>, files: &[Suspect]) -> Vec<Suspect> {
    let scores: HashMap<&str, f64> = files.iter().map(|file| (file.source.as_str(), file.score)).collect();
    let weighed = |place: Suspect| {
        let weight = scores.get(place.source.as_str()).copied().unwrap_or(0.0);
        Suspect { score: place.score * weight, ..place }
    };
    ranked(places.into_iter().map(weighed).collect())
}

/// Sorts by score. Equals stay in their order, and all have the last one's rank.
fn ranked(mut suspects: Vec<Suspect>) -> Vec<Suspect> {
    suspects.sort_by(|one, other| other.score.total_cmp(&one.score));
    let mut end = 0;
    for equals in suspects.chunk_by_mut(|one, other| one.score.total_cmp(&other.score).is_eq()) {
        end += equals.len() as u32;
        equals.iter_mut().for_each(|suspect| suspect.rank = end);
    }
    suspects
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
        let fused = fuse([options.clone(), programs]);
        let order: Vec<(&str, u32)> = fused.iter().map(|place| (place.source.as_str(), place.rank)).collect();
        assert_eq!(order, [("b", 1), ("a", 3), ("d", 3), ("c", 4), ("e", 5)]);
        let scores: Vec<f64> = fused.iter().map(|place| place.score).collect();
        for (score, expected) in scores.iter().zip([1.25, 1.0, 1.0, 0.5, 0.25]) {
            assert!((score - expected).abs() < 1e-9, "{scores:?}");
        }
        // One alone keeps its order.
        let alone: Vec<u32> = fuse([options, Vec::new()]).iter().map(|place| place.rank).collect();
        assert_eq!(alone, [1, 2, 3]);
    }

    #[test]
    fn functions_are_weighed_by_their_files() {
        let functions = ranking(&[("a", 1.0), ("b", 0.5), ("c", 0.4)]);
        let weighed = weigh(functions, &ranking(&[("b", 1.0), ("a", 0.2), ("d", 0.1)]));
        let order: Vec<(&str, u32)> =
            weighed.iter().map(|place| (place.source.as_str(), place.rank)).collect();
        assert_eq!(order, [("b", 1), ("a", 2), ("c", 3)]);
    }
}
