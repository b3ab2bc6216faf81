//! A fit on points that are given, or one that begins with a machine fitted before.

use super::config::PrimalConfig;
use super::report::PrimalReport;
use super::start::{PrimalBasis, PrimalStart};
use crate::data::{Problem, Rows};
use crate::error::{Result, check_features};
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
        let (mut start, mut kept) = (None, None);
        if let Some(previous) = previous {
            let model = previous.machine.model()?.behind();
            check_features(model.n_features(), problem.rows().n_cols())?;
            if chosen.is_none() {
                start = Some(start_of(model, &previous.report));
            } else if let (Some((_, count)), [expansion]) = (chosen, model.expansions())
                && expansion.n_terms() == count
            {
                start = Some(start_of(model, &previous.report));
                kept = Some(expansion.centers()?.into_dense()?);
            }
        }
        let basis = match (points, &kept, chosen) {
            (Some(points), ..) => PrimalBasis::Given(points.view(), points.n_rows()),
            (None, _, None) => PrimalBasis::Samples,
            (None, Some(kept), Some((_, count))) => PrimalBasis::Given(kept.rows()?, count),
            (None, None, Some((choice, count))) => PrimalBasis::Chosen(choice, count),
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
