//! Which variables make the next working set.

use super::Dual;

/// Extremes of the scores over either sum.
pub(super) fn extremes(dual: &Dual, beta: &[f64], scores: &[f64]) -> [(f64, f64); 2] {
    let n = dual.len();
    let (beta, scores) = (&beta[..n], &scores[..n]);
    let (lower, upper) = (&dual.lower[..n], &dual.upper[..n]);
    let mut extremes = [(f64::NEG_INFINITY, f64::INFINITY); 2];
    // Without branches: whether a variable is at its bound is hard to foretell.
    for v in 0..n {
        let (most, least) = &mut extremes[usize::from(dual.two_sums && lower[v] < 0.0)];
        let rising = if beta[v] < upper[v] { scores[v] } else { f64::NEG_INFINITY };
        let falling = if beta[v] > lower[v] { scores[v] } else { f64::INFINITY };
        *most = if rising > *most { rising } else { *most };
        *least = if falling < *least { falling } else { *least };
    }
    extremes
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
        self.gather(dual, (beta, scores), extremes, tol);
        let groups = if dual.two_sums { 2 } else { 1 };
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

    /// How far each can rise above the least that can fall, and fall below the most that can rise.
    fn gather(
        &mut self,
        dual: &Dual,
        (beta, scores): (&[f64], &[f64]),
        extremes: &[(f64, f64); 2],
        tol: f64,
    ) {
        let n = dual.len();
        let (beta, scores, taken) = (&beta[..n], &scores[..n], &self.taken[..n]);
        let (lower, upper) = (&dual.lower[..n], &dual.upper[..n]);
        let groups = if dual.two_sums { 2 } else { 1 };
        let lists = &mut self.violators;
        lists.iter_mut().take(groups).flatten().for_each(|list| list.resize(n, (0.0, 0)));
        // Every variable is written, and stays if it is to: no branch.
        let mut lens = [[0usize; 2]; 2];
        for v in 0..n {
            let group = usize::from(dual.two_sums && lower[v] < 0.0);
            let (most, least) = extremes[group];
            let (over, under) = (scores[v] - least, most - scores[v]);
            let [rising, falling] = &mut lens[group];
            lists[group][0][*rising] = (over, v);
            *rising += usize::from((over > tol) & (beta[v] < upper[v]) & !taken[v]);
            lists[group][1][*falling] = (under, v);
            *falling += usize::from((under > tol) & (beta[v] > lower[v]) & !taken[v]);
        }
        for (list, len) in lists.iter_mut().flatten().zip(lens.into_iter().flatten()) {
            list.truncate(len);
        }
    }
}
