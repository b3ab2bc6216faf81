//! The steps of ASSET and ASSET*.

use std::time::Duration;

use super::panel::Panels;
use super::plan::{Output, Plan};
use super::settings::{Settings, Task};
use super::{Iterate, Source};
use crate::data::passes;
use crate::error::Result;
use crate::float::Real;
use crate::parallel;
use crate::rng::Rng;
use crate::watch::{StopReason, Watch};

/// Samples whose features are made at a time; D_G is estimated on the first block.
const BLOCK: usize = 512;

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
    /// Whether the answer has a lower objective than w = 0, on samples of the last block.
    pub is_better: bool,
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
        panels = Panels::of(&mut machines, rayon::current_num_threads());
    }
    let mut plan: Option<Plan<'_>> = None;
    let (mut history, mut last) = (Vec::new(), Vec::new());
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
                    plan.block((0, &mut machines[0]), source, (block, told), before);
                });
            } else {
                parallel::each(panels.iter_mut(), &|_, panels| {
                    panels.block(plan, source, (block, told), before);
                });
            }
            done += block.len() as u64;
            if done == before + total {
                last = block.to_vec();
            }
        }
        history.push(watch.elapsed().saturating_sub(started));
        watch.tick.seen = n;
        Ok(None)
    })?;
    machines.extend(panels.into_iter().flat_map(|panels| panels.apart(width)));
    let mean = |m: &Output| match m.iterate.scalars.weight {
        weight if weight > 0.0 => m.mean_intercept / weight,
        _ => m.intercept,
    };
    let coef: Vec<f64> = machines.iter().flat_map(|m| m.iterate.mean()).collect();
    let intercept: Vec<f64> = machines.iter().map(mean).collect();
    let answer = (&coef[..], &intercept[..]);
    let is_better = plan.is_none_or(|plan| plan.is_better(source, &last, answer));
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
        is_better,
    })
}
