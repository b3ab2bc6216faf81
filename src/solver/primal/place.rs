//! Where the work on an output stands, and one output after the other.

use super::zones::all_quadratic;
use crate::error::{Result, try_vec};
use crate::linalg::dot;
use crate::solver::smoothed::ray::Samples;
use crate::solver::smoothed::{Polish, Polished, Start};
use crate::watch::{Halt, Step, StopReason, Watch};

/// What coefficients belong to, and so what the penalty is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// The samples: `1/2 βᵀKβ`.
    Samples,
    /// The features: `1/2 ‖w‖²`.
    Features,
}

/// Where the work on one output stands.
pub(super) struct Place<'a> {
    pub(super) polish: &'a Polish,
    start: Start<'a>,
    output: usize,
    of: Of,
    pub(super) coef: Vec<f64>,
    pub(super) b: f64,
    /// How many samples, the first ones, are looked at, and their decision values; all of them at
    /// the end.
    pub(super) size: usize,
    pub(super) f: Vec<f64>,
    pub(super) steps: usize,
    /// Of them, those on parts of the samples.
    pub(super) steps_before: usize,
}

impl<'a> Place<'a> {
    fn new(polish: &'a Polish, of: Of, start: Start<'a>, output: usize) -> Result<Self> {
        let (coef, b) = start.of_output(polish, output)?;
        let size = start.cost.len();
        let f = try_vec("decision values", size, b)?;
        Ok(Self { polish, start, output, of, coef, b, size, f, steps: 0, steps_before: 0 })
    }

    /// The samples looked at, at the width h.
    pub(super) fn samples(&self, h: f64) -> Samples<'a> {
        let all = self.start.samples(self.polish, self.output, h);
        Samples { cost: &all.cost[..self.size], ..all }
    }

    pub(super) fn penalty(&self) -> f64 {
        match self.of {
            Of::Samples => {
                let pairs = self.coef.iter().zip(&self.f);
                0.5 * pairs.map(|(beta, f)| beta * (f - self.b)).sum::<f64>()
            }
            Of::Features => 0.5 * dot(&self.coef, &self.coef),
        }
    }

    /// Whether it begins with a solution.
    pub(super) fn is_warm(&self) -> bool {
        self.coef.iter().any(|&v| v != 0.0)
    }

    /// A width at which every sample is in the quadratic zone, and the final one at least.
    pub(super) fn first_width(&self) -> f64 {
        let last = self.polish.h;
        if !self.polish.final_loss().uses_h() {
            return last;
        }
        last.max(all_quadratic(&self.samples(last), &self.f))
    }
}

/// One output after the other: `solve` leaves its place at the end, and says whether that is the
/// minimum.
pub(super) fn each_output<'a>(
    polish: &'a Polish,
    of: Of,
    start: Start<'a>,
    watch: &mut Watch<'_>,
    mut solve: impl FnMut(&mut Place<'a>, &mut Watch<'_>) -> Step<bool>,
) -> Result<Polished> {
    let m = start.targets.n_outputs();
    let mut result = Polished::nothing(start.coef.len() / m, m);
    for output in 0..m {
        let mut place = Place::new(polish, of, start, output)?;
        let done = match solve(&mut place, watch) {
            Err(Halt::Fail(error)) => return Err(error),
            done => done,
        };
        let samples = place.samples(polish.h);
        result.put(output, &place.coef, place.b);
        result.add(&samples, place.penalty(), &place.f);
        result.steps = result.steps.max(place.steps - place.steps_before);
        match done {
            Ok(true) => {}
            Ok(false) => (result.converged, result.stop) = (false, StopReason::MaxIter),
            Err(halt) => {
                (result.converged, result.stop) = (false, halt.into_reason()?);
                break;
            }
        }
    }
    Ok(result)
}
