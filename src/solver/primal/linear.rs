//! Newton's method on the weights of a linear machine, dense or sparse.
//!
//! ```text
//! min over w in R^d (and b)   1/2 ‖w‖² + Σ_i C_i L_h(y_i, w·x_i + b)
//! ```
//!
//! # Method
//!
//! 1. `g = w + Σ r_i x_i`, `H = I + Σ D_i x_i x_iᵀ`, with `r_i = C_i L_h'` and `D_i = C_i L_h''`
//!    at the decision values held, as the zones have them; bordered for the offset, which is not penalised. (Departs from
//!    \[PRIMAL\] section 2: its Hessian lacks the factor 2 of the squared hinge.)
//! 2. `d = -H⁻¹g`: by a d x d factor when d is at most 1000, else by conjugate gradients
//!    on products `Hv = v + Xᵀ(D Xv)`, with the diagonal as preconditioner, until the residual is
//!    `min(0.1, √(‖g‖/‖g_0‖))` of ‖g‖ (truncated Newton).
//! 3. The length of a step, and the path from a wide h to the one wanted, are those of
//!    [`path`](super::path).
//! 4. Stop when a full step left every sample in its zone (then, directly, this is the minimum),
//!    or when the decrease promised is at most `tol` of the objective (truncated).
//!
//! # Cost
//!
//! nnz for decision values; direct: the squares of the row lengths (nd² dense) for the rows with
//! D > 0, and d³/3; truncated: 2 nnz a product. Memory 16d² bytes, or a few vectors of d and n.
//!
//! # Certificate
//!
//! As [`newton`](super::newton()) when direct; else 1/2 gᵀH⁻¹g, about, is at most `tol` of the
//! objective.
//!
//! # Determinism
//!
//! Sums run over parts of the rows whose cut depends on n alone.
//!
//! References: \[PRIMAL\] section 2.

use rayon::prelude::*;

use super::path::{Direction, Goal, Newton, all_quadratic, follow, piece};
use crate::data::{Point, Rows};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::linalg::{Cholesky, GramAccumulator, axpy, dot, dot64};
use crate::loss::{Piece, Zone};
use crate::solver::smoothed::ray::Samples;
use crate::solver::smoothed::{Polish, Polished, Solved, Start};
use crate::watch::{Step, Watch};

/// Up to this many unknowns the Hessian is a matrix.
const DIRECT: usize = 1000;
/// Parts that rows are cut into at most, and least rows of one.
const PARTS: usize = 16;
const PART: usize = 1024;
/// Products of one Newton system at most.
const MAX_PRODUCTS: usize = 250;

/// How a Newton system is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linear {
    /// By its size.
    Auto,
    /// By a factor.
    Direct,
    /// By conjugate gradients.
    Truncated,
}

/// Minimises on these rows; the result has d coefficients an output, feature-major. At most
/// `polish.max_steps` steps.
///
/// # Errors
/// `InvalidParam`, `LengthMismatch`, `NonFinite` when products overflow, `OutOfMemory`,
/// `NotPositiveDefinite`, `Interrupted`. Any other stop is a result.
pub fn linear<F: Real>(
    polish: &Polish,
    method: Linear,
    rows: &Rows<'_, F>,
    start: Start<'_>,
    watch: &mut Watch<'_>,
) -> Result<Polished> {
    let (n, d, m) = (rows.n_rows(), rows.n_cols(), start.targets.n_outputs());
    start.check(polish, n, d)?;
    let direct = match method {
        Linear::Auto => d <= DIRECT,
        Linear::Direct => true,
        Linear::Truncated => false,
    };
    watch.begin();
    let mut result = Polished::nothing(d, m);
    for output in 0..m {
        let mut state = NewtonState::new(polish, rows.view(), start, output)?;
        state.direct = direct;
        let done = state.minimise(watch);
        let solved = Solved {
            coef: &state.w[..d],
            intercept: state.w[d],
            f: &state.f,
            penalty: state.penalty(),
            steps: state.steps,
            converged: state.converged,
        };
        if !result.take_output(&state.samples(polish.h), &solved, done)? {
            break;
        }
    }
    Ok(result)
}

