//! SMO inside a working set, whose kernel values are at hand.

use super::dual::Dual;
use super::select::violation;
use crate::error::Result;
use crate::float::Real;
use crate::simd::{LEAST_CURVATURE, add_rows, find_sum, move_scores, pair_gains};

/// The variables of a working set, those of the first sum before those of the second, with
/// everything that a step reads, padded rows one after another.
///
/// The two variables of a sample of a regression, `α` and `-α*`, are one here where both are in the
/// set: `β = α - α*` with a kink at 0, as no step makes both differ from 0. Their scores are `s - h`
/// and `s + h`; which of them counts, `up` and `down` say.
#[derive(Debug)]
pub(super) struct Working<F> {
    /// The problem's variables: one, or the two of a sample, of which the first is never below 0
    /// and the second never above.
    pub(super) variables: Vec<(usize, Option<usize>)>,
    /// h.
    pub(super) half: Vec<f64>,
    /// Ranges of the one or two sums.
    pub(super) ranges: [(usize, usize); 2],
    pub(super) beta: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) scores: Vec<f64>,
    /// K of the set, `stride` values a row.
    pub(super) kernel: Vec<F>,
    pub(super) stride: usize,
    pub(super) diagonal: Vec<f64>,
    /// What a score is more by to a step that rises (falls), an infinity where there is none.
    pub(super) up: Vec<f64>,
    pub(super) down: Vec<f64>,
    pub(super) gains: Vec<f64>,
    /// Zeros.
    pub(super) none: Vec<f64>,
}

/// Whether two variables are `α` and `-α*` of one sample, at least one of them 0.
fn is_pair_of_sample(dual: &Dual, beta: &[f64], v: usize, other: usize) -> bool {
    let same = dual.sample[v] == dual.sample[other] && dual.group(v) == dual.group(other);
    let signs = dual.lower[v] == 0.0 && dual.upper[other] == 0.0;
    same && signs && dual.linear[v] <= dual.linear[other] && (beta[v] == 0.0 || beta[other] == 0.0)
}

impl<F: Real> Working<F> {
    /// Builds the working set of these variables from β and the scores of all variables. `kernel`
    /// returns the kernel matrix of the samples that it is given.
    pub(super) fn new(
        dual: &Dual,
        set: &[usize],
        (beta, scores): (&[f64], &[f64]),
        diagonal: &[f64],
        kernel: impl FnOnce(&[usize]) -> Result<Vec<F>>,
    ) -> Result<Self> {
        let mut sorted = set.to_vec();
        sorted.sort_by_key(|&v| (dual.group(v), dual.sample[v], v));
        let mut variables: Vec<(usize, Option<usize>)> = Vec::with_capacity(sorted.len());
        for v in sorted {
            match variables.last_mut() {
                Some((first, other @ None)) if is_pair_of_sample(dual, beta, *first, v) => {
                    *other = Some(v)
                }
                _ => variables.push((v, None)),
            }
        }
        let q = variables.len();
        let first = variables.iter().filter(|&&(v, _)| dual.group(v) == 0).count();
        let samples: Vec<usize> = variables.iter().map(|&(v, _)| dual.sample[v]).collect();
        let kernel = kernel(&samples)?;
        let linear = &dual.linear;
        let half = |&(v, other): &(usize, Option<usize>)| {
            other.map_or(0.0, |o| linear[o] - linear[v]) / 2.0
        };
        let half: Vec<f64> = variables.iter().map(half).collect();
        let both = |&(v, other): &(usize, Option<usize>)| beta[v] + other.map_or(0.0, |o| beta[o]);
        let mut working = Self {
            beta: variables.iter().map(both).collect(),
            lower: variables.iter().map(|&(v, other)| dual.lower[other.unwrap_or(v)]).collect(),
            upper: variables.iter().map(|&(v, _)| dual.upper[v]).collect(),
            scores: variables.iter().zip(&half).map(|(&(v, _), half)| scores[v] + half).collect(),
            half,
            diagonal: samples.iter().map(|&i| diagonal[i]).collect(),
            up: vec![0.0; q],
            down: vec![0.0; q],
            gains: vec![0.0; q],
            none: vec![0.0; q],
            kernel,
            stride: q,
            ranges: if dual.two_sums { [(0, first), (first, q)] } else { [(0, q), (q, q)] },
            variables,
        };
        (0..q).for_each(|t| working.mark(t));
        Ok(working)
    }

    /// For each sum, the largest score among the variables that can rise and the smallest among
    /// those that can fall.
    pub(super) fn extremes(&self) -> [(f64, f64); 2] {
        self.ranges.map(|(a, b)| {
            let highs = self.scores[a..b].iter().zip(&self.up[a..b]).map(|(s, up)| s + up);
            let lows = self.scores[a..b].iter().zip(&self.down[a..b]).map(|(s, down)| s + down);
            (highs.fold(f64::NEG_INFINITY, f64::max), lows.fold(f64::INFINITY, f64::min))
        })
    }

