//! Newton's method on the weights of a linear machine, dense or sparse, the third form of the
//! [problem](super).
//!
//! # Method
//!
//! 1. `g = w + Σ r_i x_i`, `H = I + Σ D_i x_i x_iᵀ`, with `r_i = C_i L_h'` and `D_i = C_i L_h''`
//!    at the decision values held, as the zones have them; bordered for the offset, which is not penalised. (Departs from
//!    \[PRIMAL\] section 5.1: its Hessian lacks the factor 2 of the squared hinge.)
//! 2. `d = -H⁻¹g`: by a d x d factor when d is at most 1000, else by conjugate gradients
//!    on products `Hv = v + Xᵀ(D Xv)`, with the diagonal as preconditioner, until the residual is
//!    `min(0.1, √(‖g‖/‖g_0‖))` of ‖g‖ (truncated Newton).
//! 3. The length of a step, and the path from a wide h to the one wanted, are those of
//!    [`path`](super::path).
//! 4. Without a factor, from nothing, [`coordinates`](super::coordinates) go before, and mostly end
//!    at the minimum.
//! 5. Stop when a full step left every sample in its zone (then, directly, this is the minimum),
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
//! References: \[PRIMAL\] section 5.1.

use super::coordinates::ascend;
use super::path::{Direction, Goal, Newton, follow};
use super::place::{Of, Place, each_output};
use super::rows::{add_to, norms, row_times};
use super::zones::piece;
use crate::data::{Point, Rows, check_finite};
use crate::error::{Result, try_square, try_vec};
use crate::float::Real;
use crate::linalg::{Cholesky, GramAccumulator, axpy, dot};
use crate::loss::{Piece, Zone};
use crate::parallel;
use crate::solver::smoothed::ray::Samples;
use crate::solver::smoothed::{Polish, Polished, Start};
use crate::watch::{Step, Watch};

/// Up to this many unknowns the Hessian is a matrix.
const DIRECT: usize = 1000;
/// Parts that rows are cut into at most, and least rows of one.
const PARTS: usize = 16;
const PART: usize = 1024;
/// Products of one Newton system at most.
const MAX_PRODUCTS: usize = 250;

/// Adds a row of this weight to a vector; with a buffer for its entries.
type Add<'f, F> = dyn Fn(Point<'_, F>, f64, &mut [f64], &mut Vec<(usize, f64)>) + Sync + 'f;

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
    of_samples(polish, method, (rows, None), start, watch)
}

/// [`linear`] for samples that repeat these rows: `repeats` says which row each of them is.
pub(super) fn of_samples<F: Real>(
    polish: &Polish,
    method: Linear,
    (rows, repeats): (&Rows<'_, F>, Option<&[usize]>),
    start: Start<'_>,
    watch: &mut Watch<'_>,
) -> Result<Polished> {
    let (n, d) = (repeats.map_or(rows.n_rows(), <[usize]>::len), rows.n_cols());
    start.check(polish, n, d)?;
    let direct = match method {
        Linear::Auto => d <= DIRECT,
        Linear::Direct => true,
        Linear::Truncated => false,
    };
    watch.begin();
    let norms = if direct { Vec::new() } else { norms(rows) };
    each_output(polish, Of::Features, start, watch, |place, watch| {
        let fit_intercept = polish.fit_intercept;
        let (direction, first_norm) = (Vec::new(), 0.0);
        let mut machine =
            Weights { rows: rows.view(), repeats, fit_intercept, direct, direction, first_norm };
        place.f = machine.times(n, &place.coef, place.b)?;
        // Dual coordinates first: where they do not lead to the minimum soon, they are a start.
        if !direct
            && repeats.is_none()
            && !place.is_warm()
            && place.b == 0.0
            && ascend(rows, &norms, place, watch)?
        {
            return Ok(true);
        }
        let first = if place.is_warm() { polish.h } else { place.first_width() };
        let tol = if direct { 0.0 } else { polish.tol };
        follow(&mut machine, place, &Goal { widths: (first, polish.h), exact: true, tol }, watch)
    })
}

struct Weights<'a, F: Real> {
    rows: Rows<'a, F>,
    /// The row that each sample is, where they are not the rows in order.
    repeats: Option<&'a [usize]>,
    fit_intercept: bool,
    direct: bool,
    /// The direction last found: weights, then the offset (0 when there is none).
    direction: Vec<f64>,
    first_norm: f64,
}

