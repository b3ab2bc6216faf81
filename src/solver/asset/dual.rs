//! Dual coordinate ascent on stored features, with shrinking.

use super::iterate::product;
use super::{Source, Task};
use crate::config::{count, positive};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::loss::AnyLoss;
use crate::parallel;
use crate::rng::Rng;
use crate::simd::add_scaled_rows;
use crate::watch::{Halt, Phase, Progress, Step, StopReason, Watch};

/// Visits without a move after which a sample is left out (\[LPDSVM\]).
const STILL: u8 = 5;
/// Steps between two looks at the clock.
const STRIDE: usize = 512;

/// What does not change while training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ascent {
    /// The loss.
    pub loss: AnyLoss,
    /// Whether there is a constant feature of 1.
    pub fit_intercept: bool,
    /// Steps, in passes, at most; at least 1.
    pub max_iter: usize,
    /// Largest change of a decision value in a whole pass at which it ends, > 0, in their own unit.
    pub tol: f64,
    /// Whether samples that stay are left out.
    pub shrinking: bool,
    /// Seed of the orders.
    pub seed: u64,
}

/// What the ascent came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// outputs x D.
    pub coef: Vec<f64>,
    /// An offset an output.
    pub intercept: Vec<f64>,
    /// Why it ended: the first output's reason that is not "converged".
    pub stop: StopReason,
    /// Steps of the longest output, in passes, rounded up.
    pub n_iter: usize,
    /// Primal objective, summed over outputs: `1/2 ‖w‖² + Σ C_i L_i`, the constant feature's
    /// weight included in w.
    pub primal: f64,
    /// Dual objective, summed over outputs.
    pub dual: f64,
}

/// One output.
struct Part {
    w: Vec<f64>,
    b: f64,
    stop: StopReason,
    steps: u64,
    primal: f64,
    dual: f64,
}

/// Solves the problem of every output, in parallel. All features must be kept.
///
/// # Errors
/// `InvalidParam`, `OutOfMemory` when the features are not kept, `Interrupted`.
pub fn ascend<F: Real>(
    settings: &Ascent,
    source: &Source<'_, F>,
    task: &Task<'_>,
    watch: &mut Watch<'_>,
) -> Result<Solution> {
    settings.loss.check()?;
    count("max_iter", settings.max_iter)?;
    positive("tol", settings.tol)?;
    let (n, width) = (source.len(), source.width());
    let Some(features) = source.all() else {
        let bytes = n.saturating_mul(width).saturating_mul(size_of::<F>());
        return Err(Error::OutOfMemory { what: "features of all samples (cache_size)", bytes });
    };
    let one = f64::from(settings.fit_intercept);
    let row = |i: usize| &features[i * width..][..width];
    let square = |&v: &F| v.to_f64() * v.to_f64();
    let diagonal = parallel::map(n, &|i| one + row(i).iter().map(square).sum::<f64>());
    let work = Work { settings, features, width, task, diagonal: &diagonal };
    watch.enter(Phase::Pass, Progress { n_samples: n, n_terms: width, ..Progress::default() });
    let outputs = task.targets.n_outputs();
    let parts = watch.side_by_side(outputs, |c, watch| work.solve(c, watch))?;
    let stop = parts.iter().map(|p| p.stop).find(|s| *s != StopReason::Converged);
    let steps = parts.iter().map(|p| p.steps).max().unwrap_or(0);
    Ok(Solution {
        coef: parts.iter().flat_map(|p| p.w.iter().copied()).collect(),
        intercept: parts.iter().map(|p| p.b).collect(),
        stop: stop.unwrap_or(StopReason::Converged),
        n_iter: usize::try_from(steps.div_ceil(n.max(1) as u64)).unwrap_or(usize::MAX),
        primal: parts.iter().map(|p| p.primal).sum(),
        dual: parts.iter().map(|p| p.dual).sum(),
    })
}

struct Work<'a, F: Real> {
    settings: &'a Ascent,
    features: &'a [F],
    width: usize,
    task: &'a Task<'a>,
    diagonal: &'a [f64],
}

impl<F: Real> Work<'_, F> {
    fn solve(&self, c: usize, watch: &mut Watch<'_>) -> Result<Part> {
        let (n, loss) = (self.diagonal.len(), self.settings.loss);
        let mut alpha = try_vec("dual variables", n, 0.0)?;
        let (mut w, mut b, mut steps) = (vec![0.0; self.width], 0.0, 0u64);
        let passes = self.passes(c, (&mut alpha, &mut w, &mut b), &mut steps, watch);
        let stop = passes.or_else(Halt::into_reason)?;
        let half = 0.5 * (crate::linalg::dot(&w, &w) + b * b);
        let (mut losses, mut terms) = (0.0, 0.0);
        for (i, z) in self.features.chunks_exact(self.width).enumerate() {
            losses += self.task.cost[i] * loss.value(self.task.y(i, c), product(z, &w) + b);
            terms += loss.dual_term(alpha[i], self.task.y(i, c), self.task.cost[i]);
        }
        Ok(Part { w, b, stop, steps, primal: half + losses, dual: terms - half })
    }

    /// All passes of output c, and why they ended.
    fn passes(
        &self,
        c: usize,
        (alpha, w, b): (&mut [f64], &mut [f64], &mut f64),
        steps: &mut u64,
        watch: &mut Watch<'_>,
    ) -> Step<StopReason> {
        let (n, width, loss) = (self.diagonal.len(), self.width, self.settings.loss);
        let mut rng = Rng::stream(self.settings.seed, c as u64);
        let mut still = try_vec("dual variables", n, 0u8)?;
        let mut active: Vec<u32> = Vec::new();
        let everyone = |active: &mut Vec<u32>, still: &mut [u8]| {
            active.clear();
            active.extend(0..n as u32);
            still.fill(0);
        };
        everyone(&mut active, &mut still);
        let most = (self.settings.max_iter as u64).saturating_mul(n as u64);
        let mut whole = true;
        // However short the ascent, it is looked at once.
        watch.poll()?;
        loop {
            rng.shuffle(&mut active);
            let mut largest: f64 = 0.0;
            let left = usize::try_from(most - *steps).unwrap_or(usize::MAX);
            watch.tick.iteration = (*steps / n as u64) as usize;
            watch.tick.seen = (*steps % n as u64) as usize;
            for (at, &i) in active.iter().take(left).enumerate() {
                if at % STRIDE == 0 {
                    watch.glance()?;
                }
                let i = i as usize;
                let z = &self.features[i * width..][..width];
                let (y, k, f) = (self.task.y(i, c), self.diagonal[i], product(z, w) + *b);
                let new = loss.dual_step(alpha[i], y, f, k, self.task.cost[i]);
                let change = loss.model_change(y, alpha[i], new);
                if change == 0.0 {
                    still[i] = still[i].saturating_add(1);
                } else {
                    still[i] = 0;
                    alpha[i] = new;
                    add_scaled_rows(z, &[(0, change)], w);
                    if self.settings.fit_intercept {
                        *b += change;
                    }
                    largest = largest.max(change.abs() * k);
                }
            }
            *steps += active.len().min(left) as u64;
            let small = left >= active.len() && largest <= self.settings.tol;
            if small && whole {
                return Ok(StopReason::Converged);
            } else if *steps >= most {
                return Ok(StopReason::MaxIter);
            } else if small {
                everyone(&mut active, &mut still);
                whole = true;
            } else if self.settings.shrinking {
                let before = active.len();
                active.retain(|&i| still[i as usize] < STILL);
                whole &= active.len() == before;
            }
        }
    }
}