struct NewtonState<'a, F: Real> {
    polish: &'a Polish,
    rows: Rows<'a, F>,
    start: Start<'a>,
    output: usize,
    d: usize,
    /// Weights, then the offset (0 when there is none).
    w: Vec<f64>,
    f: Vec<f64>,
    /// The direction last found.
    direction: Vec<f64>,
    direct: bool,
    steps: usize,
    converged: bool,
    first_norm: f64,
}

impl<'a, F: Real> NewtonState<'a, F> {
    fn new(polish: &'a Polish, rows: Rows<'a, F>, start: Start<'a>, output: usize) -> Result<Self> {
        let (n, d) = (rows.n_rows(), rows.n_cols());
        let (mut w, b) = start.of_output(polish, output)?;
        w.push(b);
        let f = try_vec("decision values", n, 0.0)?;
        let (direction, direct, first_norm) = (Vec::new(), true, 0.0);
        let (steps, converged) = (0, false);
        let mut state = Self {
            polish,
            rows,
            start,
            output,
            d,
            w,
            f,
            direction,
            direct,
            steps,
            converged,
            first_norm,
        };
        state.f = state.times(&state.w)?;
        Ok(state)
    }

    fn part(&self) -> usize {
        self.f.len().div_ceil(PARTS).max(PART)
    }

    /// `Xv + v_d` for a vector of d + 1.
    fn times(&self, v: &[f64]) -> Result<Vec<f64>> {
        let mut out = try_vec("decision values", self.rows.n_rows(), 0.0)?;
        let (weights, offset) = v.split_at(self.d);
        out.par_chunks_mut(PART).enumerate().for_each(|(c, out)| {
            for (k, out) in out.iter_mut().enumerate() {
                *out = offset[0] + row_times(&self.rows, c * PART + k, weights);
            }
        });
        Ok(out)
    }

    /// `Σ_i r_i (x_i, 1)` over the rows with `r_i ≠ 0`.
    fn transposed(&self, r: &[f64]) -> Vec<f64> {
        let part = self.part();
        let parts: Vec<Vec<f64>> = r
            .par_chunks(part)
            .enumerate()
            .map(|(c, r)| {
                let mut sum = vec![0.0; self.d + 1];
                for (k, &r) in r.iter().enumerate().filter(|(_, r)| **r != 0.0) {
                    match self.rows.point(c * part + k) {
                        Point::Dense(x) => match x.as_slice() {
                            Some(x) => axpy(r, x, &mut sum[..self.d]),
                            None => {
                                for (sum, v) in sum.iter_mut().zip(x) {
                                    *sum += r * Real::to_f64(*v);
                                }
                            }
                        },
                        Point::Sparse(csr, row) => {
                            csr.for_each(row, |column, v| sum[column] += r * v.to_f64());
                        }
                    }
                    sum[self.d] += r;
                }
                sum
            })
            .collect();
        let mut total = vec![0.0; self.d + 1];
        parts.iter().for_each(|part| axpy(1.0, part, &mut total));
        total
    }

    fn minimise(&mut self, watch: &mut Watch<'_>) -> Step {
        let last = self.polish.h;
        let mut first = last;
        let warm = self.w.iter().any(|&w| w != 0.0);
        if self.polish.final_loss().uses_h() && !warm {
            first = first.max(all_quadratic(&self.samples(first), &self.f));
        }
        let tol = if self.direct { 0.0 } else { self.polish.tol };
        let max_steps = self.polish.max_steps;
        let goal = Goal { widths: (first, last), exact: true, tol, max_steps };
        let mut steps = 0;
        let done = follow(self, &goal, &mut steps, watch);
        self.steps = steps;
        self.converged = done?;
        Ok(())
    }

