//! Lists with a limit: a frame has room for millions of elements that say nothing, and each takes more memory than
//! its bytes.

use crate::message::{RunInput, RunRef};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// The most inputs of a batch.
pub const INPUTS_LIMIT: usize = 10_000;
/// The most runs in a list of runs.
pub const RUNS_LIMIT: usize = 100_000;
/// The most arguments, and the most variables, of an order, and the most of both of all inputs of a batch.
pub const WORDS_LIMIT: usize = 1_000_000;

/// Runs, up to the limit.
pub fn runs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RunRef>, D::Error> {
    list(deserializer, "runs", RUNS_LIMIT, |_: &RunRef| 0)
}

/// Inputs, up to the limits.
pub fn inputs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RunInput>, D::Error> {
    let words = |input: &RunInput| input.arguments.as_ref().map_or(0, Vec::len) + input.environment.len();
    list(deserializer, "inputs", INPUTS_LIMIT, words)
}

/// Arguments, up to the limit.
pub fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    list(deserializer, "arguments", WORDS_LIMIT, |_: &String| 0)
}

/// Arguments that may be left out, up to the limit.
pub fn optional_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    struct Words(Vec<String>);

    impl<'de> Deserialize<'de> for Words {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            words(deserializer).map(Self)
        }
    }

    Ok(Option::<Words>::deserialize(deserializer)?.map(|words| words.0))
}

type Environment = BTreeMap<String, String>;

/// Variables, up to the limit.
pub fn variables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Environment, D::Error> {
    struct Variables;

    impl<'de> Visitor<'de> for Variables {
        type Value = Environment;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {WORDS_LIMIT} variables")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Environment, A::Error> {
            let mut variables = Environment::new();
            while let Some((name, value)) = map.next_entry()? {
                if variables.len() == WORDS_LIMIT {
                    return Err(A::Error::custom(format!("a request has at most {WORDS_LIMIT} variables")));
                }
                variables.insert(name, value);
            }
            Ok(variables)
        }
    }

    deserializer.deserialize_map(Variables)
}

/// Variables that may be left out, up to the limit.
pub fn optional_variables<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Environment>, D::Error> {
    struct Variables(Environment);

    impl<'de> Deserialize<'de> for Variables {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            variables(deserializer).map(Self)
        }
    }

    Ok(Option::<Variables>::deserialize(deserializer)?.map(|variables| variables.0))
}

/// Stops reading at the limit, and when the elements have too many words together.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    what: &'static str,
    limit: usize,
    words: fn(&T) -> usize,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(Limited { what, limit, words, element: PhantomData })
}

struct Limited<T> {
    what: &'static str,
    limit: usize,
    words: fn(&T) -> usize,
    element: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Limited<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} {}", self.limit, self.what)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let Self { what, limit, .. } = self;
        let mut elements = Vec::new();
        let mut words = 0;
        while let Some(element) = list.next_element()? {
            if elements.len() == limit {
                return Err(A::Error::custom(format!("a request has at most {limit} {what} in a list")));
            }
            words += (self.words)(&element);
            if words > WORDS_LIMIT {
                let problem = format!("the {what} have more than {WORDS_LIMIT} arguments and variables");
                return Err(A::Error::custom(problem));
            }
            elements.push(element);
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use crate::*;
    use crate::{Ask, Encoding, Order, Request, decode, encode};

    fn check(ask: Ask, expected: Option<&str>) {
        let bytes = encode(Encoding::Bincode, &Request { id: 1, ask }).expect("it can be written");
        match (decode::<Request>(Encoding::Bincode, &bytes), expected) {
            (Ok(_), None) => {}
            (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{expected:?}, but {:?}", found.map(|_| ())),
        }
    }

    #[test]
    fn lists_that_would_take_much_more_than_their_bytes_are_refused() {
        let runs = |count| Ask::Forget { runs: vec![RunRef::Baseline; count] };
        check(runs(RUNS_LIMIT), None);
        check(runs(RUNS_LIMIT + 1), Some("at most 100000 runs"));
        let order = |count| Order { arguments: vec![String::new(); count], ..Order::default() };
        check(Ask::Warm { order: order(WORDS_LIMIT) }, None);
        check(Ask::Warm { order: order(WORDS_LIMIT + 1) }, Some("at most 1000000 arguments"));
        let environment = |count| Some((0..count).map(|name| (name.to_string(), String::new())).collect());
        let order = |count| Order { environment: environment(count), ..Order::default() };
        check(Ask::Warm { order: order(1000) }, None);
        check(Ask::Warm { order: order(WORDS_LIMIT + 1) }, Some("at most 1000000 variables"));
        let batch = |inputs: usize, words: usize| {
            let input = RunInput { arguments: Some(vec![String::new(); words]), ..RunInput::default() };
            Ask::Batch { order: Order::default(), inputs: vec![input; inputs] }
        };
        check(batch(INPUTS_LIMIT, 100), None);
        check(batch(INPUTS_LIMIT, 101), Some("more than 1000000 arguments and variables"));
        check(batch(INPUTS_LIMIT + 1, 1), Some("at most 10000 inputs"));
    }
}
