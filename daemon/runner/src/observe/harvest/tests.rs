//! Tests of harvests, on memories in files.

use super::region::{COUNTER_BYTES, VALUES_PER_PAGE, place};
use super::*;
use crate::memory::PAGE_BYTES;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::os::unix::fs::FileExt;

const FIRST_PAGE: u64 = 2;
const PAGES: usize = 5;

/// A memory in files, some of its pages written since.
fn memory(values: &[i64], own: &[bool]) -> Memory {
    let file = || File::from(memfd_create("test", MemfdFlags::CLOEXEC).expect("a file"));
    let (memory, pages) = (file(), file());
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    memory.write_all_at(&bytes, FIRST_PAGE * PAGE_BYTES).expect("written");
    for (page, &own) in (FIRST_PAGE..).zip(own) {
        let entry = if own { 1_u64 << 56 } else { 0 };
        pages.write_all_at(&entry.to_le_bytes(), page * 8).expect("written");
    }
    Memory::new(memory, pages)
}

/// Arrays of these lengths, one after the other, with a gap of one counter between.
fn arrays(lengths: &[u32]) -> Vec<Array> {
    let mut address = FIRST_PAGE * PAGE_BYTES;
    let mut first = 0;
    let array = |(&count, function): (&u32, u32)| {
        let array = Array { address, first, count, function_id: function };
        address += u64::from(count + 1) * COUNTER_BYTES;
        first += count;
        array
    };
    lengths.iter().zip(0..).map(array).collect()
}

#[test]
fn every_change_is_found_whatever_the_arrays_lie_across_and_whichever_pages_were_written_before() {
    // Within a page, across two, across three, and again within.
    let lengths = [500, 30, 600, 1030, 100, 200];
    let arrays = arrays(&lengths);
    let total = PAGES * VALUES_PER_PAGE;
    let zero = memory(&vec![0; total], &[false; PAGES]);
    let map = CounterMap { arrays: arrays.clone(), ..CounterMap::default() };
    let count = lengths.iter().sum::<u32>() as usize;
    let mut counting = Counting::new(map, count, &zero).expect("readable");
    let in_arrays = |values: &[i64]| -> Vec<Vec<i64>> {
        let first = |array: &Array| ((array.address - FIRST_PAGE * PAGE_BYTES) / COUNTER_BYTES) as usize;
        arrays.iter().map(|array| values[first(array)..][..array.count as usize].to_vec()).collect()
    };
    let mut last = in_arrays(&vec![0; total]);
    // Every pattern of written pages after some others; the multiplier is odd, so all come up.
    for round in 0..256_u32 {
        let how = How { keep: true, all_pages: false, helped: round % 5 < 3 };
        let pattern = round.wrapping_mul(0x9e37_79b9) >> 7 & 31;
        let own: Vec<bool> = (0..PAGES).map(|page| pattern >> page & 1 == 1).collect();
        // On a written page every third counter has changed; on others they are as at the warm point.
        let value = |index: usize| match own[index / VALUES_PER_PAGE] && index.is_multiple_of(3) {
            true => i64::from(round % 4),
            false => 0,
        };
        let values: Vec<i64> = (0..total).map(value).collect();
        let now = in_arrays(&values);
        let mut visited = Vec::new();
        let visit: Visit<'_> =
            &mut |array, old, new| visited.push((array.function_id, old.to_vec(), new.to_vec()));
        let harvest =
            counting.harvest(&memory(&values, &own), how, Additions::default(), visit).expect("readable");
        let expected: Vec<(u32, Vec<i64>, Vec<i64>)> = (0..)
            .zip(last.iter().cloned().zip(now.iter().cloned()))
            .filter(|(_, (old, new))| old != new)
            .map(|(id, (old, new))| (id, old, new))
            .collect();
        assert_eq!(visited, expected, "round {round}, {own:?}");
        assert_eq!(harvest.values, Some(now.concat()));
        assert_eq!(harvest.pages, own.iter().filter(|&&own| own).count());
        last = now;
    }
    // From the warm point again: what is as in the last run differs from that.
    let values: Vec<i64> = (0..total as i64).map(|index| i64::from(index % 3 == 0)).collect();
    let same = memory(&values, &[true; PAGES]);
    let count = |counting: &mut Counting| {
        let mut visited = 0;
        counting
            .harvest(&same, How::default(), Additions::default(), &mut |_, _, _| visited += 1)
            .expect("readable");
        visited
    };
    count(&mut counting);
    assert_eq!(count(&mut counting), 0, "nothing has changed");
    counting.forget_last_run();
    assert_eq!(count(&mut counting), lengths.len());
}

