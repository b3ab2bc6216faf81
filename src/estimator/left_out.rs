//! Decision values of samples without their folds, on the terms that a machine has.

use super::basis::ModelRows;
use super::budget::against_rest::against_rest;
use super::machine::Machine;
use crate::data::Problem;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::model::{KernelModel, Model};
use crate::solver::smoothed::{Polish, Start};
use crate::watch::Watch;

/// Samples x outputs, row by row; none of a machine that is no expansion. `folds` names one of
/// `n_folds` for every sample.
pub(super) fn on_its_terms<F: Real>(
    how: &Polish,
    problem: &Problem<'_, F>,
    machine: &Machine<F>,
    folds: (&[u32], usize),
    watch: &mut Watch<'_>,
) -> Result<Option<Vec<f64>>> {
    machine.check_fits(problem)?;
    let model = machine.model()?;
    if model.expansions().iter().any(|part| part.n_terms() == 0) {
        return Ok(None);
    }
    match model {
        Model::Expansion(model) => of_one(how, problem, model, folds, watch).map(Some),
        Model::Each(models) => {
            let m = models.len();
            let mut all = try_vec("decision values", problem.len() * m, 0.0)?;
            for (class, model) in models.iter().enumerate() {
                let own = against_rest(problem, class, |binary| {
                    of_one(how, binary, model, folds, watch)
                })?;
                all.iter_mut().skip(class).step_by(m).zip(own).for_each(|(to, v)| *to = v);
            }
            Ok(Some(all))
        }
        // Behind its scales it is one of those above.
        Model::Scaled(..)
        | Model::Pairwise(_)
        | Model::Features(_)
        | Model::Linear(_)
        | Model::Cells(_)
        | Model::Coded(_) => Ok(None),
    }
}

fn of_one<F: Real>(
    how: &Polish,
    problem: &Problem<'_, F>,
    model: &KernelModel<F>,
    folds: (&[u32], usize),
    watch: &mut Watch<'_>,
) -> Result<Vec<f64>> {
    let rows = problem.rows();
    let (coef, intercept) = (model.coef(), model.intercept());
    let (targets, cost) = (problem.targets(), problem.cost());
    let start = Start { targets, cost, coef: &coef, intercept };
    how.left_out(&ModelRows::new(rows.view(), model)?, start, folds, watch)
}
