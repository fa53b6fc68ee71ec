//! How the words that the coverage crate owns look on the wire: their names in JSON, their numbers in bincode.

use hearth_protocol::{Aggregation, Encoding, Formula, decode, encode};
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
