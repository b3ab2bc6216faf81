//! Kernel ridge regression: on all rows by preconditioned conjugate gradients, or on landmarks where
//! the rows are too many.
//!
//! ```text
//! (K + n λ C⁻¹) a = Y            all rows ([`on_all`])
//! (KᵀCK/n + λ K_mm) a = KᵀCY/n   m landmarks ([`on_landmarks`])
//! ```
//!
//! # Method
//!
//! - On all rows: with `b = C^-½ a` the matrix is `C^½KC^½ + nλ I`. Up to a thousand rows, and a
//!   multiple of the columns, it is factored as `AAᵀ` in double precision: its condition may be 1e7.
//!   Beyond, conjugate gradients run for every column, preconditioned by `PPᵀ + nλ I` of the first
//!   rows' Nyström approximation. They run in single precision, where the residual that they carry
//!   along leaves the true one once nλ is small: the true one is summed in double precision, and what
//!   is left of it is solved again. Where it stays large the matrix is factored after all, up to
//!   some thousand rows; beyond them the solution says that it did not converge.
//! - On landmarks: `K_mm + jitter = LLᵀ`, `LᵀL/m + λ I = AAᵀ`, `a = L⁻ᵀA⁻ᵀb`: the matrix becomes
//!   `A⁻¹(L⁻¹KᵀCKL⁻ᵀ/n + λ I)A⁻ᵀ`, near the identity where landmarks are drawn like rows \[FALKON\].
//!   Kernel values are made again in every product.
//!
//! *Certificate* The residual of every column, as a share of its right side; on all rows the true
//! one, on landmarks the one that conjugate gradients carry along. [`Solution`] says whether it is
//! small.

use super::distances::{CHUNK, distances, into_kernel_values, long_product, product};
use super::grid::{Grid, Shape};
use super::passing::Passing;
use super::reduced::{Sought, cross, gram, solved, whitening};
use crate::error::{Result, try_square, try_vec};
use crate::float::Real;
use crate::linalg::{Cholesky, dot};
use crate::parallel;
use crate::watch::{Step, Watch};

/// Residual at which conjugate gradients end, steps at most, the same where no factor can follow
/// them, and times that they begin again.
const RESIDUAL: f64 = 3e-4;
const STEPS: usize = 60;
const STEPS_ALONE: usize = 240;
const ROUNDS: usize = 4;
/// Landmarks of the preconditioner, as a share of the rows and at most.
const PRECONDITIONER: (usize, usize) = (8, 800);
/// Up to so many rows, whatever the columns, the matrix itself is factored.
const FACTORED: usize = 1024;
/// The same for rows a column, because every column has products of its own otherwise.
const FACTORED_A_COLUMN: usize = 48;
/// Rows up to which a factor is possible at all.
const FACTORABLE: usize = 8192;
/// Jitter of the landmarks' kernel matrix, times its entry and their mean.
pub(super) const JITTER: f64 = 1e-6;

/// Coefficients, and whether they solve their system.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// One row a term, one column an output.
    pub(crate) coef: Vec<f64>,
    /// Whether the residual of every column became small.
    pub(crate) converged: bool,
}

/// Kernel values of all rows with all.
pub(crate) fn kernel<F: Real>(
    shape: Shape,
    rows: &Grid<F>,
    watch: &mut Watch<'_>,
) -> Step<Grid<F>> {
    Ok(into_kernel_values(distances(shape, rows, rows, watch)?))
}

