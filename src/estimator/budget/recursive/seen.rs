//! Models and rows as the recursion sees them.

use std::borrow::Cow;

use crate::data::{Rows, Targets};
use crate::error::{Result, try_square, try_vec};
use crate::estimator::basis::ModelRows;
use crate::estimator::budget::config::BudgetConfig;
use crate::estimator::budget::units::Units;
use crate::float::Real;
use crate::loss::Smoothed;
use crate::model::KernelModel;
use crate::parallel::{self, ROW_CHUNK};
use crate::solver::recursive::{Block, Summary};
use crate::solver::smoothed::{KernelRows as _, basis_gram};
use crate::watch::{Step, Watch};

/// A model as the recursion sees it: kernel values among its terms, and of rows with them.
pub(super) struct Seen<F: Real> {
    pub(super) penalty: Vec<f64>,
    features: Vec<F>,
    /// What the penalty counts.
    weight: f64,
    /// Of what the terms do not hold of the rows (`unseen`); 0 until it is asked for.
    unseen: f64,
    price: f64,
}

impl<F: Real> Seen<F> {
    pub(super) fn new(
        rows: &Rows<'_, F>,
        model: &KernelModel<F>,
        with_offset: bool,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let all = ModelRows::new(rows.view(), model)?;
        let gram = basis_gram(&all, watch)?;
        Ok(Self {
            penalty: bordered(&gram, model.n_terms(), with_offset)?,
            features: features(&all, rows.n_rows(), watch)?,
            weight: 1.0,
            unseen: 0.0,
            price: 0.0,
        })
    }

    /// Of one class the penalty counts as much as all rows.
    pub(super) fn weigh(mut self, units: Option<&Units>) -> Self {
        if let Some(units) = units {
            self.penalty.iter_mut().for_each(|v| *v *= units.weight());
            self.weight = units.weight();
        }
        self
    }

    /// With the spread of what the terms do not hold of the rows, and what share of it is asked.
    pub(super) fn lacking(self, unseen: f64, price: f64) -> Self {
        Self { unseen, price, ..self }
    }

    /// Summaries of which these points are the minimum, with as much curvature as corners have at
    /// most for rows of these costs.
    pub(super) fn settled(
        &self,
        config: &BudgetConfig,
        cost: &[f64],
        points: &[Vec<f64>],
        watch: &mut Watch<'_>,
    ) -> Step<Vec<Summary>> {
        // Any targets will do: the curvature is not asked of them.
        let targets = vec![0.0; cost.len()];
        let terms = Terms::new(config, (Targets::Values(&targets), cost), None);
        let mut summary = Summary::new(self.penalty.len().isqrt())?;
        terms.block(self).absorb_most(&mut summary, &mut || watch.glance())?;
        let settle = |point: &Vec<f64>| {
            let mut summary = summary.clone();
            summary.settle(&self.penalty, point);
            summary
        };
        Ok(points.iter().map(settle).collect())
    }

    /// Kernel values of a row with the terms.
    pub(super) fn row(&self, i: usize, terms: usize) -> &[F] {
        &self.features[i * terms..(i + 1) * terms]
    }

    /// K of the terms.
    pub(super) fn gram(&self, terms: usize) -> Result<Vec<f64>> {
        let order = terms + usize::from(self.penalty.len() > terms * terms);
        let mut out = try_square("kernel matrix", terms, 0.0)?;
        if terms > 0 {
            for (to, from) in out.chunks_exact_mut(terms).zip(self.penalty.chunks_exact(order)) {
                to.iter_mut().zip(from).for_each(|(to, v)| *to = v / self.weight);
            }
        }
        Ok(out)
    }
}

/// K with a row and a column of 0 for the offset, if there is one.
pub(super) fn bordered(gram: &[f64], terms: usize, with_offset: bool) -> Result<Vec<f64>> {
    let order = terms + usize::from(with_offset);
    let mut out = try_square("kernel matrix", order, 0.0)?;
    if terms > 0 {
        for (to, from) in out.chunks_exact_mut(order).zip(gram.chunks_exact(terms)) {
            to[..terms].copy_from_slice(from);
        }
    }
    Ok(out)
}

/// Kernel values of `count` rows with the terms.
pub(super) fn features<F: Real>(
    rows: &ModelRows<'_, F>,
    count: usize,
    watch: &mut Watch<'_>,
) -> Step<Vec<F>> {
    let terms = rows.n_terms();
    let mut out = try_vec("kernel values", count * terms, F::zero())?;
    let task = ROW_CHUNK * terms.max(1);
    for (wave, out) in out.chunks_mut(TASKS * task).enumerate() {
        parallel::each(out.chunks_mut(task), &|c, out| {
            let first = (wave * TASKS + c) * ROW_CHUNK;
            let samples: Vec<usize> = (first..first + out.len() / terms).collect();
            rows.fill(&samples, out);
        });
        watch.glance()?;
    }
    Ok(out)
}

/// Tasks of kernel values between two looks at the watch.
const TASKS: usize = 16;

/// What a block is beside its rows.
pub(super) struct Terms<'a> {
    targets: Targets<'a>,
    cost: Cow<'a, [f64]>,
    loss: Smoothed,
    with_offset: bool,
    tilt: f64,
    portion: f64,
}

impl<'a> Terms<'a> {
    /// The samples as they are, or of one class, whose corners are measured by the threshold at this
    /// offset.
    pub(super) fn new(
        config: &BudgetConfig,
        (targets, cost): (Targets<'a>, &'a [f64]),
        units: Option<(&Units, f64)>,
    ) -> Self {
        let (loss, with_offset) = (config.loss, config.fit_intercept);
        let Some((units, offset)) = units else {
            let loss = Smoothed { loss, h: config.smoothing };
            return Self { targets, cost: cost.into(), loss, with_offset, tilt: 0.0, portion: 1.0 };
        };
        let portion = cost.iter().sum::<f64>() / units.weight();
        let loss = Smoothed { loss, h: config.smoothing * units.threshold(offset) };
        let cost = units.costs(cost, 1.0);
        let tilt = units.tilt(&cost);
        Self { targets, cost: cost.into(), loss, with_offset, tilt, portion }
    }

    pub(super) fn block<F: Real>(&'a self, seen: &'a Seen<F>) -> Block<'a, F> {
        Block {
            features: &seen.features,
            targets: self.targets,
            cost: &self.cost,
            loss: self.loss,
            penalty: &seen.penalty,
            with_offset: self.with_offset,
            tilt: self.tilt,
            portion: self.portion,
            unseen: seen.unseen,
            price: seen.price,
        }
    }
}

/// Work on one output, which asks now and then whether to go on.
pub(super) type OfOutput<'a, T> = dyn Fn(usize, &mut dyn FnMut() -> Step) -> Step<T> + Sync + 'a;

/// Calls `work` for every output, side by side where there are several.
pub(super) fn side_by_side<T: Send>(
    watch: &mut Watch<'_>,
    outputs: usize,
    work: &OfOutput<'_, T>,
) -> Step<Vec<T>> {
    if outputs == 1 {
        return Ok(vec![work(0, &mut || watch.glance())?]);
    }
    watch.all_side_by_side(outputs, |output, watch| work(output, &mut || watch.glance()))
}
