//! `PROTOCOL.md` and the code say the same.

use hearth_protocol::{
    Aggregation, Answer, Ask, Body, Encoding, FRAME_LIMIT, FailureKind, Formula, Hello, Level, Limits,
    Measure, Observe, Order, Outcome, Reply, Request, RunInput, RunRef, Welcome, decode, encode,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../PROTOCOL.md");

/// The examples of a kind.
fn examples(kind: &str) -> Vec<&'static str> {
    let fence = format!("```json {kind}\n");
    DOCUMENT.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// The names an enumeration or a structure knows, as its reader lists them in its complaint.
fn names<T: DeserializeOwned>(nonsense: &str) -> BTreeSet<String> {
    let complaint = match serde_json::from_str::<T>(nonsense) {
        Ok(_) => panic!("{nonsense} should not be read"),
        Err(error) => error.to_string(),
    };
    let quoted: Vec<&str> = complaint.split('`').skip(1).step_by(2).collect();
    assert!(quoted.len() > 2, "{complaint}");
    quoted[1..].iter().map(|&name| name.to_owned()).collect()
}

/// Reads examples in JSON, writes and reads them in the other encoding, and writes them in JSON again.
fn check<T: Serialize + DeserializeOwned>(kind: &str) -> Vec<T> {
    let messages: Vec<T> = examples(kind)
        .into_iter()
        .map(|text| {
            let message: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let bytes = encode(Encoding::Bincode, &message).expect("it can be written");
            let again: T = decode(Encoding::Bincode, &bytes).expect("it can be read");
            let written = serde_json::to_value(&again).expect("it can be written");
            assert_contains(&written, &serde_json::from_str(text).expect("it was read before"));
            again
        })
        .collect();
    assert!(!messages.is_empty(), "no {kind}");
    messages
}

/// What is written has all that the example has; it may have defaults besides.
fn assert_contains(written: &Value, example: &Value) {
    match (written, example) {
        (Value::Object(written), Value::Object(example)) => {
            for (key, value) in example {
                assert_contains(written.get(key).unwrap_or_else(|| panic!("no {key}")), value);
            }
        }
        (Value::Array(written), Value::Array(example)) => {
            assert_eq!(written.len(), example.len());
            written.iter().zip(example).for_each(|(written, example)| assert_contains(written, example));
        }
        _ => assert_eq!(written, example),
    }
}

#[test]
fn every_request_and_answer_has_an_example_that_is_read() {
    assert!(check::<Hello>("hello").iter().all(|hello| hello.magic == "hearth"));
    check::<Welcome>("welcome");
    let asked: BTreeSet<String> =
        check::<Request>("request").iter().map(|request| request.ask.name().to_owned()).collect();
    assert_eq!(asked, names::<Ask>("\"nonsense\""));
    let answered: BTreeSet<String> = check::<Reply>("reply")
        .iter()
        .filter_map(|reply| match &reply.body {
            Body::Done(answer) => Some(serde_json::to_value(answer).expect("it can be written")),
            Body::Failed(_) => None,
        })
        .filter_map(|answer| answer.as_object().and_then(|object| object.keys().next().cloned()))
        .collect();
    assert_eq!(answered, names::<Answer>("\"nonsense\""));
}

#[test]
fn every_name_is_in_the_document() {
    let nonsense = "\"nonsense\"";
    let field = "{\"nonsense\": 0}";
    for names in [
        names::<FailureKind>(nonsense),
        names::<Formula>(nonsense),
        names::<Aggregation>(nonsense),
        names::<Level>(nonsense),
        names::<Measure>(nonsense),
        names::<Observe>(nonsense),
        names::<Encoding>(nonsense),
        names::<Outcome>(nonsense),
        names::<RunRef>(nonsense),
        names::<Order>(field),
        names::<RunInput>(field),
        names::<Limits>(field),
    ] {
        for name in names {
            let is_there =
                ["`", "\""].iter().any(|quote| DOCUMENT.contains(&format!("{quote}{name}{quote}")));
            assert!(is_there, "`{name}` is not in PROTOCOL.md");
        }
    }
    assert!(DOCUMENT.contains(&FRAME_LIMIT.to_string()));
}
