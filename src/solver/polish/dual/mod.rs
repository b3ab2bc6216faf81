//! Coordinate ascent in the dual, on whitened features that all outputs share: for several outputs.
//!
//! ```text
//! K_BB + ρI = LLᵀ,   φ_i = L⁻¹ k(S, x_i),   w = Lᵀβ:   min over w   1/2 ‖w‖² + Σ C_i L_h(y_i, w·φ_i)
//! max over a   Σ C_i T(y_i, a_i) - 1/2 ‖w(a)‖²,   w(a) = Σ C_i a_i φ_i
//! ```
//!
//! T is minus the conjugate of L_h ([`Smoothed::dual_value`](crate::loss::Smoothed::dual_value)).
//! The Hessians that Newton's method needs, one an output, cost q B² flops each; a visit of a
//! coordinate costs 4 B.
//!
//! # Method
//!
//! 1. Margins of the start, times the scalar that is best for it: the objective not to be exceeded.
//!    In the same pass features are made of the kernel values at hand: those of all samples, or where
//!    memory does not hold these, of the samples that matter then.
//! 2. The samples that matter to an output: at first all, where their features fit into memory, then
//!    those whose loss has a slope, or would have one if the margin moved by `SLACK`, or that have
//!    `a ≠ 0`. The features of those that matter to any output are made. Every `a` begins at 0: the
//!    first pass then learns as an online machine does, where duals of a machine on a budget are
//!    mostly to be unlearnt (on LETTER, six times the passes).
//! 3. Passes, in another order every time (one order took three times as many). Where features come
//!    from afar a row is read once for all outputs that it matters to; where they are near, outputs take
//!    turns, since a step waits for the last one of its own output. Where features are of all, those
//!    that do not matter as the start is rest at first. `a` moves to its best value, and w with it. A
//!    coordinate that rests, and would if its margin moved a share of what any moved by in the pass
//!    before, is left out until its output seems to be done, and looked at now and then. An output is
//!    done when over its coordinates the sum of `C (L_h + a f - T)`, as they were met, is a small share
//!    of its dual objective, and those at rest were looked at not long before.
//! 4. `w = Σ C a φ` anew. Where features are of some samples, primal less dual is about known by `w·φ`
//!    of these and the kernel values of the others alone: if that is far from what is wanted, again
//!    from 2 (where a limit ends it then, what was certified last is the result). Else
//!    `β = L⁻ᵀ w` in `f64`; margins `K_nB β` of all samples (of those not known yet) and
//!    `v = Σ C a k(S, x)` in one pass over them. Primal less dual is known by these: done, or again
//!    from 2 with `w = L⁻¹ v`.
//!
//! # Cost
//!
//! B²/2 multiply-adds for the features of a sample, 2 B a visit. Memory: a row of B numbers, in 16 bits
//! or for a `tol` below 1e-5 in `f32`, for every sample that matters to any output, within
//! `cache_bytes`; of an output and a sample 28 bytes, 24 more while it moves.
//!
//! # Certificate
//!
//! Primal less dual, `Σ C (L_h + a f - T)` and what w and v differ by, from β in `f64`: at most `tol`
//! of the objective. Features in `f32` need a larger ridge than the problem has; the dual is that
//! of the problem.
//!
//! References: ours; the steps are those of coordinate ascent for linear machines.

mod ascent;
mod certify;
mod far;
mod features;
mod left_out;
mod look;
mod order;
mod output;
#[cfg(test)]
mod tests;

use super::steps::Shared;
use crate::data::check_finite;
use crate::error::try_vec;
use crate::float::Real;
use crate::linalg::{Cholesky, dot, symmetric_times};
use crate::loss::Smoothed;
use crate::parallel;
use crate::simd::zeroed;
use crate::solver::smoothed::panels::Panels;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::solver::smoothed::{KernelRows, Polished};
use crate::watch::{Step, Watch};
use ascent::passes;
use features::Features;
use output::{Ascent, Coordinate, Until};

pub(super) use left_out::left_out;

/// Bytes of the features of a sample, for b terms and this `tol`.
pub(super) fn feature_bytes(b: usize, tol: f64) -> usize {
    Features::row_bytes(b, tol)
}

/// How far margins may move before a sample that they bring in is missed.
const SLACK: f64 = 0.3;
/// Rounds of passes, and passes of a round at most.
const ROUNDS: usize = 8;
const PASSES: usize = 150;
/// A gap that features say to be this share of the one wanted is certified.
const NEARLY: f64 = 0.9;
/// Ridge, in units of the mean of K_BB's diagonal, with which `f32` makes features of length 1.
const RIDGE: f64 = 1e-7;
/// The gap that is certified knows what those at rest have come to.
const UNTIL: Until = Until { patience: 12, recent: 6 };

/// One output.
struct Output {
    /// Margins of all samples.
    f: Vec<f64>,
    /// a of all samples.
    a: Vec<f32>,
    /// `Σ C a k(S, x)`, then L⁻¹ times it.
    v: Vec<f64>,
    /// The objective at the best β yet, ridge included, and without: smoothed and plain.
    value: f64,
    plain: [f64; 2],
    /// The best dual objective yet.
    dual: f64,
    /// Whether the last β is the best.
    better: bool,
}

