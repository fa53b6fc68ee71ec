//! The order in which gcov's C++ library leaves equal elements.
//!
//! gcov sorts functions by line and column with an unstable sort, so where several begin at the same place
//! their order shows the algorithm: quicksort with a median-of-three pivot down to runs of 16, then an
//! insertion sort. Reports that are compared with gcov's byte by byte must do the same.

/// Longer ranges are partitioned.
const RUN_LENGTH: usize = 16;

/// Sorts by a key like `std::sort` of GCC's C++ library.
pub(crate) fn sort_by_key<T: Copy, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    if items.len() > RUN_LENGTH {
        let depth = 2 * items.len().ilog2();
        partition_down(items, depth, &key);
    }
    // What is left to do moves elements only past greater ones, so any stable sort does the same.
    items.sort_by_key(key);
}

fn partition_down<T: Copy, K: Ord>(mut items: &mut [T], mut depth: u32, key: &impl Fn(&T) -> K) {
    while items.len() > RUN_LENGTH {
        if depth == 0 {
            // The C++ library turns to heapsort here; the order of equal elements may then differ from it.
            return;
        }
        depth -= 1;
        let cut = partition(items, key);
        let (left, right) = items.split_at_mut(cut);
        partition_down(right, depth, key);
        items = left;
    }
}

/// Moves the median of three to the front and splits the rest around it.
fn partition<T: Copy, K: Ord>(items: &mut [T], key: &impl Fn(&T) -> K) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let less = |x: usize, y: usize| key(&items[x]) < key(&items[y]);
    let median = if less(a, b) {
        if less(b, c) {
            b
        } else if less(a, c) {
            c
        } else {
            a
        }
    } else if less(a, c) {
        a
    } else if less(b, c) {
        c
    } else {
        b
    };
    items.swap(0, median);
    let pivot = key(&items[0]);
    let (mut first, mut last) = (1, items.len());
    loop {
        while key(&items[first]) < pivot {
            first += 1;
        }
        last -= 1;
        while pivot < key(&items[last]) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        items.swap(first, last);
        first += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorts(mut items in prop::collection::vec((0_u32..8, any::<u32>()), 0..200)) {
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            sort_by_key(&mut items, |item| item.0);
            let keys = |items: &[(u32, u32)]| items.iter().map(|item| item.0).collect::<Vec<_>>();
            prop_assert_eq!(keys(&items), keys(&expected));
            items.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(items, expected);
        }
    }
}