/// Per-column conjugate gradients for a symmetric positive definite matrix; columns of `right`, until
/// their residuals are shares of the squares in `goal`, and whether they became so. Takes its steps
/// from those `left`.
fn conjugate_gradients(
    right: &Grid,
    (goal, left): (&[f64], &mut usize),
    mut times: impl FnMut(&Grid, &mut Watch<'_>) -> Step<Grid>,
    mut precondition: impl FnMut(&Grid) -> Result<Grid>,
    watch: &mut Watch<'_>,
) -> Step<(Grid, bool)> {
    let q = right.columns;
    let mut x = Grid::zeros("coefficients", right.rows(), q)?;
    let mut r = right.clone();
    let mut z = precondition(&r)?;
    let mut p = z.clone();
    let mut rz = dots(&r, &z);
    while *left > 0 && !small(&dots(&r, &r), goal) {
        *left -= 1;
        let moved = times(&p, watch)?;
        let curvature = dots(&p, &moved);
        let ratio = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| if *b > 0.0 { a / b } else { 0.0 }).collect()
        };
        let step = ratio(&rz, &curvature);
        add(&mut x, &step, &p);
        add(&mut r, &step.iter().map(|s| -s).collect::<Vec<_>>(), &moved);
        z = precondition(&r)?;
        let next = dots(&r, &z);
        let keep = ratio(&next, &rz);
        for (row, from) in p.values.chunks_exact_mut(q).zip(z.values.chunks_exact(q)) {
            for ((p, z), keep) in row.iter_mut().zip(from).zip(&keep) {
                *p = z + *keep as f32 * *p;
            }
        }
        rz = next;
        watch.glance()?;
    }
    let converged = small(&dots(&r, &r), goal);
    Ok((x, converged))
}

fn small(squares: &[f64], goal: &[f64]) -> bool {
    squares.iter().zip(goal).all(|(now, goal)| *now <= RESIDUAL * RESIDUAL * goal)
}

/// `Σ_i a_ic b_ic` for every column.
fn dots(a: &Grid, b: &Grid) -> Vec<f64> {
    let mut sums = vec![0.0; a.columns];
    for (a, b) in a.values.chunks_exact(a.columns).zip(b.values.chunks_exact(a.columns)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += f64::from(*a) * f64::from(*b);
        }
    }
    sums
}

fn add(to: &mut Grid, steps: &[f64], of: &Grid) {
    let q = to.columns;
    for (to, of) in to.values.chunks_exact_mut(q).zip(of.values.chunks_exact(q)) {
        for ((to, of), step) in to.iter_mut().zip(of).zip(steps) {
            *to += *step as f32 * of;
        }
    }
}

fn times_rows(grid: &mut Grid, by: &[f64]) {
    let q = grid.columns;
    for (row, by) in grid.values.chunks_exact_mut(q).zip(by) {
        row.iter_mut().for_each(|v| *v *= *by as f32);
    }
}

/// Coefficients of all rows, n x q, for the kernel values `k` of all rows with all.
///
/// *Cost* `O(n²)` a step and column; of many columns `O(n³)` and `O(n²)` a column.
pub(crate) fn on_all(
    k: &Grid,
    sought: &Sought<'_>,
    lambda: f64,
    watch: &mut Watch<'_>,
) -> Step<Solution> {
    OnAll::new(k, sought, watch)?.solve(lambda, watch)
}

/// [`on_all`] by a factor, whatever the number of rows.
///
/// *Cost* `O(n³)` and `O(n²)` a column.
pub(crate) fn factored<F: Real>(
    k: &Grid<F>,
    sought: &Sought<'_>,
    lambda: f64,
    watch: &mut Watch<'_>,
) -> Step<Solution> {
    let roots: Vec<f64> = sought.weights.iter().map(|c| c.sqrt()).collect();
    by_factor(&factor_of(k, (&roots, lambda * k.rows() as f64), watch)?, sought, &roots, watch)
}

/// What the machine without a row says of it, for every row ([`OnAll::left_out`]).
pub(super) fn left_out(
    k: &Grid,
    sought: &Sought<'_>,
    lambda: f64,
    watch: &mut Watch<'_>,
) -> Step<Grid> {
    OnAll::new(k, sought, watch)?.left_out(lambda, watch)
}

/// Ridge regression on all rows, whatever λ.
pub(super) struct OnAll<'a> {
    k: &'a Grid,
    sought: &'a Sought<'a>,
    /// Of the weights.
    roots: Vec<f64>,
    /// P, n x m, and `PᵀP`; none where the matrix is factored.
    nystroem: Option<(Grid, Vec<f64>)>,
}

