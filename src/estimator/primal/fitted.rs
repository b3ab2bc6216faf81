//! A primal machine as it is fitted, without labels.

use ndarray::{Array2, ArrayView2};
use serde_json::{Value, json};

use super::config::PrimalConfig;
use super::found::{Found, Tuned};
use super::start::{PrimalBasis, PrimalStart};
use crate::config::Setup;
use crate::data::{Gathered, Problem, Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::machine::{Machine, Precision};
use crate::estimator::saved::{self, Attributes, Unpacked};
use crate::float::Real;
use crate::model::Model;
use crate::model::persist::{Archive, Labels};
use crate::watch::{Observer, StopReason, Watch};

/// How a fit went.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimalReport {
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
    /// The samples, or points of the basis given, that the terms are; none for a linear machine
    /// and for points that were moved.
    pub support: Option<Vec<usize>>,
    /// Leave-one-out decision values, samples x outputs, where asked for; NaN for samples that
    /// cost nothing.
    pub left_out: Option<Vec<f64>>,
    /// Seconds and objective at each step.
    pub history: Vec<[f64; 2]>,
}

impl PrimalReport {
    pub(super) fn of(found: Found) -> Self {
        let [smoothed, primal] = found.objective;
        let Found { n_iter, stop, tuned, support, left_out, history, .. } = found;
        Self { smoothed, primal, n_iter, stop, tuned, support, left_out, history }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Fitted<F: Real> {
    pub(super) machine: Machine<F>,
    pub(super) report: PrimalReport,
    config: PrimalConfig,
    threads: usize,
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
    pub(super) fn fit_given<F: Real>(
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
        let chosen = self.basis.map(|choice| (choice, self.n_components));
        let (mut start, mut centers) = (None, Vec::new());
        if let Some(previous) = given.previous {
            let model = previous.machine.model()?;
            let (expected, got) = (model.n_features(), rows.n_cols());
            if expected != got {
                return Err(Error::FeatureMismatch { expected, got });
            }
            if chosen.is_none() && given.points.is_none() {
                start = Some(previous.start(model));
            } else if let (Some((_, count)), [expansion]) = (chosen, model.expansions())
                && expansion.n_terms() == count
            {
                start = Some(previous.start(model));
                if let Gathered::Dense(points) = expansion.centers()?.into_dense()? {
                    centers = points.into_raw_vec_and_offset().0;
                }
            }
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
        let (machine, report) = Watch::run(threads, observer, |watch| {
            config.fit(&problem, &basis, start.as_ref(), watch)
        })?;
        Ok(Fitted { machine, report, config, threads })
    }
}

impl<F: Precision> Fitted<F> {
    pub(super) fn to_archive(&self, kind: &str, labels: &Labels) -> Result<Archive> {
        let PrimalReport { smoothed, primal, n_iter, stop, tuned, support, history, .. } =
            &self.report;
        let curve = |at: usize| history.iter().map(|entry| entry[at]).collect();
        let history = [("time".to_owned(), curve(0)), ("objective".to_owned(), curve(1))];
        let objective = json!({"smoothed": smoothed, "primal": primal});
        let factor = tuned.map_or(1.0, |tuned| tuned.c);
        let mut told = Attributes::of_fit((*n_iter, *stop), &history, objective)
            .put("C_", json!(self.config.c * factor))
            .put("gamma_", json!(self.machine.kernel().map_or(1.0, |kernel| kernel.gamma())));
        if let Some(support) = support {
            told = told.put_counts("support_", support);
        }
        saved::pack(kind, Some(&self.config), &self.machine, labels, told)
    }

    /// What a file holds, beside what a tuned C was multiplied by and leave-one-out values.
    pub(super) fn of(found: &mut Unpacked<F, PrimalConfig>) -> Result<Self> {
        let told = &mut found.told;
        let objective: Value = told.take("objective_")?;
        let number = |name: &str| objective[name].as_f64().unwrap_or(f64::NAN);
        let history = told.take_history()?;
        let curve = |name: &str| {
            let found = history.iter().find(|(found, _)| found == name);
            found.map(|(_, values)| values.clone()).unwrap_or_default()
        };
        let entries = curve("time").into_iter().zip(curve("objective"));
        let report = PrimalReport {
            smoothed: number("smoothed"),
            primal: number("primal"),
            n_iter: told.take("n_iter_")?,
            stop: told.take_stop()?,
            tuned: None,
            support: told.has("support_").then(|| told.take_counts("support_")).transpose()?,
            left_out: None,
            history: entries.map(|(time, objective)| [time, objective]).collect(),
        };
        let threads = Setup::default().n_threads()?;
        Ok(Self { machine: found.machine.clone(), report, config: found.config, threads })
    }
}

impl<F: Real> Fitted<F> {
    /// Where a next fit may begin.
    fn start(&self, model: &Model<F>) -> PrimalStart {
        let across = |coef: Array2<f64>| coef.t().iter().copied().collect();
        let coef = match model.expansions() {
            [expansion] => expansion.coef(),
            _ => across(model.coef()),
        };
        let terms = self.report.support.clone().unwrap_or_default();
        PrimalStart { terms, coef, intercept: model.intercept() }
    }

    pub(super) fn decide(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.machine.decide(rows, self.threads)
    }
}
