//! Newton's method for losses made of quadratic pieces, and the path of solutions as their zones
//! narrow; and for smooth ones.
//!
//! # Method
//!
//! 1. Samples fall into zones, in each of which the loss is one quadratic function of f. A Newton
//!    step goes to the minimum that the objective would have if every sample stayed in its zone.
//! 2. Squared losses: full steps at first, later only where the objective falls as promised. Else
//!    a line search on the objective, O(n) a trial.
//! 3. A loss with a width begins with h so wide that every sample is in its quadratic zone. A
//!    width is solved when a full step left every sample in its zone, or promised next to nothing.
//! 4. Then h falls by a factor. The first step at the new width takes the zones of the *old*
//!    solution: where they stay, it lands on the new one, however narrow they are. (Zones found
//!    at the new width from the old solution would know nothing: all samples at the outer edge
//!    of the quadratic zone fall out of it.)
//! 5. Where a step is then short, back to the old solution and on by the square root of the
//!    factor; after an easy width by its square.
//! 6. A loss without zones is in the place of a piece the quadratic function that touches it: full
//!    steps where the objective falls as promised, until next to nothing is promised.
//!
//! References: \[PRIMAL\] section 4.2 for zones and steps; the path is ours.

use super::place::Place;
use super::zones::{all_quadratic, zones};
use crate::error::Result;
use crate::loss::Zone;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::watch::{Step, Watch};

/// What h is divided by at first, and at most.
const FACTOR: f64 = 2.0;
const MOST: f64 = 16.0;
/// Below this factor a width has to be solved to the end before the next; and below this one
/// there is no way back any more.
const CAREFUL: f64 = 1.1;
const LEAST: f64 = 1.0005;
/// A width before the last is solved when a step promised less than this share of the objective.
const WIDTH_TOL: f64 = 1e-5;
/// The same for a part of the samples.
const PART_TOL: f64 = 0.03;
/// Promised decrease, relative to the objective, that is rounding.
const ROUNDING: f64 = 1e-13;
/// The same when no step goes down any more.
const STALLED: f64 = 1e-9;
/// A shorter step after a change of width is a failure; so are this many steps.
const SHORT_STEP: f64 = 0.1;
const MANY_STEPS: usize = 8;
/// A width solved in this many steps was easy.
const FEW_STEPS: usize = 2;
/// Where a squared loss is minimised, this many steps are full whatever the objective does: the next one
/// depends on the zones alone, and they settle sooner so. (Departs from \[PRIMAL\] Algorithm 1,
/// all of whose steps are full: they can cycle.)
const FREE_STEPS: usize = 12;
/// Later a step is full when the objective falls by this share of what was promised.
const KEPT_PROMISE: f64 = 0.2;