impl<'a> OnAll<'a> {
    pub(super) fn new(k: &'a Grid, sought: &'a Sought<'a>, watch: &mut Watch<'_>) -> Step<Self> {
        let (n, q) = (k.rows(), sought.values.columns);
        let roots: Vec<f64> = sought.weights.iter().map(|c| c.sqrt()).collect();
        if n <= FACTORABLE.min(FACTORED.max(FACTORED_A_COLUMN * q)) {
            return Ok(Self { k, sought, roots, nystroem: None });
        }
        let m = (n / PRECONDITIONER.0).clamp(1, PRECONDITIONER.1);
        let mut columns = Grid::zeros("preconditioner", n, m)?;
        for (to, row) in columns.values.chunks_exact_mut(m).zip(k.values.chunks_exact(n)) {
            to.copy_from_slice(&row[..m]);
        }
        let inverse = whitening(&columns.range(0, m)?, watch)?;
        let mut p = product(&columns, &inverse)?;
        drop(columns);
        times_rows(&mut p, &roots);
        let matrix = gram(&p, None, watch)?;
        Ok(Self { k, sought, roots, nystroem: Some((p, matrix)) })
    }

    /// What the machine without a row says of it, for every row: with `M = C^½KC^½ + nλ I` a row that
    /// is left out is missed by `a_i / (c_i (M⁻¹)_ii)`.
    ///
    /// *Cost* `O(n³)`.
    pub(super) fn left_out(&self, lambda: f64, watch: &mut Watch<'_>) -> Step<Grid> {
        let Self { k, sought, roots, .. } = self;
        let (n, q) = (k.rows(), sought.values.columns);
        let factor = factor_of(k, (roots, lambda * n as f64), watch)?;
        let coef = by_factor(&factor, sought, roots, watch)?.coef;
        let inverse = factor.inverse_lower()?;
        watch.glance()?;
        let mut diagonal = try_vec("an inverse", n, 0.0f64)?;
        for (i, row) in inverse.chunks_exact(n.max(1)).enumerate() {
            diagonal.iter_mut().zip(&row[..=i]).for_each(|(sum, v)| *sum += v * v);
        }
        let mut out = sought.values.clone();
        let rows = out.values.chunks_exact_mut(q).zip(coef.chunks_exact(q));
        for ((to, a), (root, own)) in rows.zip(roots.iter().zip(&diagonal)) {
            let by = (root * root * own).max(f64::MIN_POSITIVE);
            to.iter_mut().zip(a).for_each(|(y, a)| *y = (f64::from(*y) - a / by) as f32);
        }
        Ok(out)
    }

