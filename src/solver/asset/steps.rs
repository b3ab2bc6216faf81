//! The steps of ASSET and ASSET*.

use std::time::Duration;

use super::panel::Panel;
use super::{Iterate, Source};
use crate::config::{count, optional, positive};
use crate::data::{SampleOrder, Targets, passes};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::loss::AnyLoss;
use crate::parallel;
use crate::rng::Rng;
use crate::watch::{StopReason, Watch};

/// Samples whose features are made at a time; D_G is estimated on the first block.
const BLOCK: usize = 512;

/// Which iterates are averaged.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Average {
    /// None: the answer is the last iterate.
    None,
    /// This many at the end.
    Last(u64),
    /// This share of the steps, at their end, in (0, 1]. A stream has no end: there all iterates
    /// count, with weights `j^((1 - share)/share)`, half of which lie in about that share
    /// (\[SHAMIR\]).
    Share(f64),
}

impl Average {
    /// N̄, the first step that counts, of `steps`.
    fn from(self, steps: u64) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Last(count) => steps.saturating_sub(count),
            Self::Share(share) => (steps as f64 * (1.0 - share)) as u64,
        }
    }
}

/// What does not change while training.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The loss, not squared.
    pub loss: AnyLoss,
    /// ASSET*: steps 1/(λ j), no offset.
    pub strongly_convex: bool,
    /// Whether there is an offset (ASSET only).
    pub fit_intercept: bool,
    /// B, the largest magnitude of the offset, > 0. None: what no optimum is beyond.
    pub max_intercept: Option<f64>,
    /// Passes, at least 1.
    pub max_iter: usize,
    /// Which iterates are averaged.
    pub average: Average,
    /// Order of a pass over the samples.
    pub order: SampleOrder,
    /// Whether this is a part of a stream.
    pub stream: bool,
}

/// Targets and costs of the samples behind a [`Source`].
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Targets of all rows.
    pub targets: Targets<'a>,
    /// Rows of the samples.
    pub index: &'a [usize],
    /// `C_i` of the samples, positive.
    pub cost: &'a [f64],
    /// `Σ C_i` of the whole problem; in a stream the part at hand may be a part of it.
    pub total: f64,
}

impl Task<'_> {
    /// Target of a sample for an output.
    #[inline]
    pub(super) fn y(&self, sample: usize, output: usize) -> f64 {
        self.targets.value(self.index[sample], output)
    }
}

/// What a stream goes on from.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The last iterate, outputs x D.
    pub weights: Vec<f64>,
    /// Its offsets.
    pub intercept: Vec<f64>,
    /// Steps made.
    pub steps: u64,
    /// Samples seen, each once.
    pub samples: u64,
    /// `D_G²`.
    pub gradient: f64,
    /// The average so far, outputs x D.
    pub mean: Vec<f64>,
    /// Its offsets.
    pub mean_intercept: Vec<f64>,
}

impl State {
    /// The same of targets that are `by` larger, one an output.
    pub fn moved(&self, by: &[f64]) -> Self {
        let moved = |offsets: &[f64]| offsets.iter().zip(by).map(|(b, by)| b + by).collect();
        let (intercept, mean_intercept) = (moved(&self.intercept), moved(&self.mean_intercept));
        Self { intercept, mean_intercept, ..self.clone() }
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The answer: the average, outputs x D.
    pub coef: Vec<f64>,
    /// Its offsets.
    pub intercept: Vec<f64>,
    /// What a next call goes on from.
    pub state: State,
    /// Why it ended.
    pub stop: StopReason,
    /// Time at the end of every pass.
    pub history: Vec<Duration>,
}

/// The features of a sample are asked for this many steps ahead.
pub(super) const AHEAD: usize = 2;

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
}

/// How far an output may go, and how far at a time.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    pub(super) radius: f64,
    pub(super) bound: f64,
    /// `D_X / D_G`.
    length: f64,
    /// The same of the offset.
    pub(super) offset_length: f64,
}

