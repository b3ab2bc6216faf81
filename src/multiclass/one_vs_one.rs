//! One machine a pair of classes, independent of each other and trained in parallel.

use crate::error::Result;
use crate::multiclass::one_vs_rest;
use crate::solver::Observer;

/// The pairs `(i, j)`, `i < j`, of classes: (0, 1), (0, 2), ..., (1, 2), ...
#[must_use]
pub fn pairs(n_classes: usize) -> Vec<(usize, usize)> {
    (0..n_classes).flat_map(|i| (i + 1..n_classes).map(move |j| (i, j))).collect()
}

/// Calls `train((i, j), observer)` for every pair of [`pairs`], in parallel inside the current
/// pool, and gathers the results in their order.
///
/// # Errors
/// Those of `train`; the first pair's when several fail.
pub fn one_vs_one<T: Send>(
    n_classes: usize,
    observer: &mut dyn Observer,
    train: impl Fn((usize, usize), &mut dyn Observer) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let pairs = pairs(n_classes);
    one_vs_rest(pairs.len(), observer, |machine, observer| train(pairs[machine], observer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Silent;

    #[test]
    fn pairs_come_in_order() {
        assert_eq!(pairs(4), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(one_vs_one(3, &mut Silent, |pair, _| Ok(pair)).unwrap(), pairs(3));
    }
}