impl Output {
    /// `Σ C T(a)`.
    fn terms(&self, samples: &Samples<'_>) -> f64 {
        let term = |i: usize| samples.loss.dual_value(samples.y(i), f64::from(self.a[i]));
        samples.sum(|i| [samples.cost[i] * term(i)])[0]
    }
}

/// Whether the loss has a slope at this margin, or would have one if it moved by this much.
fn is_near(loss: Smoothed, samples: &Samples<'_>, i: usize, (f, slack): (f64, f64)) -> bool {
    // (Slopes rise: where those on both sides are 0, so are those between them.)
    let slope = |f: f64| loss.at(samples.y(i), f).slope != 0.0;
    samples.cost[i] > 0.0 && (slope(f - slack) || slope(f + slack))
}

struct Dual<'s, 'a> {
    shared: &'s Shared<'a>,
    /// Of K_BB with the problem's ridge, and with that of the features.
    exact: Cholesky,
    white: Cholesky,
    features: Features,
    outputs: Vec<Output>,
}

/// Solves for all outputs; whether what was asked for was met. `result` holds the best that is known
/// whenever this returns.
pub(super) fn solve<F: Real>(
    shared: &Shared<'_>,
    rows: &dyn KernelRows<F>,
    (panels, bytes): (&mut Panels<'_, F>, usize),
    result: &mut Polished,
    watch: &mut Watch<'_>,
) -> Step<bool> {
    let (gram, b, n) = (&shared.gram, rows.n_terms(), rows.n_rows());
    let exact = Cholesky::factor_small("kernel matrix", gram, b, 0.0, &mut || watch.poll())?;
    let white =
        Cholesky::factor_small("kernel matrix", gram, b, 0.5 * RIDGE, &mut || watch.poll())?;
    let features = Features::new(&white, (n, b), (bytes, shared.polish.tol))?;
    let mut dual = Dual { shared, exact, white, features, outputs: Vec::new() };
    dual.step_1_start(panels, result, watch)?;
    let (tol, mut last, mut coef) = (shared.polish.tol, f64::INFINITY, Vec::new());
    // Whether what the passes came to is not in `result` yet.
    let mut ahead = false;
    for round in 0..ROUNDS {
        result.steps = round;
        watch.at(round, result.smoothed);
        watch.poll()?;
        let Some(ascents) = dual.step_2_candidates(round == 0, rows, watch)? else {
            break;
        };
        dual.step_3_passes(ascents, watch)?;
        coef = dual.step_4_coefficients();
        let mut gap = 0.0;
        if !dual.features.holds_all() {
            gap = dual.step_4_estimate(&coef, panels, watch)?;
        }
        ahead = gap > NEARLY * tol;
        if !ahead {
            gap = dual.step_4_certify(&coef, panels, result, watch)?;
            if gap <= tol {
                result.steps = round + 1;
                return Ok(true);
            }
            dual.outputs.iter_mut().for_each(|o| dual.white.solve_lower(&mut o.v));
        }
        // (A gap that was about what is wanted may be a little above it.)
        if gap > (0.5 * last).max(2.0 * tol) {
            break;
        }
        last = gap;
    }
    // Others go on from there.
    Ok(ahead && dual.step_4_certify(&coef, panels, result, watch)? <= tol)
}

impl Dual<'_, '_> {
    fn step_1_start<F: Real>(
        &mut self,
        panels: &mut Panels<'_, F>,
        result: &mut Polished,
        watch: &mut Watch<'_>,
    ) -> Step {
        let shared = self.shared;
        let (n, b, m) = (self.features.n_samples(), self.white.order(), result.intercept.len());
        for _ in 0..m {
            self.outputs.push(Output {
                f: zeroed("margins", n)?,
                a: zeroed("dual variables", n)?,
                v: vec![0.0; b],
                value: 0.0,
                plain: [0.0; 2],
                dual: f64::NEG_INFINITY,
                better: false,
            });
        }
        let mut coef: Vec<Vec<f64>> = (0..m).map(|index| result.coef_of(index)).collect();
        let vectors: Vec<_> = coef.iter().map(|coef| (coef.as_slice(), 0.0)).collect();
        let mut margins: Vec<_> = self.outputs.iter_mut().map(|o| o.f.as_mut_slice()).collect();
        let (features, loss) = (&mut self.features, shared.polish.final_loss());
        // Their kernel values are at hand: features of all, or where memory does not hold these, of most
        // that matter, which do so as the start is.
        let (all, n) = (features.holds_all(), features.n_samples());
        let cost = shared.samples(0, shared.polish.h).cost;
        if all {
            features.reserve(watch)?;
        }
        let (mut early, mut samples, mut places) = (true, Vec::new(), Vec::new());
        panels.times_and((&vectors, None), &mut margins, watch, &mut |wave, f, watch| {
            if early {
                samples.clear();
                places.clear();
                for (i, f) in (wave.first..wave.last).zip(f.chunks_exact(m)) {
                    let of = |c| shared.samples(c, shared.polish.h);
                    let matters = if all {
                        cost[i] > 0.0
                    } else {
                        (0..m).any(|c| is_near(loss, &of(c), i, (f[c], SLACK)))
                    };
                    if matters {
                        samples.push(i as u32);
                        places.push(wave.place(i));
                    }
                }
                // Not where there is no room for as many of all samples.
                let so_far = features.samples().len() + samples.len();
                early = so_far.saturating_mul(n) <= features.most().saturating_mul(wave.last)
                    && features.add_made(&samples, (&places, wave.block), watch)?;
            }
            Ok(())
        })?;
        (result.smoothed, result.primal) = (0.0, 0.0);
        let zero = try_vec("margins", n, 0.0)?;
        for o in &self.outputs {
            check_finite("kernel matrix", &o.f, 1)?;
        }
        let outputs = self.outputs.iter_mut().zip(&mut coef);
        parallel::each(outputs, &|index, (o, coef)| {
            let samples = shared.samples(index, shared.polish.h);
            let quadratic = dot(coef, &symmetric_times(&shared.gram, coef));
            let ray = Ray { samples, f: &zero, s: &o.f, base: 0.0, linear: 0.0, quadratic };
            let (t, value) = ray.minimise();
            coef.iter_mut().chain(&mut o.f).for_each(|v| *v *= t);
            o.value = value;
            o.plain = shared.plain(&samples, coef, 0.5 * t * t * quadratic, &o.f);
        });
        for (index, (o, coef)) in self.outputs.iter().zip(&coef).enumerate() {
            result.put(index, coef, 0.0);
            result.smoothed += o.plain[0];
            result.primal += o.plain[1];
        }
        Ok(())
    }

    /// None where memory ends.
    fn step_2_candidates<F: Real>(
        &mut self,
        first: bool,
        rows: &dyn KernelRows<F>,
        watch: &mut Watch<'_>,
    ) -> Step<Option<Vec<Ascent>>> {
        let (shared, m) = (self.shared, self.outputs.len());
        let loss = shared.polish.final_loss();
        let outputs = &self.outputs;
        // At first everything, unless memory does not hold it.
        let all = first && self.features.holds_all();
        let candidates = parallel::map(m, &|index| {
            let (samples, o) = (shared.samples(index, shared.polish.h), &outputs[index]);
            let matters = |i: usize| {
                samples.cost[i] > 0.0
                    && (all || o.a[i] != 0.0 || is_near(loss, &samples, i, (o.f[i], SLACK)))
            };
            (0..o.f.len()).filter(|&i| matters(i)).map(|i| i as u32).collect::<Vec<u32>>()
        });
        let mut wanted = vec![false; self.features.n_samples()];
        candidates.iter().flatten().for_each(|&i| wanted[i as usize] = true);
        let absent: Vec<u32> = (0u32..)
            .zip(&wanted)
            .filter(|&(i, &wanted)| wanted && !self.features.has(i as usize))
            .map(|(i, _)| i)
            .collect();
        if !self.features.add(rows, &absent, watch)? {
            if !first {
                return Ok(None);
            }
            // Without those that mattered before the start was scaled.
            self.features.clear();
            let all: Vec<u32> =
                (0u32..).zip(&wanted).filter(|&(_, &wanted)| wanted).map(|(i, _)| i).collect();
            if !self.features.add(rows, &all, watch)? {
                return Ok(None);
            }
        }
        Ok(Some(self.ascents(&candidates)))
    }

    /// The outputs, with what matters to each: what does so as the start is moves.
    fn ascents(&self, candidates: &[Vec<u32>]) -> Vec<Ascent> {
        let shared = self.shared;
        let loss = shared.polish.final_loss();
        parallel::map(candidates.len(), &|index| {
            let (o, samples) = (&self.outputs[index], shared.samples(index, shared.polish.h));
            let w = self.features.in_single(&o.v);
            let dual = o.terms(&samples) - 0.5 * dot(&o.v, &o.v);
            let (mut moving, mut rest) = (Vec::new(), Vec::new());
            for &i in &candidates[index] {
                let i = i as usize;
                let one = Coordinate {
                    row: self.features.row_of(i),
                    y: samples.y(i) as f32,
                    a: o.a[i],
                    cost: samples.cost[i] as f32,
                };
                let near = o.a[i] != 0.0 || is_near(loss, &samples, i, (o.f[i], SLACK));
                if near { moving.push(one) } else { rest.push(one) }
            }
            Ascent::new((index, dual), &w, [moving, rest], UNTIL)
        })
    }

    fn step_3_passes(&mut self, mut ascents: Vec<Ascent>, watch: &mut Watch<'_>) -> Step {
        let loss = self.shared.polish.final_loss();
        let features = &self.features;
        // By sums made on the way, which are more than what is left.
        let share = self.shared.polish.tol;
        passes(&mut ascents, (features, loss), (PASSES, share), watch)?;
        for ascent in &ascents {
            let a = &mut self.outputs[ascent.index].a;
            for one in ascent.coordinates() {
                a[features.samples()[one.row as usize] as usize] = one.a;
            }
        }
        Ok(())
    }
}
