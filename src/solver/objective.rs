//! Primal and dual objective of the model under training.

use super::budgeted::{Budgeted, State};
use super::sweep::Duals;
use crate::data::Problem;
use crate::error::{Result, try_vec};
use crate::float::Real;

/// `½‖w‖² + Σ C_i L(y_i, f_i)`, summed over the outputs, and where α is known
/// `Σ term(α_i) - ½‖w‖²`, less `b Σ β_i`: what an offset b that stays explains.
pub(super) fn objectives<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    state: &State<F>,
    duals: &Duals,
) -> Result<(f64, Option<f64>)> {
    let scale = state.scale(solver.method);
    let half_norm = scale * scale * state.expansion.half_norm();
    let outputs = state.expansion.outputs();
    let mut values = try_vec("decision values", problem.len() * outputs, 0.0)?;
    state.model(solver.method)?.decision(&problem.rows(), &mut values)?;
    let targets = problem.targets();
    let (mut loss, mut terms, known) = (0.0, 0.0, !duals.alpha.is_empty());
    for (i, values) in values.chunks_exact(outputs).enumerate() {
        for (c, &f) in values.iter().enumerate() {
            let (y, cost) = (targets.value(i, c), problem.cost()[i]);
            let own = solver.loss.at_level(targets.level(c));
            loss += cost * own.value(y, f);
            if known {
                let alpha = scale * duals.alpha[i * outputs + c];
                terms += own.dual_term(alpha, y, cost);
                terms -= state.intercept[c] * own.model_change(y, 0.0, alpha);
            }
        }
    }
    let dual = known.then_some(terms - half_norm);
    Ok((half_norm + loss, dual))
}
