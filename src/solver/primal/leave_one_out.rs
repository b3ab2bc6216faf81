//! What a machine would say about a sample if it had been trained without it, and the gradient of
//! that in C and γ.
//!
//! ```text
//! A = K_QQ + D_Q⁻¹, bordered by 1 for the offset;  G = A⁻¹
//! f⁻ᵖ(x_p) = z_p - β_p / G_pp                        p in Q   (z = y for the squared hinge)
//! f⁻ᵗ(x_t) = f(x_t) - β_t (K_tt - k_tᵀ G k_t)        t in T
//! f⁻ᵖ(x_p) = f(x_p)                                  elsewhere
//! V(C, γ)  = Σ_p w_p ℓ(y_p, f⁻ᵖ(x_p))
//! ```
//!
//! Exact if no other sample leaves its zone when p goes; else, and for a loss without zones, an
//! estimate (in trials off by up to 0.24 in f). Q and T are the zones of [`newton`](super::newton()).
//!
//! # Method
//!
//! 1. Factor A, invert it, border the inverse.
//! 2. ℓ is the squared hinge for classes, the squared error for values. (The logistic loss
//!    was tried: it rewards large values, and went to large C, tiny γ and more errors.)
//! 3. `dβ = -G dA β`, `dG_pp = -(G dA G)_pp`; with `v = w ℓ'`, `a_p = v_p/G_pp`,
//!    `c_p = v_p β_p/G_pp²` and N the samples outside Q:
//!    `dV = (Ga - e)ᵀ dA β - Σ_p c_p g_pᵀ dA g_p + v_Nᵀ dK_NQ β`, `e = G K_QN v_N` (the offset's
//!    entry of v_N included).
//! 4. In log γ `dK = K ∘ ln K` (Gaussian and Laplacian), in log C `dA = -D⁻¹`.
//!
//! Cost: 7/3 |Q|³ for the inverse, 2 |Q|³ for the gradient in γ.
//!
//! References: \[PRIMAL\] section 6.3, which leaves the criterion open.

use super::border::System;
use super::zones::{Split, zones};
use crate::data::Targets;
use crate::error::{Error, Result, try_square, try_vec};
use crate::linalg::{Cholesky, axpy, dot};
use crate::parallel;
use crate::solver::smoothed::ray::Samples;
use crate::solver::smoothed::{Polish, Start, check_gram};
use crate::watch::{Step, Watch};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Columns of a task.
const COLUMNS: usize = 64;
/// Tasks between two looks at the watch.
const WAVE: usize = 4;

/// The leave-one-out criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Criterion {
    /// V, summed over the outputs.
    pub value: f64,
    /// Its derivative in log C.
    pub by_log_c: f64,
    /// Its derivative in log γ, for a kernel `exp(-γ distance)`.
    pub by_log_gamma: f64,
}

/// Leave-one-out decision values, n x outputs, of the solution that `solution` holds (as
/// [`newton`](super::newton()) found it).
///
/// # Errors
/// `InvalidParam`, `LengthMismatch`, `OutOfMemory`, `NotPositiveDefinite`, and what the watch
/// says: half of them is none.
pub fn leave_one_out(
    polish: &Polish,
    gram: &[f64],
    solution: Start<'_>,
    watch: &mut Watch<'_>,
) -> Step<Vec<f64>> {
    let (n, m) = (solution.cost.len(), solution.targets.n_outputs());
    check_all(polish, gram, &solution)?;
    watch.begin();
    let mut out = try_vec("leave-one-out values", n * m, 0.0)?;
    for output in 0..m {
        let held = Held::new(polish, gram, solution, output, watch)?;
        out.iter_mut().skip(output).step_by(m).zip(held.left_out()).for_each(|(to, f)| *to = f);
    }
    Ok(out)
}

/// The criterion at the solution, with its gradient. `weight` is the weight of each sample: C_i
/// is C times it. Losses without linear zones alone.
///
/// # Errors
/// As [`leave_one_out`]; `Unsupported` for a loss with linear zones.
pub fn criterion(
    polish: &Polish,
    gram: &[f64],
    solution: Start<'_>,
    weight: &[f64],
    watch: &mut Watch<'_>,
) -> Step<Criterion> {
    check_all(polish, gram, &solution)?;
    if !polish.final_loss().is_squared() {
        let text = "the gradient of the leave-one-out criterion needs a squared loss";
        return Err(Error::Unsupported(text.into()).into());
    }
    watch.begin();
    let mut total = Criterion::default();
    for output in 0..solution.targets.n_outputs() {
        let held = Held::new(polish, gram, solution, output, watch)?;
        let part = held.criterion(weight, watch)?;
        total.value += part.value;
        total.by_log_c += part.by_log_c;
        total.by_log_gamma += part.by_log_gamma;
    }
    Ok(total)
}