impl<F: Real> Weights<'_, F> {
    /// Sums, for every row, over the samples that are this one.
    fn by_row(&self, of_samples: Vec<f64>) -> Result<Vec<f64>> {
        let Some(repeats) = self.repeats else { return Ok(of_samples) };
        let mut sums = try_vec("slopes", self.rows.n_rows(), 0.0)?;
        repeats.iter().zip(of_samples).for_each(|(&row, v)| sums[row] += v);
        Ok(sums)
    }

    /// `x·w + b` of the first so many rows.
    fn row_products(&self, rows: usize, weights: &[f64], b: f64) -> Vec<f64> {
        parallel::map(rows, &|i| b + row_times(&self.rows, i, weights))
    }

    /// The vector of `len` that `add` gathers from every row whose weight is not 0: of a part of the
    /// rows at a time, the parts' sums in order.
    fn sum_rows(
        &self,
        (what, len): (&'static str, usize),
        weights: &[f64],
        add: &Add<'_, F>,
    ) -> Result<Vec<f64>> {
        let part = weights.len().div_ceil(PARTS).max(PART);
        let parts = parallel::map(weights.len().div_ceil(part), &|c| {
            let (mut sum, mut buffer) = (try_vec(what, len, 0.0)?, Vec::new());
            for (i, &weight) in weights.iter().enumerate().skip(c * part).take(part) {
                if weight != 0.0 {
                    add(self.rows.point(i), weight, &mut sum, &mut buffer);
                }
            }
            Ok(sum)
        });
        let mut total = try_vec(what, len, 0.0)?;
        for part in parts {
            axpy(1.0, &part?, &mut total);
        }
        Ok(total)
    }

    /// `Σ_i r_i (x_i, 1)`.
    fn transposed(&self, r: &[f64]) -> Result<Vec<f64>> {
        let d = self.rows.n_cols();
        self.sum_rows(("gradient", d + 1), r, &|point, r, sum, _| {
            add_to(point, r, sum);
            sum[d] += r;
        })
    }

    /// `Σ D_i x_ij²` for every feature j (and 0).
    fn squares(&self, curvatures: &[f64]) -> Result<Vec<f64>> {
        self.sum_rows(("gradient", self.rows.n_cols() + 1), curvatures, &|point, c, sum, _| {
            let mut add = |j: usize, v: f64| sum[j] += c * v * v;
            match point {
                Point::Dense(x) => x.iter().enumerate().for_each(|(j, v)| add(j, Real::to_f64(*v))),
                Point::Sparse(csr, row) => csr.for_each(row, |j, v| add(j, v.to_f64())),
            }
        })
    }

    /// Step 2 by a factor: overwrites -g by the direction.
    fn factored(&self, curvatures: &[f64], direction: &mut [f64], watch: &mut Watch<'_>) -> Step {
        let d = self.rows.n_cols();
        let order = d + usize::from(self.fit_intercept);
        let mut hessian = match self.rows {
            Rows::Dense(_) => self.dense_hessian(curvatures, order, watch)?,
            Rows::Csr(_) => self.sparse_hessian(curvatures, order)?,
        };
        (0..d).for_each(|j| hessian[j * order + j] += 1.0);
        if order > d && hessian[d * order + d] <= 0.0 {
            hessian[d * order + d] = 1.0;
        }
        let factor = Cholesky::factor("Hessian", &hessian, order, 0.0, &mut || watch.poll())?;
        factor.solve(&mut direction[..order]);
        Ok(())
    }

    /// `Σ D_i (x_i, 1)(x_i, 1)ᵀ`, its lower triangle.
    fn dense_hessian(
        &self,
        curvatures: &[f64],
        order: usize,
        watch: &mut Watch<'_>,
    ) -> Step<Vec<f64>> {
        let mut hessian = try_square("Hessian", order, 0.0)?;
        let curved: Vec<usize> = (0..curvatures.len()).filter(|&i| curvatures[i] > 0.0).collect();
        let mut sum = GramAccumulator::new(order)?;
        sum.clear(false)?;
        let (d, mut buffer) = (self.rows.n_cols(), Vec::new());
        for batch in curved.chunks(sum.room()) {
            buffer.resize(batch.len() * d, F::zero());
            for (row, &i) in buffer.chunks_exact_mut(d).zip(batch) {
                self.rows.copy_row(i, row);
            }
            sum.push(batch.len(), |k| (&buffer[k * d..(k + 1) * d], curvatures[batch[k]].sqrt()));
            sum.flush(|| watch.poll())?;
        }
        sum.add_to(&mut hessian);
        Ok(hessian)
    }

    fn sparse_hessian(&self, curvatures: &[f64], order: usize) -> Result<Vec<f64>> {
        let d = self.rows.n_cols();
        self.sum_rows(("Hessian", order * order), curvatures, &|point, curvature, sum, row| {
            row.clear();
            if let Point::Sparse(csr, i) = point {
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
        })
    }

    /// Step 2 without a matrix: overwrites -g by the direction.
    fn truncated(
        &mut self,
        curvatures: &[f64],
        direction: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step {
        let d = self.rows.n_cols();
        let mut diagonal = self.squares(curvatures)?;
        diagonal[..d].iter_mut().for_each(|v| *v += 1.0);
        let weight: f64 = curvatures.iter().sum();
        diagonal[d] = if weight > 0.0 { weight } else { 1.0 };
        let norm = dot(direction, direction).sqrt();
        if self.first_norm == 0.0 {
            self.first_norm = norm;
        }
        let goal = (norm / self.first_norm.max(f64::MIN_POSITIVE)).sqrt().min(0.1) * norm;
        let mut residual = direction.to_vec();
        direction.fill(0.0);
        let scaled =
            |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
        let mut p = scaled(&residual);
        let mut product = dot(&residual, &p);
        for _ in 0..MAX_PRODUCTS {
            if product <= 0.0 || dot(&residual, &residual).sqrt() <= goal {
                break;
            }
            watch.poll()?;
            let mut weighted = self.row_products(curvatures.len(), &p[..d], p[d]);
            weighted.iter_mut().zip(curvatures).for_each(|(v, c)| *v *= c);
            let mut hp = self.transposed(&weighted)?;
            axpy(1.0, &p[..d], &mut hp[..d]);
            if !self.fit_intercept {
                hp[d] = 0.0;
            } else if weight <= 0.0 {
                hp[d] = p[d];
            }
            let along = dot(&p, &hp);
            if along <= 0.0 || !along.is_finite() {
                break;
            }
            let a = product / along;
            axpy(a, &p, direction);
            axpy(-a, &hp, &mut residual);
            let z = scaled(&residual);
            let next = dot(&residual, &z);
            let ratio = next / product;
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + ratio * *p);
            product = next;
        }
        Ok(())
    }
}

impl<F: Real> Newton for Weights<'_, F> {
    /// Steps 1 and 2.
    fn aim(
        &mut self,
        place: &Place<'_>,
        samples: &Samples<'_>,
        zones: &[Zone],
        watch: &mut Watch<'_>,
    ) -> Step<Direction> {
        let (n, d) = (place.f.len(), place.coef.len());
        let mut slopes = try_vec("slopes", n, 0.0)?;
        let mut curvatures = try_vec("slopes", n, 0.0)?;
        for (i, &zone) in zones.iter().enumerate() {
            let cost = samples.cost[i];
            match piece(samples, i, zone, place.f[i]) {
                Piece::Nothing => {}
                Piece::Linear(slope) => slopes[i] = cost * slope,
                Piece::Quadratic { curvature, target } => {
                    curvatures[i] = cost * curvature;
                    slopes[i] = curvatures[i] * (place.f[i] - target);
                }
            }
        }
        let (slopes, curvatures) = (self.by_row(slopes)?, self.by_row(curvatures)?);
        let mut direction = self.transposed(&slopes)?;
        axpy(1.0, &place.coef, &mut direction[..d]);
        if !self.fit_intercept {
            direction[d] = 0.0;
        }
        direction.iter_mut().for_each(|g| *g = -*g);
        if self.direct {
            self.factored(&curvatures, &mut direction, watch)?;
        } else {
            self.truncated(&curvatures, &mut direction, watch)?;
        }
        let own = &direction[..d];
        let s = self.times(n, own, direction[d])?;
        check_finite("X · weights", &s, 1)?;
        let (linear, quadratic) = (dot(&place.coef, own), dot(own, own));
        self.direction = direction;
        Ok(Direction { s, linear, quadratic })
    }

    fn advance(&mut self, place: &mut Place<'_>, t: f64, _: &Direction) -> Result<()> {
        axpy(t, &self.direction, &mut place.coef);
        place.b += t * self.direction[place.coef.len()];
        place.f = self.times(place.size, &place.coef, place.b)?;
        Ok(())
    }

    fn times(&self, size: usize, weights: &[f64], b: f64) -> Result<Vec<f64>> {
        let Some(repeats) = self.repeats.map(|repeats| &repeats[..size]) else {
            return Ok(self.row_products(size, weights, b));
        };
        let of_rows = self.row_products(self.rows.n_rows(), weights, b);
        let mut f = try_vec("decision values", size, 0.0)?;
        f.iter_mut().zip(repeats).for_each(|(f, &row)| *f = of_rows[row]);
        Ok(f)
    }
}
