//! Landmarks that move: those of a small machine go to where least squares on them misses least.
//!
//! ```text
//! min over Z, a of Σ_i c_i (y_i - Σ_j a_j k(x_i, z_j))²         (values)
//! ```
//!
//! # Method
//!
//! 1. Rows drawn as landmarks, coefficients by the normal equations of some thousand rows.
//! 2. Steps of Adam on batches of rows for both, those of a landmark's coordinate in units of the
//!    coordinate's spread; with `r = c (K a - y)`, `W = r aᵀ ∘ K`:
//!    `∂/∂z_j = Σ_i W_ij 2 (x_i - z_j)` (Gaussian) or `Σ_i W_ij sign(x_i - z_j)`.
//! 3. Now and then the coefficients are solved for again. Steps fade out.
//! 4. The scales go along, on their logarithms: few terms see wider.
//! 5. For sides of classes ([`Aim`]) the same with what these miss.
//!
//! The sum has many local minima: whether anything was won is for rows held out to say.

use super::aim::Aim;
use super::descend::{add_outer, by_scales};
use super::distances::{CHUNK, distances, into_kernel_values, product};
use super::grid::{Grid, Shape};
use super::recipe::{
    MOVE_BATCH, MOVE_COEF, MOVE_ROUNDS, MOVE_ROWS, MOVE_SCALE, MOVE_SOLUTIONS, MOVE_STEP,
    MOVE_WORK, SCALE_RANGE, SIDES_STEPS,
};
use super::reduced::{Sought, cross};
use crate::error::Result;
use crate::parallel;
use crate::rng::Rng;
use crate::simd;
use crate::watch::{Step, Watch};

/// Rows that as many landmarks are solved for on the way.
pub(crate) fn few(rows: usize, landmarks: usize) -> usize {
    rows.min(MOVE_ROWS.0.max(MOVE_ROWS.1 * landmarks))
}

/// Coefficients of the landmarks by the first rows, so many of them.
pub(crate) fn solved_few(
    shape: Shape,
    (rows, landmarks): (&Grid, &Grid),
    (sought, aim): (&Sought<'_>, Aim<'_>),
    (lambda, steps): (f64, usize),
    watch: &mut Watch<'_>,
) -> Step<Grid> {
    let n = few(rows.rows(), landmarks.rows());
    let values = sought.values.range(0, n)?;
    let sought = Sought { values: &values, weights: &sought.weights[..n], ..*sought };
    aim.solve(shape, (&rows.range(0, n)?, landmarks), &sought, (lambda, steps), watch)
}

/// Values of rows of a machine of these terms.
pub(crate) fn values_of(
    shape: Shape,
    (rows, landmarks): (&Grid, &Grid),
    coef: &Grid,
    watch: &mut Watch<'_>,
) -> Step<Grid> {
    Ok(product(&into_kernel_values(distances(shape, rows, landmarks, watch)?), coef)?)
}

/// First and second moments of a gradient, for steps of Adam.
struct Moments {
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl Moments {
    fn new(len: usize) -> Self {
        Self { mean: vec![0.0; len], square: vec![0.0; len] }
    }

    /// The step number `at`, from 1 on; lengths for every column.
    fn step(&mut self, to: &mut Grid, gradient: &[f64], (lengths, at): (&[f64], usize)) {
        let by = |decay: f64| 1.0 / (1.0 - decay.powi(at.min(100_000) as i32));
        let (first, second) = (by(0.9) as f32, by(0.99) as f32);
        let each = to.values.iter_mut().zip(gradient).zip(lengths.iter().cycle());
        for (((v, g), length), (m, s)) in each.zip(self.mean.iter_mut().zip(self.square.iter_mut()))
        {
            let g = *g as f32;
            *m += 0.1 * (g - *m);
            *s += 0.01 * (g * g - *s);
            let scale = (*s * second).sqrt();
            // A coordinate that nothing depends on stays.
            if scale > 0.0 && scale.is_finite() {
                *v -= *length as f32 * (*m * first) / scale;
            }
        }
    }
}

/// Spreads of the columns.
fn spreads(grid: &Grid, centred: bool) -> Vec<f64> {
    let (n, d) = (grid.rows().max(1) as f64, grid.columns);
    let (mut sums, mut squares) = (vec![0.0; d], vec![0.0; d]);
    for row in grid.values.chunks_exact(d.max(1)) {
        for ((sum, square), &v) in sums.iter_mut().zip(squares.iter_mut()).zip(row) {
            *sum += f64::from(v);
            *square += f64::from(v).powi(2);
        }
    }
    let shift = if centred { 1.0 } else { 0.0 };
    let each = sums.iter().zip(&squares);
    each.map(|(sum, square)| (square / n - shift * (sum / n).powi(2)).max(0.0).sqrt()).collect()
}

/// Where landmarks went, and what the scales of rows and landmarks are multiplied by.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    /// In the coordinates that these factors make.
    pub(crate) landmarks: Grid,
    pub(crate) factors: Vec<f64>,
}

