//! Refine: move the basis points themselves, together with their coefficients.
//!
//! ```text
//! min over β in R^(B x m), S in R^(B x d) (and b)
//!     F = 1/2 Σ_c β_cᵀ K_SS β_c + Σ_i C_i Σ_c L_h(y_ic, f_ic),   f_ic = Σ_j β_jc k(x_i, s_j) + b_c
//! ```
//!
//! Merging leaves good points, polishing the best coefficients for them; but the smoothed primal
//! is differentiable in the points too, and a small basis gains more from better points than from
//! more of them. Gaussian kernel only. With `r_ic = C_i L_h'(y_ic, f_ic)` and
//! `w_ij = k(x_i, s_j) Σ_c r_ic β_jc`:
//!
//! ```text
//! ∂F/∂β_jc = Σ_l k(s_j, s_l) β_lc + Σ_i r_ic k(x_i, s_j)
//! ∂F/∂s_j  = 2γ [Σ_i w_ij (x_i - s_j) + Σ_l k(s_j, s_l) (β_j·β_l) (s_l - s_j)]
//! ∂F/∂b_c  = Σ_i r_ic
//! ```
//!
//! # Method
//!
//! 1. Coefficients, points and offsets have different units. Each variable is scaled by an
//!    estimate of its own second derivative, Gauss-Newton with the curvature of a parabola above
//!    the loss: `κ_jc = 1 + Σ_i D_ic k_ij²` for a coefficient, and for the d coordinates of a point
//!    alike, as the squared distance is known from the kernel value,
//!    `(2γ)² Σ_i Σ_c D_ic β_jc² k_ij² ‖x_i - s_j‖²/d + 2γ ‖β_j‖²`.
//! 2. Twenty directions of conjugate gradients with the curvature of Gauss and Newton, of a random part of
//!    the samples with a slope, give L-BFGS first pairs of moves and changes of the gradient (`start`): the
//!    steep directions, which scales of single variables do not show. It keeps them while steps by them do.
//!    Where memory does not hold three samples a term, or twice as many pairs, there are none.
//! 3. L-BFGS from there (`linalg::Lbfgs`), first on the samples near the margin, where they are few:
//!    the others have neither loss nor slope. Chosen anew now and then, and gone on with although the
//!    objective of all samples rose, since those that came to matter are then among them; pairs stay
//!    where it fell. The best place counts, and where that is the last one it is all. Else first on a
//!    random part of the samples, at the price of few full passes. Then on all of them.
//! 4. The caller polishes again: coefficients are then exact for the points reached.
//!
//! # Cost
//!
//! An evaluation: one kernel row a sample, and for the samples with `r ≠ 0` alone the products for
//! the gradient, 2Bd flops. A product with the curvature: 4B(d + 2m) flops a sample of the part, and 2B²m.
//! Memory: a wave of kernel blocks, and as much as `MEMORY` + 6 vectors of B(d + m) numbers take, or fewer
//! where these are large; before the first step up to 256 MB for kernel values and rows of the part, as
//! much for K_SS, and four gradients.
//!
//! # Certificate
//!
//! None: the problem is not convex. The value never rises, and the start is a polished machine.
//!
//! References: algorithm ours; objective \[PRIMAL\] section 4.2, reduced expansion 6.2.

mod config;
mod curve;
mod objective;
mod start;
#[cfg(test)]
mod start_tests;
mod sums;
#[cfg(test)]
mod tests;

use crate::data::Problem;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::linalg::{Descent, Lbfgs, Pairs};
use crate::model::KernelModel;
use crate::rng::Rng;
use crate::watch::{Progress, Step, StopReason, Watch};
pub use config::Refine;
use objective::Objective;
use start::first_pairs;

/// Pairs that L-BFGS remembers, the first ones among them, where memory for them is not large. Before there
/// were first ones the training set of covtype came as far with 40 in 100 evaluations as with 20 in 120.
const MEMORY: usize = 60;
/// The descent ends when several steps together lower the objective by less than this share.
const TOL: f64 = 1e-4;
/// The first stage sees one sample in this many, when these give that many equations (samples
/// times outputs) a variable at least: fewer would be fitted, not learnt from.
const PART: usize = 8;
const EQUATIONS_A_VARIABLE: usize = 4;

/// The first stage sees the samples near the margin instead, where they are no more than this share of
/// many.
const MOST_NEAR: f64 = 0.35;
const MANY: usize = 4096;
/// How often these are chosen. A round begins with the pairs of the one before, unless that led astray.
/// 175 evaluations without these left higher objectives on adult, cod-rna, covtype and ijcnn1 than 150
/// with them.
const ROUNDS: usize = 4;

/// How samples near the margin are chosen.
struct Choice {
    /// How near: by the first of these by which they are few.
    reaches: &'static [f64],
    /// The percentage of the evaluations that the first round takes; the second takes twice as many, and
    /// so on, since samples that were far come to matter most at first.
    first: usize,
}

