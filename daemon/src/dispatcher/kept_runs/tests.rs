//! What kept runs say they take is what they take.

use super::*;
use hearth_coverage::spectrum::{BLOCK, Counts, Known};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::HashMap;

/// Ids of lines, and of functions.
const LINES: usize = 40 * BLOCK;
const FUNCTIONS: usize = 3 * BLOCK;

/// What is done to kept runs.
#[derive(Debug, Clone)]
enum Act {
    /// Keeps a run that differs from an earlier one in some blocks, perhaps with a name.
    Keep {
        like: Index,
        changes: Vec<(Index, u8)>,
        name: Option<u8>,
        new_zygote: bool,
    },
    Name {
        run: Index,
        name: u8,
    },
    Use {
        run: Index,
    },
    Forget {
        run: Index,
    },
    ForgetUnnamed,
}

fn act() -> impl Strategy<Value = Act> {
    let changes = prop::collection::vec((any::<Index>(), 0..4_u8), 0..12);
    let name = prop::option::weighted(0.3, 0..6_u8);
    prop_oneof![
        8 => (any::<Index>(), changes, name, prop::bool::weighted(0.2))
            .prop_map(|(like, changes, name, new_zygote)| Act::Keep { like, changes, name, new_zygote }),
        2 => (any::<Index>(), 0..6_u8).prop_map(|(run, name)| Act::Name { run, name }),
        2 => any::<Index>().prop_map(|run| Act::Use { run }),
        3 => any::<Index>().prop_map(|run| Act::Forget { run }),
        1 => Just(Act::ForgetUnnamed),
    ]
}

/// Makes spectra as zygotes do: each from one before, with blocks that were seen lately.
struct Zygotes {
    known: [Known; 2],
    seen: Vec<Spectrum>,
    baseline: Arc<Spectrum>,
}

impl Zygotes {
    fn new() -> Self {
        let zeros = Spectrum { lines: Counts::zeros(LINES), functions: Counts::zeros(FUNCTIONS) };
        let known = [Known::new(LINES), Known::new(FUNCTIONS)];
        Self { known, seen: vec![zeros.clone()], baseline: Arc::new(zeros) }
    }

    fn run(&mut self, like: Index, changes: &[(Index, u8)]) -> Spectrum {
        let mut spectrum = like.get(&self.seen).clone();
        let [lines, functions] = &self.known;
        for (place, value) in changes {
            let values = [i64::from(*value) * 200; BLOCK];
            spectrum.lines.set_block(place.index(LINES / BLOCK), &values, lines);
            spectrum.functions.set_block(place.index(FUNCTIONS / BLOCK), &values, functions);
        }
        self.seen.push(spectrum.clone());
        spectrum
    }
}

fn kept(zygotes: &Zygotes, spectrum: Spectrum) -> Kept<()> {
    Kept {
        spectrum: Arc::new(spectrum),
        baseline: zygotes.baseline.clone(),
        map: Arc::new(()),
        subject: "tcc".to_owned(),
        outcome: Outcome::Exited(0),
    }
}

fn do_it(kept_runs: &mut KeptRuns<()>, zygotes: &mut Zygotes, act: &Act) {
    let ids: Vec<u64> = kept_runs.entries.keys().copied().collect();
    let which = |run: &Index| if ids.is_empty() { 0 } else { *run.get(&ids) };
    match act {
        Act::Keep { like, changes, name, new_zygote } => {
            let spectrum = zygotes.run(*like, changes);
            if *new_zygote {
                zygotes.baseline = Arc::new(spectrum.clone());
            }
            let name = name.map(|name| format!("name {name}"));
            let had_names = kept_runs.names.clone();
            let (id, _) = kept_runs.keep(kept(zygotes, spectrum), name.as_deref());
            match id {
                Ok(id) => assert!(kept_runs.entries.contains_key(&id)),
                Err(failure) => {
                    assert_eq!(failure.kind, FailureKind::Full);
                    assert!(kept_runs.unnamed.is_empty(), "there were runs to forget");
                    assert_eq!(kept_runs.names, had_names, "what has a name stays");
                }
            }
        }
        Act::Name { run, name } => {
            let had_names = kept_runs.names.len();
            let named = kept_runs.name(&RunRef::Id(which(run)), &format!("name {name}"));
            assert!(named.is_ok() || kept_runs.names.len() == had_names);
        }
        Act::Use { run } => drop(kept_runs.get(&RunRef::Id(which(run)))),
        Act::Forget { run } => drop(kept_runs.remove(which(run))),
        Act::ForgetUnnamed => {
            let ids = kept_runs.ids(&[]).expect("all there are");
            ids.into_iter().for_each(|id| drop(kept_runs.remove(id)));
        }
    }
}

/// What can be reached from kept runs, each piece once, in bytes.
fn reachable(kept_runs: &KeptRuns<()>) -> u64 {
    let mut pieces = HashMap::new();
    let mut others = 0;
    for entry in kept_runs.entries.values() {
        pieces.extend(entry.kept.spectrum.pieces());
        pieces.extend(entry.kept.baseline.pieces());
        others += entry_bytes(&entry.kept);
    }
    others += kept_runs.names.keys().map(|name| name_bytes(name)).sum::<u64>();
    pieces.values().map(|&bytes| bytes as u64).sum::<u64>() + others
}

