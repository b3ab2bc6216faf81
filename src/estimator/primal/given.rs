//! A fit on points that are given, or one that begins with a machine fitted before.

use ndarray::ArrayView2;

use super::config::PrimalConfig;
use super::report::PrimalReport;
use super::start::{PrimalBasis, PrimalStart};
use crate::data::{Gathered, Problem, Rows};
use crate::error::{Error, Result, check_features};
use crate::estimator::labelled::Fitted;
use crate::estimator::machine::Machine;
use crate::float::Real;
use crate::model::Model;
use crate::watch::Watch;

impl PrimalConfig {
    /// `points` are in the place of those that would be chosen.
    pub(super) fn fit_given<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        points: Option<&Rows<'_, F>>,
        previous: Option<&Fitted<Self, F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, PrimalReport)> {
        let chosen = self.basis.map(|choice| (choice, self.n_components));
        let (mut start, mut centers) = (None, Vec::new());
        let d = problem.rows().n_cols();
        if let Some(previous) = previous {
            let model = previous.machine.model()?;
            check_features(model.n_features(), d)?;
            if chosen.is_none() {
                start = Some(start_of(model, &previous.report));
            } else if let (Some((_, count)), [expansion]) = (chosen, model.expansions())
                && expansion.n_terms() == count
            {
                start = Some(start_of(model, &previous.report));
                if let Gathered::Dense(points) = expansion.centers()?.into_dense()? {
                    centers = points.into_raw_vec_and_offset().0;
                }
            }
        }
        let kept = ArrayView2::from_shape((centers.len() / d.max(1), d), &centers)
            .map_err(|e| Error::Unsupported(e.to_string()))?;
        let basis = match (points, chosen) {
            (Some(points), _) => PrimalBasis::Given(points.view(), points.n_rows()),
            (None, None) => PrimalBasis::Samples,
            (None, Some((_, count))) if !centers.is_empty() => {
                PrimalBasis::Given(Rows::Dense(kept), count)
            }
            (None, Some((choice, count))) => PrimalBasis::Chosen(choice, count),
        };
        self.fit(problem, &basis, start.as_ref(), watch)
    }
}

/// Where a next fit may begin.
fn start_of<F: Real>(model: &Model<F>, report: &PrimalReport) -> PrimalStart {
    let coef = match model.expansions() {
        [expansion] => expansion.coef(),
        _ => model.coef().t().iter().copied().collect(),
    };
    let terms = report.support.clone().unwrap_or_default();
    PrimalStart { terms, coef, intercept: model.intercept() }
}
