//! Steps on the samples near the margin: a step moves few of the others so far that they come to
//! matter, so that these are looked at again at the end alone.

use super::newton::Last;
use super::rows::picked;
use super::trail::{Leg, Place};
use super::{CHUNK, Few, Solver, WORD, matters, set};
use crate::data::SomeTargets;
use crate::error::try_vec;
use crate::float::Real;
use crate::parallel;
use crate::solver::smoothed::ray::Samples;
use crate::watch::{Step, Watch};

/// How far from mattering a sample is near ...
const REACH: f64 = 2.0;
/// ... and the share of all that those near may be.
const MOST: f64 = 0.6;
/// A step on them that promises less than this share of the objective is the last.
const UNTIL: f64 = 2e-3;
/// Samples from which on this is worth the trouble.
const LEAST: usize = 4096;

impl<F: Real> Solver<'_, '_, '_, F> {
    /// To about the minimum over the samples near the margin, or the best place on the way there.
    pub(super) fn go_near(
        &self,
        place: &mut Place,
        last: &mut Last,
        watch: &mut Watch<'_>,
    ) -> Step {
        let n = self.kernel.n_rows();
        if n < LEAST || self.until > 0.0 {
            return Ok(());
        }
        // A bit a sample.
        let mut is_near = try_vec("samples", n.div_ceil(WORD), 0_u64)?;
        let parts = is_near.chunks_mut(CHUNK / WORD).zip(place.f.chunks(CHUNK));
        parallel::each(parts, &|chunk, (near, f)| {
            for (at, &f) in f.iter().enumerate() {
                let near_one = matters(&self.samples, chunk * CHUNK + at, f, REACH);
                near[at / WORD] |= u64::from(near_one) << (at % WORD);
            }
        });
        let count = is_near.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        if count as f64 > MOST * n as f64 {
            return Ok(());
        }
        let mut samples: Vec<u32> = Vec::with_capacity(count);
        samples.extend(set(&is_near));
        let targets = SomeTargets::of(self.samples.targets, &samples)?;
        let (cost, f) = (picked(&samples, self.samples.cost)?, picked(&samples, &place.f)?);
        let kernel = Few { of: self.kernel, samples };
        let near = Solver {
            kernel: &kernel,
            samples: Samples { targets: targets.view(), cost: &cost, ..self.samples },
            until: UNTIL,
            leg: Leg::NEAR,
            outer: Some(&*place),
            ..*self
        };
        let (point, value, steps) = (place.point.clone(), place.value, place.steps);
        let mut there = Place { point, f, value, steps };
        let done = near.descend(&mut there, last, &mut |_, _| Ok(()), watch)?;
        place.steps = there.steps;
        self.step_1_look(place, (&there.point, done), watch)?;
        Ok(())
    }
}
