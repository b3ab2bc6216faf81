//! The Newton loop: groups of outputs, each in lockstep so that they share every pass over K_nB.

use rayon::prelude::*;

use super::common::{Common, TOGETHER};
use super::output::{Output, State};
use super::steps::Shared;
use crate::float::Real;
use crate::solver::smoothed::Polished;
use crate::solver::smoothed::panels::Panels;
use crate::watch::{Step, Watch};

/// Bytes that the Hessians of a group of outputs may take.
const GROUP_BYTES: usize = 96 << 20;
/// Hessians up to this order are factored one a task, larger ones in turn by all threads.
const SMALL_ORDER: usize = 512;

/// Solves for all outputs, a group in lockstep, with one sum for their Hessians where they go
/// `together`; `result` holds what is known whenever this returns.
pub(super) fn solve<F: Real>(
    shared: &Shared<'_>,
    (panels, together): (&mut Panels<'_, F>, bool),
    result: &mut Polished,
    watch: &mut Watch<'_>,
) -> Step {
    let polish = shared.polish;
    let (n, m) = (shared.n_samples(), result.intercept.len());
    let b = result.coef.len() / m;
    (result.smoothed, result.primal, result.steps) = (0.0, 0.0, 0);
    let order = b + usize::from(polish.fit_intercept);
    let most = (GROUP_BYTES / (4 * order * order + 4096 * order)).clamp(1, m);
    let most = if together { TOGETHER.min(m) } else { most };
    let made = together.then(|| Common::new(shared, panels, watch)).transpose();
    let mut common = made.inspect_err(|_| result.forget())?;
    // Groups of nearly equal size.
    let size = m.div_ceil(m.div_ceil(most));
    for first in (0..m).step_by(size) {
        let mut group = Vec::new();
        for index in first..(first + size).min(m) {
            let mut point = result.coef_of(index);
            point.push(result.intercept[index]);
            group.push(Output::new(polish, (index, n), point, !together)?);
        }
        let all = (&mut group[..], common.as_mut());
        let done = run(shared, panels, all, result.smoothed, watch);
        for output in &group {
            result.take(output, shared);
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

impl Polished {
    /// The objective is not known.
    pub(super) fn forget(&mut self) {
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
            && (output.state != State::Converged || output.line.is_some())
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
    (group, mut common): (&mut [Output], Option<&mut Common>),
    before: f64,
    watch: &mut Watch<'_>,
) -> Step {
    shared.step_1_scale(panels, group, watch)?;
    for step in 0..shared.polish.max_steps {
        watch.at(step, before + group.iter().map(|o| o.value).sum::<f64>());
        watch.poll()?;
        let running = group.iter_mut().filter(|o| o.state == State::Running);
        let (mut joined, mut live): (Vec<_>, Vec<_>) = running.partition(|o| o.line.is_some());
        if joined.is_empty() && live.is_empty() {
            return Ok(());
        }
        if let Some(common) = &mut common {
            common.gradients(shared, panels, &mut joined, watch)?;
            common.directions(shared, &mut joined, watch)?;
            // Those that are to go alone begin with the next step.
            joined.retain(|o| o.line.is_some());
        }
        derive(shared, panels, &mut live, watch)?;
        live.append(&mut joined);
        live.retain(|o| o.state == State::Running);
        shared.steps_5_and_2(panels, &mut live, watch)?;
    }
    Ok(())
}

/// Steps 3, 4 and 6 of those with Hessians of their own.
fn derive<F: Real>(
    shared: &Shared<'_>,
    panels: &mut Panels<'_, F>,
    live: &mut [&mut Output],
    watch: &mut Watch<'_>,
) -> Step {
    if live.is_empty() {
        return Ok(());
    }
    shared.step_3_derivatives(panels, live, watch)?;
    let gram = &shared.gram;
    if live.len() > 1 && gram.len() <= SMALL_ORDER * SMALL_ORDER {
        live.par_iter_mut().try_for_each(|o| o.step_4_direction(gram, &mut || Ok(())))?;
    } else {
        for o in live.iter_mut() {
            o.step_4_direction(gram, &mut || watch.poll())?;
        }
    }
    watch.poll()?;
    live.iter_mut().for_each(|o| o.step_6_stop(shared.polish));
    Ok(())
}