    pub(super) fn mark(&mut self, t: usize) {
        let (beta, half) = (self.beta[t], self.half[t]);
        let (rising, falling) =
            (if beta < 0.0 { half } else { -half }, if beta > 0.0 { -half } else { half });
        self.up[t] = if beta < self.upper[t] { rising } else { f64::NEG_INFINITY };
        self.down[t] = if beta > self.lower[t] { falling } else { f64::INFINITY };
    }

    /// How far a variable can rise at one slope.
    pub(super) fn ceiling(&self, t: usize) -> f64 {
        if self.half[t] > 0.0 && self.beta[t] < 0.0 { 0.0 } else { self.upper[t] }
    }

    pub(super) fn floor(&self, t: usize) -> f64 {
        if self.half[t] > 0.0 && self.beta[t] > 0.0 { 0.0 } else { self.lower[t] }
    }

    /// Takes steps until the violation of the set is below `tol`, `max_steps` at most; returns
    /// their number and whether it stopped for another reason than that.
    pub(super) fn run(&mut self, tol: f64, max_steps: u64) -> (u64, bool) {
        let mut extremes = self.extremes();
        let mut steps = 0;
        while steps < max_steps {
            if violation(&extremes) <= tol {
                return (steps, true);
            }
            let Some((i, j)) = self.pair(&extremes, tol) else { return (steps, true) };
            let step = self.step(i, j);
            if step == 0.0 {
                return (steps, true);
            }
            steps += 1;
            let rows = (&self.kernel[i * self.stride..], &self.kernel[j * self.stride..]);
            for (group, &(a, b)) in self.ranges.iter().enumerate().filter(|(_, (a, b))| a < b) {
                let marks = (&self.up[a..b], &self.down[a..b]);
                let rows = (&rows.0[a..b], &rows.1[a..b]);
                extremes[group] = move_scores(&mut self.scores[a..b], marks, rows, step);
            }
        }
        (steps, false)
    }

    /// Computes the scores from β, which removes the rounding error of the steps.
    pub(super) fn rescore(&mut self, dual: &Dual) {
        let own = self.variables.iter().zip(&self.half);
        let own = own.map(|(&(v, _), half)| dual.linear[v] + half);
        self.scores.iter_mut().zip(own).for_each(|(score, own)| *score = own);
        let rows = self.kernel.chunks_exact(self.stride.max(1)).zip(&self.beta);
        let rows = rows.filter(|(_, beta)| **beta != 0.0).map(|(row, beta)| (row, -beta));
        add_rows(&rows.collect::<Vec<_>>(), &mut self.scores);
    }

    /// The variable that can rise with the largest score, and the partner of most gain: over the
    /// sums, the pair of most gain.
    fn pair(&mut self, extremes: &[(f64, f64); 2], tol: f64) -> Option<(usize, usize)> {
        let mut best = (0.0, None);
        for (group, &(a, b)) in self.ranges.iter().enumerate() {
            let (most, least) = extremes[group];
            // NaN, of no variable or of infinite scores, is no violation.
            if (most - least).is_nan() || most - least <= tol {
                continue;
            }
            let Some(i) = find_sum(&self.scores[a..b], &self.up[a..b], most) else { continue };
            let i = a + i;
            let row = &self.kernel[i * self.stride..][a..b];
            let gain = pair_gains(
                &self.scores[a..b],
                &self.down[a..b],
                (&self.diagonal[a..b], row),
                (most, self.diagonal[i]),
                &mut self.gains[a..b],
            );
            if gain > best.0
                && let Some(j) = find_sum(&self.gains[a..b], &self.none[a..b], gain)
            {
                best = (gain, Some((i, a + j)));
            }
        }
        best.1
    }

    /// The problem's variables and their values.
    pub(super) fn values(&self) -> impl Iterator<Item = (usize, f64)> {
        let split = |(&(v, other), &beta): (&(usize, Option<usize>), &f64)| match other {
            None => [Some((v, beta)), None],
            Some(other) => [Some((v, beta.max(0.0))), Some((other, beta.min(0.0)))],
        };
        self.variables.iter().zip(&self.beta).flat_map(split).flatten()
    }

    /// Moves the pair to the best point of its segment; returns how far.
    fn step(&mut self, i: usize, j: usize) -> f64 {
        let cross = self.kernel[i * self.stride + j].to_f64();
        let curvature = (self.diagonal[i] + self.diagonal[j] - 2.0 * cross).max(LEAST_CURVATURE);
        let (most, least) = (self.ceiling(i), self.floor(j));
        let (rise, fall) = (most - self.beta[i], self.beta[j] - least);
        let gap = (self.scores[i] + self.up[i]) - (self.scores[j] + self.down[j]);
        let step = (gap / curvature).min(rise).min(fall);
        let before = (self.beta[i], self.beta[j]);
        // Onto the bound itself, not beside it by rounding.
        self.beta[i] = if step == rise { most } else { before.0 + step };
        self.beta[j] = if step == fall { least } else { before.1 - step };
        self.mark(i);
        self.mark(j);
        if (self.beta[i], self.beta[j]) == before { 0.0 } else { step }
    }
}