    /// Step 2 by a factor: overwrites -g by the direction.
    fn factored(&self, curvatures: &[f64], direction: &mut [f64], watch: &mut Watch<'_>) -> Step {
        let d = self.d;
        let order = d + usize::from(self.polish.fit_intercept);
        let mut hessian = try_vec("Hessian", order * order, 0.0)?;
        match self.rows {
            Rows::Dense(_) => self.dense_hessian(curvatures, order, &mut hessian, watch)?,
            Rows::Csr(_) => self.sparse_hessian(curvatures, order, &mut hessian)?,
        }
        (0..d).for_each(|j| hessian[j * order + j] += 1.0);
        if order > d && hessian[d * order + d] <= 0.0 {
            hessian[d * order + d] = 1.0;
        }
        let factor = Cholesky::factor("Hessian", &hessian, order, 0.0, || watch.poll())?;
        factor.solve(&mut direction[..order]);
        Ok(())
    }

    /// `Σ D_i (x_i, 1)(x_i, 1)ᵀ`, its lower triangle.
    fn dense_hessian(
        &self,
        curvatures: &[f64],
        order: usize,
        hessian: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step {
        let curved: Vec<usize> = (0..curvatures.len()).filter(|&i| curvatures[i] > 0.0).collect();
        let mut sum = GramAccumulator::new(order)?;
        sum.clear(false)?;
        let (d, mut buffer) = (self.d, Vec::new());
        for batch in curved.chunks(sum.room()) {
            buffer.resize(batch.len() * d, F::zero());
            for (row, &i) in buffer.chunks_exact_mut(d).zip(batch) {
                self.rows.copy_row(i, row);
            }
            sum.push(batch.len(), |k| (&buffer[k * d..(k + 1) * d], curvatures[batch[k]].sqrt()));
            sum.flush(|| watch.poll())?;
        }
        sum.add_to(hessian);
        Ok(())
    }

    fn sparse_hessian(&self, curvatures: &[f64], order: usize, out: &mut [f64]) -> Result<()> {
        let (d, part) = (self.d, self.part());
        let parts: Vec<Result<Vec<f64>>> = curvatures
            .par_chunks(part)
            .enumerate()
            .map(|(c, curvatures)| {
                let mut sum = try_vec("Hessian", order * order, 0.0)?;
                let mut row: Vec<(usize, f64)> = Vec::new();
                for (k, &curvature) in curvatures.iter().enumerate().filter(|(_, c)| **c > 0.0) {
                    row.clear();
                    if let Point::Sparse(csr, i) = self.rows.point(c * part + k) {
                        csr.for_each(i, |column, v| row.push((column, v.to_f64())));
                    }
                    if order > d {
                        row.push((d, 1.0));
                    }
                    for (at, &(j, v)) in row.iter().enumerate() {
                        let line = &mut sum[j * order..(j + 1) * order];
                        let scaled = curvature * v;
                        row[..=at].iter().for_each(|&(l, u)| line[l] += scaled * u);
                    }
                }
                Ok(sum)
            })
            .collect();
        for part in parts {
            axpy(1.0, &part?, out);
        }
        Ok(())
    }

    /// Step 2 without a matrix: overwrites -g by the direction.
    fn truncated(
        &mut self,
        curvatures: &[f64],
        direction: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step {
        let d = self.d;
        let mut diagonal = self.squares(curvatures);
        diagonal[..d].iter_mut().for_each(|v| *v += 1.0);
        let weight: f64 = curvatures.iter().sum();
        diagonal[d] = if weight > 0.0 { weight } else { 1.0 };
        let norm = dot64(direction, direction).sqrt();
        if self.first_norm == 0.0 {
            self.first_norm = norm;
        }
        let goal = (norm / self.first_norm.max(f64::MIN_POSITIVE)).sqrt().min(0.1) * norm;
        let mut residual = direction.to_vec();
        direction.fill(0.0);
        let scaled =
            |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
        let mut p = scaled(&residual);
        let mut product = dot64(&residual, &p);
        for _ in 0..MAX_PRODUCTS {
            if product <= 0.0 || dot64(&residual, &residual).sqrt() <= goal {
                break;
            }
            watch.poll()?;
            let mut weighted = self.times(&p)?;
            weighted.iter_mut().zip(curvatures).for_each(|(v, c)| *v *= c);
            let mut hp = self.transposed(&weighted);
            axpy(1.0, &p[..d], &mut hp[..d]);
            if !self.polish.fit_intercept {
                hp[d] = 0.0;
            } else if weight <= 0.0 {
                hp[d] = p[d];
            }
            let along = dot64(&p, &hp);
            if along <= 0.0 || !along.is_finite() {
                break;
            }
            let a = product / along;
            axpy(a, &p, direction);
            axpy(-a, &hp, &mut residual);
            let z = scaled(&residual);
            let next = dot64(&residual, &z);
            let ratio = next / product;
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + ratio * *p);
            product = next;
        }
        Ok(())
    }

    /// `Σ D_i x_ij²` for every feature j (and 0).
    fn squares(&self, curvatures: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.d + 1];
        for (i, &c) in curvatures.iter().enumerate().filter(|(_, c)| **c > 0.0) {
            match self.rows.point(i) {
                Point::Dense(x) => {
                    sum.iter_mut().zip(x).for_each(|(s, v)| *s += c * Real::to_f64(*v).powi(2));
                }
                Point::Sparse(csr, row) => {
                    csr.for_each(row, |column, v| sum[column] += c * v.to_f64() * v.to_f64());
                }
            }
        }
        sum
    }
}

