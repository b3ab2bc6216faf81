//! The solver of small problems. It holds the whole kernel matrix, and goes on beyond `tol`, so that
//! the answer does not depend on the order of the samples.

use std::sync::Arc;

use super::dual::{Dual, Solution, read_off};
use super::product::{Product, inner_steps, steps_told};
use super::rounds::Settings;
use super::select::{largest_magnitude, violation};
use super::working::Working;
use crate::error::{Error, Result, try_square};
use crate::float::Real;
use crate::kernel::{Buffers, Columns, RowCache};
use crate::watch::{Halt, Step, StopReason, Watch};

/// A problem is solved on to this violation, relative to the largest score,
const REFINED: f64 = 1e-11;

/// for at most this many times the steps that `tol` took, and so many more.
const REFINING: u64 = 20;
const REFINING_MORE: u64 = 1000;

/// One leap over the free variables is tried each time that steps have made the violation so much
/// smaller.
const STAGE: f64 = 0.01;

/// The kernel values among all samples, a row a sample, their diagonal, and the rows computed.
struct Values<F> {
    kernel: Vec<F>,
    diagonal: Vec<f64>,
    n_rows: u64,
}

impl<F: Real> Values<F> {
    fn new(
        dual: &Dual,
        columns: Columns<'_, F>,
        (bytes, buffers): (usize, &Arc<Buffers<F>>),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        watch.poll()?;
        let n = columns.len();
        if let Some(kernel) = columns.given()? {
            let diagonal: Vec<f64> = (0..n).map(|i| kernel[i * (n + 1)].to_f64()).collect();
            if !diagonal.iter().all(|value| value.is_finite()) {
                return Err(Error::OutOfRange { what: "X" }.into());
            }
            return Ok(Self { kernel, diagonal, n_rows: n as u64 });
        }
        let mut cache = RowCache::new(columns, bytes, buffers)?;
        let mut product = Product::new(&mut cache, watch)?;
        let all: Vec<usize> = (0..n).collect();
        let held = product.fetch(all.clone(), &dual.start)?;
        let diagonal = std::mem::take(&mut product.diagonal);
        let slots: Vec<u32> = all.iter().map(|&sample| held.slot(sample)).collect();
        Ok(Self { kernel: cache.among(&slots, &all)?, diagonal, n_rows: cache.computed() })
    }
}

/// The kernel matrix of some of the `n` samples, cut out of that of all.
fn among<F: Real>(kernel: Vec<F>, n: usize, samples: &[usize]) -> Result<Vec<F>> {
    if samples.iter().copied().eq(0..n) {
        return Ok(kernel);
    }
    let mut values = try_square("kernel matrix", samples.len(), F::zero())?;
    for (row, &sample) in values.chunks_exact_mut(samples.len()).zip(samples) {
        let from = &kernel[sample * n..][..n];
        row.iter_mut().zip(samples).for_each(|(to, &other)| *to = from[other]);
    }
    Ok(values)
}

/// As [`super::smo::solve`].
pub(super) fn solve<F: Real>(
    dual: &Dual,
    columns: Columns<'_, F>,
    space: (usize, &Arc<Buffers<F>>),
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Solution> {
    let Values { kernel, diagonal, n_rows } = match Values::new(dual, columns, space, watch) {
        Ok(values) => values,
        Err(halt) => {
            return Ok(Solution::unknown(dual, dual.start.clone(), halt.into_reason()?));
        }
    };
    let (n, set) = (diagonal.len(), (0..dual.len()).collect::<Vec<_>>());
    let state = (dual.start.as_slice(), dual.linear.as_slice());
    let kernel = |samples: &[usize]| among(kernel, n, samples);
    let mut working = Working::new(dual, &set, state, &diagonal, kernel)?;
    // At a start of zeros the scores are the linear term.
    if dual.start.iter().any(|&b| b != 0.0) {
        working.rescore(dual);
    }
    let mut n_iter = 0;
    let stop = run(dual, &mut working, (settings, &mut n_iter), watch)?;
    let (mut beta, mut f) = (vec![0.0; dual.len()], vec![0.0; n]);
    for (v, value) in working.values() {
        beta[v] = value;
    }
    for ((&(v, _), half), score) in working.variables.iter().zip(&working.half).zip(&working.scores)
    {
        f[dual.sample[v]] = dual.linear[v] + half - score;
    }
    let (level, objective, gap) = read_off(dual, &beta, &f);
    let violation = violation(&working.extremes());
    Ok(Solution { beta, level, objective, gap, violation, n_iter, n_rows, stop })
}

/// Steps until the violation is at most `tol`, then leaps and more steps. `MaxIter` is also the
/// answer when no step moves anything; no stop beyond the tolerance asked for is an early one.
fn run<F: Real>(
    dual: &Dual,
    working: &mut Working<F>,
    (settings, steps): (&Settings, &mut u64),
    watch: &mut Watch<'_>,
) -> Result<StopReason> {
    let (mut tol, mut max_iter) = (settings.tol, settings.max_iter);
    let (mut solved, mut idle) = (false, 0);
    loop {
        let mut now = violation(&working.extremes());
        if now <= tol && !solved {
            solved = true;
            if !settings.refine || dual.len() < 2 {
                return Ok(StopReason::Converged);
            }
            // Small values have small scores; labels are 1, and where there are none 1 counts.
            let least = match largest_magnitude(&dual.linear, 0.0) {
                0.0 => 1.0,
                most => most.min(1.0),
            };
            tol = tol.min(REFINED * largest_magnitude(&working.scores, least));
            max_iter = max_iter.min(steps.saturating_mul(REFINING) + REFINING_MORE);
        }
        if solved && now > tol {
            now = working.leap(*steps, now)?;
        }
        if now <= tol || (solved && idle > 1) {
            return Ok(StopReason::Converged);
        }
        if *steps >= max_iter || idle > 2 {
            return Ok(if solved { StopReason::Converged } else { StopReason::MaxIter });
        }
        let inner = if solved { tol.max(STAGE * now) } else { tol };
        let before = *steps;
        watch.tick.iteration = steps_told(before);
        watch.tick.n_terms = working.beta.iter().filter(|b| **b != 0.0).count();
        let said = watch.poll().and_then(|()| {
            inner_steps(steps, max_iter, watch, &mut |most| working.run(inner, most))
        });
        match said {
            Ok(()) => {}
            Err(Halt::Stop(_)) if solved => return Ok(StopReason::Converged),
            Err(halt) => return halt.into_reason(),
        }
        working.rescore(dual);
        idle = if *steps > before { 0 } else { idle + 1 };
    }
}