/// Landmarks from these on, for scaled rows.
///
/// *Cost* `O(n m d)` a round, bounded whatever n; `O(m³)` a solution.
pub(crate) fn moved(
    shape: Shape,
    (rows, landmarks): (&Grid, &Grid),
    (sought, aim): (&Sought<'_>, Aim<'_>),
    (lambda, seed): (f64, u64),
    watch: &mut Watch<'_>,
) -> Step<Moved> {
    let (n, m, d, q) = (rows.rows(), landmarks.rows(), rows.columns, sought.values.columns);
    let batch = MOVE_BATCH.min(n);
    let (rounds, length) = match aim {
        Aim::Values => (MOVE_ROUNDS.0, MOVE_STEP.0),
        Aim::Sides(_) => (MOVE_ROUNDS.1, MOVE_STEP.1),
    };
    let most = MOVE_WORK / (m * (d + q)).max(1) as u64;
    let seen = ((rounds * n) as u64).min(most) as usize;
    let steps = (seen / batch.max(1)).max(1);
    let first = rows.range(0, few(n, m))?;
    let solve = |z: &Grid, factors: &[f64], watch: &mut Watch<'_>| -> Step<Grid> {
        let (rows, z) = (first.scaled(factors)?, z.scaled(factors)?);
        solved_few(shape, (&rows, &z), (sought, aim), (lambda, SIDES_STEPS.0), watch)
    };
    let mut z = landmarks.clone();
    // Logarithms of the factors.
    let mut theta = Grid::zeros("scales", 1, d)?;
    let mut factors = vec![1.0; d];
    let mut a = solve(&z, &factors, watch)?;
    let (mut of_z, mut of_a, mut of_theta) =
        (Moments::new(m * d), Moments::new(m * q), Moments::new(d));
    let spread = spreads(&z, true);
    let size = spreads(&a, false);
    let mut order: Vec<usize> = (0..n).collect();
    let (mut rng, mut next) = (Rng::new(seed), n);
    for step in 0..steps {
        if next + batch > n {
            rng.shuffle(&mut order);
            next = 0;
        }
        let chosen = &order[next..next + batch];
        next += batch;
        let (x, y, c) = drawn(rows, sought, chosen)?;
        let (x, own) = (x.scaled(&factors)?, z.scaled(&factors)?);
        let k = into_kernel_values(distances(shape, &x, &own, watch)?);
        let mut left = product(&k, &a)?;
        aim.too_large(&mut left, &y);
        for (left, c) in left.values.chunks_exact_mut(q).zip(&c) {
            left.iter_mut().for_each(|v| *v *= *c as f32);
        }
        let by_coef = cross(&k, &left, None);
        let mut pulls = Grid::zeros("derivatives", batch, m)?;
        add_outer(&mut pulls, 0, &left, &a);
        let fade = 0.5 * (1.0 + (std::f64::consts::PI * step as f64 / steps as f64).cos());
        let by_scale = by_scales(shape, (&pulls, &k), (&x, &own));
        of_theta.step(&mut theta, &by_scale, (&[MOVE_SCALE * fade], step + 1));
        pulls.values.iter_mut().zip(&k.values).for_each(|(w, k)| *w *= k);
        let mut by_place = by_landmarks(shape, (&x, &own), &pulls)?;
        by_place.iter_mut().zip(factors.iter().cycle()).for_each(|(g, e)| *g *= e);
        let lengths =
            |of: &[f64], by: f64| -> Vec<f64> { of.iter().map(|s| s * by * fade).collect() };
        of_z.step(&mut z, &by_place, (&lengths(&spread, length), step + 1));
        of_a.step(&mut a, &by_coef, (&lengths(&size, MOVE_COEF), step + 1));
        for (factor, t) in factors.iter_mut().zip(&mut theta.values) {
            *t = t.clamp(SCALE_RANGE.0 as f32, SCALE_RANGE.1 as f32);
            *factor = f64::from(*t).exp();
        }
        if (step + 1) * MOVE_SOLUTIONS / steps > step * MOVE_SOLUTIONS / steps && step + 1 < steps {
            a = solve(&z, &factors, watch)?;
        }
        watch.glance()?;
    }
    Ok(Moved { landmarks: z.scaled(&factors)?, factors })
}

/// These rows, their values and weights.
fn drawn(rows: &Grid, sought: &Sought<'_>, chosen: &[usize]) -> Result<(Grid, Grid, Vec<f64>)> {
    let take = |from: &Grid| -> Result<Grid> {
        let mut to = Grid::zeros("a batch", chosen.len(), from.columns)?;
        for (to, &i) in to.values.chunks_exact_mut(from.columns).zip(chosen) {
            to.copy_from_slice(from.row(i));
        }
        Ok(to)
    };
    let weights = chosen.iter().map(|&i| sought.weights[i]).collect();
    Ok((take(rows)?, take(sought.values)?, weights))
}

/// `Σ_i W_ij ∂ log k_ij/∂z_j`, m x d.
pub(super) fn by_landmarks(shape: Shape, (x, z): (&Grid, &Grid), pulls: &Grid) -> Result<Vec<f64>> {
    let (m, d) = (z.rows(), z.columns);
    match shape {
        Shape::Gaussian => {
            let mut sums = cross(pulls, x, None);
            let mut total = vec![0.0f64; m];
            for row in pulls.values.chunks_exact(m) {
                total.iter_mut().zip(row).for_each(|(t, &w)| *t += f64::from(w));
            }
            let each = sums.chunks_exact_mut(d).zip(z.values.chunks_exact(d)).zip(&total);
            for ((sums, z), total) in each {
                sums.iter_mut().zip(z).for_each(|(s, &z)| *s = 2.0 * (*s - total * f64::from(z)));
            }
            Ok(sums)
        }
        Shape::Laplacian => {
            let (columns, weights) = (x.transposed()?, pulls.transposed()?);
            let parts = parallel::map(m.div_ceil(CHUNK), &|c| {
                let (first, last) = (c * CHUNK, ((c + 1) * CHUNK).min(m));
                let mut sums = Vec::with_capacity((last - first) * d);
                for j in first..last {
                    let one = |k: usize| {
                        -f64::from(simd::signed(weights.row(j), z.row(j)[k], columns.row(k)))
                    };
                    sums.extend((0..d).map(one));
                }
                sums
            });
            Ok(parts.concat())
        }
    }
}
