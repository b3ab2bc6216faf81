//! A Hessian of some of the rows, factored: what preconditions.
//!
//! Rows of which nothing is known are drawn evenly. A factor that no longer serves tells them apart: a
//! row that alone holds up a direction has a leverage `ℓ_i = D_i k_iᵀ M⁻¹ k_i` near or above 1, and
//! without it conjugate gradients take a step more for that direction; most rows have next to none. So
//! rows are drawn in proportion to `ℓ / (1 + ℓ)`, each counted as often as it was unlikely, and no more
//! of them than these come to, a few times. `ℓ` is `D (k·L⁻ᵀg)²` in the mean over random signs g.
//!
//! References: Alaoui and Mahoney 2015, "Fast randomized kernel ridge regression with statistical
//! guarantees" (ridge leverage); Drineas et al. 2012, "Fast approximation of matrix coherence and
//! statistical leverage" (random projections).

use super::direction::{Hessian, Like};
use crate::error::{Error, Result, try_square, try_vec};
use crate::float::Real;
use crate::linalg::{ATTEMPTS, Cholesky, GROWTH, GramAccumulator, Single, axpy};
use crate::parallel;
use crate::rng::Rng;
use crate::watch::{Step, Watch};

/// Rows drawn evenly: so many for each column, but beyond one a column no more than so many.
const EVEN: usize = 4;
const BEYOND: usize = 3000;
/// All of them where they are fewer than this share of those.
const NEARLY: f64 = 1.25;
/// Random directions that leverages are estimated by, and what none is below.
const GUESSES: usize = 8;
const LEAST: f64 = 0.01;
/// Rows drawn by them for each that they come to.
const SURPLUS: f64 = 2.5;
/// Rounds that find what leverages are multiplied by.
const ROUNDS: usize = 20;
const SEED: u64 = 3;
/// Its relative jitter a column: products are in `f32`.
const JITTER: f64 = 1e-10;
/// Multiply-adds of rows that many preconditioners share, about.
const SHARED: usize = 1 << 31;
/// Columns up to which a factor for each group costs less than the products it saves
/// (`benches/python/calibration.py`).
const FEW: usize = 768;
/// Rows that a task copies.
const COPIED: usize = 16;

/// Rows of the preconditioner, of so many.
fn sketch_rows(rows: usize, order: usize) -> usize {
    some_or_all((EVEN * order).min(order + BEYOND), rows)
}

fn some_or_all(some: usize, rows: usize) -> usize {
    if rows as f64 <= NEARLY * some as f64 { rows } else { some }
}

fn factored(matrix: &[f64], order: usize, watch: &mut Watch<'_>) -> Step<Cholesky> {
    let jitter = JITTER * order as f64;
    Cholesky::factor("Hessian", matrix, order, jitter, &mut || watch.poll())
}

/// Places that rise, and what each stands for.
type Drawn = (Vec<u32>, Vec<f64>);

impl<F: Real> Hessian<'_, '_, F> {
    /// The Hessian of some rows, factored; `before` is a factor that no longer serves.
    pub(super) fn sketch(
        &self,
        order: usize,
        before: Option<Like>,
        watch: &mut Watch<'_>,
    ) -> Step<Like> {
        let some = sketch_rows(self.zone.len(), order);
        let (chosen, weights) = match before {
            Some(Like::Rounded(factor)) if self.zone.len() > order => {
                self.by_leverage((factor, order, some), watch)?
            }
            before => {
                drop(before);
                let (chosen, share) = self.evenly(some);
                (chosen, vec![share; some])
            }
        };
        let mut jitter = JITTER * order as f64;
        for _ in 0..ATTEMPTS {
            let sum = self.sum((&chosen, &|i| weights[i]), order, watch)?;
            let mut matrix = sum.into_tiles();
            matrix.add(&|i, j| self.beside(i, j), || watch.poll())?;
            if matrix.factor(jitter, || watch.poll())? {
                return Ok(Like::Rounded(Single::new(&matrix, || watch.poll())?));
            }
            jitter *= GROWTH;
        }
        Err(Error::NotPositiveDefinite("Hessian").into())
    }

