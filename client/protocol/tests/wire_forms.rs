//! How words and requests look on the wire: their names in JSON, their numbers in bincode.

use hearth_protocol::{
    Aggregation, Ask, Encoding, FailureKind, Formula, Level, Measure, Observe, Order, RunInput, RunRef,
    decode, encode,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(words: &[(T, &str)]) {
    for (number, (word, name)) in (0_u8..).zip(words) {
        let forms = [(Encoding::Json, format!("\"{name}\"").into_bytes()), (Encoding::Bincode, vec![number])];
        for (encoding, expected) in forms {
            assert_eq!(encode(encoding, word).unwrap(), expected, "{word:?}");
            assert_eq!(decode::<T>(encoding, &expected).unwrap(), *word);
        }
    }
}

#[test]
fn formulas_and_aggregations_have_their_names_and_numbers() {
    check(&[
        (Formula::Ochiai, "ochiai"),
        (Formula::Tarantula, "tarantula"),
        (Formula::Jaccard, "jaccard"),
        (Formula::Dstar, "dstar"),
        (Formula::Op2, "op2"),
        (Formula::Barinel, "barinel"),
        (Formula::Votes, "votes"),
    ]);
    check(&[
        (Aggregation::Mean, "mean"),
        (Aggregation::RankWeighted, "rank_weighted"),
        (Aggregation::Sum, "sum"),
    ]);
}

#[test]
fn other_words_have_their_names_and_numbers() {
    check(&[(Level::Lines, "lines"), (Level::Functions, "functions"), (Level::Files, "files")]);
    check(&[
        (Measure::JaccardLines, "jaccard_lines"),
        (Measure::JaccardFiles, "jaccard_files"),
        (Measure::Locseq, "locseq"),
    ]);
    check(&[(Observe::Nothing, "nothing"), (Observe::Spectrum, "spectrum"), (Observe::Counters, "counters")]);
    check(&[
        (FailureKind::Version, "version"),
        (FailureKind::Foreign, "foreign"),
        (FailureKind::Busy, "busy"),
        (FailureKind::Malformed, "malformed"),
        (FailureKind::Order, "order"),
        (FailureKind::NoSuchRun, "no_such_run"),
        (FailureKind::Mixed, "mixed"),
        (FailureKind::TooLarge, "too_large"),
        (FailureKind::Stopping, "stopping"),
        (FailureKind::Internal, "internal"),
        (FailureKind::Full, "full"),
    ]);
}

/// In bincode a request begins with its number: another one comes behind the last, or the protocol's version changes.
#[test]
fn requests_have_their_numbers() {
    let run = RunRef::Id(1);
    let (order, runs) = (Order::default(), vec![run.clone()]);
    let rank = r#"{"rank": {"failing": [], "passing": []}}"#;
    let rank: Ask = decode(Encoding::Json, rank.as_bytes()).unwrap();
    let requests = [
        Ask::Subjects {},
        Ask::Warm { order: order.clone() },
        Ask::Run { order: order.clone(), input: RunInput::default() },
        Ask::Batch { order, inputs: Vec::new() },
        Ask::Spectrum { run: run.clone(), level: Level::Lines, counts: false },
        Ask::Delta { run: run.clone(), against: RunRef::Baseline, level: Level::Lines, counts: false },
        Ask::Distance { run: run.clone(), against: RunRef::Baseline, measure: Measure::Locseq },
        Ask::Quality { failing: run.clone(), passing: Vec::new(), alpha: 0.5 },
        rank,
        Ask::Name { run, name: String::new() },
        Ask::Forget { runs },
        Ask::Runs {},
        Ask::Status {},
        Ask::Stop {},
    ];
    for (number, ask) in (0_u8..).zip(requests) {
        assert_eq!(encode(Encoding::Bincode, &ask).unwrap()[0], number, "{}", ask.name());
    }
}
