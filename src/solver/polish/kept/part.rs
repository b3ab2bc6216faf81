//! The first long steps, on a part of the samples that stands for all: far from the minimum a quarter
//! of them says as well where to go.

use super::newton::Last;
use super::rows::picked;
use super::trail::{Leg, Place};
use super::{Few, Solver, Tell, held_bytes};
use crate::data::SomeTargets;
use crate::float::Real;
use crate::rng::Rng;
use crate::solver::smoothed::KernelRows;
use crate::solver::smoothed::ray::Samples;
use crate::watch::{Step, Watch};

/// A part has so many samples a term, and is one in so many at most.
const SAMPLES: usize = 64;
const MOST_THINNED: usize = 4;
/// It has nothing more to say when a step promises less than this share of its objective: its own
/// minimum is another one.
const UNTIL: f64 = 0.1;
const SEED: u64 = 5;

impl<F: Real> Few<'_, F> {
    fn chosen(&self, samples: &[usize]) -> Vec<usize> {
        samples.iter().map(|&i| self.samples[i] as usize).collect()
    }
}

impl<F: Real> KernelRows<F> for Few<'_, F> {
    fn n_rows(&self) -> usize {
        self.samples.len()
    }
    fn n_terms(&self) -> usize {
        self.of.n_terms()
    }
    fn fill(&self, samples: &[usize], out: &mut [F]) {
        self.of.fill(&self.chosen(samples), out);
    }
    fn weigh(&self, samples: &[usize], coef: &[f64], out: &mut [f64]) {
        self.of.weigh(&self.chosen(samples), coef, out);
    }
    fn fill_gram(&self, first: usize, out: &mut [f64]) {
        self.of.fill_gram(first, out);
    }
}

impl<F: Real> Solver<'_, '_, '_, F> {
    /// From the zero model to `start`, times the scalar that is best for it, or to where the first long
    /// steps from there lead on a part of the samples; a part is begun on a part of its own. Then on
    /// the samples near the margin.
    pub(super) fn begin(
        &self,
        place: &mut Place,
        (start, last): (&[f64], &mut Last),
        tell: &mut Tell<'_>,
        watch: &mut Watch<'_>,
    ) -> Step {
        // One in so many samples is a part.
        let order = place.point.len();
        let every = (self.kernel.n_rows() / (SAMPLES * order).max(1)).min(MOST_THINNED);
        if self.leg == Leg::ALL && self.trail.is_at(Leg::NEAR) {
            self.trail.outer(place)?;
        } else {
            let led = match every {
                0 | 1 => None,
                _ => self.on_a_part(every, place, start, watch)?,
            };
            self.step_1_look(place, (led.as_deref().unwrap_or(start), false), watch)?;
            if every < 2 && self.leg == Leg::ALL {
                tell(place, watch)?;
                self.on_some_terms(place, watch)?;
            }
        }
        tell(place, watch)?;
        self.go_near(place, last, watch)
    }

    /// Where they lead; none where `start` is not far from the minimum.
    fn on_a_part(
        &self,
        every: usize,
        place: &mut Place,
        start: &[f64],
        watch: &mut Watch<'_>,
    ) -> Step<Option<Vec<f64>>> {
        let n = self.kernel.n_rows();
        let mut rng = Rng::new(SEED);
        let samples: Vec<u32> = (0..n as u32).filter(|_| rng.below(every) == 0).collect();
        let targets = SomeTargets::of(self.samples.targets, &samples)?;
        let mut cost = picked(&samples, self.samples.cost)?;
        cost.iter_mut().for_each(|cost| *cost *= every as f64);
        let kernel = Few { of: self.kernel, samples };
        let part = Solver {
            kernel: &kernel,
            samples: Samples { targets: targets.view(), cost: &cost, ..self.samples },
            until: UNTIL,
            leg: self.leg.part(),
            bytes: held_bytes(self.bytes, n),
            ..*self
        };
        let mut there = part.zero(place.steps)?;
        let mut last = Last::default();
        if !self.trail.is_at(part.leg) {
            part.begin(&mut there, (start, &mut last), &mut |_, _| Ok(()), watch)?;
        }
        part.descend(&mut there, &mut last, &mut |_, _| Ok(()), watch)?;
        let moved = there.steps > place.steps;
        place.steps = there.steps;
        Ok(moved.then_some(there.point))
    }
}