proptest! {
    #[test]
    fn what_is_charged_is_what_can_be_reached(
        limit in 5_000..60_000_u64,
        acts in prop::collection::vec(act(), 0..80),
    ) {
        let mut kept_runs = KeptRuns::new(limit);
        let mut zygotes = Zygotes::new();
        for act in &acts {
            do_it(&mut kept_runs, &mut zygotes, act);
            prop_assert_eq!(kept_runs.bytes, reachable(&kept_runs), "after {:?}", act);
            prop_assert!(kept_runs.bytes <= limit, "{} bytes of {}", kept_runs.bytes, limit);
            prop_assert!(kept_runs.list().iter().map(|run| run.bytes).sum::<u64>() <= kept_runs.bytes);
            let unnamed = kept_runs.entries.values().filter(|entry| entry.name.is_none()).count();
            prop_assert_eq!(kept_runs.unnamed.len(), unnamed);
            prop_assert_eq!(kept_runs.names.len() + unnamed, kept_runs.entries.len());
        }
        let ids: Vec<u64> = kept_runs.entries.keys().copied().collect();
        ids.into_iter().for_each(|id| drop(kept_runs.remove(id)));
        prop_assert_eq!(kept_runs.bytes, 0, "nothing is left");
    }
}

#[test]
fn named_runs_that_fill_the_budget_leave_no_room() {
    let zygotes = Zygotes::new();
    let mut kept_runs: KeptRuns<()> = KeptRuns::new(30_000);
    let keep = |kept_runs: &mut KeptRuns<()>, number: u64, name: Option<&str>| {
        let mut spectrum = zygotes.seen[0].clone();
        for block in 0..LINES / BLOCK {
            spectrum.lines.set_block(block, &[number as i64 + 1; BLOCK], &zygotes.known[0]);
        }
        kept_runs.keep(kept(&zygotes, spectrum), name).0
    };
    keep(&mut kept_runs, 0, None).expect("there is room");
    let named = (1..).find_map(|number| keep(&mut kept_runs, number, Some(&number.to_string())).err());
    let failure = named.expect("named runs stay");
    assert_eq!(failure.kind, FailureKind::Full);
    assert!(failure.message.contains("forget") && failure.message.contains("--kept-mib"), "{failure:?}");
    assert!(kept_runs.names.contains_key("1") && kept_runs.unnamed.is_empty());
    let count = kept_runs.entries.len();
    // A new run under a name that is taken replaces the old one.
    keep(&mut kept_runs, 200, Some("1")).expect("the old one gives way");
    assert_eq!(kept_runs.entries.len(), count);
    assert_eq!(keep(&mut kept_runs, 201, None).expect_err("still full").kind, FailureKind::Full);
    let one = kept_runs.ids(&[RunRef::Name("1".to_owned())]).expect("it is kept")[0];
    kept_runs.remove(one).expect("it is kept");
    keep(&mut kept_runs, 202, None).expect("there is room again");
}

/// As many lines and functions as cc1 has, and runs that differ in as many blocks as those of mutants do.
#[test]
fn keeping_and_forgetting_cost_what_one_run_has() {
    const RUNS: u32 = 300;
    let zeros = Spectrum { lines: Counts::zeros(764_028), functions: Counts::zeros(40_000) };
    let known = Known::new(zeros.lines.len());
    let block_count = zeros.lines.len() / BLOCK;
    let mut zygotes = Zygotes { seen: vec![zeros.clone()], baseline: Arc::new(zeros), ..Zygotes::new() };
    let mut kept_runs: KeptRuns<()> = KeptRuns::new(1 << 40);
    let mut spent = std::time::Duration::ZERO;
    for run in 0..RUNS {
        let mut spectrum = zygotes.seen.remove(0);
        for block in (0..block_count).filter(|block| run == 0 || block % 11 == run as usize % 11) {
            spectrum.lines.set_block(block, &[i64::from(run) + 1; BLOCK], &known);
        }
        zygotes.seen.push(spectrum.clone());
        let kept = kept(&zygotes, spectrum);
        let started = std::time::Instant::now();
        kept_runs.keep(kept, None).0.expect("there is room");
        spent += started.elapsed();
    }
    let bytes = kept_runs.bytes / u64::from(RUNS);
    let started = std::time::Instant::now();
    (1..=u64::from(RUNS)).for_each(|id| drop(kept_runs.remove(id)));
    eprintln!("{bytes} bytes, {:?} to keep, {:?} to forget", spent / RUNS, started.elapsed() / RUNS);
    assert_eq!(kept_runs.bytes, 0);
    // On a quiet machine it is a fraction of a millisecond.
    assert!(spent / RUNS < std::time::Duration::from_millis(20), "{spent:?} for {RUNS} runs");
}
