//! Answers about several runs: what rankings leave out, what distances count.

use crate::service::{run, scratch, start};
use hearth_client::Connection;
use hearth_client::protocol::{Aggregation, Answer, Ask, Encoding, Formula, Level, Measure, Suspect};
use std::collections::BTreeSet;

/// What is left out of a ranking has no rank, and scores stay as they are; a distance counts the lines it follows from.
#[test]
fn rankings_leave_out_what_they_are_told_to_and_distances_have_their_counts() {
    let directory = scratch();
    let daemon = start(directory.path(), &[]);
    let mut hearth = daemon.connect(Encoding::Bincode);
    let [one, two, three] = [1, 2, 3].map(|number| run(&mut hearth, number));
    for level in [Level::Lines, Level::Functions, Level::Files] {
        let mut rank = |limit: u32, without: &[&str]| {
            let answer = hearth.call(Ask::Rank {
                failing: vec![one.into()],
                passing: vec![two.into(), three.into()],
                innocent: Vec::new(),
                formula: Formula::Ochiai,
                aggregation: Aggregation::Mean,
                level,
                limit,
                counts: true,
                without: without.iter().map(|&text| text.to_owned()).collect(),
            });
            let Ok(Answer::Ranking(ranking)) = answer else { panic!("no ranking") };
            ranking
        };
        let all = rank(0, &[]);
        let is_out = |source: &str| source.contains("tccgen.");
        let left: Vec<_> = all.iter().filter(|suspect| !is_out(&suspect.source)).collect();
        assert!(left.len() < all.len() && left.len() > 3, "{} of {}", left.len(), all.len());
        let without = rank(0, &["tccgen."]);
        let shown = |suspect: &Suspect| (suspect.source.clone(), suspect.line, suspect.score.to_bits());
        assert_eq!(
            without.iter().map(shown).collect::<Vec<_>>(),
            left.iter().map(|suspect| shown(suspect)).collect::<Vec<_>>()
        );
        // Ranks go from one to the last, equals at their worst.
        assert_eq!(without.last().map(|suspect| suspect.rank), Some(left.len() as u32));
        assert_eq!(rank(3, &["tccgen."]), without[..3]);
        assert_eq!(rank(0, &["^tccgen."]), all, "no name begins so");
        assert_eq!(rank(0, &["^/"]), [], "all names do");
    }
    let lines = |hearth: &mut Connection, run: u64| {
        let ask = Ask::Spectrum { run: run.into(), level: Level::Lines, counts: false };
        let Ok(Answer::Coverage(coverage)) = hearth.call(ask) else { panic!("no spectrum") };
        let lines = coverage
            .lines
            .into_iter()
            .flat_map(|file| file.lines.into_iter().map(move |(line, _)| (file.source.clone(), line)));
        lines.collect::<BTreeSet<(String, u32)>>()
    };
    let (of_one, of_two) = (lines(&mut hearth, one), lines(&mut hearth, two));
    let ask = Ask::Distance { run: one.into(), against: two.into(), measure: Measure::JaccardLines };
    let Ok(Answer::Distance(found)) = hearth.call(ask) else { panic!("no distance") };
    let counts = [
        of_one.intersection(&of_two).count(),
        of_one.difference(&of_two).count(),
        of_two.difference(&of_one).count(),
    ];
    assert_eq!([found.both, found.only_run, found.only_against], counts.map(|count| count as u64));
    let either: u64 = counts.iter().sum::<usize>() as u64;
    assert!((found.distance - (1.0 - found.both as f64 / either as f64)).abs() < 1e-12);
}
