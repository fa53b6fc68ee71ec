//! The order in which gcov's C++ library leaves equal elements.
//!
//! gcov sorts functions by line and column with an unstable sort, so where several begin at the same place
//! their order shows the algorithm: quicksort with a median-of-three pivot down to runs of 16, then an
//! insertion sort. Reports that are compared with gcov's byte by byte must do the same.

/// Longer ranges are partitioned.
const RUN_LENGTH: usize = 16;

/// Sorts like `std::sort` of GCC's C++ library.
pub(crate) fn sort<T: Copy>(items: &mut [T], less: &dyn Fn(&T, &T) -> bool) {
    if items.len() > RUN_LENGTH {
        let depth = 2 * items.len().ilog2();
        partition_down(items, depth, less);
    }
    // What is left to do moves elements only past greater ones, so any stable sort does the same.
    items.sort_by(|a, b| {
        if less(a, b) {
            std::cmp::Ordering::Less
        } else if less(b, a) {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    });
}

fn partition_down<T: Copy>(mut items: &mut [T], mut depth: u32, less: &dyn Fn(&T, &T) -> bool) {
    while items.len() > RUN_LENGTH {
        if depth == 0 {
            // The C++ library turns to heapsort here; the order of equal elements may then differ from it.
            return;
        }
        depth -= 1;
        let cut = partition(items, less);
        let (left, right) = items.split_at_mut(cut);
        partition_down(right, depth, less);
        items = left;
    }
}

/// Moves the median of three to the front and splits the rest around it.
fn partition<T: Copy>(items: &mut [T], less: &dyn Fn(&T, &T) -> bool) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let median = if less(&items[a], &items[b]) {
        if less(&items[b], &items[c]) {
            b
        } else if less(&items[a], &items[c]) {
            c
        } else {
            a
        }
    } else if less(&items[a], &items[c]) {
        a
    } else if less(&items[b], &items[c]) {
        c
    } else {
        b
    };
    items.swap(0, median);
    let pivot = items[0];
    let (mut first, mut last) = (1, items.len());
    loop {
        while less(&items[first], &pivot) {
            first += 1;
        }
        last -= 1;
        while less(&pivot, &items[last]) {
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
            sort(&mut items, &|a, b| a.0 < b.0);
            let keys = |items: &[(u32, u32)]| items.iter().map(|item| item.0).collect::<Vec<_>>();
            prop_assert_eq!(keys(&items), keys(&expected));
            items.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(items, expected);
        }
    }
}
