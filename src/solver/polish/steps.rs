//! The steps of the Newton loop that see the samples.

use super::output::{JITTER, Output, State};
use crate::data::{Targets, check_finite};
use crate::error::Result;
use crate::float::Real;
use crate::linalg::{axpy, dot, symmetric_times};
use crate::solver::smoothed::panels::Panels;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::solver::smoothed::{Polish, Start, check_gram};
use crate::watch::{Step, Watch};

/// First width of the quadratic zone, in units of the margin.
pub(super) const FIRST_H: f64 = 1.0;
/// What h is divided by when a width is done.
const H_FACTOR: f64 = 4.0;
/// A width is done when a step promised less than this share of the objective.
pub(super) const STAGE_TOL: f64 = 0.03;
/// Fruitless steps at the final h, each with a larger jitter, before giving up.
pub(super) const MAX_STALLS: usize = 3;
/// Share of the objective below which a promised decrease is rounding.
const ROUNDING: f64 = 1e-10;
pub(super) const STALL_GROWTH: f64 = 1e3;

/// The margins of points or directions, offset last, in one pass.
fn times<'o, F: Real>(
    panels: &mut Panels<'_, F>,
    pairs: impl Iterator<Item = (&'o [f64], &'o mut [f64])>,
    watch: &mut Watch<'_>,
) -> Step {
    let halves = |(v, out): (&'o [f64], _)| v.split_last().map(|(&b, coef)| ((coef, b), out));
    let (vectors, mut out): (Vec<_>, Vec<_>) = pairs.filter_map(halves).unzip();
    panels.times(&vectors, &mut out, watch)
}

/// What the outputs have in common.
pub(super) struct Shared<'a> {
    pub(super) polish: &'a Polish,
    start: Start<'a>,
    /// What the objective has beside the rest for one unit of the offset.
    pub(super) tilt: f64,
    /// K_BB with the ridge on its diagonal.
    pub(super) gram: Vec<f64>,
    pub(super) ridge: f64,
    b: usize,
    /// The values of each output together, where they are columns: loops over samples are about one.
    columns: Vec<f64>,
}

