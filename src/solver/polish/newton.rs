//! The Newton loop: groups of outputs, each in lockstep so that they share every pass over K_nB.

use rayon::prelude::*;

use super::output::{Output, State};
use super::steps::Shared;
use crate::data::check_finite;
use crate::error::Result;
use crate::float::Real;
use crate::solver::smoothed::panels::Panels;
use crate::solver::smoothed::{KernelRows, Polish, Polished, Start, basis_gram};
use crate::watch::{Step, StopReason, Watch};

/// Bytes that the Hessians of a group of outputs may take.
const GROUP_BYTES: usize = 96 << 20;
/// Hessians up to this order are factored one a task, larger ones in turn by all threads.
const SMALL_ORDER: usize = 512;
/// Ridge on K_BB in units of the precision that kernel values are held in.
const RIDGE: f64 = 0.125;

pub(super) fn solve<F: Real>(
    polish: &Polish,
    rows: &dyn KernelRows<F>,
    start: Start<'_>,
    watch: &mut Watch<'_>,
) -> Result<Polished> {
    watch.begin();
    let m = start.targets.n_outputs();
    let mut result = Polished {
        coef: start.coef.to_vec(),
        intercept: if polish.fit_intercept { start.intercept.to_vec() } else { vec![0.0; m] },
        ..Polished::nothing(0, m)
    };
    check_finite("coefficients", &result.coef, m)?;
    check_finite("intercept", &result.intercept, m)?;
    match groups(polish, rows, start, watch, &mut result) {
        Ok(()) if result.converged => {}
        Ok(()) => result.stop = StopReason::MaxIter,
        Err(halt) => (result.converged, result.stop) = (false, halt.into_reason()?),
    }
    Ok(result)
}

/// All groups in turn; `result` holds what is known whenever this returns.
fn groups<F: Real>(
    polish: &Polish,
    rows: &dyn KernelRows<F>,
    start: Start<'_>,
    watch: &mut Watch<'_>,
    result: &mut Polished,
) -> Step {
    let (n, b, m) = (rows.n_rows(), rows.n_terms(), start.targets.n_outputs());
    if b == 0 {
        return constant(polish, start, watch, result);
    }
    let made = basis_gram(rows, watch).and_then(|gram| {
        let shared = Shared::new(polish, start, gram, RIDGE * F::epsilon().to_f64())?;
        Ok((shared, Panels::new(rows, polish.cache_bytes, watch)?))
    });
    let (shared, mut panels) = made.inspect_err(|_| result.forget())?;
    let order = b + usize::from(polish.fit_intercept);
    let most = (GROUP_BYTES / (4 * order * order + 4096 * order)).clamp(1, m);
    // Groups of nearly equal size.
    let size = m.div_ceil(m.div_ceil(most));
    for first in (0..m).step_by(size) {
        let mut group = Vec::new();
        for index in first..(first + size).min(m) {
            let mut point: Vec<f64> = (0..b).map(|j| start.coef[j * m + index]).collect();
            point.push(result.intercept[index]);
            group.push(Output::new(polish, index, n, point)?);
        }
        let done = run(&shared, &mut panels, &mut group, result.smoothed, watch);
        for output in &group {
            result.take(output, &shared);
        }
        if done.is_err() {
            if first + size < m {
                result.forget();
            }
            return done;
        }
    }
    Ok(())
}

/// The best offsets alone, when the basis is empty; one that is not to be fitted stays.
fn constant(
    polish: &Polish,
    start: Start<'_>,
    watch: &mut Watch<'_>,
    result: &mut Polished,
) -> Step {
    for output in 0..result.intercept.len() {
        watch.poll()?;
        let samples = start.samples(polish, output, polish.h);
        let offset = &mut result.intercept[output];
        let mut f = vec![*offset; start.cost.len()];
        if polish.fit_intercept {
            samples.best_offset(offset, &mut f);
        }
        result.add(&samples, 0.0, &f);
    }
    Ok(())
}

impl Polished {
    /// The objective is not known.
    fn forget(&mut self) {
        (self.smoothed, self.primal) = (f64::NAN, f64::NAN);
    }

    /// Takes over what one output came to.
    fn take(&mut self, output: &Output, shared: &Shared<'_>) {
        let put = |result: &mut Self, point: &[f64]| {
            let b = point.len() - 1;
            result.put(output.index, &point[..b], point[b]);
        };
        put(self, &output.point);
        self.steps = self.steps.max(output.steps);
        self.converged &= output.state == State::Converged;
        if output.value.is_nan() {
            // Stopped before the margins were known.
            self.forget();
            return;
        }
        let samples = shared.samples(output.index, shared.polish.h);
        let penalty = shared.plain_penalty(output);
        let mut value =
            [penalty + samples.loss_at(&output.f), penalty + samples.plain_loss_at(&output.f)];
        // Step 7. A point that is best at a wide h need not be better than the start.
        if let Some((point, before)) = &output.before
            && output.state != State::Converged
            && before[0] < value[0]
        {
            value = *before;
            put(self, point);
        }
        self.smoothed += value[0];
        self.primal += value[1];
    }
}

/// Solves one group; `before` is the objective of the groups already solved.
fn run<F: Real>(
    shared: &Shared<'_>,
    panels: &mut Panels<'_, F>,
    group: &mut [Output],
    before: f64,
    watch: &mut Watch<'_>,
) -> Step {
    shared.step_1_scale(panels, group, watch)?;
    for step in 0..shared.polish.max_steps {
        watch.at(step, before + group.iter().map(|o| o.value).sum::<f64>());
        watch.poll()?;
        let mut live: Vec<&mut Output> =
            group.iter_mut().filter(|o| o.state == State::Running).collect();
        if live.is_empty() {
            return Ok(());
        }
        shared.step_3_derivatives(panels, &mut live, watch)?;
        let gram = &shared.gram;
        if live.len() > 1 && gram.len() <= SMALL_ORDER * SMALL_ORDER {
            live.par_iter_mut().try_for_each(|o| o.step_4_direction(gram, &mut || Ok(())))?;
        } else {
            for o in &mut live {
                o.step_4_direction(gram, &mut || watch.poll())?;
            }
        }
        watch.poll()?;
        for o in &mut live {
            o.step_6_stop(shared.polish);
        }
        live.retain(|o| o.state == State::Running);
        shared.steps_5_and_2(panels, &mut live, watch)?;
    }
    Ok(())
}
