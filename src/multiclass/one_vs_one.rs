//! One machine a pair of classes, independent of each other and trained in parallel.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::Result;
use crate::watch::Watch;

/// The pairs `(i, j)`, `i < j`, of classes: (0, 1), (0, 2), ..., (1, 2), ...
#[must_use]
pub(crate) fn pairs(n_classes: usize) -> Vec<(usize, usize)> {
    (0..n_classes).flat_map(|i| (i + 1..n_classes).map(move |j| (i, j))).collect()
}

/// Which of [`pairs`] a pair is.
#[must_use]
pub(crate) fn pair_index((i, j): (usize, usize), n_classes: usize) -> usize {
    i * (2 * n_classes - i - 1) / 2 + j - i - 1
}

/// Calls `train((i, j), watch)` for every pair of [`pairs`], at most `at_a_time` of them at once
/// inside the current pool, and gathers the results in their order.
///
/// # Errors
/// Those of `train`; the first pair's when several fail.
pub(crate) fn one_vs_one<T: Send>(
    n_classes: usize,
    at_a_time: usize,
    watch: &mut Watch<'_>,
    train: impl Fn((usize, usize), &mut Watch<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let pairs = pairs(n_classes);
    let next = AtomicUsize::new(0);
    let runners = at_a_time.clamp(1, pairs.len().max(1));
    let found = watch.side_by_side(runners, |_, watch| {
        let mut own = Vec::new();
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(&pair) = pairs.get(at) else { return Ok(own) };
            own.push((at, train(pair, watch)));
        }
    })?;
    let mut found: Vec<(usize, Result<T>)> = found.into_iter().flatten().collect();
    found.sort_unstable_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_in_order() {
        assert_eq!(pairs(4), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert!(pairs(7).into_iter().enumerate().all(|(at, pair)| pair_index(pair, 7) == at));
        for at_a_time in [1, 2, 5] {
            let found = one_vs_one(4, at_a_time, &mut Watch::of_tests(), |pair, _| Ok(pair));
            assert_eq!(found.unwrap(), pairs(4));
        }
    }
}
