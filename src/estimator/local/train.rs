//! What a training call does and tells.

use crate::data::{Problem, SampleOrder, Targets, passes};
use crate::error::{Error, Result};
use crate::estimator::budget::hold_out::Samples;
use crate::estimator::budget::{BudgetConfig, Start};
use crate::estimator::report::{Entry, Kind, Report, curves};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::local::{Batch, LocalModel, Task};
use crate::model::KernelModel;
use crate::rng::Rng;
use crate::watch::{StopReason, Watch};

/// What passes tell.
pub(super) struct Taught {
    entries: Vec<Entry>,
    pub(super) stop: StopReason,
}

impl Taught {
    /// The number of terms that the cells have at last.
    pub(super) fn terms(&mut self, n_terms: usize) {
        self.entries.last_mut().into_iter().for_each(|last| last.n_terms = n_terms);
    }

    pub(super) fn report(self) -> Report {
        Report {
            n_iter: self.entries.len(),
            stop: self.stop,
            history: curves(&self.entries),
            smoothed: None,
            primal: None,
            advice: None,
        }
    }
}

/// Passes over the rows, and what they tell; passes over the same rows have the same `first_id`.
pub(super) fn learn<F: Real>(
    model: &mut LocalModel<F>,
    problem: &Problem<'_, F>,
    ((order, max_iter, seed), task): ((&SampleOrder, usize, u64), Task),
    first_id: u64,
    watch: &mut Watch<'_>,
) -> Result<Taught> {
    let (rows, classes, cost) = (problem.rows(), classes_of(problem)?, problem.cost());
    let mut rng = Rng::new(seed);
    let mut entries = Vec::new();
    let stop = passes(watch, (order, problem.len(), 0..max_iter), &mut |watch, pass| {
        let order = pass.ids(&mut rng)?;
        let batch = Batch { rows: &rows, classes, cost, order, first_id, task };
        let said = model.learn(&batch, watch);
        let n_terms = model.sizes().iter().sum();
        entries.push(Entry::new(Kind::Pass, watch.elapsed(), n_terms));
        said.map(|()| None)
    })?;
    Ok(Taught { entries, stop })
}

/// The class of each sample.
pub(super) fn classes_of<'a, F: Real>(problem: &Problem<'a, F>) -> Result<&'a [u32]> {
    match problem.targets() {
        Targets::Classes { index, .. } => Ok(index),
        Targets::Values(_) | Targets::Columns { .. } => {
            Err(Error::Unsupported("a local machine learns classes".into()))
        }
    }
}

/// What decides in a cell of one class, or of none: a constant an output.
pub(super) fn constant<F: Real>(
    kernel: AnyKernel,
    (d, m): (usize, usize),
    class: Option<u32>,
) -> Result<KernelModel<F>> {
    let value = |output: usize| match class {
        None => 0.0,
        Some(class) if (m == 1 && class == 1) || (m > 1 && class as usize == output) => 1.0,
        Some(_) => -1.0,
    };
    let values = (0..m).map(value).collect();
    KernelModel::from_parts(kernel, Vec::new(), (Vec::new(), d), &[], values)
}

/// A machine for every cell, on the samples that it learns from.
pub(super) fn cells<F: Real>(
    config: &BudgetConfig,
    model: &LocalModel<F>,
    problem: &Problem<'_, F>,
    watch: &mut Watch<'_>,
) -> Result<Vec<KernelModel<F>>> {
    let (rows, index) = (problem.rows(), classes_of(problem)?);
    let shape = (model.n_features(), model.n_outputs());
    let parts = model.members(&rows)?;
    let mut machines = Vec::with_capacity(parts.len());
    for (cell, part) in parts.into_iter().enumerate() {
        let weighty: Vec<usize> = part.into_iter().filter(|&i| problem.cost()[i] > 0.0).collect();
        let first = weighty.first().map(|&i| index[i]);
        if weighty.iter().all(|&i| Some(index[i]) == first) {
            machines.push(constant(config.kernel, shape, first)?);
            continue;
        }
        let part = Samples::new(problem, &weighty)?;
        let own = BudgetConfig { seed: config.seed.wrapping_add(cell as u64), ..config.clone() };
        let (machine, _) = own.fit(&part.problem()?, Start::default(), &mut watch.inner())?;
        machines.extend(machine.model()?.expansions().iter().cloned());
    }
    Ok(machines)
}
