//! What of eight outputs' iterates is no vector, a lane each: [`Scalars`] and an offset.

use super::iterate::{LEAST_SCALE, Scalars};
use super::plan::{Plan, Step};
use crate::simd::{SIDE, Side, Stride, Strides, side_add, side_shrink};

/// See [`Scalars`]; what a lane without an output does changes nothing.
#[derive(Clone, Copy, Default)]
pub(super) struct Walk {
    strides: Strides,
    radius: Side,
    /// Sums of weights, and of offsets by weights.
    weight: Side,
    mean_offset: Side,
    violations: Side,
}

impl Walk {
    /// Takes an output in, with its offset and the sum of it.
    pub(super) fn put(&mut self, lane: usize, scalars: Scalars, (offset, mean): (f64, f64)) {
        let Scalars { scale, sq_norm, along, weight } = scalars;
        let Strides { scale: a, sq_norm: norm, along: b, offset: o, .. } = &mut self.strides;
        for (to, value) in [
            (a, scale),
            (norm, sq_norm),
            (b, along),
            (o, offset),
            (&mut self.weight, weight),
            (&mut self.mean_offset, mean),
        ] {
            to.0[lane] = value;
        }
    }

    /// What was put, as it is now.
    pub(super) fn get(&self, lane: usize) -> (Scalars, (f64, f64)) {
        let Strides { scale, sq_norm, along, offset, .. } = self.strides;
        let [scale, sq_norm, along, weight, offset, mean] =
            [scale, sq_norm, along, self.weight, offset, self.mean_offset].map(|s| s.0[lane]);
        (Scalars { scale, sq_norm, along, weight }, (offset, mean))
    }

    /// How far the outputs from `first` on may go.
    pub(super) fn begin(&mut self, plan: &Plan<'_>, first: usize, outputs: usize) {
        for lane in 0..outputs {
            let own = plan.own(first + lane);
            self.radius.0[lane] = own.radius;
            self.strides.length.0[lane] = own.length;
            let fixed = !plan.settings.fit_intercept;
            self.strides.bound.0[lane] = if fixed { f64::INFINITY } else { own.bound };
            self.strides.offset_length.0[lane] = own.offset_length;
        }
    }

    /// What a step asks of all outputs, at features of this squared norm.
    pub(super) fn stride(plan: &Plan<'_>, step: Step, sq_norm: f64) -> Stride {
        let by = 1.0 / step.root;
        let eta = if plan.settings.strongly_convex { Ok(plan.eta(0.0, step)) } else { Err(by) };
        let offset = if plan.settings.fit_intercept { by } else { 0.0 };
        Stride { eta, lambda: plan.lambda, weight: step.weight, sq_norm, offset }
    }

    /// What the outputs violate at a sample, of which u makes `products`, and what is left of w
    /// (step 4). Whether a scale is to be multiplied out.
    pub(super) fn shrink(
        &mut self,
        plan: &Plan<'_>,
        stride: &Stride,
        products: &Side,
        y: &[f64],
    ) -> bool {
        let mut decisions = Side::default();
        side_shrink(&mut self.strides, stride, products, &mut decisions);
        let violations = &mut self.violations.0;
        plan.settings.loss.violations(y, &decisions.0, violations);
        if plan.truncates {
            let lengths = self.strides.eta.0.iter().zip(&self.strides.offset_length.0);
            let lanes = violations.iter_mut().zip(lengths).zip(y.iter().zip(&decisions.0));
            for ((v, (eta, length)), (&y, &decision)) in lanes.filter(|((v, _), _)| **v != 0.0) {
                let moves = eta * stride.sq_norm + length * stride.offset;
                *v = plan.truncated(*v, (y, decision), stride.weight * moves);
            }
        }
        self.is_low()
    }

    fn is_low(&self) -> bool {
        self.strides.scale.0.iter().fold(false, |low, &scale| low | (scale < LEAST_SCALE))
    }

    /// Whether any output violates anything at the sample.
    pub(super) fn is_violated(&self) -> bool {
        self.violations.0.iter().fold(false, |any, &v| any | (v != 0.0))
    }

    /// What every u and v gain of the sample's features (step 4). What u makes of `later` samples, of
    /// which the products with this one are given, changes too.
    pub(super) fn add(
        &mut self,
        stride: &Stride,
        gains: (&mut Side, &mut Side),
        later: (&mut [Side], &[f64]),
    ) {
        side_add(&mut self.strides, stride, &self.violations, gains, later);
    }

    /// Step 5. Whether a scale is to be multiplied out.
    pub(super) fn project(&mut self) -> bool {
        let (sq_norm, radius) = (&self.strides.sq_norm.0, &self.radius.0);
        let beyond = sq_norm.iter().zip(radius);
        if !beyond.fold(false, |any, (square, radius)| any | (*square > radius * radius)) {
            return false;
        }
        let Strides { scale, sq_norm, .. } = &mut self.strides;
        for lane in 0..SIDE {
            if sq_norm.0[lane] > radius[lane] * radius[lane] {
                let factor = radius[lane] / sq_norm.0[lane].sqrt();
                scale.0[lane] *= factor;
                sq_norm.0[lane] *= factor * factor;
            }
        }
        self.is_low()
    }

    /// Step 6: counts the iterates, with their η or with what is told.
    pub(super) fn average(&mut self, told: Option<f64>) {
        let weight = told.map_or(self.strides.eta, |weight| Side([weight; SIDE])).0;
        let Strides { scale, along, offset, .. } = &mut self.strides;
        for lane in 0..SIDE {
            along.0[lane] += weight[lane] * scale.0[lane];
            self.weight.0[lane] += weight[lane];
            self.mean_offset.0[lane] += weight[lane] * offset.0[lane];
        }
    }

    /// The lanes whose scale is to be multiplied out, each with α and the scale, which are 0 and 1
    /// after this.
    pub(super) fn multiply_out(&mut self, mut each: impl FnMut(usize, f64, f64)) {
        let Strides { scale, along, .. } = &mut self.strides;
        for (lane, (scale, along)) in scale.0.iter_mut().zip(&mut along.0).enumerate() {
            if *scale < LEAST_SCALE {
                each(lane, *along, *scale);
                (*along, *scale) = (0.0, 1.0);
            }
        }
    }

    /// Takes the norms afresh, of u's.
    pub(super) fn refresh(&mut self, sq_norms: &Side) {
        let Strides { scale, sq_norm, .. } = &mut self.strides;
        for lane in 0..SIDE {
            sq_norm.0[lane] = scale.0[lane] * scale.0[lane] * sq_norms.0[lane];
        }
    }
}
