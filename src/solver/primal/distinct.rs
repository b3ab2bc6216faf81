//! The exact solution when the basis holds every distinct training sample.
//!
//! # Method
//!
//! 1. Pivoted Cholesky of the kernel matrix of the distinct samples, `K = AAᵀ`, gives features A of
//!    numerical rank r: however singular K is, `H = I + Aᵀ D A` (bordered for b) is not.
//! 2. The linear machine on the features of the distinct samples, which the others repeat, by
//!    Newton's method with a factor ([`linear`](super::linear())): once the zones stay, a full step
//!    ends at the minimum up to rounding.
//! 3. When no sample lies in a quadratic zone, the minimum may be an interval of b. The middle
//!    is taken (the finite end when one end is infinite).
//! 4. `β_j = -Σ C_i L_h'(y_i, f_i)` over the samples that equal distinct sample j.
//!
//! The minimiser is unique, so order, copies and weights of samples make no difference beyond
//! rounding: a sample of weight k is k copies of it.
//!
//! Cost: D²r for the features of D distinct samples, and n + Dr² + r³/3 a step; memory for these and
//! some vectors of n. Certificate: that of the linear machine.

use ndarray::ArrayView2;

use super::linear::{Linear, of_samples};
use crate::data::{Rows, Targets};
use crate::error::{Error, Result, check_len, try_vec};
use crate::linalg::{dot, pivoted_cholesky};
use crate::solver::smoothed::ray::Samples;
use crate::solver::smoothed::{Polish, Polished, Start, check_gram};
use crate::watch::Watch;

/// Relative diagonal left when the rank of K is found.
const RANK_TOL: f64 = 1e-14;
/// Depth in a quadratic zone, in units of h, that is rounding.
const ZONE_EDGE: f64 = 1e-7;
const MAX_STEPS: usize = 1000;

/// Samples that repeat some distinct points.
#[derive(Clone, Copy, Debug)]
pub struct Distinct<'a> {
    /// Kernel matrix of the D distinct points, row-major D x D.
    pub gram: &'a [f64],
    /// The distinct point that each of the n samples equals.
    pub point: &'a [usize],
    /// Targets of the n samples.
    pub targets: Targets<'a>,
    /// C_i of the n samples.
    pub cost: &'a [f64],
}

impl Polish {
    /// Solves the smoothed problem on all samples to rounding error; `tol` and `max_steps` are
    /// not used. The result has one term a distinct point.
    ///
    /// # Errors
    /// As [`Polish::solve`].
    pub fn solve_exactly(&self, data: Distinct<'_>, watch: &mut Watch<'_>) -> Result<Polished> {
        self.check()?;
        let (n, size, m) = (data.point.len(), data.gram.len().isqrt(), data.targets.n_outputs());
        check_len("y", n, data.targets.len())?;
        check_len("sample_weight", n, data.cost.len())?;
        check_gram(data.gram, size)?;
        if let Some(bad) = data.point.iter().find(|&&p| p >= size) {
            let reason = format!("distinct point {bad} of {size}");
            return Err(Error::InvalidData { what: "X", reason });
        }
        let mut result = Polished::nothing(size, m);
        watch.begin();
        // 1.
        let factor = match pivoted_cholesky(data.gram, size, RANK_TOL, || watch.poll()) {
            Ok(factor) => factor,
            Err(halt) => return result.halted(halt),
        };
        // A kernel matrix of zeros: one feature that is always 0.
        let rank = factor.rank().max(1);
        let mut features = try_vec("features", size * rank, 0.0)?;
        if factor.rank() > 0 {
            for (p, row) in features.chunks_exact_mut(rank).enumerate() {
                row.copy_from_slice(factor.row(p));
            }
        }
        // 2.
        let rows = ArrayView2::from_shape((size, rank), &features)
            .map_err(|e| Error::Unsupported(e.to_string()))?;
        let (coef, intercept) = (vec![0.0; rank * m], vec![0.0; m]);
        let Distinct { point, targets, cost, .. } = data;
        let start = Start { targets, cost, coef: &coef, intercept: &intercept };
        let goal = Self { max_steps: MAX_STEPS, ..*self };
        let rows = (&Rows::Dense(rows), Some(point));
        let found = of_samples(&goal, Linear::Direct, rows, start, watch)?;
        (result.steps, result.converged, result.stop) = (found.steps, found.converged, found.stop);
        for output in 0..m {
            let samples = start.samples(self, output, self.h);
            let w: Vec<f64> = found.coef.iter().skip(output).step_by(m).copied().collect();
            let mut b = found.intercept[output];
            let of_points: Vec<f64> =
                features.chunks_exact(rank).map(|row| dot(row, &w) + b).collect();
            let mut f = try_vec("decision values", n, 0.0)?;
            f.iter_mut().zip(point).for_each(|(f, &p)| *f = of_points[p]);
            if self.fit_intercept && found.converged {
                // 3.
                let shift = to_the_middle(&samples, &f);
                b += shift;
                f.iter_mut().for_each(|f| *f += shift);
            }
            result.intercept[output] = b;
            // 4.
            for (i, &f) in f.iter().enumerate().filter(|(i, _)| cost[*i] > 0.0) {
                result.coef[point[i] * m + output] -= samples.at(i, f).slope;
            }
            result.add(&samples, 0.5 * dot(&w, &w), &f);
        }
        Ok(result)
    }
}

/// From the offset to the middle of all that are as good, or to their end where there is one only.
fn to_the_middle(samples: &Samples<'_>, f: &[f64]) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for (i, &f) in f.iter().enumerate().filter(|(i, _)| samples.cost[*i] > 0.0) {
        let range = samples.loss.flat_range(samples.y(i), f, ZONE_EDGE * samples.loss.h);
        (low, high) = (low.max(range.0), high.min(range.1));
    }
    // Ends that cross, or nearly: some sample is inside its zone and b is unique.
    match (low.is_finite(), high.is_finite()) {
        _ if high <= low => 0.0,
        (true, true) => 0.5 * (low + high),
        (true, false) => low,
        (false, true) => high,
        (false, false) => 0.0,
    }
}
