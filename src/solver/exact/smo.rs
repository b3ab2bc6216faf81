//! A dual problem solved: by rounds on all of it, or on a part of its samples at a time.

use std::sync::Arc;

use super::active;
use super::dual::{Dual, Solution, read_off};
use super::product::Product;
use super::rounds::{Goal, Run, SMALL, Settings};
use super::select::{extremes, violation};
use super::whole;
use crate::error::Result;
use crate::float::Real;
use crate::kernel::{Buffers, Columns, RowCache};
use crate::watch::{Halt, Phase, Progress, Watch};

/// Solves a problem over these columns, with at most `bytes` of kernel rows, in
/// `buffers` where they suit. The problem's start may be taken from it.
///
/// # Errors
/// Those of [`Dual::check`], `OutOfMemory`, `Interrupted` when the observer says so.
pub fn solve<F: Real>(
    dual: &mut Dual,
    columns: Columns<'_, F>,
    (bytes, buffers): (usize, &Arc<Buffers<F>>),
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Solution> {
    dual.check()?;
    let capacity = RowCache::<F>::capacity_for(&columns, bytes)?;
    watch.enter(Phase::Pass, Progress { n_samples: columns.len(), ..Progress::default() });
    if settings.shrinking && columns.len() >= active::LEAST {
        return active::solve(dual, &columns, (bytes, buffers), settings, watch);
    }
    if dual.len() <= SMALL && capacity == columns.len() {
        return whole::solve(dual, columns, (bytes, buffers), settings, watch);
    }
    let mut cache = RowCache::new(columns, bytes, buffers)?;
    let product = Product::new(&mut cache, watch)?;
    let mut run = Run::new(dual, product, dual.start.clone())?;
    if let Err(halt) = run.product.recompute(&dual.sample, &run.beta) {
        return Ok(Solution::unknown(dual, run.beta, halt.into_reason()?));
    }
    let stop = run.rounds(&Goal { settings: *settings, part: false }).or_else(Halt::into_reason)?;
    let (level, objective, gap) = read_off(dual, &run.beta, &run.product.f);
    run.rescore();
    let violation = violation(&extremes(dual, &run.beta, &run.scores));
    let (n_iter, n_rows) = (run.product.steps, run.product.cache.computed());
    Ok(Solution { beta: run.beta, level, objective, gap, violation, n_iter, n_rows, stop })
}