impl<'a> Shared<'a> {
    /// Adds `share` of the mean diagonal entry to the diagonal. Kernel values are rounded: along
    /// a direction that K_BB hardly penalises, huge coefficients would fit that rounding, and
    /// the next evaluation of the kernel rounds differently.
    pub(super) fn new(
        polish: &'a Polish,
        (start, tilt): (Start<'a>, f64),
        mut gram: Vec<f64>,
        share: f64,
    ) -> Result<Self> {
        let b = gram.len().isqrt();
        check_gram(&gram, b)?;
        let mean = (0..b).map(|j| gram[j * b + j]).sum::<f64>() / b.max(1) as f64;
        let ridge = share * mean.max(0.0);
        (0..b).for_each(|j| gram[j * b + j] += ridge);
        let columns = start.targets.apart()?;
        Ok(Self { polish, start, tilt, gram, ridge, b, columns })
    }

    /// The same where K_BB is not held, of that mean diagonal entry.
    pub(super) fn without_gram(
        polish: &'a Polish,
        (start, tilt): (Start<'a>, f64),
        (b, mean): (usize, f64),
        share: f64,
    ) -> Result<Self> {
        let (gram, ridge, columns) = (Vec::new(), share * mean.max(0.0), start.targets.apart()?);
        Ok(Self { polish, start, tilt, gram, ridge, b, columns })
    }

    pub(super) fn n_samples(&self) -> usize {
        self.start.cost.len()
    }

    /// What stands in the objective beside the losses.
    pub(super) fn penalty(&self, output: &Output) -> f64 {
        output.penalty() + self.tilt * output.point[self.b]
    }

    /// The penalty without the ridge.
    pub(super) fn plain_penalty(&self, output: &Output) -> f64 {
        let coef = &output.point[..self.b];
        self.penalty(output) - 0.5 * self.ridge * dot(coef, coef)
    }

    /// The objective at these coefficients and margins without the ridge, which the penalty given
    /// includes: smoothed, and with the loss itself.
    pub(super) fn plain(
        &self,
        samples: &Samples<'_>,
        coef: &[f64],
        penalty: f64,
        f: &[f64],
    ) -> [f64; 2] {
        let penalty = penalty - 0.5 * self.ridge * dot(coef, coef);
        [penalty + samples.loss_at(f), penalty + samples.plain_loss_at(f)]
    }

    pub(super) fn samples(&self, output: usize, h: f64) -> Samples<'_> {
        let samples = self.start.samples(self.polish, output, h);
        match self.columns.get(output * self.n_samples()..(output + 1) * self.n_samples()) {
            Some(own) => Samples { targets: Targets::Values(own), output: 0, ..samples },
            None => samples,
        }
    }

    /// Step 1: the multiple of the start, t ≥ 0, that is best at the first width.
    pub(super) fn step_1_scale<F: Real>(
        &self,
        panels: &mut Panels<'_, F>,
        group: &mut [Output],
        watch: &mut Watch<'_>,
    ) -> Step {
        let b = self.b;
        times(panels, group.iter_mut().map(|o| (&o.point[..], &mut o.s[..])), watch)?;
        for o in group {
            watch.poll()?;
            o.pull = symmetric_times(&self.gram, &o.point[..b]);
            if !self.polish.near && self.samples(o.index, o.h).loss.uses_h() {
                o.h = o.h.max(FIRST_H * self.polish.unit);
            }
            let samples = self.samples(o.index, o.h);
            let quadratic = dot(&o.point[..b], &o.pull);
            let linear = self.tilt * o.point[b];
            let ray = Ray { samples, f: &o.f, s: &o.s, base: 0.0, linear, quadratic };
            check_finite("kernel matrix", &o.s, 1)?;
            let (t, value) = ray.minimise();
            let at_the_end = self.samples(o.index, self.polish.h);
            let norm = dot(&o.point[..b], &o.point[..b]);
            let penalty = 0.5 * (quadratic - self.ridge * norm) + linear;
            let before = [at_the_end.loss_at(&o.s), at_the_end.plain_loss_at(&o.s)];
            o.before = Some((o.point.clone(), before.map(|loss| penalty + loss)));
            o.point.iter_mut().chain(&mut o.pull).for_each(|v| *v *= t);
            o.f.iter_mut().zip(&o.s).for_each(|(f, s)| *f = t * s);
            o.value = value;
        }
        Ok(())
    }

    /// Step 3: gradients and Hessians of the outputs still running, in one pass.
    pub(super) fn step_3_derivatives<F: Real>(
        &self,
        panels: &mut Panels<'_, F>,
        live: &mut [&mut Output],
        watch: &mut Watch<'_>,
    ) -> Step {
        for o in live.iter_mut() {
            let rule = o.rule(self.polish);
            o.last_rule = rule;
            o.derivatives.start(&self.samples(o.index, o.h), &o.f, rule)?;
        }
        // What decides about a row, apart from what is written.
        let views: Vec<_> = live
            .iter_mut()
            .map(|o| (self.samples(o.index, o.h), o.f.as_slice(), o.last_rule, &mut o.derivatives))
            .map(|(samples, f, rule, derivatives)| ((samples, f, rule), derivatives))
            .collect();
        let (inputs, mut sums): (Vec<_>, Vec<_>) = views.into_iter().unzip();
        let wanted =
            |i: usize| inputs.iter().any(|(samples, f, rule)| rule.takes(samples, i, f[i]));
        panels.for_each_wave(watch, Some(&wanted), |wave, watch| {
            for ((samples, f, _), derivatives) in inputs.iter().zip(&mut sums) {
                derivatives.add(samples, f, wave, watch)?;
            }
            Ok(())
        })?;
        for o in live.iter_mut() {
            o.derivatives.finish(watch)?;
            if let Some(offset) = o.derivatives.gradient.get_mut(self.b) {
                *offset += self.tilt;
            }
        }
        Ok(())
    }

    /// Steps 5 and 2: moves along the directions, then narrows h.
    pub(super) fn steps_5_and_2<F: Real>(
        &self,
        panels: &mut Panels<'_, F>,
        live: &mut [&mut Output],
        watch: &mut Watch<'_>,
    ) -> Step {
        let b = self.b;
        if live.is_empty() {
            return Ok(());
        }
        times(panels, live.iter_mut().map(|o| (&o.direction[..], &mut o.s[..])), watch)?;
        for o in live.iter_mut() {
            let pushed = symmetric_times(&self.gram, &o.direction[..b]);
            let ray = Ray {
                samples: self.samples(o.index, o.h),
                f: &o.f,
                s: &o.s,
                base: self.penalty(o),
                linear: dot(&o.direction[..b], &o.pull) + self.tilt * o.direction[b],
                quadratic: dot(&o.direction[..b], &pushed),
            };
            let (t, value) = match &o.line {
                Some(line) => ray.minimise_from(line.at_zero(o.value)),
                None => ray.minimise(),
            };
            o.advance(t, value, &pushed);
            let done = o.predicted <= STAGE_TOL * o.value.abs() || t == 0.0;
            if o.h > self.polish.h && done {
                self.narrow(o);
            }
            watch.poll()?;
        }
        Ok(())
    }

    /// Step 2.
    fn narrow(&self, o: &mut Output) {
        o.h = narrower(o.h, self.polish.h);
        o.value = self.penalty(o) + self.samples(o.index, o.h).loss_at(&o.f);
        (o.stalls, o.jitter) = (0, JITTER);
    }
}

/// The width after h.
pub(super) fn narrower(h: f64, last: f64) -> f64 {
    let next = h / H_FACTOR;
    // Two widths that are nearly the same are one.
    if next < 1.5 * last { last } else { next }
}

impl Output {
    /// Moves by t along the direction, whose penalty gradient is `pushed`.
    fn advance(&mut self, t: f64, value: f64, pushed: &[f64]) {
        self.steps += 1;
        self.last_step = t;
        self.value = value;
        if t > 0.0 {
            axpy(t, &self.direction, &mut self.point);
            axpy(t, pushed, &mut self.pull);
            axpy(t, &self.s, &mut self.f);
            self.stalls = 0;
        } else {
            self.stalls += 1;
            self.jitter *= STALL_GROWTH;
            if self.stalls >= MAX_STALLS {
                // No step falls, and none promised more than rounding: this is the minimum.
                let rounding = ROUNDING * self.value.abs();
                let minimum = self.predicted <= rounding;
                self.state = if minimum { State::Converged } else { State::Stalled };
            }
        }
    }
}
