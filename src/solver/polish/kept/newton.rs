//! Newton's steps on the rows that are kept.
//!
//! 1. Gradient `g = K_BB β + Σ C L' k` over the rows with a slope.
//! 2. `d = -H⁻¹ g` by conjugate gradients until the residual is a tenth of what it was, in the metric
//!    of `M = K_BB + (q/s) Σ D k kᵀ` over s of the q rows with D > 0. M is made once, corrected by what
//!    directions have seen of H, and made again when the steps become many. D is the curvature of
//!    parabolas above the loss: few rows lie where the loss bends, a step that knows of these alone
//!    throws the others across, and a path of widths took three times as many steps. Near the minimum
//!    D is the second derivative.
//! 3. Done when d by second derivatives promises less than half of `tol` of the objective (what it
//!    promises is too little where samples are yet to bend), or, after other steps, less than `tol`: it
//!    is then taken, since all samples are looked at again anyway. Where M is of all rows, when `M⁻¹ g`
//!    promises less than `tol`.
//! 4. Line search; of a long step on all samples, by the caller.

use super::basis::Basis;
use super::direction::{Hessian, Like, SEEN};
use super::rows::{CHUNK, Rows, picked};
use crate::data::SomeTargets;
use crate::float::Real;
use crate::linalg::{Pairs, axpy, dot};
use crate::parallel;
use crate::simd::zeroed;
use crate::solver::polish::steps::Shared;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::watch::{Step, Watch};

/// A step that promises less than this share of the objective is followed by one with second
/// derivatives, unless these have made a step as short as that.
const SURE: f64 = 2e-3;
const SHORT: f64 = 0.5;
/// Share of `tol` that one which is not taken may promise.
const SAFE: f64 = 0.5;
/// One that promises more moves samples that are not kept.
const LONG: f64 = 5e-3;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The minimum.
    Minimum,
    /// After a long step, or the last that was allowed.
    Away,
    /// No step falls.
    Stuck,
}

/// What a step leaves for the next.
pub(super) struct Last {
    /// The factor of a preconditioner, and whether it serves: one that does not says which rows matter.
    pub(super) like: Option<Like>,
    pub(super) serves: bool,
    /// What directions have seen since it was made.
    pub(super) seen: Pairs,
    /// Whether D is of parabolas.
    pub(super) cautious: bool,
    /// What it promised, as a share of the objective.
    pub(super) promise: f64,
}

impl Default for Last {
    fn default() -> Self {
        Self {
            like: None,
            serves: false,
            seen: Pairs::new(SEEN),
            cautious: true,
            promise: f64::INFINITY,
        }
    }
}

impl Last {
    /// Whether the next step is taken for a long one.
    pub(super) fn is_long(&self) -> bool {
        self.promise > LONG
    }
}

/// A problem on some rows.
pub(super) struct Stage<'r, 'a, 'k, F: Real> {
    pub(super) shared: &'r Shared<'a>,
    pub(super) rows: &'r Rows<'k, F>,
    pub(super) basis: &'r Basis<'k, F>,
    /// Where the unknowns are steps from somewhere, the objective there without its losses, and that
    /// part's slope.
    pub(super) from: Option<(f64, &'r [f64])>,
    /// All samples, at the last width.
    pub(super) samples: Samples<'r>,
    pub(super) tol: f64,
    /// A step that promises less, as a share of the objective, is the last, and not taken where this is
    /// more than a long one promises.
    pub(super) until: f64,
    pub(super) max_steps: usize,
    /// Whether no other samples are to be looked at: long steps, too, are taken here, and the first
    /// one whatever it promises.
    pub(super) alone: bool,
}

/// A number of every sample, from its margin.
fn each_into(found: &mut [f64], f: &[f64], work: &(dyn Fn(usize, f64) -> f64 + Sync)) {
    let parts = found.chunks_mut(CHUNK).zip(f.chunks(CHUNK));
    parallel::each(parts, &|chunk, (found, f)| {
        let samples = (chunk * CHUNK..).zip(found.iter_mut().zip(f));
        samples.for_each(|(i, (found, &f))| *found = work(i, f));
    });
}

