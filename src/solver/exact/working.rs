//! SMO inside a working set, whose kernel values are at hand.

use crate::float::Real;
use crate::simd::{LEAST_CURVATURE, find_sum, move_scores, pair_gains};

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
    pub(super) ranges: Vec<(usize, usize)>,
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

impl<F: Real> Working<F> {
    fn mark(&mut self, t: usize) {
        let (beta, half) = (self.beta[t], self.half[t]);
        let (rising, falling) =
            (if beta < 0.0 { half } else { -half }, if beta > 0.0 { -half } else { half });
        self.up[t] = if beta < self.upper[t] { rising } else { f64::NEG_INFINITY };
        self.down[t] = if beta > self.lower[t] { falling } else { f64::INFINITY };
    }

    /// How far a variable can rise at one slope.
    fn ceiling(&self, t: usize) -> f64 {
        if self.half[t] > 0.0 && self.beta[t] < 0.0 { 0.0 } else { self.upper[t] }
    }

    fn floor(&self, t: usize) -> f64 {
        if self.half[t] > 0.0 && self.beta[t] > 0.0 { 0.0 } else { self.lower[t] }
    }

    /// Takes steps until the violation of the set is below `tol`, `max_steps` at most; returns
    /// their number and whether it stopped for another reason than that.
    pub(super) fn run(&mut self, tol: f64, max_steps: u64) -> (u64, bool) {
        let n = self.beta.len();
        (0..n).for_each(|t| self.mark(t));
        let none = vec![F::zero(); n];
        let mut extremes = [(f64::NEG_INFINITY, f64::INFINITY); 2];
        for (group, &(a, b)) in self.ranges.iter().enumerate() {
            let marks = (&self.up[a..b], &self.down[a..b]);
            let rows = (&none[..b - a], &none[..b - a]);
            extremes[group] = move_scores(&mut self.scores[a..b], marks, rows, 0.0);
        }
        let mut steps = 0;
        while steps < max_steps {
            let violation = extremes.iter().map(|(most, least)| most - least);
            if violation.fold(f64::NEG_INFINITY, f64::max) <= tol {
                return (steps, true);
            }
            let Some((i, j)) = self.pair(&extremes, tol) else { return (steps, true) };
            let step = self.step(i, j);
            steps += 1;
            if step == 0.0 {
                return (steps, true);
            }
            let rows = (&self.kernel[i * self.stride..], &self.kernel[j * self.stride..]);
            for (group, &(a, b)) in self.ranges.iter().enumerate() {
                let marks = (&self.up[a..b], &self.down[a..b]);
                let rows = (&rows.0[a..b], &rows.1[a..b]);
                extremes[group] = move_scores(&mut self.scores[a..b], marks, rows, step);
            }
        }
        (steps, false)
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