/// Where a part would do, and where variables are too many for one: then more evaluations are dear, and
/// gain little (mnist: 34 s at 98.26 % of the test set, 44 s at 98.29).
const OF_FEW: Choice = Choice { reaches: &[1.0], first: 15 };
const OF_MANY: Choice = Choice { reaches: &[1.0, 0.5, 0.25, 0.15], first: 10 };

/// Evaluations of all samples that follow where the rounds end early, at least, if there may be as many.
const LAST: usize = 10;

/// What a descent near the margin came to.
enum Near {
    /// It is all.
    All(Descent),
    /// Evaluations of all samples that are to follow, or as few as there are.
    Left(usize),
}

/// The inverse second derivative of each variable, and what was seen of the others.
type Metric = (Vec<f64>, Pairs);

/// The refined model and how it came about.
#[derive(Clone, Debug)]
pub struct Refined<F: Real> {
    /// The model.
    pub model: KernelModel<F>,
    /// Smoothed objective at the end (on the part, when stopped in the first stage); NaN when
    /// stopped before any was known.
    pub smoothed: f64,
    /// Evaluations on all samples.
    pub evaluations: usize,
    /// `Converged`, `MaxIter`, or what the watch said.
    pub stop: StopReason,
}

impl Refine {
    /// Refines `model` on `problem`.
    ///
    /// # Errors
    /// `Unsupported` unless the kernel is Gaussian, `InvalidParam`, `FeatureMismatch`,
    /// `NonFinite`, `OutOfMemory`, and `Interrupted` when the observer said so. Any other stop is
    /// a result.
    pub fn solve<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        model: &KernelModel<F>,
        watch: &mut Watch<'_>,
    ) -> Result<Refined<F>> {
        self.check(model.kernel())?;
        let (expected, got) = (model.n_features(), problem.rows().n_cols());
        if expected != got {
            return Err(Error::FeatureMismatch { expected, got });
        }
        watch.begin();
        let mut objective = Objective::new(*self, problem, model)?;
        let mut x = objective.variables(model)?;
        let found = self.descend_in_stages(&mut objective, &mut x, watch);
        let (smoothed, evaluations, stop) = match found {
            Ok(Descent { value, evaluations, converged }) => {
                let stop = if converged { StopReason::Converged } else { StopReason::MaxIter };
                (value, evaluations, stop)
            }
            Err(halt) => {
                let Progress { objective, iteration, .. } = watch.tick;
                (objective.unwrap_or(f64::NAN), iteration, halt.into_reason()?)
            }
        };
        Ok(Refined { model: objective.model(&x)?, smoothed, evaluations, stop })
    }

    /// Method, 3. `x` is the best point found whenever this returns.
    fn descend_in_stages<F: Real>(
        &self,
        objective: &mut Objective<'_, '_, F>,
        x: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step<Descent> {
        let mut all = try_vec("samples", objective.problem().len(), 0u32)?;
        all.iter_mut().zip(0..).for_each(|(sample, i)| *sample = i);
        all.retain(|&i| objective.problem().cost()[i as usize] > 0.0);
        objective.choose(all.clone(), 1.0);
        let mut left = self.max_evaluations;
        // Without zones every sample has a slope wherever it is.
        let many = all.len() >= MANY && objective.has_zones();
        let part = all.len() / PART * objective.problem().targets().n_outputs();
        let has_part = part >= EQUATIONS_A_VARIABLE * x.len();
        let choice = if has_part { &OF_FEW } else { &OF_MANY };
        let start = if many { Some(look(objective, x, choice.reaches, watch)?) } else { None };
        if let Some((value, Some(near))) = start {
            let begin = ((value, near), choice);
            match self.descend_near(objective, begin, &all, x, watch)? {
                Near::All(found) => return Ok(found),
                Near::Left(evaluations) => left = left.min(evaluations.max(LAST)),
            }
        } else if has_part {
            self.descend_part(objective, &all, x, watch)?;
        }
        objective.choose(all, 1.0);
        self.descend(objective, x, left, watch)
    }

    /// On a random part of the samples, where these are many.
    fn descend_part<F: Real>(
        &self,
        objective: &mut Objective<'_, '_, F>,
        all: &[u32],
        x: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step {
        let mut part = all.to_vec();
        Rng::new(self.seed).shuffle(&mut part);
        part.truncate(all.len() / PART);
        part.sort_unstable();
        let mut moved = x.to_vec();
        objective.choose(part, all.len() as f64 / (all.len() / PART) as f64);
        self.descend(objective, &mut moved, self.max_evaluations, watch)?;
        objective.choose(all.to_vec(), 1.0);
        // The part may have been a poor sample.
        better(objective, x, &moved, watch)
    }

    /// On the samples near the margin, chosen anew now and then: what came of it where the objective of
    /// all is least at the end.
    fn descend_near<F: Real>(
        &self,
        objective: &mut Objective<'_, '_, F>,
        ((mut value, mut near), choice): ((f64, Vec<u32>), &Choice),
        all: &[u32],
        x: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step<Near> {
        let (mut at, mut metric, mut left) = (x.to_vec(), None, self.max_evaluations);
        for round in 1..=ROUNDS {
            let share = near.len() as f64 / all.len() as f64;
            objective.choose(near, 1.0);
            let most =
                self.max_evaluations.saturating_mul(round * choice.first).div_ceil(100).max(2);
            let found = self.descend_by(objective, (&mut at, &mut metric), most, watch)?;
            left = left.saturating_sub((share * found.evaluations as f64) as usize);
            objective.choose(all.to_vec(), 1.0);
            // Where samples beyond have come to matter, they are among the next.
            let (there, next) = look(objective, &at, choice.reaches, watch)?;
            let is_lower = there < value;
            if is_lower {
                x.copy_from_slice(&at);
                value = there;
            } else {
                // What was seen is of samples that were not those that matter.
                metric = None;
            }
            if round == ROUNDS && is_lower {
                return Ok(Near::All(Descent { value, evaluations: ROUNDS + 1, ..found }));
            }
            if found.converged && is_lower {
                return Ok(Near::Left(0));
            }
            near = match next {
                Some(next) if there.is_finite() => next,
                _ => break,
            };
        }
        Ok(Near::Left(left))
    }

    fn descend<F: Real>(
        &self,
        objective: &mut Objective<'_, '_, F>,
        x: &mut [f64],
        max_evaluations: usize,
        watch: &mut Watch<'_>,
    ) -> Step<Descent> {
        self.descend_by(objective, (x, &mut None), max_evaluations, watch)
    }

    /// The same by scales and pairs that are there, if any are; else by those of method, 1 and 2.
    fn descend_by<F: Real>(
        &self,
        objective: &mut Objective<'_, '_, F>,
        (x, metric): (&mut [f64], &mut Option<Metric>),
        max_evaluations: usize,
        watch: &mut Watch<'_>,
    ) -> Step<Descent> {
        let memory = objective.affordable_pairs(MEMORY);
        watch.tick.iteration = 0;
        let mut known = None;
        let (inverse, pairs) = match metric {
            Some(metric) => metric,
            None => {
                let inverse = objective.step_1_inverse_curvature(x, watch)?;
                let mut gradient = try_vec("gradient", x.len(), 0.0)?;
                let value = objective.evaluate(x, &mut gradient, watch)?;
                let at = (&*x, &*gradient, &*inverse);
                let pairs = if max_evaluations > 1 {
                    first_pairs(objective, at, (memory, self.seed), watch)?
                } else {
                    Pairs::new(memory)
                };
                known = Some((value, gradient));
                metric.insert((inverse, pairs))
            }
        };
        let search = Lbfgs { memory, max_evaluations, tol: TOL, unit: self.unit };
        search.minimise_from(x, (inverse, pairs), &mut |x, gradient| {
            let value = match known.take() {
                Some((value, there)) => {
                    gradient.copy_from_slice(&there);
                    value
                }
                None => objective.evaluate(x, gradient, watch)?,
            };
            let Progress { objective, iteration, .. } = watch.tick;
            // What is shown only ever falls.
            let before = objective.filter(|_| iteration > 0).unwrap_or(f64::INFINITY);
            watch.at(iteration + 1, before.min(value));
            Ok(value)
        })
    }
}

/// The objective of all samples, and those near the margin by the first of `reaches` by which they are
/// few, if any is.
fn look<F: Real>(
    objective: &mut Objective<'_, '_, F>,
    x: &[f64],
    reaches: &[f64],
    watch: &mut Watch<'_>,
) -> Step<(f64, Option<Vec<u32>>)> {
    let n = objective.n_samples();
    let (value, near) = objective.near(x, reaches, watch)?;
    let within = |count: u8| near.iter().filter(move |near| near.1 >= count).map(|near| near.0);
    let few = |&count: &u8| within(count).count() as f64 <= MOST_NEAR * n as f64;
    let count = (1..=reaches.len() as u8).find(few);
    Ok((value, count.map(|count| within(count).collect())))
}

/// `x` becomes `moved` if the objective is lower there.
fn better<F: Real>(
    objective: &mut Objective<'_, '_, F>,
    x: &mut [f64],
    moved: &[f64],
    watch: &mut Watch<'_>,
) -> Step {
    let mut unused = try_vec("gradient", x.len(), 0.0)?;
    let before = objective.evaluate(x, &mut unused, watch)?;
    if objective.evaluate(moved, &mut unused, watch)? < before {
        x.copy_from_slice(moved);
    }
    Ok(())
}