/// A block of samples, read before it is needed, once for all outputs: a step would wait for each.
pub(super) struct Told {
    /// Steps made before the block.
    pub(super) done: u64,
    /// `p_i` of every sample, and the square root of its step's number.
    pub(super) weights: Vec<(f64, f64)>,
    /// Targets, samples x outputs.
    pub(super) targets: Vec<f64>,
}

impl Plan<'_> {
    fn told(&self, order: &[usize], done: u64) -> Told {
        let (n, outputs) = (order.len(), self.task.targets.n_outputs());
        let weights = order.iter().zip(done + 1..);
        let weights = weights.map(|(&i, j)| (self.factor * self.task.cost[i], (j as f64).sqrt()));
        let mut targets = Vec::with_capacity(n * outputs);
        for &i in order {
            targets.extend((0..outputs).map(|c| self.task.y(i, c)));
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

    /// Step 2, of the step j, whose square root is given.
    pub(super) fn step(&self, own: &Lengths, (j, root): (u64, f64)) -> f64 {
        if self.settings.strongly_convex {
            1.0 / (self.lambda * j as f64)
        } else {
            own.length / root
        }
    }

    /// Steps 4 to 6 for the samples of one block, of the only output.
    fn block<F: Real>(
        &self,
        output: &mut Output,
        source: &Source<'_, F>,
        (order, told): (&[usize], &Told),
        before: u64,
    ) {
        let own = self.own(0);
        for (at, (&y, &(weight, root))) in told.targets.iter().zip(&told.weights).enumerate() {
            let j = told.done + at as u64 + 1;
            let eta = self.step(own, (j, root));
            let z = source.row(order, at);
            source.prefetch(order, at + AHEAD);
            let product = output.iterate.product(z);
            let v = self.settings.loss.violation(y, product + output.intercept);
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

/// Runs passes over the samples of `source`, from `start` or from 0.
///
/// # Errors
/// `InvalidParam`, `Unsupported` (an offset or a squared loss where there is none), `OutOfMemory`,
/// `Interrupted`.
pub fn train<F: Real>(
    settings: &Settings,
    source: &mut Source<'_, F>,
    task: &Task<'_>,
    start: Option<&State>,
    rng: &mut Rng,
    watch: &mut Watch<'_>,
) -> Result<Outcome> {
    settings.check()?;
    let (n, width, outputs) = (source.len(), source.width(), task.targets.n_outputs());
    let started = watch.elapsed();
    let total = (settings.max_iter as u64).saturating_mul(n as u64);
    let before = start.map_or(0, |s| s.steps);
    let mut done = before;
    let mut gradient = start.map_or(0.0, |s| s.gradient);
    let mut machines: Vec<Output> = (0..outputs)
        .map(|c| {
            let w = start
                .map_or_else(|| vec![0.0; width], |s| s.weights[c * width..][..width].to_vec());
            let intercept = start.map_or(0.0, |s| s.intercept[c]);
            let mut iterate = Iterate::new(&w);
            let mut mean_intercept = 0.0;
            if let (Some(power), Some(s)) = (settings.power(), start) {
                // The sum of the weights of the steps made, about.
                let weight = (before as f64).powf(power + 1.0) / (power + 1.0);
                iterate.begin_average(&s.mean[c * width..][..width], weight);
                mean_intercept = weight * s.mean_intercept[c];
            }
            Output { iterate, intercept, mean_intercept }
        })
        .collect();
    // Several walk side by side.
    let mut panels = Vec::new();
    if outputs > 1 {
        panels = Panel::of(&mut machines);
    }
    let mut plan: Option<Plan<'_>> = None;
    let mut history = Vec::new();
    let stop = passes(watch, (&settings.order, n, 0..settings.max_iter), &mut |watch, pass| {
        watch.tick.n_terms = width;
        let order = pass.ids(rng)?;
        for (b, block) in order.chunks(BLOCK).enumerate() {
            watch.tick.seen = b * BLOCK;
            // 3.
            source.load(block, watch)?;
            watch.glance()?;
            let source = &*source;
            let plan = &*plan.get_or_insert_with(|| {
                let norm = |at| source.sq_norm(block, at);
                let sq_norms: Vec<f64> = (0..block.len()).map(norm).collect();
                settings.plan(task, (block, &sq_norms), &mut gradient, total)
            });
            let told = &plan.told(block, done);
            if outputs == 1 {
                let next = &order[((b + 1) * BLOCK).min(n)..((b + 2) * BLOCK).min(n)];
                rayon::in_place_scope(|scope| {
                    if rayon::current_num_threads() > 1 {
                        scope.spawn(|_| source.warm(next));
                    }
                    plan.block(&mut machines[0], source, (block, told), before);
                });
            } else {
                parallel::each(panels.iter_mut(), &|_, panel| {
                    panel.block(plan, source, (block, told), before);
                });
            }
            done += block.len() as u64;
        }
        history.push(watch.elapsed().saturating_sub(started));
        watch.tick.seen = n;
        Ok(None)
    })?;
    machines.extend(panels.into_iter().flat_map(Panel::apart));
    let mean = |m: &Output| match m.iterate.scalars.weight {
        weight if weight > 0.0 => m.mean_intercept / weight,
        _ => m.intercept,
    };
    let coef: Vec<f64> = machines.iter().flat_map(|m| m.iterate.mean()).collect();
    let intercept: Vec<f64> = machines.iter().map(mean).collect();
    Ok(Outcome {
        coef: coef.clone(),
        intercept: intercept.clone(),
        state: State {
            weights: machines.iter().flat_map(|m| m.iterate.current()).collect(),
            intercept: machines.iter().map(|m| m.intercept).collect(),
            steps: done,
            samples: start.map_or(0, |s| s.samples) + n as u64,
            gradient,
            mean: coef,
            mean_intercept: intercept,
        },
        stop,
        history,
    })
}

impl Settings {
    /// Whether everything is in its range.
    ///
    /// # Errors
    /// `InvalidParam`, `Unsupported`.
    pub fn check(&self) -> Result<()> {
        self.loss.check()?;
        count("max_iter", self.max_iter)?;
        if !self.loss.has_bounded_slope() {
            return Err(Error::Unsupported(
                "a squared loss needs solver='dual': its gradient has no bound".into(),
            ));
        }
        if self.strongly_convex && self.fit_intercept {
            return Err(Error::Unsupported(
                "strongly_convex=true needs fit_intercept=false: with an offset the objective is \
                 not strongly convex"
                    .into(),
            ));
        }
        optional(positive, "max_intercept", self.max_intercept)?;
        if self.max_intercept.is_some() && !self.fit_intercept {
            return Err(Error::Unsupported("max_intercept needs fit_intercept=true".into()));
        }
        match self.average {
            Average::Last(0) => Err(Error::param("averaging", ">= 1", 0)),
            Average::Share(share) if !(share > 0.0 && share <= 1.0) => {
                Err(Error::param("averaging", "in (0, 1]", share))
            }
            Average::None | Average::Last(_) | Average::Share(_) => Ok(()),
        }
    }

    /// The power of j that an iterate of a stream counts with, where a share is averaged.
    fn power(&self) -> Option<f64> {
        match self.average {
            Average::Share(share) if self.stream => Some((1.0 - share) / share),
            Average::None | Average::Last(_) | Average::Share(_) => None,
        }
    }

    /// Step 1 and the feasible set, from the first samples.
    fn plan<'a>(
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
        Plan {
            settings: self,
            lambda,
            lengths: lengths.collect(),
            average_from: if self.power().is_some() { 0 } else { self.average.from(steps) },
            power: self.power(),
            task,
            factor,
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
