//! Steps on the samples near the margin: a step moves few of the others so far that they come to
//! matter, so that these are looked at again at the end alone.

use super::newton::Last;
use super::trail::{Leg, Place};
use super::{CHUNK, Few, Solver, matters};
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
/// Samples from which on this is worth the trouble.
const LEAST: usize = 4096;

impl<F: Real> Solver<'_, '_, '_, F> {
    /// To the minimum over the samples near the margin, or the best place on the way there; whether it
    /// is that of all.
    pub(super) fn go_near(
        &self,
        place: &mut Place,
        last: &mut Last,
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let n = self.kernel.n_rows();
        if n < LEAST || self.until > 0.0 {
            return Ok(false);
        }
        let mut is_near = try_vec("samples", n, false)?;
        parallel::each(
            is_near.chunks_mut(CHUNK).zip(place.f.chunks(CHUNK)),
            &|chunk, (near, f)| {
                let samples = (chunk * CHUNK..).zip(near.iter_mut().zip(f));
                samples.for_each(|(i, (near, &f))| *near = matters(&self.samples, i, f, REACH));
            },
        );
        let count = is_near.iter().filter(|&&near| near).count();
        if count as f64 > MOST * n as f64 {
            return Ok(false);
        }
        let mut samples: Vec<u32> = Vec::with_capacity(count);
        samples.extend((0..n as u32).filter(|&i| is_near[i as usize]));
        let chosen = || samples.iter().map(|&i| i as usize);
        let targets = SomeTargets::new(self.samples.targets, chosen());
        let pick = |values: &[f64]| chosen().map(|i| values[i]).collect::<Vec<f64>>();
        let (cost, f) = (pick(self.samples.cost), pick(&place.f));
        let kernel = Few { of: self.kernel, samples };
        let near = Solver {
            kernel: &kernel,
            samples: Samples { targets: targets.view(), cost: &cost, ..self.samples },
            until: 0.0,
            leg: Leg::NEAR,
            outer: Some(&*place),
            ..*self
        };
        let (point, value, steps) = (place.point.clone(), place.value, place.steps);
        let mut there = Place { point, f, value, steps };
        let done = near.descend(&mut there, last, &mut |_, _| Ok(()), watch)?;
        place.steps = there.steps;
        let whole = self.step_1_look(place, (&there.point, done), watch)?;
        let comes = |i: usize| !is_near[i] && matters(&self.samples, i, place.f[i], 0.0);
        Ok(done && whole && !(0..n).any(comes))
    }
}
