//! Newton's method by conjugate gradients on the rows that matter: for many samples or terms.
//!
//! At the minimum few samples have a loss that slopes or bends. Theirs and their neighbours' rows of
//! K_nB are kept in `f32`; Newton's equations on them are solved by conjugate gradients, which need
//! two products with the rows in the quadratic zone a step, not their Hessian.
//!
//! # Method
//!
//! 1. Margins of all samples in one pass over K_nB; at first those of the start, times the scalar
//!    that is best for it. Later the best point between the last one and the one found since, which
//!    is the latter unless samples that were left out say otherwise.
//! 2. Done when that point is the minimum on the rows kept and no other row has come to matter.
//! 3. Rows are kept whose loss slopes or bends, or would if the margin moved by `SLACK`; those that
//!    bend first, as many as `cache_bytes` holds. The others are made again when they are needed.
//!    The first time, where samples are many, a random part of them stands for all: at the margins
//!    of a poor start most rows matter, and of those that do in the end half would be left out.
//! 4. Newton's steps on these ([`newton`]), the first time from a wide h.
//!
//! # Cost
//!
//! Two or three passes over K_nB, n B kernel values each; a step of conjugate gradients 4 q B, a
//! factor s B² + B³/3. Memory: the rows kept, B² numbers three times, four numbers a sample.
//!
//! # Certificate
//!
//! The decrease that Newton's model predicts, with all rows that matter, is at most `tol` of the
//! objective.
//!
//! References: ours; \[PRIMAL\] section 4 for Newton's steps by conjugate gradients.

mod direction;
mod newton;
mod rows;

use super::steps::Shared;
use crate::data::check_finite;
use crate::error::try_vec;
use crate::float::Real;
use crate::linalg::{Cholesky, axpy, dot};
use crate::rng::Rng;
use crate::solver::smoothed::panels::Panels;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::solver::smoothed::{KernelRows, Polished};
use crate::watch::{Step, Watch};
use direction::gram_times;
use newton::Stage;
use rows::Rows;

/// How far margins may move before a sample that they bring in is missed.
const SLACK: f64 = 0.3;
/// The same in the first rounds.
const SLACKS: [f64; 2] = [1.0, 0.6];
/// The first width, in units of the margin.
const FIRST_H: f64 = 1.0;
/// What a step promises when the first rounds end, as a share of the objective, if `tol` is not
/// larger.
const STAGE_TOLS: [f64; 3] = [0.03, 0.01, 3e-3];
/// The part that is looked at first: so many samples a term, at most one in so many.
const PART: usize = 16;
const MOST_THINNED: usize = 4;
const SEED: u64 = 7;
/// Share of the objective that its evaluation may be off by.
const ROUNDING: f64 = 1e-13;
/// Passes over all samples at most.
const ROUNDS: usize = 12;

/// One output where it stands.
struct Place {
    /// Coefficients, and the offset where there is one.
    point: Vec<f64>,
    /// Margins of all samples.
    f: Vec<f64>,
    /// The objective, ridge included.
    value: f64,
    steps: usize,
}

struct Solver<'s, 'a, 'k, F: Real> {
    shared: &'s Shared<'a>,
    kernel: &'k dyn KernelRows<F>,
    bytes: usize,
    index: usize,
}

/// Solves for all outputs in turn; whether what was asked for was met. `result` holds what is known
/// whenever this returns.
pub(super) fn solve<F: Real>(
    shared: &Shared<'_>,
    kernel: &dyn KernelRows<F>,
    bytes: usize,
    result: &mut Polished,
    watch: &mut Watch<'_>,
) -> Step<bool> {
    let mut panels = Panels::new(kernel, 0, watch)?;
    let m = result.intercept.len();
    let mut sum = [0.0; 2];
    let mut all = true;
    for index in 0..m {
        let solver = Solver { shared, kernel, bytes, index };
        let mut plain = [f64::NAN; 2];
        let done = solver.solve(&mut panels, result, (sum[0], &mut plain), watch);
        sum.iter_mut().zip(plain).for_each(|(sum, v)| *sum += v);
        if done.is_err() && index + 1 < m {
            result.forget();
        } else {
            (result.smoothed, result.primal) = (sum[0], sum[1]);
        }
        all &= done?;
    }
    Ok(all)
}