impl<F: Real> Stage<'_, '_, '_, F> {
    /// Moves `point`, at which all samples have the margins `from`, to the minimum or a long step
    /// towards it.
    pub(super) fn minimise(
        &self,
        point: &mut [f64],
        steps: &mut usize,
        from: &[f64],
        last: &mut Last,
        watch: &mut Watch<'_>,
    ) -> Step<End> {
        let (basis, rows) = (self.basis, self.rows);
        let (b, order, tilt) = (basis.b, point.len(), self.shared.tilt);
        let targets = SomeTargets::of(self.samples.targets, &rows.samples)?;
        let cost = picked(&rows.samples, self.samples.cost)?;
        let mut f = picked(&rows.samples, from)?;
        let mut pull = basis.times(&point[..b], watch)?;
        let (there, slope) = self.from.unwrap_or((0.0, &[]));
        if !slope.is_empty() {
            axpy(1.0, slope, &mut pull);
        }
        let mean = basis.mean();
        let samples = Samples { targets: targets.view(), cost: &cost, ..self.samples };
        // Of many samples there is room for a number each: slopes, curvatures and margins of directions
        // take turns. (Made anew for each they would leave holes that stay.)
        let (mut numbers, mut zone) = (zeroed("samples", f.len())?, Vec::new());
        let mut moved = false;
        for _ in 0..self.max_steps {
            // Step 1.
            each_into(&mut numbers, &f, &|i, f| samples.at(i, f).slope);
            let mut gradient = rows.weigh(&numbers, watch)?;
            axpy(1.0, &pull, &mut gradient[..b]);
            gradient.truncate(order);
            if let Some(offset) = gradient.get_mut(b) {
                *offset += tilt;
            }
            let tilted = |v: &[f64]| v.get(b).map_or(0.0, |offset| tilt * offset);
            let ahead = if slope.is_empty() { 0.0 } else { dot(&point[..b], slope) };
            let base = there + 0.5 * (dot(&point[..b], &pull) + ahead) + tilted(point);
            let value = base + samples.loss_at(&f);
            let first = self.alone && *steps == 0;
            if !first
                && last.serves
                && let Some(Like::Whole(factor)) = &last.like
            {
                let mut d = gradient.clone();
                factor.solve(&mut d);
                if 0.5 * dot(&d, &gradient) <= self.tol * value.abs() {
                    return Ok(End::Minimum);
                }
            }
            // Step 2.
            let long = last.is_long();
            if !last.cautious && !rows.are_full() {
                // Rows are to be exact from here on.
                return Ok(End::Away);
            }
            if last.cautious {
                each_into(&mut numbers, &f, &|i, f| samples.majorant(i, f));
            } else {
                each_into(&mut numbers, &f, &|i, f| samples.at(i, f).curvature);
            }
            rows.zone_into(&mut zone, &mut numbers, long && last.cautious);
            let flat = if zone.is_empty() { mean } else { 0.0 };
            let hessian = Hessian { basis, rows, zone: &zone, curvature: &numbers, flat };
            let factor = match last.like.take() {
                Some(factor) if last.serves => factor,
                before => {
                    last.seen.clear();
                    hessian.sketch(order, before, watch)?
                }
            };
            let (d, serves) = hessian.direction(&gradient, (&factor, &mut last.seen), watch)?;
            (last.like, last.serves) = (Some(factor), serves);
            // Step 3.
            let predicted = -0.5 * dot(&d, &gradient);
            let promise = predicted / value.abs();
            let exact = !last.cautious;
            last.promise = promise;
            let left = promise <= self.until;
            let enough = if moved || self.alone { self.tol } else { SAFE * self.tol };
            let done = !first && (left || exact && promise <= enough);
            last.cautious &= !done || promise > SURE;
            // The last one of a part is not worth a look: its minimum is another one.
            let refused = if left { self.until > LONG } else { !moved || self.alone };
            if done && refused {
                return Ok(End::Minimum);
            }
            // Step 4, by who sees all samples.
            if promise > LONG && !self.alone {
                axpy(1.0, &d, point);
                *steps += 1;
                last.cautious = true;
                return Ok(End::Away);
            }
            let s = &mut numbers[..];
            rows.times(&d, s, watch)?;
            let pushed = basis.times(&d[..b], watch)?;
            let linear = dot(&d[..b], &pull) + tilted(&d);
            let quadratic = dot(&d[..b], &pushed);
            let (t, _) = Ray { samples, f: &f, s, base, linear, quadratic }.minimise();
            axpy(t, &d, point);
            axpy(t, &pushed, &mut pull);
            axpy(t, s, &mut f);
            *steps += 1;
            moved = true;
            watch.poll()?;
            if done {
                return Ok(End::Minimum);
            }
            last.cautious = !self.alone && promise > SURE || exact && t < SHORT;
            if t == 0.0 {
                return Ok(End::Stuck);
            }
        }
        Ok(End::Away)
    }
}