fn check_all(polish: &Polish, gram: &[f64], solution: &Start<'_>) -> Result<()> {
    let n = solution.cost.len();
    solution.check(polish, n, n)?;
    check_gram(gram, n)
}

/// One output at its solution.
struct Held<'a> {
    samples: Samples<'a>,
    gram: &'a [f64],
    n: usize,
    beta: Vec<f64>,
    f: Vec<f64>,
    split: Split,
    /// G without the border, row-major; its border and its corner (empty without an offset).
    inverse: Vec<f64>,
    border: Vec<f64>,
    corner: f64,
}

impl<'a> Held<'a> {
    /// Step 1.
    fn new(
        polish: &Polish,
        gram: &'a [f64],
        solution: Start<'a>,
        output: usize,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let n = solution.cost.len();
        let samples = solution.samples(polish, output, polish.h);
        let (beta, b) = solution.of_output(polish, output)?;
        let f = parallel::map(n, &|i| dot(&gram[i * n..][..n], &beta) + b);
        let split = Split::new(&samples, &zones(&samples, &f), &f);
        let q = split.rows.len();
        let matrix = System { gram, n, rows: &split.rows, ridge: &split.ridge }.matrix()?;
        watch.poll()?;
        let factor = Cholesky::factor("Newton system", &matrix, q, 0.0, &mut || watch.poll())?;
        let mut inverse = matrix;
        inverse.fill(0.0);
        (0..q).for_each(|a| inverse[a * q + a] = 1.0);
        factor.solve_columns(&mut inverse, &mut || watch.poll())?;
        let (mut border, mut corner) = (Vec::new(), 0.0);
        if polish.fit_intercept && q > 0 {
            let sums: Vec<f64> = inverse.chunks_exact(q).map(|row| row.iter().sum()).collect();
            let total: f64 = sums.iter().sum();
            for (row, u) in inverse.chunks_exact_mut(q).zip(&sums) {
                axpy(-u / total, &sums, row);
            }
            border = sums.iter().map(|u| u / total).collect();
            corner = -1.0 / total;
        }
        Ok(Self { samples, gram, n, beta, f, split, inverse, border, corner })
    }

    /// Row i of K.
    fn row(&self, i: usize) -> &[f64] {
        &self.gram[i * self.n..][..self.n]
    }

    fn diagonal(&self, a: usize) -> f64 {
        self.inverse[a * self.split.rows.len() + a]
    }

    /// `G r`, without and with the border's entry of r; the second value is the border's own.
    fn times(&self, right: &[f64], offset: f64) -> (Vec<f64>, f64) {
        let q = self.split.rows.len();
        let mut out = parallel::map(q, &|a| dot(&self.inverse[a * q..][..q], right));
        if self.border.is_empty() {
            return (out, 0.0);
        }
        axpy(offset, &self.border, &mut out);
        (out, dot(&self.border, right) + offset * self.corner)
    }

    fn left_out(&self) -> Vec<f64> {
        let mut out = self.f.clone();
        for (a, &i) in self.split.rows.iter().enumerate() {
            out[i] = self.split.target[a] - self.beta[i] / self.diagonal(a);
        }
        for &(i, _) in &self.split.steep {
            let row = self.row(i);
            let k: Vec<f64> = self.split.rows.iter().map(|&j| row[j]).collect();
            let offset = if self.border.is_empty() { 0.0 } else { 1.0 };
            let (g, border) = self.times(&k, offset);
            let spanned = dot(&k, &g) + offset * border;
            out[i] -= self.beta[i] * (row[i] - spanned);
        }
        out
    }

    /// Step 2: ℓ and its derivative.
    fn loss(&self, i: usize, f: f64) -> (f64, f64) {
        let y = self.samples.y(i);
        let classes = match self.samples.targets {
            Targets::Classes { .. } => true,
            Targets::Values(_) => false,
            Targets::Columns { .. } => self.samples.loss.loss.is_classification(),
        };
        if !classes {
            return ((f - y).powi(2), 2.0 * (f - y));
        }
        let t = (1.0 - y * f).max(0.0);
        (t * t, -2.0 * y * t)
    }