impl<'a, F: Real> Newton<'a> for NewtonState<'a, F> {
    fn samples(&self, h: f64) -> Samples<'a> {
        self.start.samples(self.polish, self.output, h)
    }

    fn decisions(&self) -> &[f64] {
        &self.f
    }

    fn penalty(&self) -> f64 {
        0.5 * dot64(&self.w[..self.d], &self.w[..self.d])
    }

    /// Steps 1 and 2.
    fn aim(
        &mut self,
        samples: &Samples<'a>,
        zones: &[Zone],
        watch: &mut Watch<'_>,
    ) -> Step<Direction> {
        let (n, d) = (self.f.len(), self.d);
        let mut slopes = try_vec("slopes", n, 0.0)?;
        let mut curvatures = try_vec("slopes", n, 0.0)?;
        for (i, &zone) in zones.iter().enumerate() {
            let cost = samples.cost[i];
            match piece(samples, i, zone, self.f[i]) {
                Piece::Nothing => {}
                Piece::Linear(slope) => slopes[i] = cost * slope,
                Piece::Quadratic { curvature, target } => {
                    curvatures[i] = cost * curvature;
                    slopes[i] = curvatures[i] * (self.f[i] - target);
                }
            }
        }
        let mut direction = self.transposed(&slopes);
        axpy(1.0, &self.w[..d], &mut direction[..d]);
        if !self.polish.fit_intercept {
            direction[d] = 0.0;
        }
        direction.iter_mut().for_each(|g| *g = -*g);
        if self.direct {
            self.factored(&curvatures, &mut direction, watch)?;
        } else {
            self.truncated(&curvatures, &mut direction, watch)?;
        }
        let s = self.times(&direction)?;
        if let Some(row) = s.iter().position(|v| !v.is_finite()) {
            return Err(Error::NonFinite { what: "X · weights", row, column: 0 }.into());
        }
        let linear = dot64(&self.w[..d], &direction[..d]);
        let quadratic = dot64(&direction[..d], &direction[..d]);
        self.direction = direction;
        Ok(Direction { s, linear, quadratic })
    }

    fn advance(&mut self, t: f64, _: &Direction) -> Step {
        axpy(t, &self.direction, &mut self.w);
        self.f = self.times(&self.w)?;
        Ok(())
    }

    fn save(&self) -> Vec<f64> {
        self.w.clone()
    }

    fn restore(&mut self, saved: &[f64]) -> Step {
        self.w.copy_from_slice(saved);
        self.f = self.times(&self.w)?;
        Ok(())
    }
}

fn row_times<F: Real>(rows: &Rows<'_, F>, i: usize, v: &[f64]) -> f64 {
    match rows.point(i) {
        Point::Dense(x) => match x.as_slice() {
            Some(x) => dot(x, v),
            None => x.iter().zip(v).map(|(x, v)| Real::to_f64(*x) * v).sum(),
        },
        Point::Sparse(csr, row) => {
            let mut sum = 0.0;
            csr.for_each(row, |column, x| sum += x.to_f64() * v[column]);
            sum
        }
    }
}