impl<F: Real> Solver<'_, '_, '_, F> {
    fn samples(&self, h: f64) -> Samples<'_> {
        self.shared.samples(self.index, h)
    }

    /// `1/2 βᵀ K_BB β` with the ridge.
    fn penalty(&self, point: &[f64]) -> f64 {
        let coef = &point[..self.kernel.n_terms()];
        0.5 * dot(coef, &gram_times(&self.shared.gram, coef))
    }

    fn solve(
        &self,
        panels: &mut Panels<'_, F>,
        result: &mut Polished,
        (before, plain): (f64, &mut [f64; 2]),
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let shared = self.shared;
        let (polish, b, n) = (shared.polish, self.kernel.n_terms(), self.kernel.n_rows());
        let samples = self.samples(polish.h);
        let mut point = result.coef_of(self.index);
        point.extend(polish.fit_intercept.then_some(result.intercept[self.index]));
        let zero = vec![0.0; point.len()];
        let flat = try_vec("margins", n, 0.0)?;
        let mut place = Place { point: zero, f: flat, value: 0.0, steps: 0 };
        place.value = samples.loss_at(&place.f);
        let mut s = try_vec("margins", n, 0.0)?;
        let (mut settled, mut ended) = (false, None);
        let mut like: Option<Cholesky> = None;
        for round in 0..ROUNDS {
            // Step 1.
            let offset = point.get(b).copied().unwrap_or(0.0);
            panels.times(&[(&point[..b], offset)], &mut [&mut s], watch)?;
            check_finite("kernel matrix", &s, 1)?;
            let whole = self.step_1_go(&mut place, &point, &mut s);
            self.tell(&place, result, plain);
            watch.at(place.steps, before + plain[0]);
            watch.poll()?;
            // Step 2.
            if settled
                && whole
                && ended.as_ref().is_some_and(|kept: &Vec<bool>| {
                    (0..n).all(|i| kept[i] || !matters(&samples, i, place.f[i], 0.0))
                })
            {
                result.steps = result.steps.max(place.steps);
                return Ok(true);
            }
            if place.steps >= polish.max_steps {
                break;
            }
            // Steps 3 and 4.
            let first = round == 0;
            let every = if first { self.thinned(place.point.len()) } else { 1 };
            let Some((rows, kept)) = self.step_3_keep(&place, (round, every), watch)? else {
                break;
            };
            let loss = polish.final_loss();
            let stage = Stage {
                shared,
                rows: &rows,
                samples: self.samples(polish.h),
                times: every as f64,
                h: if first && loss.uses_h() { polish.h.max(FIRST_H) } else { polish.h },
                tol: STAGE_TOLS.get(round).map_or(polish.tol, |tol| tol.max(polish.tol)),
                max_steps: polish.max_steps - place.steps,
            };
            let (found, steps) = (&mut point, &mut place.steps);
            found.copy_from_slice(&place.point);
            let done = stage.minimise(found, steps, &place.f, &mut like, watch)?;
            settled = done && every == 1 && stage.tol <= polish.tol;
            ended = Some(kept);
        }
        result.steps = result.steps.max(place.steps);
        Ok(false)
    }

    /// To the best place between where it stands and `point`, whose margins are `s`; whether that is
    /// the point itself.
    fn step_1_go(&self, place: &mut Place, point: &[f64], s: &mut [f64]) -> bool {
        let samples = self.samples(self.shared.polish.h);
        let value = self.penalty(point) + samples.loss_at(s);
        let rounding = ROUNDING * value.abs();
        if place.steps > 0 && value <= place.value + rounding || *point == place.point {
            place.f.copy_from_slice(s);
            place.point.copy_from_slice(point);
            place.value = value;
            return true;
        }
        let b = self.kernel.n_terms();
        let change: Vec<f64> = point.iter().zip(&place.point).map(|(to, at)| to - at).collect();
        s.iter_mut().zip(&place.f).for_each(|(s, f)| *s -= f);
        let pull = gram_times(&self.shared.gram, &place.point[..b]);
        let ray = Ray {
            samples,
            f: &place.f,
            s,
            base: 0.5 * dot(&place.point[..b], &pull),
            linear: dot(&change[..b], &pull),
            quadratic: 2.0 * self.penalty(&change),
        };
        let (t, value) = ray.minimise();
        axpy(t, &change, &mut place.point);
        axpy(t, s, &mut place.f);
        place.value = value;
        t == 1.0
    }

    fn tell(&self, place: &Place, result: &mut Polished, plain: &mut [f64; 2]) {
        let samples = self.samples(self.shared.polish.h);
        let (coef, offset) = place.point.split_at(self.kernel.n_terms());
        result.put(self.index, coef, offset.first().copied().unwrap_or(0.0));
        *plain = self.shared.plain(&samples, coef, self.penalty(&place.point), &place.f);
    }

    /// The rows kept, and whether a sample is among them; none where those that bend would have to be
    /// made again for every product.
    fn step_3_keep(
        &self,
        place: &Place,
        (round, every): (usize, usize),
        watch: &mut Watch<'_>,
    ) -> Step<Option<(Rows<'_, F>, Vec<bool>)>> {
        let n = place.f.len();
        let samples = self.samples(self.shared.polish.h);
        let slack = SLACKS.get(round).copied().unwrap_or(SLACK);
        let mut rng = Rng::new(SEED);
        let mut kept = try_vec("samples", n, false)?;
        let (mut curved, mut sloped, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (kept, &f)) in kept.iter_mut().zip(&place.f).enumerate() {
            if every > 1 && rng.below(every) > 0 {
                continue;
            }
            *kept = true;
            if samples.cost[i] > 0.0 && samples.at(i, f).curvature > 0.0 {
                curved.push(i as u32);
            } else if matters(&samples, i, f, 0.0) {
                sloped.push(i as u32);
            } else if matters(&samples, i, f, slack) {
                others.push(i as u32);
            } else {
                *kept = false;
            }
        }
        let too_many = 4 * curved.len() * self.kernel.n_terms() > self.bytes;
        if too_many && !samples.loss.uses_h() {
            return Ok(None);
        }
        curved.extend(sloped);
        curved.extend(others);
        Ok(Some((Rows::new(self.kernel, curved, self.bytes, watch)?, kept)))
    }

    /// One sample in so many makes a first guess; 1 where all are few.
    fn thinned(&self, order: usize) -> usize {
        (self.kernel.n_rows() / (PART * order).max(1)).clamp(1, MOST_THINNED)
    }
}

/// Whether the loss of sample i slopes or bends at a margin within `slack` of this one.
fn matters(samples: &Samples<'_>, i: usize, f: f64, slack: f64) -> bool {
    let near = |f: f64| {
        let c = samples.at(i, f);
        c.slope != 0.0 || c.curvature > 0.0
    };
    samples.cost[i] > 0.0 && (near(f) || slack > 0.0 && (near(f - slack) || near(f + slack)))
}
