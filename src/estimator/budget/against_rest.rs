//! One class against the others.

use crate::data::{Problem, Targets};
use crate::error::{Result, try_vec};
use crate::float::Real;

/// The same rows, with one class against the others.
pub(in crate::estimator) fn against_rest<F: Real, T>(
    problem: &Problem<'_, F>,
    class: usize,
    task: impl FnOnce(&Problem<'_, F>) -> Result<T>,
) -> Result<T> {
    let mut binary = try_vec("class indices", problem.len(), 0u32)?;
    if let Targets::Classes { index, .. } = problem.targets() {
        binary.iter_mut().zip(index).for_each(|(b, &c)| *b = u32::from(c as usize == class));
    }
    let targets = Targets::Classes { index: &binary, n_classes: 2 };
    let rows = problem.rows();
    task(&Problem::new(rows.view(), targets, problem.cost())?)
}
