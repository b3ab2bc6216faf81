//! A Newton direction by conjugate gradients, preconditioned by a Hessian of some of the rows.

use super::basis::Basis;
use super::rows::Rows;
use super::sketch::{SEED, sketch_rows};
use crate::error::{Result, try_square, try_vec};
use crate::float::Real;
use crate::linalg::{Cholesky, GramAccumulator, Single, axpy, dot};
use crate::parallel::ROW_CHUNK;
use crate::rng::Rng;
use crate::watch::{Step, Watch};

/// Its relative jitter a column: products are in `f32`.
pub(super) const JITTER: f64 = 1e-10;
/// The residual is to fall to the first share, in the metric of the preconditioner, or where so many
/// steps do not do to the second.
const ENOUGH: [f64; 2] = [0.1, 0.2];
const FEW_STEPS: usize = 8;
/// Where so many steps do not do, the preconditioner is made anew.
const MAX_STEPS: usize = 60;

/// Multiply-adds of rows that many preconditioners share, about.
const SHARED: usize = 1 << 31;
/// Columns up to which a factor for each group costs less than the products it saves
/// (`benches/python/calibration.py`).
const FEW: usize = 768;

/// `H = K_BB + Σ D_i k_i k_iᵀ` at some margins, the offset last where there is one.
pub(super) struct Hessian<'h, 'k, F: Real> {
    pub(super) basis: &'h Basis<'k, F>,
    pub(super) rows: &'h Rows<'k, F>,
    /// The places with D > 0, and D of all places.
    pub(super) zone: &'h [u32],
    pub(super) curvature: &'h [f64],
    /// Of the offset where D is 0 everywhere.
    pub(super) flat: f64,
}

/// A factor that preconditions.
pub(super) enum Like {
    /// Of some rows, rounded.
    Rounded(Single),
    /// Of all rows, at margins nearby: what it says of a step is true but for the rows that have come
    /// to bend since.
    Whole(Cholesky),
}

impl Like {
    pub(super) fn solve(&self, x: &mut [f64]) {
        match self {
            Self::Rounded(factor) => factor.solve(x),
            Self::Whole(factor) => factor.solve(x),
        }
    }
}

fn factored(matrix: &[f64], order: usize, watch: &mut Watch<'_>) -> Step<Cholesky> {
    let jitter = JITTER * order as f64;
    Cholesky::factor("Hessian", matrix, order, jitter, &mut || watch.poll())
}

impl<F: Real> Hessian<'_, '_, F> {
    fn times(&self, p: &[f64], watch: &mut Watch<'_>) -> Step<Vec<f64>> {
        let b = self.basis.b;
        let mut out = self.rows.bend(self.zone, p, self.curvature, watch)?;
        axpy(1.0, &self.basis.single_times(&p[..b]), &mut out[..b]);
        out.truncate(p.len());
        if let (Some(out), Some(p)) = (out.get_mut(b), p.get(b)) {
            *out += self.flat * p;
        }
        Ok(out)
    }

    /// What stands in it beside the rows.
    pub(super) fn beside(&self, i: usize, j: usize) -> f64 {
        let b = self.basis.b;
        match (i < b, j < b) {
            (true, true) => self.basis.at(i, j),
            (false, false) => self.flat,
            _ => 0.0,
        }
    }

