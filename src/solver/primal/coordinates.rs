//! Coordinate ascent in the dual of a linear machine: where rows are wide, the way to its minimum
//! that takes a few passes over their entries.
//!
//! ```text
//! max over a   Σ C_i T(y_i, a_i) - 1/2 ‖w‖² - 1/2 τ S² - c S      w = Σ C_i a_i x_i,   S = Σ C_i a_i
//! ```
//!
//! # Method
//!
//! 1. The offset b, which nothing penalises, gets the penalty `(b - c)²/2τ` about a centre c, with τ
//!    the mean of ‖x‖²: then it moves as the weights do, `b = c + τS`. Without an offset τ = 0.
//! 2. A pass visits the samples in random order, and moves each a_i to the maximum along it
//!    ([`Smoothed::dual_step`](crate::loss::Smoothed::dual_step)): two times the entries of a row.
//! 3. Where the gap of the penalised problem is not large beside the penalty, the centre moves to b:
//!    the proximal point method, not to the end. At its end S = 0, and the penalty with it.
//! 4. Stop when the gap and what the penalty hides are at most `tol` of the objective. Where passes
//!    do not get on, Newton's method does, from there.
//!
//! # Cost
//!
//! 3 nnz a pass; some ten passes where rows are nearly orthogonal, as wide ones are, 20 to 40 with an
//! offset. Memory 12 bytes a sample.
//!
//! # Certificate
//!
//! P less the dual of the penalised problem, and `(b* - c)²/2τ`, which the penalty adds to its
//! minimum at most. How far c has to go is not known: τS at the last moves fell by a factor, and a
//! geometric row with that factor is summed.
//!
//! References: \[HSIEH\]; the offset is ours.

use super::place::Place;
use super::rows::{add_to, row_times};
use crate::data::Rows;
use crate::error::try_vec;
use crate::float::Real;
use crate::parallel;
use crate::rng::Rng;
use crate::watch::{Halt, Step, Watch};

/// Passes at most.
const PASSES: usize = 200;
/// In so many passes what is left has to fall to a quarter of the objective, then to a tenth in each
/// as many.
const PATIENCE: usize = 30;
const AT_FIRST: f64 = 0.25;
const THEN: f64 = 0.1;
/// The centre moves when the gap is at most so many times the penalty.
const NEAR: f64 = 30.0;
/// Share of its way that the centre leaves from move to move, at most.
const SLOWEST: f64 = 0.9;
/// Entries between two looks at the clock.
const STRIDE: usize = 1 << 16;
/// Seed of the orders.
const SEED: u64 = 0;

/// Begins at 0; whether the minimum was reached. What it came to is left at the place where that is
/// better than nothing, stopped or not.
pub(super) fn ascend<F: Real>(
    rows: &Rows<'_, F>,
    norms: &[f64],
    place: &mut Place<'_>,
    watch: &mut Watch<'_>,
) -> Step<bool> {
    let samples = place.samples(place.polish.h);
    let nothing = samples.loss_at(&place.f);
    let said = passes(rows, norms, place, watch);
    if let Err(Halt::Fail(error)) = said {
        return Err(Halt::Fail(error));
    }
    let here = |place: &Place<'_>| place.penalty() + samples.loss_at(&place.f);
    if said.is_err() {
        place.f = times(rows, place);
    }
    let better = here(place) < nothing;
    // An objective that is no number is no better either.
    if !matches!(said, Ok(true)) && !better {
        place.coef.fill(0.0);
        place.b = 0.0;
        place.f.fill(0.0);
    }
    said
}

fn times<F: Real>(rows: &Rows<'_, F>, place: &Place<'_>) -> Vec<f64> {
    parallel::map(place.size, &|i| place.b + row_times(rows, i, &place.coef))
}

fn passes<F: Real>(
    rows: &Rows<'_, F>,
    norms: &[f64],
    place: &mut Place<'_>,
    watch: &mut Watch<'_>,
) -> Step<bool> {
    let samples = place.samples(place.polish.h);
    let (loss, cost) = (samples.loss, samples.cost);
    let mut order: Vec<u32> = (0..cost.len() as u32).filter(|&i| cost[i as usize] > 0.0).collect();
    let mean = norms.iter().sum::<f64>() / norms.len().max(1) as f64;
    let tau = match place.polish.fit_intercept {
        true => {
            if mean > 0.0 {
                mean
            } else {
                1.0
            }
        }
        false => 0.0,
    };
    let mut a = try_vec("dual variables", cost.len(), 0.0)?;
    let entries = match rows {
        Rows::Dense(_) => rows.n_cols(),
        Rows::Csr(csr) => (csr.density() * rows.n_cols() as f64) as usize + 1,
    };
    let (mut rng, mut work) = (Rng::new(SEED), 0);
    let (mut centre, mut sum, mut primal) = (0.0, 0.0, samples.loss_at(&place.f));
    let (mut wanted, mut last) = (None, f64::INFINITY);
    for pass in 1..=PASSES {
        if place.steps >= place.polish.max_steps {
            return Ok(false);
        }
        watch.at(place.steps, primal);
        watch.poll()?;
        place.steps += 1;
        rng.shuffle(&mut order);
        for &i in &order {
            let i = i as usize;
            work += entries;
            if work >= STRIDE {
                work = 0;
                watch.glance()?;
            }
            let f = centre + tau * sum + row_times(rows, i, &place.coef);
            let new = loss.dual_step(samples.y(i), a[i], f, cost[i] * (norms[i] + tau));
            let change = cost[i] * (new - a[i]);
            if change != 0.0 {
                a[i] = new;
                sum += change;
                add_to(rows.point(i), change, &mut place.coef);
            }
        }
        place.b = centre + tau * sum;
        place.f = times(rows, place);
        let penalty = place.penalty();
        primal = penalty + samples.loss_at(&place.f);
        let [terms] = samples.sum(|i| [cost[i] * loss.dual_value(samples.y(i), a[i])]);
        let pull = tau * sum * sum;
        let gap = primal + pull - (terms - penalty - centre * sum);
        let share = if last.is_finite() { (sum.abs() / last).min(SLOWEST) } else { SLOWEST };
        let hidden = 0.5 * pull / (1.0 - share).powi(2);
        let left = gap - 0.5 * pull + hidden;
        if left <= place.polish.tol * primal {
            return Ok(true);
        }
        if pass % PATIENCE == 0 {
            let gets_on = left <= wanted.unwrap_or(AT_FIRST * primal);
            if !gets_on {
                return Ok(false);
            }
            wanted = Some(THEN * left);
        }
        if gap <= NEAR * pull {
            (centre, last) = (place.b, sum.abs());
        }
    }
    Ok(false)
}
