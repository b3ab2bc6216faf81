//! A primal machine as it is fitted, without labels.

use ndarray::{Array2, ArrayView2};

use super::config::PrimalConfig;
use super::found::{PrimalMachine, Tuned};
use super::start::{PrimalBasis, PrimalStart};
use crate::config::Setup;
use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result, try_vec};
use crate::estimator::basis::model_on;
use crate::float::Real;
use crate::linalg::dot64;
use crate::model::KernelModel;
use crate::parallel;
use crate::watch::{Observer, StopReason, Watch};

/// How a fit went.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimalTold {
    /// Objective with the loss smoothed: what was minimised.
    pub smoothed: f64,
    /// The same with the loss itself.
    pub primal: f64,
    /// Steps of the output that took most.
    pub n_iter: usize,
    /// Why it ended.
    pub stop: StopReason,
    /// What C and γ were multiplied by, when they were tuned.
    pub tuned: Option<Tuned>,
    /// The samples that the terms are; none for a linear machine and points that were moved.
    pub support: Option<Vec<usize>>,
    /// Leave-one-out decision values, samples x outputs, where asked for.
    pub left_out: Option<Vec<f64>>,
}

#[derive(Clone, Debug)]
pub(super) struct Fitted<F: Real> {
    function: Function<F>,
    pub(super) told: PrimalTold,
    threads: usize,
}

#[derive(Clone, Debug)]
enum Function<F: Real> {
    Expansion(KernelModel<F>),
    /// Features x outputs, and an offset an output.
    Linear(Vec<f64>, Vec<f64>),
}

/// What a fit is given beside the problem.
pub(super) struct Given<'a, F: Real> {
    /// Points in the place of those that would be chosen.
    pub(super) points: Option<Rows<'a, F>>,
    pub(super) previous: Option<&'a Fitted<F>>,
    pub(super) weights: Option<&'a [f64]>,
}

impl<F: Real> Given<'_, F> {
    pub(super) const NOTHING: Self = Self { points: None, previous: None, weights: None };
}

impl PrimalConfig {
    pub(super) fn fit<F: Real>(
        &self,
        setup: &Setup,
        rows: &Rows<'_, F>,
        targets: Targets<'_>,
        given: &Given<'_, F>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted<F>> {
        let config = setup.settled(self, rows, given.weights)?;
        let cost = setup.cost(config.c, given.weights, (targets, rows.n_rows()))?;
        let problem = Problem::new(rows.view(), targets, &cost)?;
        if let Some(previous) = given.previous {
            let (expected, got) = (previous.n_features(), rows.n_cols());
            if expected != got {
                return Err(Error::FeatureMismatch { expected, got });
            }
        }
        let chosen = self.basis.map(|choice| (choice, self.n_components));
        let mut start = given.previous.map(Fitted::start);
        let mut centers = Vec::new();
        if let (Some(Fitted { function: Function::Expansion(model), .. }), Some((_, count))) =
            (given.previous, chosen)
            && model.n_terms() == count
        {
            centers = model.centers();
        } else if chosen.is_some() || given.points.is_some() {
            // Other points: nothing to go on from.
            start = None;
        }
        let d = rows.n_cols();
        let kept = ArrayView2::from_shape((centers.len() / d.max(1), d), &centers)
            .map_err(|e| Error::Unsupported(e.to_string()))?;
        let basis = match (&given.points, chosen) {
            (Some(points), _) => PrimalBasis::Given(points.view(), points.n_rows()),
            (None, None) => PrimalBasis::Samples,
            (None, Some((_, count))) if !centers.is_empty() => {
                if let Some(start) = &mut start {
                    start.terms.clear();
                }
                PrimalBasis::Given(Rows::Dense(kept), count)
            }
            (None, Some((choice, count))) => PrimalBasis::Chosen(choice, count),
        };
        let threads = setup.n_threads()?;
        Watch::run(threads, observer, |watch| {
            let machine = PrimalMachine::fit(&config, &problem, &basis, start.as_ref(), watch)?;
            let source = match &basis {
                PrimalBasis::Given(points, _) => points.view(),
                _ => rows.view(),
            };
            Ok(Fitted { threads, ..config.fitted(machine, &source)? })
        })
    }

