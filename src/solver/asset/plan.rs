//! What the steps of ASSET know, and those of a single output.

use super::iterate::product;
use super::settings::{Settings, Task};
use super::{Iterate, Source};
use crate::float::Real;
use crate::loss::AnyLoss;

/// The features of a sample are asked for this many steps ahead.
const AHEAD: usize = 2;

/// One output: an iterate with its offset.
pub(super) struct Output {
    pub(super) iterate: Iterate,
    pub(super) intercept: f64,
    /// Summed up with the weights of the iterate's average.
    pub(super) mean_intercept: f64,
}

/// What a step needs to know.
pub(super) struct Plan<'a> {
    pub(super) settings: &'a Settings,
    pub(super) lambda: f64,
    /// One an output of columns, or that of all outputs.
    lengths: Vec<Lengths>,
    pub(super) average_from: u64,
    /// In a stream: the power of j that an iterate counts with.
    power: Option<f64>,
    pub(super) task: &'a Task<'a>,
    /// `p_i = factor C_i`.
    factor: f64,
    /// Whether no step goes beyond where the loss is 0.
    pub(super) truncates: bool,
    /// 1 with an offset, else 0.
    pub(super) one: f64,
}

/// How far an output may go, and how far at a time.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    pub(super) radius: f64,
    pub(super) bound: f64,
    /// `D_X / D_G`.
    pub(super) length: f64,
    /// The same of the offset.
    pub(super) offset_length: f64,
}

/// A step's number from 1 on, its square root, and p of its sample.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) j: u64,
    pub(super) root: f64,
    pub(super) weight: f64,
}

/// A block of samples, read before it is needed, once for all outputs: a step would wait for each.
pub(super) struct Told {
    /// Steps made before the block.
    done: u64,
    /// `p_i` of every sample, and the square root of its step's number.
    weights: Vec<(f64, f64)>,
    /// Targets, samples x outputs.
    pub(super) targets: Vec<f64>,
}

impl Told {
    pub(super) fn step(&self, at: usize) -> Step {
        let (weight, root) = self.weights[at];
        Step { j: self.done + at as u64 + 1, root, weight }
    }
}

impl Plan<'_> {
    pub(super) fn told(&self, order: &[usize], done: u64) -> Told {
        let (n, outputs) = (order.len(), self.task.targets.n_outputs());
        let weights = order.iter().zip(done + 1..);
        let weights = weights.map(|(&i, j)| (self.factor * self.task.cost[i], (j as f64).sqrt()));
        let mut targets = Vec::with_capacity(n * outputs);
        for &i in order {
            self.task.targets.append(self.task.index[i], &mut targets);
        }
        Told { done, weights: weights.collect(), targets }
    }

    /// How far output c may go.
    pub(super) fn own(&self, c: usize) -> &Lengths {
        &self.lengths[c.min(self.lengths.len() - 1)]
    }

    /// Whether the iterate after step j counts in the average; with what, where that is not η.
    pub(super) fn counts(&self, j: u64, before: u64) -> (bool, Option<f64>) {
        let counts = j - before > self.average_from;
        let power = self.power.filter(|_| counts);
        (counts, power.map(|power| (j as f64).powf(power)))
    }

    /// Step 2: η, for this `D_X / D_G`.
    pub(super) fn eta(&self, length: f64, step: Step) -> f64 {
        if self.settings.strongly_convex {
            1.0 / (self.lambda * step.j as f64)
        } else {
            length / step.root
        }
    }

    /// A violation of so much of its step as does not go beyond where the loss is 0; a violation of 1
    /// would move the decision value by `moves`.
    #[inline]
    pub(super) fn truncated(&self, v: f64, (y, decision): (f64, f64), moves: f64) -> f64 {
        let loss = self.settings.loss.value(y, decision);
        let whole = moves * v * v;
        if loss < whole { v * (loss / whole) } else { v }
    }

    /// Steps 4 to 6 for the samples of one block, of output c.
    pub(super) fn block<F: Real>(
        &self,
        (c, output): (usize, &mut Output),
        source: &Source<'_, F>,
        (order, told): (&[usize], &Told),
        before: u64,
    ) {
        let own = self.own(c);
        let targets = told.targets[c..].iter().step_by(self.task.targets.n_outputs());
        for (at, &y) in targets.enumerate() {
            let step = told.step(at);
            let Step { j, root, weight } = step;
            let eta = self.eta(own.length, step);
            let z = source.row(order, at);
            source.prefetch(order, at + AHEAD);
            let product = output.iterate.product(z);
            let decision = product + output.intercept;
            let mut v = self.settings.loss.violation(y, decision);
            if v != 0.0 && self.truncates {
                let moves = eta * source.sq_norm(order, at) + own.offset_length * self.one / root;
                v = self.truncated(v, (y, decision), weight * moves);
            }
            // 4.
            let shrink = (1.0 - eta * self.lambda).max(0.0);
            output.iterate.shrink(shrink);
            if v != 0.0 {
                let by = eta * weight * v;
                output.iterate.add(by, z, shrink * product, source.sq_norm(order, at));
                // 5.
                output.iterate.project(own.radius);
                if self.settings.fit_intercept {
                    let by = own.offset_length / root * weight * v;
                    output.intercept = (output.intercept + by).clamp(-own.bound, own.bound);
                }
            }
            // 6.
            if let (true, weight) = self.counts(j, before) {
                let weight = weight.unwrap_or(eta);
                output.iterate.average(weight);
                output.mean_intercept += weight * output.intercept;
            }
        }
        output.iterate.refresh();
    }
}

