//! What a training call does and tells.

use crate::data::{Problem, SampleOrder, Targets, passes};
use crate::error::{Error, Result};
use crate::estimator::budget::hold_out::Samples;
use crate::estimator::budget::{BudgetConfig, Start};
use crate::estimator::report::{Entry, Kind, Report, curves};
use crate::float::Real;
use crate::local::{Batch, LocalModel};
use crate::model::KernelModel;
use crate::rng::Rng;
use crate::watch::Watch;

/// Passes over the rows, and what they tell; passes over the same rows have the same `first_id`.
pub(super) fn learn<F: Real>(
    model: &mut LocalModel<F>,
    problem: &Problem<'_, F>,
    (order, max_iter, seed): (&SampleOrder, usize, u64),
    first_id: u64,
    watch: &mut Watch<'_>,
) -> Result<Report> {
    let Targets::Classes { index, .. } = problem.targets() else {
        return Err(Error::Unsupported("a local machine learns classes".into()));
    };
    let (rows, classes, cost) = (problem.rows(), index, problem.cost());
    let mut rng = Rng::new(seed);
    let mut entries = Vec::new();
    let stop = passes(watch, (order, problem.len(), max_iter), &mut |watch, pass| {
        let order = pass.ids(&mut rng)?;
        let batch = Batch { rows: &rows, classes, cost, order, first_id };
        let said = model.learn(&batch, watch);
        let n_terms = model.sizes().iter().sum();
        entries.push(Entry::new(Kind::Pass, watch.elapsed(), n_terms));
        said.map(|()| None)
    })?;
    Ok(Report {
        n_iter: entries.len(),
        stop,
        history: curves(&entries),
        smoothed: None,
        primal: None,
        advice: None,
    })
}

/// A machine for every cell, on the samples that it learns from.
pub(super) fn cells<F: Real>(
    config: &BudgetConfig,
    model: &LocalModel<F>,
    problem: &Problem<'_, F>,
    watch: &mut Watch<'_>,
) -> Result<Vec<KernelModel<F>>> {
    let rows = problem.rows();
    let Targets::Classes { index, .. } = problem.targets() else {
        return Err(Error::Unsupported("a local machine learns classes".into()));
    };
    let (d, m) = (model.n_features(), model.n_outputs());
    let constant =
        |values| KernelModel::from_parts(config.kernel, Vec::new(), (Vec::new(), d), &[], values);
    let sign = |fits: bool| if fits { 1.0 } else { -1.0 };
    let parts = model.members(&rows)?;
    let mut machines = Vec::with_capacity(parts.len());
    for (cell, part) in parts.into_iter().enumerate() {
        let weighty: Vec<usize> = part.into_iter().filter(|&i| problem.cost()[i] > 0.0).collect();
        let Some(&first) = weighty.first() else {
            machines.push(constant(vec![0.0; m])?);
            continue;
        };
        let class = index[first];
        if weighty.iter().all(|&i| index[i] == class) {
            let own = |c: usize| if m == 1 { class == 1 } else { class as usize == c };
            machines.push(constant((0..m).map(|c| sign(own(c))).collect())?);
            continue;
        }
        let part = Samples::new(problem, &weighty)?;
        let own = BudgetConfig { seed: config.seed.wrapping_add(cell as u64), ..config.clone() };
        let (machine, _) = own.fit(&part.problem()?, Start::default(), &mut watch.inner())?;
        machines.extend(machine.model()?.expansions().iter().cloned());
    }
    Ok(machines)
}