    pub(super) fn solve(&self, lambda: f64, watch: &mut Watch<'_>) -> Step<Solution> {
        let Self { k, sought, roots, nystroem } = self;
        let (n, q) = (k.rows(), sought.values.columns);
        let ridge = lambda * n as f64;
        let Some((p, matrix)) = nystroem else {
            return by_factor(&factor_of(k, (roots, ridge), watch)?, sought, roots, watch);
        };
        let (m, mut matrix) = (p.columns, matrix.clone());
        for j in 0..m {
            matrix[j * m + j] += ridge;
        }
        let factor =
            Cholesky::factor_small("preconditioner", &matrix, m, 0.0, &mut || watch.glance())?;
        let precondition = &|r: &Grid| -> Result<Grid> {
            let inner = solved(&factor, cross(p, r, None), r.columns);
            let back = product(p, &Grid::of_doubles(&inner, r.columns))?;
            let mut out = r.clone();
            for (out, back) in out.values.iter_mut().zip(&back.values) {
                *out = (*out - back) / ridge as f32;
            }
            Ok(out)
        };
        let times = &|v: &Grid, watch: &mut Watch<'_>| -> Step<Grid> {
            let mut scaled = v.clone();
            times_rows(&mut scaled, roots);
            let mut out = long_product(k, &scaled, watch)?;
            times_rows(&mut out, roots);
            for (out, v) in out.values.iter_mut().zip(&v.values) {
                *out += ridge as f32 * v;
            }
            watch.glance()?;
            Ok(out)
        };
        let mut right = try_vec("targets", n * q, 0.0f64)?;
        for ((to, y), root) in
            right.chunks_exact_mut(q).zip(sought.values.values.chunks_exact(q)).zip(roots)
        {
            to.iter_mut().zip(y).for_each(|(to, &y)| *to = root * f64::from(y));
        }
        let mut found = try_vec("coefficients", n * q, 0.0f64)?;
        let (mut left, mut converged) = (if n <= FACTORABLE { STEPS } else { STEPS_ALONE }, false);
        let mut residual = Grid::of_doubles(&right, q);
        let goal = dots(&residual, &residual);
        for _ in 0..ROUNDS {
            let steps = (goal.as_slice(), &mut left);
            let (more, _) = conjugate_gradients(&residual, steps, times, precondition, watch)?;
            found.iter_mut().zip(&more.values).for_each(|(x, &v)| *x += f64::from(v));
            residual = missed(k, (&right, &found, q), (roots, ridge), watch)?;
            converged = small(&dots(&residual, &residual), &goal);
            if left == 0 || converged {
                break;
            }
        }
        if !converged && n <= FACTORABLE {
            return by_factor(&factor_of(k, (roots, ridge), watch)?, sought, roots, watch);
        }
        for (row, root) in found.chunks_exact_mut(q).zip(roots) {
            row.iter_mut().for_each(|v| *v *= root);
        }
        Ok(Solution { coef: found, converged })
    }
}

/// The factor of `C^½KC^½ + ridge`.
fn factor_of<F: Real>(
    k: &Grid<F>,
    (roots, ridge): (&[f64], f64),
    watch: &mut Watch<'_>,
) -> Step<Cholesky> {
    let n = k.rows();
    let mut matrix = try_square("kernel matrix", n, 0.0f64)?;
    for (i, (to, from)) in matrix.chunks_exact_mut(n).zip(k.values.chunks_exact(n)).enumerate() {
        for ((to, &v), root) in to.iter_mut().zip(from).zip(roots) {
            *to = roots[i] * root * Real::to_f64(v);
        }
        to[i] += ridge;
    }
    let ask = &mut || watch.glance();
    Cholesky::factor_small("kernel matrix", &matrix, n, 0.0, ask)
}

/// As [`on_all`], by a factor of `C^½KC^½ + ridge`.
fn by_factor(
    factor: &Cholesky,
    sought: &Sought<'_>,
    roots: &[f64],
    watch: &mut Watch<'_>,
) -> Step<Solution> {
    let (n, q) = (factor.order(), sought.values.columns);
    let mut columns = try_vec("coefficients", n * q, 0.0f64)?;
    for (i, row) in sought.values.values.chunks_exact(q).enumerate() {
        row.iter().enumerate().for_each(|(c, &y)| columns[c * n + i] = roots[i] * f64::from(y));
    }
    factor.solve_columns(&mut columns, &mut || watch.glance())?;
    let mut found = try_vec("coefficients", n * q, 0.0f64)?;
    for (i, row) in found.chunks_exact_mut(q).enumerate() {
        row.iter_mut().enumerate().for_each(|(c, v)| *v = roots[i] * columns[c * n + i]);
    }
    let converged = found.iter().all(|v| v.is_finite());
    Ok(Solution { coef: found, converged })
}