    /// Steps 3 and 4.
    fn criterion(&self, weight: &[f64], watch: &mut Watch<'_>) -> Step<Criterion> {
        let (n, rows) = (self.n, &self.split.rows);
        let left_out = self.left_out();
        let mut value = 0.0;
        let mut v = vec![0.0; n];
        for i in 0..n {
            let (l, slope) = self.loss(i, left_out[i]);
            value += weight[i] * l;
            v[i] = weight[i] * slope;
        }
        let beta: Vec<f64> = rows.iter().map(|&i| self.beta[i]).collect();
        let places = 0..rows.len();
        let a: Vec<f64> = places.clone().map(|p| v[rows[p]] / self.diagonal(p)).collect();
        let c: Vec<f64> = places.map(|p| a[p] * beta[p] / self.diagonal(p)).collect();
        let mut outside = v;
        rows.iter().for_each(|&i| outside[i] = 0.0);
        // `K_QN v_N`, and `1ᵀ v_N` in the border.
        let pushed = parallel::map(rows.len(), &|p| dot(self.row(rows[p]), &outside));
        let (e, _) = self.times(&pushed, outside.iter().sum());
        let (mut h, _) = self.times(&a, 0.0);
        axpy(-1.0, &e, &mut h);
        let mut by_log_c = 0.0;
        for (p, row) in self.inverse.chunks_exact(rows.len().max(1)).enumerate() {
            let squares: f64 = row.iter().zip(&c).map(|(g, c)| g * g * c).sum();
            by_log_c -= self.split.ridge[p] * (h[p] * beta[p] - squares);
        }
        watch.poll()?;
        let by_log_gamma = self.by_log_gamma(&h, &c, &beta, &outside, watch)?;
        Ok(Criterion { value, by_log_c, by_log_gamma })
    }

    fn by_log_gamma(
        &self,
        h: &[f64],
        c: &[f64],
        beta: &[f64],
        outside: &[f64],
        watch: &mut Watch<'_>,
    ) -> Step<f64> {
        let (rows, q) = (&self.split.rows, self.split.rows.len());
        let moved = |k: f64| if k > 0.0 { k * k.ln() } else { 0.0 };
        // dK_iQ β, for the samples of Q weighted by h, for the others by v.
        let mut push = outside.to_vec();
        rows.iter().zip(h).for_each(|(&i, &h)| push[i] = h);
        let sums = parallel::map(self.n, &|i| {
            if push[i] == 0.0 {
                return 0.0;
            }
            let row = self.row(i);
            push[i] * rows.iter().zip(beta).map(|(&j, b)| moved(row[j]) * b).sum::<f64>()
        });
        let mut total: f64 = sums.iter().sum();
        let mut matrix = try_square("derivative of the kernel matrix", q, 0.0)?;
        parallel::each(matrix.chunks_mut(q.max(1)), &|a, out| {
            let row = self.row(rows[a]);
            out.iter_mut().zip(rows).for_each(|(to, &j)| *to = moved(row[j]));
        });
        let matrix = MatRef::from_row_major_slice(&matrix, q, q);
        for first in (0..q).step_by(COLUMNS * WAVE) {
            let columns = (q - first).min(COLUMNS * WAVE);
            // G is symmetric: its rows are its columns.
            let (g, c) = (&self.inverse[first * q..][..columns * q], &c[first..]);
            let parts = parallel::map(columns.div_ceil(COLUMNS), &|part| {
                let first = part * COLUMNS;
                let count = (columns - first).min(COLUMNS);
                let g = &g[first * q..][..count * q];
                let mut product = vec![0.0; q * count];
                matmul(
                    MatMut::from_column_major_slice_mut(&mut product, q, count),
                    Accum::Replace,
                    matrix,
                    MatRef::from_column_major_slice(g, q, count),
                    1.0,
                    Par::Seq,
                );
                let columns = product.chunks_exact(q).zip(g.chunks_exact(q));
                columns.zip(&c[first..]).map(|((p, g), c)| c * dot(p, g)).sum::<f64>()
            });
            total -= parts.iter().sum::<f64>();
            watch.poll()?;
        }
        Ok(total)
    }
}