impl Plan<'_> {
    /// Whether outputs x D weights and offsets have a lower objective than w = 0 on loaded samples.
    pub(super) fn is_better<F: Real>(
        &self,
        source: &Source<'_, F>,
        order: &[usize],
        (coef, intercept): (&[f64], &[f64]),
    ) -> bool {
        let (loss, width) = (self.settings.loss, source.width());
        let penalty = 0.5 * self.lambda * crate::linalg::dot(coef, coef);
        let (mut found, mut nothing) = (penalty * order.len() as f64, 0.0);
        for (at, &i) in order.iter().enumerate() {
            let (z, p) = (source.row(order, at), self.factor * self.task.cost[i]);
            for (c, (w, b)) in coef.chunks_exact(width).zip(intercept).enumerate() {
                let y = self.task.y(i, c);
                found += p * loss.value(y, product(z, w) + b);
                nothing += p * loss.value(y, 0.0);
            }
        }
        found <= nothing
    }
}

impl Settings {
    /// Step 1 and the feasible set, from the first samples.
    pub(super) fn plan<'a>(
        &'a self,
        task: &'a Task<'a>,
        (block, sq_norms): (&[usize], &[f64]),
        gradient: &mut f64,
        steps: u64,
    ) -> Plan<'a> {
        let lambda = 1.0 / task.total;
        // The samples at hand stand for the whole problem, whatever their share of it.
        let sum: f64 = task.cost.iter().sum();
        let factor = task.cost.len() as f64 / sum;
        let one = f64::from(self.fit_intercept);
        if *gradient <= 0.0 {
            let squares = |slope: &dyn Fn(f64) -> f64| -> f64 {
                let outputs = task.targets.n_outputs();
                let terms = block.iter().zip(sq_norms).map(|(&i, norm)| {
                    let p = factor * task.cost[i];
                    let slopes = (0..outputs).map(|c| slope(task.y(i, c)).abs());
                    let d = slopes.fold(0.0, f64::max);
                    d * d * (p * p * (norm + one))
                });
                terms.sum::<f64>() / block.len() as f64
            };
            *gradient = squares(&|y| self.loss.violation(y, 0.0));
            // No target outside the tube: no gradient to measure.
            if *gradient <= 0.0 {
                *gradient = squares(&|_| 1.0).max(f64::MIN_POSITIVE);
            }
        }
        // Classes are alike in all that is asked here.
        let outputs = if task.targets.are_classes() { 1 } else { task.targets.n_outputs() };
        let norm = sq_norms.iter().fold(0.0, |a: f64, &b| a.max(b)).sqrt();
        let lengths = (0..outputs).map(|output| self.lengths(task, output, (*gradient, norm)));
        // Steps of two lengths would be cut unevenly, which moves a quantile.
        let truncates = if let AnyLoss::Quantile { quantile } = self.loss {
            quantile == 0.5
        } else {
            !self.loss.is_classification()
        };
        Plan {
            settings: self,
            lambda,
            lengths: lengths.collect(),
            average_from: if self.power().is_some() { 0 } else { self.average.from(steps) },
            power: self.power(),
            task,
            factor,
            truncates,
            one,
        }
    }

    /// Of one output, with `D_G²` and the largest norm of a sample's features.
    fn lengths(&self, task: &Task<'_>, output: usize, (gradient, norm): (f64, f64)) -> Lengths {
        let (lambda, sum) = (1.0 / task.total, task.cost.iter().sum::<f64>());
        let one = f64::from(self.fit_intercept);
        let y = |i: usize| task.y(i, output);
        let costs = task.cost.iter().enumerate();
        let mean = costs.map(|(i, cost)| cost * self.loss.value(y(i), 0.0)).sum::<f64>() / sum;
        // Of the dual's bound and the primal's.
        let factor_of_mean = if self.loss.is_classification() { 1.0 } else { 2.0 };
        let radius = (factor_of_mean * mean / lambda).sqrt();
        let least = task.cost.iter().fold(f64::INFINITY, |a, &b| a.min(b));
        let extents = (0..task.cost.len()).map(|i| self.loss.extent(y(i), sum / least));
        let largest = extents.fold(0.0, f64::max);
        let bound = self.max_intercept.unwrap_or(largest + norm * radius);
        // 0 times what is out of range: the steps will say so.
        let bound = if bound.is_nan() { f64::INFINITY } else { bound };
        let of_offset = if self.loss.is_classification() { one * bound * bound } else { 0.0 };
        let length = (radius * radius + of_offset).sqrt();
        let offset_length = if self.loss.is_classification() {
            length
        } else {
            // Departs from [ASSET] section 2.2: values are about a constant, so their offset has
            // about their spread to go, which does not grow with n and C as the radius does. With
            // one length for both it moves all decision values at once by as much as any sample
            // may move its own: a first pass is lost to that.
            let spread = task.cost.iter().enumerate().map(|(i, cost)| cost / sum * y(i).abs());
            spread.sum()
        };
        Lengths {
            radius,
            bound,
            length: length / gradient.sqrt(),
            offset_length: offset_length / gradient.sqrt(),
        }
    }
}