    fn fitted<F: Real>(&self, machine: PrimalMachine, source: &Rows<'_, F>) -> Result<Fitted<F>> {
        let m = machine.intercept.len();
        let kernel = match machine.tuned {
            Some(tuned) => self.scaled(tuned.gamma)?.kernel,
            None => self.kernel,
        };
        let model = match (&machine.support, &machine.points) {
            (None, None) => None,
            (Some(support), _) => Some(model_on(kernel, source, support, m)?),
            (None, Some(points)) => {
                let d = source.n_cols();
                let rows: Vec<F> = points.iter().map(|&v| F::from_f64(v)).collect();
                let rows = Array2::from_shape_vec((rows.len() / d.max(1), d), rows)
                    .map_err(|e| Error::Unsupported(e.to_string()))?;
                let all: Vec<usize> = (0..rows.nrows()).collect();
                Some(model_on(kernel, &Rows::Dense(rows.view()), &all, m)?)
            }
        };
        let function = match model {
            Some(model) => Function::Expansion(model.with_coef(&machine.coef, machine.intercept)?),
            None => Function::Linear(machine.coef, machine.intercept),
        };
        let [smoothed, primal] = machine.objective;
        let PrimalMachine { n_iter, stop, tuned, support, left_out, .. } = machine;
        let told = PrimalTold { smoothed, primal, n_iter, stop, tuned, support, left_out };
        Ok(Fitted { function, told, threads: 1 })
    }
}

impl<F: Real> Fitted<F> {
    fn n_features(&self) -> usize {
        match &self.function {
            Function::Expansion(model) => model.n_features(),
            Function::Linear(coef, intercept) => coef.len() / intercept.len().max(1),
        }
    }

    fn start(&self) -> PrimalStart {
        let (coef, intercept) = match &self.function {
            Function::Expansion(model) => (model.coef(), model.intercept().to_vec()),
            Function::Linear(coef, intercept) => (coef.clone(), intercept.clone()),
        };
        PrimalStart { terms: self.told.support.clone().unwrap_or_default(), coef, intercept }
    }

    fn n_outputs(&self) -> usize {
        match &self.function {
            Function::Expansion(model) => model.n_outputs(),
            Function::Linear(_, intercept) => intercept.len(),
        }
    }

    pub(super) fn n_terms(&self) -> usize {
        match &self.function {
            Function::Expansion(model) => model.n_terms(),
            Function::Linear(coef, intercept) => coef.len() / intercept.len().max(1),
        }
    }

    pub(super) fn decision(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        rows.check_finite("X")?;
        let (n, m) = (rows.n_rows(), self.n_outputs());
        let mut values = try_vec("decision values", n.saturating_mul(m), 0.0)?;
        match &self.function {
            Function::Expansion(model) => {
                parallel::run(self.threads, |_| model.decision(rows, &mut values))??;
            }
            Function::Linear(coef, intercept) => {
                let (expected, got) = (self.n_terms(), rows.n_cols());
                if expected != got {
                    return Err(Error::FeatureMismatch { expected, got });
                }
                let mut weights = Array2::from_shape_vec((expected, m), coef.clone())
                    .map_err(|e| Error::Unsupported(e.to_string()))?
                    .reversed_axes();
                weights = weights.as_standard_layout().into_owned();
                let mut row = vec![F::zero(); got];
                for (i, out) in values.chunks_exact_mut(m.max(1)).enumerate() {
                    rows.copy_row(i, &mut row);
                    let wide: Vec<f64> = row.iter().map(|v| Real::to_f64(*v)).collect();
                    for ((f, w), b) in out.iter_mut().zip(weights.rows()).zip(intercept) {
                        *f = w.as_slice().map_or(0.0, |w| dot64(w, &wide)) + b;
                    }
                }
            }
        }
        Array2::from_shape_vec((n, m), values).map_err(|e| Error::Unsupported(e.to_string()))
    }
}
