//! Which variables make the next working set.

use super::Dual;

/// Extremes of the scores over either sum.
pub(super) fn extremes(dual: &Dual, beta: &[f64], scores: &[f64]) -> [(f64, f64); 2] {
    let scores = &scores[..dual.len()];
    extremes_by(dual, beta, |v| scores[v], |_| true)
}

/// [`extremes`] of scores that nobody holds, over some variables.
#[inline]
pub(super) fn extremes_by(
    dual: &Dual,
    beta: &[f64],
    score: impl Fn(usize) -> f64,
    is_in: impl Fn(usize) -> bool,
) -> [(f64, f64); 2] {
    let none = (f64::NEG_INFINITY, f64::INFINITY);
    if !dual.two_sums {
        return [extremes_of(dual, beta, score, is_in), none];
    }
    [0, 1].map(|group| extremes_of(dual, beta, &score, |v| is_in(v) & (dual.group(v) == group)))
}

/// Over the variables of one sum, without branches: whether a variable is at its bound is hard to
/// foretell.
#[inline]
fn extremes_of(
    dual: &Dual,
    beta: &[f64],
    score: impl Fn(usize) -> f64,
    is_in: impl Fn(usize) -> bool,
) -> (f64, f64) {
    let n = dual.len();
    let beta = &beta[..n];
    let (lower, upper) = (&dual.lower[..n], &dual.upper[..n]);
    let (mut most, mut least) = (f64::NEG_INFINITY, f64::INFINITY);
    for v in 0..n {
        let (rises, falls) = (is_in(v) & (beta[v] < upper[v]), is_in(v) & (beta[v] > lower[v]));
        let score = score(v);
        let rising = if rises { score } else { f64::NEG_INFINITY };
        let falling = if falls { score } else { f64::INFINITY };
        most = if rising > most { rising } else { most };
        least = if falling < least { falling } else { least };
    }
    (most, least)
}

/// The largest magnitude, at least `least`; NaN counts for nothing.
pub(super) fn largest_magnitude(values: &[f64], least: f64) -> f64 {
    let mut lanes = [least; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for (most, value) in lanes.iter_mut().zip(chunk) {
            *most = if value.abs() > *most { value.abs() } else { *most };
        }
    }
    rest.iter().chain(&lanes).fold(least, |most, value| most.max(value.abs()))
}

/// The largest violation over the sums.
pub(super) fn violation(extremes: &[(f64, f64); 2]) -> f64 {
    let [first, second] = extremes.map(|(most, least)| most - least);
    first.max(second)
}

/// Chooses working sets; keeps its memory from one to the next.
#[derive(Debug, Default)]
pub(super) struct Selector {
    taken: Vec<bool>,
    /// For either sum, those that can rise and those that can fall, with how far.
    violators: [[Vec<(f64, usize)>; 2]; 2],
}

impl Selector {
    /// A working set of at most `size` variables: half the last set, free variables first, and the
    /// worst violators in equal numbers of those that can rise and those that can fall.
    pub(super) fn select(
        &mut self,
        dual: &Dual,
        (beta, scores): (&[f64], &[f64]),
        extremes: &[(f64, f64); 2],
        (size, tol): (usize, f64),
        last: &[usize],
    ) -> Vec<usize> {
        self.taken.clear();
        self.taken.resize(dual.len(), false);
        let mut set = Vec::with_capacity(size);
        let free = |v: usize| beta[v] < dual.upper[v] && beta[v] > dual.lower[v];
        // `last` ends with its newest variables.
        let newest = last.iter().rev().copied();
        let kept = newest.clone().filter(|&v| free(v)).chain(newest.filter(|&v| !free(v)));
        let keep = if size < 8 { 0 } else { size / 2 };
        for v in kept.take(keep) {
            self.taken[v] = true;
            set.push(v);
        }
        set.reverse();
        let groups = if dual.two_sums { 2 } else { 1 };
        for group in 0..groups {
            let is_in = |v: usize| groups == 1 || dual.group(v) == group;
            let state = (beta, scores, &self.taken[..]);
            gather(dual, state, (extremes[group], tol), is_in, &mut self.violators[group]);
        }
        let quota = ((size - keep) / (2 * groups)).max(1);
        for list in self.violators.iter_mut().take(groups).flatten() {
            list.retain(|&(_, v)| !self.taken[v]);
            let worse =
                |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            if list.len() > quota {
                list.select_nth_unstable_by(quota - 1, worse);
                list.truncate(quota);
            }
            list.sort_unstable_by(worse);
            for &(_, v) in &*list {
                self.taken[v] = true;
                set.push(v);
            }
        }
        set.truncate(size.max(2));
        set
    }
}

/// How far each variable of a sum can rise above the least that can fall, and fall below the most
/// that can rise; those not taken, and by more than `tol`.
fn gather(
    dual: &Dual,
    (beta, scores, taken): (&[f64], &[f64], &[bool]),
    ((most, least), tol): ((f64, f64), f64),
    is_in: impl Fn(usize) -> bool,
    [risers, fallers]: &mut [Vec<(f64, usize)>; 2],
) {
    let n = dual.len();
    let (beta, scores, taken) = (&beta[..n], &scores[..n], &taken[..n]);
    let (lower, upper) = (&dual.lower[..n], &dual.upper[..n]);
    risers.resize(n, (0.0, 0));
    fallers.resize(n, (0.0, 0));
    // Every variable is written, and stays if it is to: no branch.
    let (mut rising, mut falling) = (0, 0);
    for v in 0..n {
        let open = !taken[v] & is_in(v);
        let (over, under) = (scores[v] - least, most - scores[v]);
        risers[rising] = (over, v);
        rising += usize::from((over > tol) & (beta[v] < upper[v]) & open);
        fallers[falling] = (under, v);
        falling += usize::from((under > tol) & (beta[v] > lower[v]) & open);
    }
    risers.truncate(rising);
    fallers.truncate(falling);
}
