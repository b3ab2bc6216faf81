//! Cells whose machines are exact.
//!
//! *Method*
//! 1. The rows of a cell are those that it is among the `overlap` nearest of.
//! 2. Their classes, one against one, are solved as [`ExactMachine`] does, to its tolerance and not
//!    beyond: a cell is an approximation anyway.
//! 3. Of several classes the pairs vote within the cell, and those that it does not have are at -1
//!    ([`CellPairs`]).
//!
//! *Cost*: that of K exact machines of `overlap n / K` rows, side by side.

use super::train::{classes_of, constant};
use crate::data::{AnyRows, Gathered, Problem};
use crate::error::Result;
use crate::estimator::exact::{Care, ExactConfig, ExactMachine, ExactTargets};
use crate::float::Real;
use crate::kernel::{Gram, origin_for};
use crate::local::LocalModel;
use crate::model::{CellMachine, CellPairs, KernelModel, PairwiseModel, Support};
use crate::watch::{StopReason, Watch};

/// A machine of these hyperparameters for every cell, and why the first that ended early did.
pub(super) fn cells<F: Real>(
    config: &ExactConfig,
    model: &LocalModel<F>,
    problem: &Problem<'_, F>,
    watch: &mut Watch<'_>,
) -> Result<(Vec<CellMachine<F>>, Option<StopReason>)> {
    let parts = model.members(&problem.rows())?;
    let made = watch.side_by_side(parts.len(), |cell, watch| {
        one(config, problem, &parts[cell], model.n_outputs(), watch)
    })?;
    let stop = made.iter().find_map(|(_, stop)| *stop);
    Ok((made.into_iter().map(|(machine, _)| machine).collect(), stop))
}

/// The machine of these rows.
fn one<F: Real>(
    config: &ExactConfig,
    problem: &Problem<'_, F>,
    part: &[usize],
    outputs: usize,
    watch: &mut Watch<'_>,
) -> Result<(CellMachine<F>, Option<StopReason>)> {
    let (rows, index) = (problem.rows(), classes_of(problem)?);
    let part: Vec<usize> = part.iter().copied().filter(|&i| problem.cost()[i] > 0.0).collect();
    let mut present: Vec<u32> = part.iter().map(|&i| index[i]).collect();
    present.sort_unstable();
    present.dedup();
    if present.len() < 2 {
        let shape = (rows.n_cols(), outputs);
        let constant = constant(config.kernel, shape, present.first().copied())?;
        return Ok((constant.into(), None));
    }
    // Where each class is among those of the cell.
    let place = |class: u32| present.partition_point(|&c| c < class) as u32;
    let classes: Vec<u32> = part.iter().map(|&i| place(index[i])).collect();
    let cost: Vec<f64> = part.iter().map(|&i| problem.cost()[i]).collect();
    let wide: Gathered<f64> = Gathered::new(&rows, &part)?.cast()?;
    let gram = (Gram::Kernel(config.kernel, AnyRows::Double(wide.rows()?)), None);
    let targets = ExactTargets::Classes(&classes, present.len());
    let machine = ExactMachine::fit_with_care((config, Care::ROUGH), gram, targets, &cost, watch)?;
    let stop = machine.parts.iter().map(|part| part.stop).find(|stop| stop.is_early());
    let support: Vec<usize> = machine.support.iter().map(|&s| part[s]).collect();
    let support = Gathered::new(&rows, &support)?;
    if outputs == 1 {
        let origin = origin_for(config.kernel, &support.rows()?)?;
        let (coef, offsets): (Vec<f64>, _) =
            (machine.dual_coef.into_iter().collect(), machine.intercept);
        let model = KernelModel::of_rows(config.kernel, origin, support, &coef, offsets)?;
        return Ok((model.into(), stop));
    }
    let support = Support::Vectors(config.kernel, support);
    let pairs =
        PairwiseModel::new(support, machine.n_support, machine.dual_coef, machine.intercept)?;
    let present = present.iter().map(|&class| class as usize).collect();
    Ok((CellMachine::Pairs(Box::new(CellPairs::new(pairs, present)?)), stop))
}
