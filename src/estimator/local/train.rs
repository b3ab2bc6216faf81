//! What a training call does and tells.

use std::ops::ControlFlow;

use crate::data::{Gathered, Problem, Targets};
use crate::error::{Error, Result};
use crate::estimator::budget::{BudgetConfig, Machine, Start};
use crate::estimator::limits::Limits;
use crate::estimator::report::{Entry, Kind, Report, curves};
use crate::float::Real;
use crate::local::{Batch, LocalModel};
use crate::solver::{Observer as _, Phase, Progress, StopReason};

/// The machine of a cell that the paper's update does not train.
#[derive(Clone, Debug)]
pub(super) enum Inner<F: Real> {
    /// All samples are of one class (or there is none): its decision values.
    Constant(Vec<f64>),
    /// A machine on the cell's samples.
    Machine(Box<Machine<F>>),
}

/// What a call tells.
pub(super) struct Told {
    entries: Vec<Entry>,
    pub(super) stop: StopReason,
}

impl Told {
    pub(super) fn new(stop: StopReason) -> Self {
        Self { entries: Vec::new(), stop }
    }

    pub(super) fn pass<F: Real>(&mut self, model: &LocalModel<F>, limits: &Limits<'_>) {
        self.entries.push(Entry {
            kind: Kind::Pass,
            time: limits.elapsed().as_secs_f64(),
            n_terms: model.sizes().iter().sum(),
            moved: f64::NAN,
            maintained: f64::NAN,
            primal: f64::NAN,
            dual: f64::NAN,
            score: f64::NAN,
        });
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

/// Learns from rows in this order; `pass` is told to the observer. A wish to stop that leaves a
/// usable model is the flow.
pub(super) fn learn<F: Real>(
    model: &mut LocalModel<F>,
    problem: &Problem<'_, F>,
    (order, first_id): (&[usize], u64),
    (pass, limits): (usize, &mut Limits<'_>),
) -> Result<ControlFlow<StopReason>> {
    let Targets::Classes { index, .. } = problem.targets() else {
        return Err(Error::Unsupported("a local machine learns classes".into()));
    };
    let rows = problem.rows();
    let batch = Batch { rows: &rows, classes: index, cost: problem.cost(), order, first_id };
    let flow = model.learn(&batch, &mut |seen| {
        limits.observe(&Progress {
            phase: if seen == order.len() { Phase::EndOfPass } else { Phase::Pass },
            iteration: if seen == order.len() { pass + 1 } else { pass },
            seen,
            n_samples: order.len(),
            n_terms: 0,
            moved: 0.0,
            maintained: 0.0,
            objective: None,
            elapsed: std::time::Duration::ZERO,
        })
    })?;
    match flow {
        ControlFlow::Break(StopReason::Interrupted) => Err(Error::Interrupted),
        flow => Ok(flow),
    }
}

/// The rows of each cell.
pub(super) fn members(cells: &[u32], n_cells: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); n_cells];
    cells.iter().enumerate().for_each(|(i, &cell)| members[cell as usize].push(i));
    members
}

/// A machine for every cell, on the samples that it learns from.
pub(super) fn cells<F: Real>(
    config: &BudgetConfig,
    model: &LocalModel<F>,
    problem: &Problem<'_, F>,
    limits: &mut Limits<'_>,
) -> Result<Vec<Inner<F>>> {
    let rows = problem.rows();
    let Targets::Classes { index, n_classes } = problem.targets() else {
        return Err(Error::Unsupported("a local machine learns classes".into()));
    };
    let m = model.n_outputs();
    let sign = |fits: bool| if fits { 1.0 } else { -1.0 };
    let parts = model.members(&rows)?;
    let mut machines = Vec::with_capacity(parts.len());
    for (cell, part) in parts.into_iter().enumerate() {
        let weighty: Vec<usize> = part.into_iter().filter(|&i| problem.cost()[i] > 0.0).collect();
        let Some(&first) = weighty.first() else {
            machines.push(Inner::Constant(vec![0.0; m]));
            continue;
        };
        let class = index[first];
        if weighty.iter().all(|&i| index[i] == class) {
            let own = |c: usize| if m == 1 { class == 1 } else { class as usize == c };
            machines.push(Inner::Constant((0..m).map(|c| sign(own(c))).collect()));
            continue;
        }
        let gathered = Gathered::new(&rows, &weighty)?;
        let classes: Vec<u32> = weighty.iter().map(|&i| index[i]).collect();
        let cost: Vec<f64> = weighty.iter().map(|&i| problem.cost()[i]).collect();
        let targets = Targets::Classes { index: &classes, n_classes };
        let part = Problem::new(gathered.rows()?, targets, &cost)?;
        let own = BudgetConfig { seed: config.seed.wrapping_add(cell as u64), ..config.clone() };
        let (machine, _) = Machine::fit(&own, &part, Start::default(), limits)?;
        machines.push(Inner::Machine(Box::new(machine)));
    }
    Ok(machines)
}