/// What makes Newton steps from a place.
pub(super) trait Newton {
    /// Finds the direction to the minimum for these zones: what it changes in the decision
    /// values, and the penalty's first and second derivative along it.
    fn aim(
        &mut self,
        place: &Place<'_>,
        samples: &Samples<'_>,
        zones: &[Zone],
        watch: &mut Watch<'_>,
    ) -> Step<Direction>;
    /// Goes this share of the direction last found.
    fn advance(&mut self, place: &mut Place<'_>, t: f64, direction: &Direction) -> Result<()>;
    /// The decision values of the first samples, as many, by these coefficients and this offset.
    fn times(&self, size: usize, coef: &[f64], b: f64) -> Result<Vec<f64>>;
}

/// A direction in the terms that a line search needs.
pub(super) struct Direction {
    pub(super) s: Vec<f64>,
    pub(super) linear: f64,
    pub(super) quadratic: f64,
}

/// What to follow the path to.
pub(super) struct Goal {
    /// First width and last.
    pub(super) widths: (f64, f64),
    /// Whether the minimum itself is wanted, not a start for something larger.
    pub(super) exact: bool,
    /// Where directions are not exact, the promised decrease at which the last width is done,
    /// relative to the objective; 0 where they are.
    pub(super) tol: f64,
}

/// A width that was solved.
struct Solved {
    h: f64,
    coef: Vec<f64>,
    b: f64,
    zones: Vec<Zone>,
}

/// Minimises; the steps of the place go on counting, and are `max_steps` at most. Whether the
/// minimum was reached.
pub(super) fn follow(
    machine: &mut dyn Newton,
    place: &mut Place<'_>,
    goal: &Goal,
    watch: &mut Watch<'_>,
) -> Step<bool> {
    let (mut h, last_h) = goal.widths;
    let (mut factor, mut tries) = (FACTOR, 0);
    let mut solved: Option<Solved> = None;
    let mut forced: Option<Vec<Zone>> = None;
    loop {
        let samples = place.samples(h);
        let value = place.penalty() + samples.loss_at(&place.f);
        if place.steps >= place.polish.max_steps {
            return Ok(false);
        }
        watch.at(place.steps, value);
        watch.poll()?;
        place.steps += 1;
        tries += 1;
        // Steps 1 and 2 (and 4).
        let guided = forced.is_some();
        let mut at = forced.take().unwrap_or_else(|| zones(&samples, &place.f));
        let mut direction = machine.aim(place, &samples, &at, watch)?;
        let mut promised = direction.promise(&samples, place);
        if promised < 0.0 && guided {
            // Uphill: the zones of the other width were no guide.
            at = zones(&samples, &place.f);
            direction = machine.aim(place, &samples, &at, watch)?;
            promised = direction.promise(&samples, place);
        }
        let t = if tries <= FREE_STEPS && samples.loss.is_squared() {
            1.0
        } else {
            direction.step_length(&samples, place, (value, promised))
        };
        machine.advance(place, t, &direction)?;
        let after = zones(&samples, &place.f);
        let share = promised.abs() / value.abs();
        // Step 3.
        // A direction that is not exact may leave every zone as it was, far from the minimum.
        let exact = goal.tol == 0.0 && samples.loss.has_zones();
        let stayed = exact && t == 1.0 && at == after;
        let settled = stayed || (promised >= 0.0 && share <= ROUNDING);
        if h <= last_h {
            if settled || (t == 1.0 && promised >= 0.0 && share <= goal.tol) {
                return Ok(goal.exact);
            }
            if !goal.exact && share <= PART_TOL {
                return Ok(false);
            }
        }
        let enough = if factor < CAREFUL { 0.0 } else { WIDTH_TOL };
        let failed = t < SHORT_STEP || tries > MANY_STEPS;
        if h > last_h && (settled || (!failed && share <= enough)) {
            // Step 4.
            if tries <= FEW_STEPS {
                factor = (factor * factor).min(MOST);
            }
            let (coef, b) = (place.coef.clone(), place.b);
            solved = Some(Solved { h, coef, b, zones: after.clone() });
            h = (h / factor).max(last_h);
            (forced, tries) = (Some(after), 0);
        } else if failed && samples.loss.uses_h() {
            match &solved {
                // Step 5.
                Some(solved) if solved.h / h > LEAST => {
                    factor = (solved.h / h).sqrt();
                    h = solved.h / factor;
                    (place.coef, place.b) = (solved.coef.clone(), solved.b);
                    place.f = machine.times(place.size, &place.coef, place.b)?;
                    (forced, tries) = (Some(solved.zones.clone()), 0);
                }
                // Begun at the last width, from a start that was no guide.
                None if h <= last_h && all_quadratic(&samples, &place.f) > h => {
                    h = all_quadratic(&samples, &place.f);
                    tries = 0;
                }
                _ if t == 0.0 => return Ok(goal.exact && h <= last_h && share <= STALLED),
                _ => {}
            }
        } else if t == 0.0 {
            return Ok(goal.exact && h <= last_h && share <= STALLED);
        }
    }
}

impl Direction {
    fn ray<'r>(&'r self, samples: &Samples<'r>, place: &'r Place<'_>) -> Ray<'r> {
        let (linear, quadratic) = (self.linear, self.quadratic);
        Ray { samples: *samples, f: &place.f, s: &self.s, base: place.penalty(), linear, quadratic }
    }

    /// Half the slope down the direction: what the quadratic model promises.
    fn promise(&self, samples: &Samples<'_>, place: &Place<'_>) -> f64 {
        -0.5 * self.ray(samples, place).at(0.0).slope
    }

    /// How far to go: all the way where the objective falls as promised (or by too little to
    /// compare), else as far as the line search says.
    fn step_length(
        &self,
        samples: &Samples<'_>,
        place: &Place<'_>,
        (value, promised): (f64, f64),
    ) -> f64 {
        if promised.abs() <= 1e3 * ROUNDING * value.abs() {
            return 1.0;
        }
        let ray = self.ray(samples, place);
        let falls = value - ray.at(1.0).value;
        if !samples.loss.uses_h() && falls >= KEPT_PROMISE * promised {
            return 1.0;
        }
        ray.minimise().0
    }
}
