//! Several outputs side by side: each sample's features are read once for eight of them.

use super::iterate::Scalars;
use super::plan::{AHEAD, Output, Plan, Told};
use super::{Iterate, Source};
use crate::float::Real;
use crate::simd::{SIDE, Side, add_side, add_sides, side_dots, widen};

/// An output's share that is no vector.
struct Lane {
    scalars: Scalars,
    intercept: f64,
    mean_intercept: f64,
    /// Of the step at hand: η, and what the output violates.
    step: (f64, f64),
}

/// At most [`SIDE`] outputs; the vectors u and v of their iterates, a lane each.
pub(super) struct Panel {
    /// The first one's index.
    first: usize,
    lanes: Vec<Lane>,
    u: Vec<Side>,
    rest: Vec<Side>,
    /// A sample's features.
    z: Vec<f64>,
}

/// Multiplies a lane's scale out.
fn multiply_out(scalars: &mut Scalars, at: usize, (u, rest): (&mut [Side], &mut [Side])) {
    scalars.multiply_out(u.iter_mut().zip(rest).map(|(u, v)| (&mut u[at], &mut v[at])));
}

impl Panel {
    /// All of the outputs, which are taken.
    pub(super) fn of(outputs: &mut Vec<Output>) -> Vec<Self> {
        let mut panels: Vec<Self> = Vec::new();
        for (at, output) in outputs.drain(..).enumerate() {
            let Output { iterate: Iterate { scalars, u, rest }, intercept, mean_intercept } =
                output;
            let (lane, width) = (at % SIDE, u.len());
            if lane == 0 {
                let none = vec![[0.0; SIDE]; width];
                let (lanes, z) = (Vec::new(), vec![0.0; width]);
                panels.push(Self { first: at, lanes, u: none.clone(), rest: none, z });
            }
            let Some(panel) = panels.last_mut() else { break };
            panel.u.iter_mut().zip(u).for_each(|(to, value)| to[lane] = value);
            panel.rest.iter_mut().zip(rest).for_each(|(to, value)| to[lane] = value);
            panel.lanes.push(Lane { scalars, intercept, mean_intercept, step: (0.0, 0.0) });
        }
        panels
    }

    /// The outputs again.
    pub(super) fn apart(self) -> impl Iterator<Item = Output> {
        let Self { lanes, u, rest, .. } = self;
        lanes.into_iter().enumerate().map(move |(at, lane)| Output {
            iterate: Iterate {
                scalars: lane.scalars,
                u: u.iter().map(|values| values[at]).collect(),
                rest: rest.iter().map(|values| values[at]).collect(),
            },
            intercept: lane.intercept,
            mean_intercept: lane.mean_intercept,
        })
    }

    /// Steps 4 to 6 for the samples of one block: of every output what it would do alone.
    pub(super) fn block<F: Real>(
        &mut self,
        plan: &Plan<'_>,
        source: &Source<'_, F>,
        (order, told): (&[usize], &Told),
        before: u64,
    ) {
        let outputs = plan.task.targets.n_outputs();
        for (at, &(weight, root)) in told.weights.iter().enumerate() {
            let j = told.done + at as u64 + 1;
            if self.first == 0 {
                source.prefetch(order, at + AHEAD);
            }
            widen(source.row(order, at), &mut self.z);
            let products = side_dots(&self.z, &self.u);
            let y = &told.targets[at * outputs + self.first..];
            let known = (&products, source.sq_norm(order, at));
            let (u, rest) = self.move_by(plan, (j, root, weight), known, y);
            if rest.iter().any(|&by| by != 0.0) {
                add_sides(&self.z, (&u, &mut self.u), (&rest, &mut self.rest));
            } else if u.iter().any(|&by| by != 0.0) {
                add_side(&self.z, &u, &mut self.u);
            }
            self.settle(plan, (j, root, weight), before);
        }
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            lane.scalars.refresh(self.u.iter().map(|values| values[at] * values[at]).sum());
        }
    }

    /// Step 4: what every u and v gain of z.
    fn move_by(
        &mut self,
        plan: &Plan<'_>,
        (j, root, weight): (u64, f64, f64),
        (products, sq_norm): (&Side, f64),
        y: &[f64],
    ) -> (Side, Side) {
        let (mut u, mut rest) = ([0.0; SIDE], [0.0; SIDE]);
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            let eta = plan.step(plan.own(self.first + at), (j, root));
            let product = lane.scalars.scale() * products[at];
            let v = plan.settings.loss.violation(y[at], product + lane.intercept);
            let shrink = (1.0 - eta * plan.lambda).max(0.0);
            if lane.scalars.shrink(shrink) {
                multiply_out(&mut lane.scalars, at, (&mut self.u, &mut self.rest));
            }
            if v != 0.0 {
                let by = eta * weight * v;
                (u[at], rest[at]) = lane.scalars.add(by, shrink * product, sq_norm);
            }
            lane.step = (eta, v);
        }
        (u, rest)
    }

    /// Steps 5 and 6.
    fn settle(&mut self, plan: &Plan<'_>, (j, root, weight): (u64, f64, f64), before: u64) {
        let (counts, told) = plan.counts(j, before);
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            let own = plan.own(self.first + at);
            let (eta, v) = lane.step;
            // 5.
            if v != 0.0 {
                if let Some(factor) = lane.scalars.beyond(own.radius)
                    && lane.scalars.shrink(factor)
                {
                    multiply_out(&mut lane.scalars, at, (&mut self.u, &mut self.rest));
                }
                if plan.settings.fit_intercept {
                    let by = own.offset_length / root * weight * v;
                    lane.intercept = (lane.intercept + by).clamp(-own.bound, own.bound);
                }
            }
            // 6.
            if counts {
                let weight = told.unwrap_or(eta);
                lane.scalars.average(weight);
                lane.mean_intercept += weight * lane.intercept;
            }
        }
    }
}