    /// So many places, and what each stands for.
    fn evenly(&self, some: usize) -> (Vec<u32>, f64) {
        let mut chosen = self.zone.to_vec();
        Rng::new(SEED).shuffle(&mut chosen);
        chosen.truncate(some);
        chosen.sort_unstable();
        (chosen, self.zone.len() as f64 / some.max(1) as f64)
    }

    fn by_leverage(
        &self,
        (factor, order, most): (Single, usize, usize),
        watch: &mut Watch<'_>,
    ) -> Step<Drawn> {
        let mut rng = Rng::new(SEED);
        let mut directions = Vec::with_capacity(GUESSES);
        for _ in 0..GUESSES {
            let mut sign = || if rng.next_u64() >> 63 == 0 { 1.0 } else { -1.0 };
            let mut direction: Vec<f64> = (0..order).map(|_| sign()).collect();
            factor.solve_upper(&mut direction);
            directions.push(direction);
            watch.poll()?;
        }
        drop(factor);
        let mut share = self.rows.squares(self.zone, &directions, watch)?;
        for (share, &place) in share.iter_mut().zip(self.zone) {
            let leverage = *share * self.curvature[place as usize] / GUESSES as f64;
            *share = leverage / (1.0 + leverage) + LEAST;
        }
        let sum = |times: f64| share.iter().map(|v| (v * times).min(1.0)).sum::<f64>();
        let wanted = (SURPLUS * sum(1.0)) as usize;
        let wanted = some_or_all(wanted.min(most), self.zone.len()) as f64;
        let mut times = wanted / sum(1.0);
        for _ in 0..ROUNDS {
            times *= wanted / sum(times);
        }
        let (mut chosen, mut weights) = (Vec::new(), Vec::new());
        for (&place, share) in self.zone.iter().zip(&share) {
            let likely = (share * times).min(1.0);
            if rng.uniform() < likely {
                chosen.push(place);
                weights.push(1.0 / likely);
            }
        }
        Ok((chosen, weights))
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
        let rows = self.zone.len();
        let some = sketch_rows(rows, order).max(SHARED / size).min(rows);
        let (chosen, share) = self.evenly(some);
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
    fn sum(
        &self,
        (places, weight): (&[u32], &(dyn Fn(usize) -> f64 + Sync)),
        order: usize,
        watch: &mut Watch<'_>,
    ) -> Step<GramAccumulator> {
        let b = self.basis.b;
        let mut sum = GramAccumulator::new(order)?;
        sum.clear(true)?;
        let at_once = sum.room();
        let mut values = try_vec("rows of the Hessian", at_once.min(places.len()) * b, 0.0)?;
        for (batch, places) in places.chunks(at_once).enumerate() {
            let rows = values.chunks_mut((COPIED * b).max(1)).zip(places.chunks(COPIED));
            parallel::each(rows, &|_, (out, places)| self.rows.copy(places, out));
            let scale = |i: usize| {
                (weight(batch * at_once + i) * self.curvature[places[i] as usize]).sqrt()
            };
            sum.push(places.len(), |i| (&values[i * b..(i + 1) * b], scale(i)));
            sum.flush(|| watch.poll())?;
        }
        Ok(sum)
    }

    fn bordered(&self, order: usize) -> Result<Vec<f64>> {
        let mut matrix = try_square("Hessian", order, 0.0)?;
        for i in 0..self.basis.b {
            (0..=i).for_each(|j| matrix[i * order + j] = self.basis.at(i, j));
        }
        Ok(matrix)
    }

    /// What stands in it beside the rows.
    fn beside(&self, i: usize, j: usize) -> f64 {
        let b = self.basis.b;
        match (i < b, j < b) {
            (true, true) => self.basis.at(i, j),
            (false, false) => self.flat,
            _ => 0.0,
        }
    }
}