/// What is added is seen on top of the run's own, and gone in the next run, whether that writes the page or not.
#[test]
fn what_is_added_counts_for_one_run() {
    let arrays = arrays(&[300, 700, 5, 900]);
    let late = Array { address: 1 << 40, first: 1905, count: 2, function_id: 4 };
    let total = PAGES * VALUES_PER_PAGE;
    let zeros = vec![0; total];
    let map = CounterMap { arrays: arrays.clone(), ..CounterMap::default() };
    let mut counting = Counting::new(map, 1907, &memory(&zeros, &[false; PAGES])).expect("readable");
    let mut seen: Vec<Vec<i64>> =
        arrays.iter().chain([&late]).map(|array| vec![0; array.count as usize]).collect();
    for round in 0..64_usize {
        let own: Vec<bool> = (0..PAGES).map(|page| round >> page & 1 == 1).collect();
        let values: Vec<i64> = (0..total).map(|index| i64::from(own[index / VALUES_PER_PAGE])).collect();
        let mut expected = vec![Vec::new(); arrays.len()];
        for (array, expected) in arrays.iter().zip(&mut expected) {
            expected.extend_from_slice(&values[place(FIRST_PAGE, array)]);
        }
        expected.push(vec![0; 2]);
        let mut additions = Additions::default();
        for array in arrays
            .iter()
            .chain([&late])
            .filter(|array| (round + array.function_id as usize).is_multiple_of(3))
        {
            // Twice, as of two processes.
            for _ in 0..2 {
                additions.add(array, &vec![round as i64; array.count as usize]);
            }
            let sum = &mut expected[array.function_id as usize];
            sum.iter_mut().for_each(|value| *value += 2 * round as i64);
        }
        let visit: Visit<'_> = &mut |array, old, new| {
            let seen = &mut seen[array.function_id as usize];
            assert_eq!(seen, old, "round {round}");
            seen.copy_from_slice(new);
        };
        let how = How { keep: true, all_pages: round % 2 == 0, helped: round % 5 == 0 };
        // Where it is not known which pages a run has written all are compared.
        let full = memory(&values, &own);
        let run = if round % 7 == 3 { full.forget_pages() } else { full };
        let harvest = counting.harvest(&run, how, additions, visit).expect("readable");
        assert_eq!(seen, expected, "round {round}");
        assert_eq!(harvest.values, Some(expected.concat()), "round {round}");
    }
}

#[test]
fn two_threads_see_what_one_sees_also_after_one_that_could_not_go_on() {
    const ARRAYS: usize = 200;
    const EVERY: usize = 3;
    // Far apart, so that each is a region.
    let arrays: Vec<Array> = (0..ARRAYS as u32)
        .map(|index| Array {
            address: (FIRST_PAGE + u64::from(index) * EVERY as u64) * PAGE_BYTES,
            first: index * 100,
            count: 100,
            function_id: index,
        })
        .collect();
    let pages = ARRAYS * EVERY;
    let zero = memory(&vec![0; pages * VALUES_PER_PAGE], &vec![false; pages]);
    let map = CounterMap { arrays, ..CounterMap::default() };
    let mut counting = Counting::new(map, ARRAYS * 100, &zero).expect("readable");
    assert!(counting.is_large());
    let mut last = vec![vec![0; 100]; ARRAYS];
    let mut failures = 0;
    for round in 1..60_i64 {
        let value = |index: usize| (index / VALUES_PER_PAGE / EVERY) as i64 % 7 * round;
        let values: Vec<i64> = (0..pages * VALUES_PER_PAGE).map(value).collect();
        let now = memory(&values, &vec![true; pages]);
        // Every third run's memory goes while it is read.
        let gone = memory(&values, &vec![true; pages / 2]);
        let is_gone = round % 3 == 0;
        let how = How { keep: false, all_pages: false, helped: round % 4 != 0 };
        let visit: Visit<'_> = &mut |array, old, new| {
            let last = &mut last[array.function_id as usize];
            assert_eq!(last, old, "round {round}, array {}", array.function_id);
            *last = new.to_vec();
        };
        let harvest = counting.harvest(if is_gone { &gone } else { &now }, how, Additions::default(), visit);
        assert_eq!(harvest.is_err(), is_gone, "round {round}");
        failures += usize::from(is_gone);
        if !is_gone {
            let expected: Vec<Vec<i64>> =
                (0..ARRAYS).map(|index| vec![index as i64 % 7 * round; 100]).collect();
            assert_eq!(last, expected, "round {round}");
        }
    }
    assert!(failures > 10);
}
