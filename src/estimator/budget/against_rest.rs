//! One output alone: a class against the others, or a column.

use crate::data::{Problem, Targets};
use crate::error::{Result, try_vec};
use crate::float::Real;

/// The same rows, with one class against the others, or one column of values.
pub(in crate::estimator) fn against_rest<F: Real, T>(
    problem: &Problem<'_, F>,
    class: usize,
    task: impl FnOnce(&Problem<'_, F>) -> Result<T>,
) -> Result<T> {
    if let Targets::Columns { values, n_outputs, levels } = problem.targets() {
        let mut own = try_vec("values", problem.len(), 0.0)?;
        let column = values.iter().skip(class).step_by(n_outputs);
        own.iter_mut().zip(column).for_each(|(to, y)| *to = *y);
        let levels = levels.get(class..=class).unwrap_or_default();
        let targets = Targets::Columns { values: &own, n_outputs: 1, levels };
        let rows = problem.rows();
        return task(&Problem::new(rows.view(), targets, problem.cost())?);
    }
    let mut binary = try_vec("class indices", problem.len(), 0u32)?;
    if let Targets::Classes { index, .. } = problem.targets() {
        binary.iter_mut().zip(index).for_each(|(b, &c)| *b = u32::from(c as usize == class));
    }
    let targets = Targets::Classes { index: &binary, n_classes: 2 };
    let rows = problem.rows();
    task(&Problem::new(rows.view(), targets, problem.cost())?)
}