/// `right - (C^½KC^½ + ridge) x`, summed in double precision.
fn missed(
    k: &Grid,
    (right, x, q): (&[f64], &[f64], usize),
    (roots, ridge): (&[f64], f64),
    watch: &mut Watch<'_>,
) -> Step<Grid> {
    let n = k.rows();
    let mut columns = try_vec("columns", n * q, 0.0f64)?;
    for (i, row) in x.chunks_exact(q).enumerate() {
        row.iter().enumerate().for_each(|(c, v)| columns[c * n + i] = roots[i] * v);
    }
    let mut out = Grid::zeros("residuals", n, q)?;
    parallel::each(out.values.chunks_mut(CHUNK * q), &|at, out| {
        for (r, out) in out.chunks_exact_mut(q).enumerate() {
            let i = at * CHUNK + r;
            for (c, (out, column)) in out.iter_mut().zip(columns.chunks_exact(n)).enumerate() {
                let fitted = roots[i] * dot(k.row(i), column) + ridge * x[i * q + c];
                *out = (right[i * q + c] - fitted) as f32;
            }
        }
    });
    watch.glance()?;
    Ok(out)
}

/// Coefficients of the landmarks, m x q; rows and landmarks are scaled.
///
/// *Cost* `O(n m d)` a step, `O(m³)` before.
pub(crate) fn on_landmarks(
    shape: Shape,
    (rows, landmarks): (&Grid, &Grid),
    sought: &Sought<'_>,
    lambda: f64,
    watch: &mut Watch<'_>,
) -> Step<Solution> {
    let (n, m) = (rows.rows(), landmarks.rows());
    let k_mm = into_kernel_values(distances(shape, landmarks, landmarks, watch)?);
    let matrix: Vec<f64> = k_mm.values.iter().map(|&v| f64::from(v)).collect();
    drop(k_mm);
    let ask = &mut || watch.glance();
    let outer = Cholesky::factor_small("landmarks", &matrix, m, JITTER, ask)?;
    drop(matrix);
    let mut lower = outer.lower().to_vec();
    for i in 0..m {
        lower[i * m + i + 1..(i + 1) * m].fill(0.0);
    }
    let mut inner = gram(&Grid::of_doubles(&lower, m), None, watch)?;
    drop(lower);
    inner.iter_mut().for_each(|v| *v /= m as f64);
    for j in 0..m {
        inner[j * m + j] += lambda;
    }
    let inner = Cholesky::factor_small("landmarks", &inner, m, 0.0, &mut || watch.glance())?;
    let q = sought.values.columns;
    let by_column = |grid: &Grid, each: &mut dyn FnMut(usize, &mut [f64])| -> Grid {
        let mut out = grid.clone();
        let mut column = vec![0.0; m];
        for c in 0..q {
            (0..m).for_each(|j| column[j] = f64::from(grid.values[j * q + c]));
            each(c, &mut column);
            (0..m).for_each(|j| out.values[j * q + c] = column[j] as f32);
        }
        out
    };
    let mut passing = Passing::new(shape, (rows, landmarks), (&sought.weights[..n], q))?;
    let right = by_column(&passing.of_values(sought.values, watch)?, &mut |_, v| {
        outer.solve_lower(v);
        inner.solve_lower(v);
    });
    // A⁻ᵀ b, which what it is multiplied by and the ridge begin with.
    let mut begun = try_vec("columns", m * q, 0.0f64)?;
    let times = |b: &Grid, watch: &mut Watch<'_>| -> Step<Grid> {
        let a = by_column(b, &mut |c, v| {
            inner.solve_upper(v);
            begun[c * m..][..m].copy_from_slice(v);
            outer.solve_upper(v);
        });
        Ok(by_column(&passing.twice(&a, watch)?, &mut |c, v| {
            outer.solve_lower(v);
            v.iter_mut().zip(&begun[c * m..]).for_each(|(v, b)| *v += lambda * b);
            inner.solve_lower(v);
        }))
    };
    let (goal, mut left) = (dots(&right, &right), STEPS);
    let (found, converged) =
        conjugate_gradients(&right, (&goal, &mut left), times, |r| Ok(r.clone()), watch)?;
    let found = by_column(&found, &mut |_, v| {
        inner.solve_upper(v);
        outer.solve_upper(v);
    });
    let coef = found.values.iter().map(|&v| f64::from(v)).collect();
    Ok(Solution { coef, converged })
}
