//! The check `fuzz`: damaged notes, data and atlases of every version through all readers and the solver.
//!
//! Each round has a seed of its own, so a failing one can be run again alone: `--seed N`. Stable Rust has no
//! coverage-guided fuzzer; the rounds therefore start from well-formed files and damage few words of them,
//! which gets past the outer checks.

use crate::notes_writer::{DIALECTS, Function, data, looping_function, notes};
use anyhow::bail;
use fastrand::Rng;
use hearth_coverage::atlas::{Atlas, NamedMap, encode};
use hearth_coverage::demangle;
use hearth_coverage::format::{Branches, Report};
use hearth_coverage::format::{gcov_json, lcov};
use hearth_coverage::gcov::{Counters, Data, Error, Notes, ObjectCoverage, ObjectMap, Workspace};
use hearth_subject::Store;
use peak_alloc::PeakAlloc;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Memory a round may take: a part for tables that do not depend on the input, and a part that does.
const BASE_BYTES: usize = 32 << 20;
const BYTES_PER_INPUT_BYTE: usize = 512;
/// Real notes up to this size serve as seeds.
const SEED_BYTES: u64 = 256 << 10;

struct Seed {
    notes: Vec<u8>,
    data: Vec<u8>,
}

/// Fuzzes until the time is up, beginning where the last call stopped.
pub fn run(seed: u64, limit: Duration, state: Option<&Path>, memory: &PeakAlloc) -> anyhow::Result<()> {
    let seeds = seeds();
    let done = state.and_then(|path| fs::read_to_string(path).ok()).and_then(|text| text.trim().parse().ok());
    let first: u64 = done.map_or(seed, |done: u64| done.max(seed));
    println!("fuzzing from seed {first} for {} s with {} well-formed files", limit.as_secs(), seeds.len());
    let started = Instant::now();
    let (mut round, mut accepted, mut slowest) = (first, 0_u64, Duration::ZERO);
    while started.elapsed() < limit {
        let mut random = Rng::with_seed(round);
        let (notes, data) = damage(&seeds, &mut random);
        memory.reset_peak_usage();
        let before = memory.peak_usage();
        let begun = Instant::now();
        let Ok(result) = catch_unwind(AssertUnwindSafe(|| use_all(&notes, &data, &mut random))) else {
            bail!("panic: run again with `tools/verify fuzz --seed {round}`");
        };
        slowest = slowest.max(begun.elapsed());
        accepted += u64::from(result.is_ok());
        let taken = memory.peak_usage().saturating_sub(before);
        let allowed = BASE_BYTES + BYTES_PER_INPUT_BYTE * (notes.len() + data.len());
        if taken > allowed {
            bail!("{taken} bytes of memory for {} of input: seed {round}", notes.len() + data.len());
        }
        round += 1;
    }
    if let Some(path) = state {
        fs::write(path, round.to_string())?;
    }
    let rounds = round - first;
    println!(
        "{rounds} rounds, {accepted} accepted as well-formed, no panic, slowest {slowest:?}, next seed {round}"
    );
    if rounds == 0 || accepted == 0 {
        bail!("the fuzzer did not reach the solver");
    }
    Ok(())
}

/// Hand-made files of every version, and the subject tcc's own notes.
fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for &dialect in DIALECTS {
        let mut second = looping_function();
        (second.ident, second.name, second.lines) = (8, "_ZN1a1bEv", vec![(2, "loop.c", vec![9, 10, 10, 2])]);
        let functions = [looping_function(), second, tangled_function()];
        seeds.push(Seed { notes: notes(dialect, &functions), data: data(dialect, &functions) });
    }
    let subject = Store::open().and_then(|store| store.find("tcc"));
    let directory = subject.ok().and_then(|subject| fs::read_dir(subject.notes_directory()).ok());
    for path in directory.into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_small = fs::metadata(&path).is_ok_and(|metadata| metadata.len() <= SEED_BYTES);
        if is_small && path.extension().is_some_and(|extension| extension == "gcno") {
            seeds.extend(fs::read(&path).ok().map(|notes| Seed { notes, data: Vec::new() }));
        }
    }
    seeds
}

