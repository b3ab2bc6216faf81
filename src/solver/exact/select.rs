//! Which variables make the next working set.

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
    extremes: &[(f64, f64); 2],
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
    // How far each can rise above the least that can fall, and fall below the most that can rise.
    let n = dual.len();
    let mut violators: [[Vec<(f64, usize)>; 2]; 2] = Default::default();
    violators[0].iter_mut().for_each(|list| list.reserve(n));
    let (beta, scores, taken_now) = (&beta[..n], &scores[..n], &taken[..n]);
    let (lower, upper) = (&dual.lower[..n], &dual.upper[..n]);
    for v in 0..n {
        let group = usize::from(dual.two_sums && lower[v] < 0.0);
        let (most, least) = extremes[group];
        let (over, under) = (scores[v] - least, most - scores[v]);
        if over > tol && beta[v] < upper[v] && !taken_now[v] {
            violators[group][0].push((over, v));
        }
        if under > tol && beta[v] > lower[v] && !taken_now[v] {
            violators[group][1].push((under, v));
        }
    }
    let groups = if dual.two_sums { 2 } else { 1 };
    let quota = ((size - keep) / (2 * groups)).max(1);
    for list in violators.iter_mut().take(groups).flatten() {
        list.retain(|&(_, v)| !taken[v]);
        let worse = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if list.len() > quota {
            list.select_nth_unstable_by(quota - 1, worse);
            list.truncate(quota);
        }
        list.sort_unstable_by(worse);
        for &(_, v) in &*list {
            taken[v] = true;
            set.push(v);
        }
    }
    set.truncate(size.max(2));
    set
}
