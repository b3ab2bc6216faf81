//! Scales by descent: L-BFGS on a two-fold validation error with respect to `θ_d = log w_d` and
//! log λ, through the solution of the linear system.
//!
//! # Method
//!
//! For the halves (A, B) and (B, A), with `M = K_AᵀC K_A/n_A + λ K_mm`:
//!
//! 1. `a = M⁻¹ K_AᵀC Y_A/n_A`, `R = K_B a - Y_B`, error `Σ c R² / Σ c Y²`.
//! 2. `g = ∂error/∂a = 2 K_BᵀC R / Σ c Y²`, `u = M⁻¹ g`.
//! 3. `∂error/∂K_B = 2 C R aᵀ / Σ c Y²`, `∂error/∂K_A = C ((Y_A - K_A a) uᵀ - (K_A u) aᵀ)/n_A`,
//!    `∂error/∂K_mm = -λ (u aᵀ + a uᵀ)/2`, `∂error/∂log λ = -λ uᵀK_mm a`.
//! 4. `∂k/∂log w_d = -2 k (x_d - z_d)²` (Gaussian) or `-k |x_d - z_d|`, of scaled rows.
//!
//! What is minimised is the mean of both and `pull Σ (θ - mean θ)²`.

use super::distances::{CHUNK, distances, into_kernel_values, product};
use super::grid::{Grid, Shape};
use super::recipe::{DESCENT_GAIN, DESCENT_PULL, LAMBDA_RANGE, SCALE_RANGE};
use super::reduced::{Sought, cross, gram, solved};
use crate::error::Result;
use crate::linalg::{Cholesky, Lbfgs, matrix, multiply};
use crate::parallel;
use crate::rng::Rng;
use crate::simd;
use crate::watch::{Step, Watch};

/// What the error is a function of.
pub(super) struct Descent<'a> {
    shape: Shape,
    /// Rows in an order of halves, their values and weights; where the second half begins.
    rows: Grid,
    values: Grid,
    weights: Vec<f64>,
    half: usize,
    landmarks: Grid,
    scales: &'a [f64],
}

/// Where a descent ended: its scales and the two-fold error there.
#[derive(Clone, Debug)]
pub(crate) struct Descended {
    pub(crate) scales: Vec<f64>,
    pub(crate) error: f64,
}

