//! What the Newton solvers share: how far to go, how the width of the zones falls, when it is over.

use crate::loss::AnyLoss;
use crate::solver::polish::ray::{Ray, Samples};

/// What h is divided by.
const H_FACTOR: f64 = 4.0;
/// A width before the last, or a part of the samples, is done when a step promises less than this
/// share of the objective.
const STAGE_TOL: f64 = 0.03;
/// Promised decrease, relative to the objective, that is rounding.
const ROUNDING: f64 = 1e-13;
/// The same when no step goes down any more.
const STALLED: f64 = 1e-9;
/// A shorter step says that the quadratic zone knew too little; what its width is multiplied by.
const SHORT_STEP: f64 = 0.3;
const WIDER: f64 = 3.0;
const WIDEST: f64 = 1e6;
/// A step is full when the objective falls by this share of what was promised.
const KEPT_PROMISE: f64 = 0.2;

/// The width that is being solved for.
pub(super) struct Widths {
    pub(super) h: f64,
    /// How much wider the zones of the quadratic model are taken.
    pub(super) wider: f64,
    last: f64,
    /// Whether the solution itself is wanted, not a start for the next stage.
    exact: bool,
}

/// One step, as it went.
pub(super) struct Told {
    /// Its length.
    pub(super) t: f64,
    /// Decrease that the model promised, relative to the objective.
    pub(super) promised: f64,
    /// Whether it was full and every sample stayed in its zone.
    pub(super) same: bool,
}

impl Widths {
    pub(super) fn new(first: f64, last: f64, exact: bool) -> Self {
        Self { h: first, wider: 1.0, last, exact }
    }

    /// What follows from a step: the next width, or the end and whether it is the minimum.
    pub(super) fn after(&mut self, told: Told, uses_h: bool) -> Option<bool> {
        let last = self.h <= self.last;
        let plain = self.wider == 1.0;
        let settled = plain && (told.same || told.promised <= ROUNDING);
        let enough = !(last && self.exact) && told.promised <= STAGE_TOL;
        let stalled = told.t == 0.0 && (self.wider > WIDEST || !uses_h);
        if settled || enough || stalled {
            if last {
                return Some(self.exact && (settled || told.promised <= STALLED));
            }
            self.h = (self.h / H_FACTOR).max(self.last);
            self.wider = 1.0;
        } else if uses_h && told.t < SHORT_STEP {
            self.wider *= WIDER;
        } else {
            self.wider = 1.0;
        }
        None
    }
}

/// How far to go along a Newton direction: all the way where the objective falls as promised (or
/// by too little to compare), else as far as the line search says.
pub(super) fn step_length(ray: &Ray<'_>, value: f64, promised: f64) -> f64 {
    if promised <= 1e3 * ROUNDING * value.abs() {
        return 1.0;
    }
    let falls = value - ray.at(1.0).value;
    if !ray.samples.loss.uses_h() && falls >= KEPT_PROMISE * promised {
        return 1.0;
    }
    ray.minimise().t
}

/// A width at which every sample is in the quadratic zone.
pub(super) fn all_quadratic(samples: &Samples<'_>, f: &[f64]) -> f64 {
    let distance = |i: usize| {
        let y = samples.targets.value(i, samples.output);
        let classes = samples.loss.loss.is_classification();
        if classes { (1.0 - y * f[i]).abs() } else { (y - f[i]).abs() }
    };
    1.5 * (0..samples.cost.len()).map(distance).fold(0.0, f64::max)
}

/// Where a sample lies: the sign of its slope in the linear zone, 2 in the quadratic one (3 on
/// the other side of a tube, 4 where both overlap), 0 where it costs nothing.
pub(super) type Zone = i8;

/// What tells the pieces of the objective apart: the same zones, the same quadratic function.
pub(super) fn zones(samples: &Samples<'_>, f: &[f64], wider: f64) -> Vec<Zone> {
    let wide = samples.widened(wider);
    // One piece everywhere.
    let single = samples.loss.loss == AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.0 };
    // Where the zones of both ends of a tube overlap, the curvature is twice that of one.
    let one_end = 0.75 / wide.loss.h;
    let overlap = matches!(samples.loss.loss, AnyLoss::EpsilonInsensitive { .. });
    let zone = |i: usize| {
        let (here, curve) = (samples.at(i, f[i]), wide.at(i, f[i]));
        match (curve.curvature > 0.0, here.slope) {
            (true, _) if single => 2,
            (true, _) if overlap && curve.curvature > one_end * samples.cost[i] => 4,
            (true, slope) if slope >= 0.0 => 2,
            (true, _) => 3,
            (false, 0.0) => 0,
            (false, slope) => {
                if slope > 0.0 {
                    1
                } else {
                    -1
                }
            }
        }
    };
    (0..samples.cost.len()).map(zone).collect()
}