    /// The Hessian without the rows of each of so many groups, factored: `group(place)` says which a
    /// row is of. Sums of rows are made once, for all groups. None where columns are many, these do
    /// not fit in `bytes`, or a group leaves no row with a curvature.
    pub(super) fn without_each(
        &self,
        order: usize,
        (n_groups, group): (usize, &dyn Fn(u32) -> usize),
        bytes: usize,
        watch: &mut Watch<'_>,
    ) -> Step<Option<Vec<Cholesky>>> {
        let size = order * order;
        let needed = (2 * n_groups).saturating_mul(size * size_of::<f64>());
        if order > FEW || needed > bytes {
            return Ok(None);
        }
        let mut chosen = self.zone.to_vec();
        let some = sketch_rows(chosen.len(), order).max(SHARED / size).min(chosen.len());
        Rng::new(SEED).shuffle(&mut chosen);
        chosen.truncate(some);
        chosen.sort_unstable();
        let share = self.zone.len() as f64 / some.max(1) as f64;
        let mut sums = Vec::with_capacity(n_groups);
        for wanted in 0..n_groups {
            let own: Vec<u32> = chosen.iter().copied().filter(|&i| group(i) == wanted).collect();
            if own.len() == chosen.len() {
                return Ok(None);
            }
            let mut sum = try_vec("Hessian", size, 0.0)?;
            self.sum((&own, &|_| share), order, watch)?.add_to(&mut sum);
            sums.push(sum);
        }
        let mut factors = Vec::with_capacity(n_groups);
        for left_out in 0..n_groups {
            // Nothing is taken away again: differences would lose what is small.
            let mut matrix = self.bordered(order)?;
            let others = sums.iter().enumerate().filter(|(group, _)| *group != left_out);
            others.for_each(|(_, sum)| axpy(1.0, sum, &mut matrix));
            factors.push(factored(&matrix, order, watch)?);
        }
        Ok(Some(factors))
    }

    /// `Σ w_i D_i k_i k_iᵀ` of these places, whose weights `weight` says.
    pub(super) fn sum(
        &self,
        (places, weight): (&[u32], &(dyn Fn(usize) -> f64 + Sync)),
        order: usize,
        watch: &mut Watch<'_>,
    ) -> Step<GramAccumulator> {
        let b = self.basis.b;
        let mut sum = GramAccumulator::new(order)?;
        sum.clear(true)?;
        let mut values = Vec::new();
        for (chunk, places) in places.chunks(ROW_CHUNK).enumerate() {
            self.rows.copy(places, &mut values);
            let scale = |i: usize| {
                (weight(chunk * ROW_CHUNK + i) * self.curvature[places[i] as usize]).sqrt()
            };
            sum.push(places.len(), |i| (&values[i * b..(i + 1) * b], scale(i)));
            if sum.room() < ROW_CHUNK {
                sum.flush(|| watch.poll())?;
            }
        }
        sum.flush(|| watch.poll())?;
        Ok(sum)
    }

    fn bordered(&self, order: usize) -> Result<Vec<f64>> {
        let mut matrix = try_square("Hessian", order, 0.0)?;
        for i in 0..self.basis.b {
            (0..=i).for_each(|j| matrix[i * order + j] = self.basis.at(i, j));
        }
        Ok(matrix)
    }

    /// `-H⁻¹ g`, about; and whether the preconditioner still serves.
    pub(super) fn direction(
        &self,
        gradient: &[f64],
        like: &Like,
        watch: &mut Watch<'_>,
    ) -> Step<(Vec<f64>, bool)> {
        let mut d = vec![0.0; gradient.len()];
        let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut z = residual.clone();
        like.solve(&mut z);
        let mut p = z.clone();
        let mut norm = dot(&residual, &z);
        let enough = ENOUGH.map(|share| share * share * norm);
        for steps in 0..MAX_STEPS {
            if norm.is_nan() || norm <= enough[usize::from(steps >= FEW_STEPS)] {
                return Ok((d, true));
            }
            let hp = self.times(&p, watch)?;
            let bend = dot(&p, &hp);
            if bend.is_nan() || bend <= 0.0 {
                break;
            }
            axpy(norm / bend, &p, &mut d);
            axpy(-norm / bend, &hp, &mut residual);
            z.copy_from_slice(&residual);
            like.solve(&mut z);
            let next = dot(&residual, &z);
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + next / norm * *p);
            norm = next;
        }
        Ok((d, false))
    }
}