/// Scales from these and λ on; `rows` begin with the landmarks.
pub(crate) fn descend(
    shape: Shape,
    rows: &Grid,
    (sought, evaluations): (&Sought<'_>, usize),
    (scales, lambda, seed): (&[f64], f64, u64),
    watch: &mut Watch<'_>,
) -> Step<Descended> {
    let problem = Descent::new(shape, rows, sought, (scales, seed))?;
    let d = scales.len();
    let mut point = vec![0.0; d + 1];
    point[d] = lambda.ln();
    let search = Lbfgs { memory: 8, max_evaluations: evaluations, tol: DESCENT_GAIN, unit: 1.0 };
    // The first step is of length 1, whatever the error's units.
    let mut gradient = vec![0.0; d + 1];
    let value = problem.evaluate(&point, &mut gradient, watch)?;
    let mut first = Some((value, gradient.clone()));
    let mut evaluate = |x: &[f64], to: &mut [f64]| match first.take() {
        // The search begins where the length was measured.
        Some((value, known)) => {
            to.copy_from_slice(&known);
            Ok(value)
        }
        None => problem.evaluate(x, to, watch),
    };
    let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    let unit = if length > 0.0 { length.recip() } else { 1.0 };
    let end = search.minimise(&mut point, &vec![unit; d + 1], &mut evaluate)?;
    let (theta, _) = clamped(&point);
    let error = end.value - pull(&theta);
    let scales = scales.iter().zip(theta).map(|(w, t)| w * t.exp()).collect();
    Ok(Descended { scales, error })
}

/// What holds the logarithms of the scales together.
fn pull(theta: &[f64]) -> f64 {
    let mean = theta.iter().sum::<f64>() / theta.len() as f64;
    DESCENT_PULL * theta.iter().map(|t| (t - mean).powi(2)).sum::<f64>()
}

/// The point within its ranges.
fn clamped(point: &[f64]) -> (Vec<f64>, f64) {
    let (low, high) = SCALE_RANGE;
    let d = point.len() - 1;
    let theta = point[..d].iter().map(|t| t.clamp(low, high)).collect();
    (theta, point[d].clamp(LAMBDA_RANGE.0.ln(), LAMBDA_RANGE.1.ln()))
}

impl<'a> Descent<'a> {
    pub(super) fn new(
        shape: Shape,
        rows: &Grid,
        sought: &Sought<'_>,
        (scales, seed): (&'a [f64], u64),
    ) -> Result<Self> {
        let n = rows.rows();
        let mut order: Vec<usize> = (0..n).collect();
        Rng::new(seed).shuffle(&mut order);
        let take = |from: &Grid| -> Result<Grid> {
            let mut to = Grid::zeros("halves", n, from.columns)?;
            for (to, &i) in to.values.chunks_exact_mut(from.columns).zip(&order) {
                to.copy_from_slice(from.row(i));
            }
            Ok(to)
        };
        Ok(Self {
            shape,
            rows: take(rows)?,
            values: take(sought.values)?,
            weights: order.iter().map(|&i| sought.weights[i]).collect(),
            half: n / 2,
            landmarks: rows.range(0, sought.landmarks)?,
            scales,
        })
    }

    /// The error at `point`, and its gradient.
    pub(super) fn evaluate(
        &self,
        point: &[f64],
        gradient: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step<f64> {
        let (theta, log_lambda) = clamped(point);
        let (d, lambda) = (theta.len(), log_lambda.exp());
        let scales: Vec<f64> = self.scales.iter().zip(&theta).map(|(w, t)| w * t.exp()).collect();
        let (x, z) = (self.rows.scaled(&scales)?, self.landmarks.scaled(&scales)?);
        let (n, m, q) = (x.rows(), z.rows(), self.values.columns);
        let k = into_kernel_values(distances(self.shape, &x, &z, watch)?);
        let k_mm = into_kernel_values(distances(self.shape, &z, &z, watch)?);
        let variance: f64 = (0..n)
            .map(|i| self.weights[i] * squares(self.values.row(i)))
            .sum::<f64>()
            .max(f64::MIN_POSITIVE);
        let mut pulls = Grid::zeros("derivatives", n, m)?;
        let mut pulls_mm = vec![0.0f64; m * m];
        let (mut error, mut slope) = (0.0, 0.0);
        gradient.fill(0.0);
        for (fit, judge) in [((0, self.half), (self.half, n)), ((self.half, n), (0, self.half))] {
            // 1.
            let (k_a, y_a) = (k.range(fit.0, fit.1)?, self.values.range(fit.0, fit.1)?);
            let (k_b, y_b) = (k.range(judge.0, judge.1)?, self.values.range(judge.0, judge.1)?);
            let (c_a, c_b) = (&self.weights[fit.0..fit.1], &self.weights[judge.0..judge.1]);
            let share = 1.0 / (fit.1 - fit.0).max(1) as f64;
            let roots: Vec<f64> = c_a.iter().map(|c| (c * share).sqrt()).collect();
            let mut normal = gram(&k_a, Some(&roots), watch)?;
            for (v, k) in normal.iter_mut().zip(&k_mm.values) {
                *v += lambda * f64::from(*k);
            }
            let ask = &mut || watch.glance();
            let factor = Cholesky::factor_small("landmarks", &normal, m, 1e-7, ask)?;
            let solve = |right: Vec<f64>| solved(&factor, right, q);
            let right = cross(&k_a, &y_a, Some(c_a));
            let a = solve(right.iter().map(|v| v * share).collect());
            let a_single = Grid::of_doubles(&a, q);
            let mut residual = product(&k_b, &a_single)?;
            for (r, y) in residual.values.iter_mut().zip(&y_b.values) {
                *r -= y;
            }
            error +=
                (0..y_b.rows()).map(|i| c_b[i] * squares(residual.row(i))).sum::<f64>() / variance;
            // 2.
            let by = 2.0 / variance;
            let g = cross(&k_b, &residual, Some(c_b));
            let u = solve(g.iter().map(|v| v * by).collect());
            let u_single = Grid::of_doubles(&u, q);
            // 3.
            let weighted = |grid: &mut Grid, weights: &[f64], by: f64| {
                for (row, c) in grid.values.chunks_exact_mut(q).zip(weights) {
                    row.iter_mut().for_each(|v| *v *= (c * by) as f32);
                }
            };
            weighted(&mut residual, c_b, by);
            add_outer(&mut pulls, judge.0, &residual, &a_single);
            let mut left = product(&k_a, &a_single)?;
            for (f, y) in left.values.iter_mut().zip(&y_a.values) {
                *f = y - *f;
            }
            weighted(&mut left, c_a, share);
            add_outer(&mut pulls, fit.0, &left, &u_single);
            let mut moved = product(&k_a, &u_single)?;
            weighted(&mut moved, c_a, -share);
            add_outer(&mut pulls, fit.0, &moved, &a_single);
            for i in 0..m {
                for j in 0..m {
                    let both: f64 = (0..q)
                        .map(|c| u[i * q + c] * a[j * q + c] + a[i * q + c] * u[j * q + c])
                        .sum();
                    pulls_mm[i * m + j] -= 0.5 * lambda * both;
                }
            }
            let k_mm_a = product(&k_mm, &a_single)?;
            let inner: f64 = u.iter().zip(&k_mm_a.values).map(|(u, k)| u * f64::from(*k)).sum();
            slope -= lambda * inner;
        }
        // 4.
        let pulls_mm = Grid::of_doubles(&pulls_mm, m);
        for part in [
            by_scales(self.shape, (&pulls, &k), (&x, &z)),
            by_scales(self.shape, (&pulls_mm, &k_mm), (&z, &z)),
        ] {
            gradient[..d].iter_mut().zip(part).for_each(|(g, p)| *g += p);
        }
        watch.glance()?;
        let mean = theta.iter().sum::<f64>() / d as f64;
        gradient[d] = slope;
        for (k, g) in gradient.iter_mut().enumerate() {
            *g *= 0.5;
            let held = if k < d { theta[k] != point[k] } else { log_lambda != point[k] };
            if k < d {
                *g += 2.0 * DESCENT_PULL * (theta[k] - mean);
            }
            if held {
                *g = 0.0;
            }
        }
        watch.judged(0.5 * error);
        Ok(0.5 * error + pull(&theta))
    }
}

/// `Σ_ij W_ij ∂k_ij/∂log w_d` for every feature, of scaled rows.
pub(super) fn by_scales(
    shape: Shape,
    (pulls, k): (&Grid, &Grid),
    (x, z): (&Grid, &Grid),
) -> Vec<f64> {
    let (n, m, d) = (x.rows(), z.rows(), x.columns);
    let columns: Vec<f32> =
        (0..d).flat_map(|k| (0..m).map(move |j| (j, k))).map(|(j, k)| z.row(j)[k]).collect();
    let parts = parallel::map(n.div_ceil(CHUNK), &|c| {
        let (first, last) = (c * CHUNK, ((c + 1) * CHUNK).min(n));
        let mut sums = vec![0.0f64; d];
        let both = pulls.values[first * m..last * m].iter().zip(&k.values[first * m..last * m]);
        let v: Vec<f32> = both.map(|(w, k)| -w * k).collect();
        let x = &x.values[first * d..last * d];
        match shape {
            Shape::Gaussian => {
                let mut pulled = vec![0.0f32; (last - first) * d];
                let (a, b) = (matrix(&v, m), matrix(&z.values, d));
                multiply(&mut pulled, a, b);
                let mut total = vec![0.0f64; m];
                for (i, row) in v.chunks_exact(m).enumerate() {
                    let whole: f64 = row.iter().map(|&v| f64::from(v)).sum();
                    total.iter_mut().zip(row).for_each(|(t, &v)| *t += f64::from(v));
                    for (k, sum) in sums.iter_mut().enumerate() {
                        let x = f64::from(x[i * d + k]);
                        *sum += x * (whole * x - 2.0 * f64::from(pulled[i * d + k]));
                    }
                }
                for (j, total) in total.iter().enumerate() {
                    for (sum, &z) in sums.iter_mut().zip(z.row(j)) {
                        *sum += total * f64::from(z).powi(2);
                    }
                }
                sums.iter_mut().for_each(|s| *s *= 2.0);
            }
            Shape::Laplacian => {
                for (i, row) in v.chunks_exact(m).enumerate() {
                    for (k, sum) in sums.iter_mut().enumerate() {
                        let z = &columns[k * m..][..m];
                        *sum += f64::from(simd::absolute_differences(row, x[i * d + k], z));
                    }
                }
            }
        }
        sums
    });
    let mut sums = vec![0.0; d];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
    }
    sums
}

fn squares(row: &[f32]) -> f64 {
    row.iter().map(|&v| f64::from(v).powi(2)).sum()
}

/// `W_i += Σ_c r_ic a_·c` for rows from `first` on.
pub(super) fn add_outer(pulls: &mut Grid, first: usize, rows: &Grid, of: &Grid) {
    let (m, q) = (pulls.columns, of.columns);
    let columns: Vec<f32> =
        (0..q).flat_map(|c| (0..m).map(move |j| (j, c))).map(|(j, c)| of.row(j)[c]).collect();
    let part = &mut pulls.values[first * m..][..rows.rows() * m];
    parallel::each(part.chunks_mut(CHUNK * m), &|at, out| {
        for (i, out) in out.chunks_exact_mut(m).enumerate() {
            for (c, &r) in rows.row(at * CHUNK + i).iter().enumerate() {
                simd::add_scaled(r, &columns[c * m..][..m], out);
            }
        }
    });
}
