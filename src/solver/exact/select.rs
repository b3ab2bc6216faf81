//! Which variables make the next working set.

use std::cmp::Ordering;

use super::Dual;

/// Extremes of the scores over one sum.
pub(super) fn extremes(dual: &Dual, beta: &[f64], scores: &[f64]) -> [(f64, f64); 2] {
    let mut extremes = [(f64::NEG_INFINITY, f64::INFINITY); 2];
    for v in 0..dual.len() {
        let (most, least) = &mut extremes[dual.group(v)];
        if beta[v] < dual.upper[v] {
            *most = most.max(scores[v]);
        }
        if beta[v] > dual.lower[v] {
            *least = least.min(scores[v]);
        }
    }
    extremes
}

/// The largest violation over the sums.
pub(super) fn violation(extremes: &[(f64, f64); 2]) -> f64 {
    let [first, second] = extremes.map(|(most, least)| most - least);
    first.max(second)
}

/// A working set of at most `size` variables: half the last set, free variables first, and the
/// worst violators in equal numbers of those that can rise and those that can fall.
pub(super) fn select(
    dual: &Dual,
    (beta, scores): (&[f64], &[f64]),
    (size, tol): (usize, f64),
    last: &[usize],
) -> Vec<usize> {
    let mut taken = vec![false; dual.len()];
    let mut set = Vec::with_capacity(size);
    let free = |v: usize| beta[v] < dual.upper[v] && beta[v] > dual.lower[v];
    // `last` ends with its newest variables.
    let newest = last.iter().rev().copied();
    let kept = newest.clone().filter(|&v| free(v)).chain(newest.filter(|&v| !free(v)));
    let keep = if size < 8 { 0 } else { size / 2 };
    for v in kept.take(keep) {
        taken[v] = true;
        set.push(v);
    }
    set.reverse();
    let groups = if dual.two_sums { 2 } else { 1 };
    let extremes = extremes(dual, beta, scores);
    for (group, (most, least)) in extremes.iter().enumerate().take(groups) {
        let quota = ((size - keep) / (2 * groups)).max(1);
        for rises in [true, false] {
            let badness = |v: usize| {
                if rises { scores[v] - least } else { most - scores[v] }
            };
            let mut candidates: Vec<usize> = (0..dual.len())
                .filter(|&v| {
                    let moves =
                        if rises { beta[v] < dual.upper[v] } else { beta[v] > dual.lower[v] };
                    moves && !taken[v] && dual.group(v) == group && badness(v) > tol
                })
                .collect();
            let worse = |a: &usize, b: &usize| {
                badness(*b).partial_cmp(&badness(*a)).unwrap_or(Ordering::Equal).then(a.cmp(b))
            };
            if candidates.len() > quota {
                candidates.select_nth_unstable_by(quota - 1, worse);
                candidates.truncate(quota);
            }
            candidates.sort_unstable_by(worse);
            for v in candidates {
                taken[v] = true;
                set.push(v);
            }
        }
    }
    set.truncate(size.max(2));
    set
}
