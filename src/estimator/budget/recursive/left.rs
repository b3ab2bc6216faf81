//! What a stream goes on from after a batch fit: a summary of some of its rows, or of its terms.
//!
//! The gradient of a summary is that of the solution, so nothing moves before new rows say so; its
//! Hessian says how much they must say. It is made of rows evenly chosen, of which those in the wide
//! corner count ([`summaries_of_fit`]): a model is the same for every run on the same data, so work
//! is reckoned, not timed. Where that would be too dear the terms stand for the rows
//! ([`summaries_of_terms`]): they lie where the rows do. On Adult, COD-RNA and IJCNN1, fitted to half
//! and gone on with the rest, they do as well to 0.03 points (parts of the training sets).

use super::judge::settled;
use super::learnt::{at, points_of};
use super::seen::{Seen, Terms};
use super::unseen::spread;
use crate::data::{Gathered, Problem, SomeTargets};
use crate::error::{Result, check_room};
use crate::estimator::budget::config::{BudgetConfig, ROWS_A_TERM};
use crate::estimator::budget::units::Units;
use crate::float::Real;
use crate::model::KernelModel;
use crate::solver::recursive::Summary;
use crate::watch::{Step, Watch};

/// Samples that the summary of a batch fit is made of, for each term.
const SAMPLES_A_TERM: usize = 16;
/// Bytes that the summaries of a batch fit may take, unless they are asked for.
const MOST_BYTES: usize = 64 << 20;
/// What must be free beside the summaries, products' own buffers among it.
const SPARE_BYTES: usize = 64 << 20;
/// The share of a fit's work that its summaries may be, unless they are asked for.
const MOST_WORK: f64 = 0.05;
/// Multiply-adds that a kernel value takes beside those of its features.
const KERNEL_WORK: f64 = 12.0;
/// Newton steps of a polish, as far as its work is reckoned.
const STEPS: f64 = 10.0;
/// The share of the rows that is taken to lie in the wide corner where only the terms are known.
const CURVED_SHARE: f64 = 0.25;

/// What a batch fit, whose solution `model` is, leaves for a stream that goes on from it; none where
/// that is not wanted, or would take too much room or work and is not asked for.
pub(in crate::estimator::budget) fn summaries_of_fit<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    (model, units): (&KernelModel<F>, Option<&Units>),
    watch: &mut Watch<'_>,
) -> Step<Option<Vec<Summary>>> {
    let (terms, outputs) = (model.n_terms(), model.n_outputs());
    if terms == 0 || config.resumable == Some(false) {
        return Ok(None);
    }
    let asked = config.resumable == Some(true);
    let unknowns = terms + usize::from(config.fit_intercept);
    let bytes = unknowns.saturating_mul(unknowns).saturating_mul(8 * outputs);
    if !asked && bytes > MOST_BYTES {
        return Ok(None);
    }
    // A fit is of use without it: where memory is short it is left out, unless it is asked for.
    if let Err(error) = check_room("summary of a stream", SPARE_BYTES) {
        return if asked { Err(error.into()) } else { Ok(None) };
    }
    let every = problem.len().div_ceil(SAMPLES_A_TERM * terms).max(1);
    let chosen: Vec<usize> = (0..problem.len()).step_by(every).collect();
    // Of one class only the rows tell how much counts: there its cost is not asked.
    let most = if asked || units.is_some() { f64::INFINITY } else { MOST_WORK };
    let work = Work::of(config, problem, model);
    let values = work.values(chosen.len());
    if values > most * work.fit {
        return Ok(None);
    }
    let rows = Gathered::new(&problem.rows(), &chosen)?;
    let seen = Seen::new(&rows.rows()?, model, config.fit_intercept, watch)?.weigh(units);
    let targets = SomeTargets::new(problem.targets(), chosen.iter().copied())?;
    let cost: Vec<f64> = chosen.iter().map(|&i| every as f64 * problem.cost()[i]).collect();
    let of_rows = Terms::new(config, (targets.view(), &cost), at(units, model));
    let points = points_of(model, config);
    let block = of_rows.block(&seen);
    let mut curved = 0;
    for (output, point) in points.iter().enumerate() {
        curved += block.curved(output, point)?;
    }
    if values + work.products(curved) > most * work.fit {
        return Ok(None);
    }
    let rows = rows.rows()?;
    let seen = spread(seen, (&rows, config.loss), model, watch)?;
    Ok(Some(settled((&of_rows.block(&seen), &rows), &points, watch)?))
}

/// What a machine without a summary is taken to have seen: `seen` rows, of which its terms are a
/// sample.
pub(in crate::estimator::budget) fn summaries_of_terms<F: Real>(
    config: &BudgetConfig,
    model: &KernelModel<F>,
    seen: u64,
    watch: &mut Watch<'_>,
) -> Step<Vec<Summary>> {
    let (terms, points) = (model.n_terms(), points_of(model, config));
    if terms == 0 {
        return Ok(points.iter().map(|p| Summary::new(p.len())).collect::<Result<_>>()?);
    }
    let centers = model.centers()?;
    let own = Seen::new(&centers.rows()?, model, config.fit_intercept, watch)?;
    let cost = vec![CURVED_SHARE * config.c * seen.max(1) as f64 / terms as f64; terms];
    let own = spread(own, (&centers.rows()?, config.loss), model, watch)?;
    own.settled(config, &cost, &points, watch)
}

/// Multiply-adds, as far as they can be told beforehand: the same for every run on the same data.
struct Work {
    terms: f64,
    outputs: f64,
    /// A kernel value.
    value: f64,
    /// The fit.
    fit: f64,
}

impl Work {
    /// Of a pass and a polish.
    fn of<F: Real>(
        config: &BudgetConfig,
        problem: &Problem<'_, F>,
        model: &KernelModel<F>,
    ) -> Self {
        let (n, d) = (problem.len() as f64, problem.rows().n_cols() as f64);
        let (terms, outputs) = (model.n_terms() as f64, model.n_outputs() as f64);
        let value = d + KERNEL_WORK;
        let visited = (config.max_iter as f64 * n).min(ROWS_A_TERM as f64 * terms);
        let pass = visited * terms * (value + outputs);
        let polish = n * terms * (value + 2.0 * STEPS * outputs);
        let factors = STEPS * outputs * terms.powi(3) / 6.0;
        Self { terms, outputs, value, fit: pass + polish + factors }
    }

    /// Kernel values of so many rows with the terms, and of these among each other.
    fn values(&self, count: usize) -> f64 {
        (count as f64 + self.terms) * self.terms * self.value
    }

    /// Their product, of so many rows that count over all outputs, and a factor.
    fn products(&self, count: usize) -> f64 {
        0.5 * count as f64 * self.terms.powi(2)
            + self.terms.powi(3) / 6.0
            + 2.0 * self.outputs * self.terms.powi(2)
    }
}