/// Eight blocks that all lie on one line and all lead to each other.
fn tangled_function() -> Function {
    let inner = 2..10_u32;
    let mut arcs = vec![(0, 2, 5)];
    for from in inner.clone() {
        arcs.extend(inner.clone().filter(|to| *to != from + 1).map(|to| (from, to, 0)));
        arcs.push((from, if from == 9 { 1 } else { from + 1 }, 1));
    }
    let counters = (1..=arcs.iter().filter(|arc| arc.2 & 1 == 0).count() as i64).collect();
    let lines = inner.map(|block| (block, "loop.c", vec![20])).collect();
    Function {
        ident: 9,
        name: "t",
        file: "loop.c",
        start_line: 20,
        end_line: 20,
        blocks: 11,
        arcs,
        lines,
        counters,
    }
}

fn damage(seeds: &[Seed], random: &mut Rng) -> (Vec<u8>, Vec<u8>) {
    let seed = &seeds[random.usize(..seeds.len())];
    let (mut notes, mut data) = (seed.notes.clone(), seed.data.clone());
    for bytes in [&mut notes, &mut data] {
        if bytes.is_empty() || random.u8(..) < 64 {
            continue;
        }
        for _ in 0..random.usize(0..6) {
            damage_once(bytes, seeds, random);
        }
    }
    (notes, data)
}

fn damage_once(bytes: &mut Vec<u8>, seeds: &[Seed], random: &mut Rng) {
    const TELLING: [u32; 10] =
        [0, 1, 2, 3, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x0100_0000, 0x0143_0000, 0x0145_0000];
    if bytes.is_empty() {
        return;
    }
    let at = random.usize(..bytes.len());
    match random.u8(0..7) {
        0 => bytes[at] ^= 1 << random.u8(0..8),
        1 => bytes[at] = random.u8(..),
        2 => bytes.truncate(at),
        3 => {
            let end = (at + random.usize(0..64)).min(bytes.len());
            bytes.drain(at..end);
        }
        4 => {
            let other = &seeds[random.usize(..seeds.len())].notes;
            let from = random.usize(..other.len());
            let piece = other[from..(from + random.usize(0..256)).min(other.len())].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => {
            let word = TELLING[random.usize(..TELLING.len())].to_le_bytes();
            let at = at / 4 * 4;
            if let Some(place) = bytes.get_mut(at..at + 4) {
                place.copy_from_slice(&word);
            }
        }
    }
}

/// Everything that reads these bytes: readers, solver, formats, and an atlas that is damaged in turn.
fn use_all(notes: &[u8], data: &[u8], random: &mut Rng) -> Result<(), Error> {
    let notes = Notes::read(notes)?;
    let map = ObjectMap::new(&notes, &|path| path.len() % 2 == 0);
    let counters = match Data::read(data).and_then(|data| Counters::from_data(&map, &data)) {
        Ok(counters) => counters,
        Err(_) => Counters::from_values(&map, &mut || random.i64(-3..1000)),
    };
    let coverage = ObjectCoverage::new(&map, &counters, &mut Workspace::default())?;
    let mut out = Vec::new();
    gcov_json::Writer::new(true, &gcov_json::Names::new(demangle::demangle)).write(
        "x.gcda",
        &map,
        &coverage,
        &mut out,
        &mut |_| {},
    );
    let mut report = Report::default();
    coverage.add_to(&mut report, &map, Branches::All);
    lcov::write(&report, true, &mut out);
    let bytes = encode(&[NamedMap { name: "x".to_owned(), map }], 1)?;
    let mut damaged = bytes;
    let at = random.usize(..damaged.len());
    damaged[at] ^= 1 << random.u8(0..8);
    if let Ok(atlas) = Atlas::open(&damaged)
        && let Ok(map) = atlas.object(0)
    {
        ObjectCoverage::new(&map, &Counters::zero(&map), &mut Workspace::default())?;
    }
    Ok(())
}
