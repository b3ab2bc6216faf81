//! A block beside rows of which more is known than a summary.

use super::moments::{Moments, Values};
use super::newton::TOL;
use super::{Block, Summary};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::linalg::{add_scaled_rows, axpy, dot, symmetric_times};
use crate::loss::Curve;
use crate::solver::smoothed::ray::{Ray, search};
use crate::watch::{Halt, Step};

/// Newton steps.
const MAX_STEPS: usize = 60;

/// What is known of the rows before a block, for one output.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// A parabola about their solution.
    pub summary: &'a Summary,
    /// Where they lie, and a tilt that goes with it ([`Moments::pull`]); instead of the summary.
    pub moments: Option<(&'a Moments, &'a [f64])>,
}

impl Moments {
    /// What goes with the groups in a block's objective, a linear function of the coefficients: what
    /// the gradient of rows learnt beside groups has beyond that of theirs, and of what else `point`, the
    /// solution so far, lacks of being the minimum a share, `kept`. Rows count `factor` times what they
    /// did when it was found.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says.
    pub fn pull<F: Real>(
        &self,
        block: &Block<'_, F>,
        (output, point): (usize, &[f64]),
        (factor, kept): (f64, f64),
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Vec<f64>> {
        let loss = block.samples(output, block.loss.h).loss;
        let at = self.values(point)?;
        let mut pull = self.expansion((loss, output), (point, &at), between)?.gradient;
        axpy(factor, &symmetric_times(block.penalty, point), &mut pull);
        let beyond = self.beyond_of(output);
        pull.iter_mut().zip(beyond).for_each(|(v, own)| *v = own - kept * (*v + own));
        Ok(pull)
    }

    /// With the block among the groups, and `point` its solution beside this pull: the parabola about
    /// the point that has these rows' curvature there and its minimum at the point, and what gradients
    /// now have beyond those of groups. At the solution penalty, groups, pull and block are in
    /// balance, so that it is what the pull was, and what the balance lacks once the block is in the
    /// groups, less the pull.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says.
    pub fn about<F: Real>(
        &self,
        block: &Block<'_, F>,
        (output, point, pull): (usize, &[f64], &[f64]),
        between: &mut dyn FnMut() -> Step,
    ) -> Step<(Summary, Vec<f64>)> {
        let loss = block.samples(output, block.loss.h).loss;
        let at = self.values(point)?;
        let expansion = self.expansion((loss, output), (point, &at), between)?;
        let mut beyond = self.beyond_of(output).to_vec();
        axpy(-1.0, pull, &mut beyond);
        axpy(-1.0, &symmetric_times(block.penalty, point), &mut beyond);
        axpy(-1.0, &expansion.gradient, &mut beyond);
        Ok((self.summary(expansion, (block.penalty, point)), beyond))
    }
}

impl<F: Real> Block<'_, F> {
    /// [`Block::solve_below`] of what is known of the past. Beside groups it is nothing where the
    /// objective is not below `ceiling` even with twice what a Newton step promises.
    ///
    /// # Errors
    /// Those of [`Block::solve`].
    pub fn solve_after(
        &self,
        (past, ceiling): (Past<'_>, f64),
        output: usize,
        start: Option<Vec<f64>>,
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Option<Vec<f64>>> {
        match past.moments {
            Some(known) if past.summary.unknowns() > 0 => {
                let start = match start {
                    Some(start) => start,
                    None => past.summary.minimum(self.penalty)?,
                };
                self.solve_with((known, ceiling), output, start, between)
            }
            _ => self.solve_below((past.summary, ceiling), output, start, between),
        }
    }

    /// [`Block::value`] of what is known of the past.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn value_after(&self, past: Past<'_>, output: usize, point: &[f64]) -> Result<(f64, f64)> {
        let Some((moments, pull)) = past.moments else {
            return self.value(past.summary, output, point);
        };
        let mut f = try_vec("margins", self.cost.len(), 0.0)?;
        self.decide(point, &mut f);
        let samples = self.samples(output, self.loss.h);
        let penalty = 0.5 * dot(&symmetric_times(self.penalty, point), point);
        let loss = samples.loss_at(&f);
        let known = moments.loss((samples.loss, output), point)? + dot(pull, point);
        Ok((penalty + loss + known, self.portion * penalty + loss))
    }

    /// The minimum of penalty, block, and what groups of past rows lose with a tilt, by Newton's
    /// method from `start`.
    fn solve_with(
        &self,
        ((moments, pull), ceiling): ((&Moments, &[f64]), f64),
        output: usize,
        start: Vec<f64>,
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Option<Vec<f64>>> {
        let (n, samples) = (start.len(), self.samples(output, self.loss.h));
        let b = self.n_points(n);
        let of = (samples.loss, output);
        let (mut f, mut s) = (try_vec("margins", self.cost.len(), 0.0)?, Vec::new());
        s.clone_from(&f);
        let mut point = start;
        for _ in 0..MAX_STEPS {
            between()?;
            self.decide(&point, &mut f);
            let at: Values = moments.values(&point)?;
            let mut past = moments.expansion(of, (&point, &at), between)?;
            let pushed = symmetric_times(self.penalty, &point);
            let mut gradient = past.gradient;
            axpy(1.0, &pushed, &mut gradient);
            axpy(1.0, pull, &mut gradient);
            let (mut sloped, mut zone) = (Vec::new(), Vec::new());
            for (i, &f) in f.iter().enumerate().filter(|(i, _)| self.cost[*i] > 0.0) {
                let curve = samples.at(i, f);
                if curve.slope != 0.0 {
                    sloped.push((i as u32, curve.slope));
                }
                if curve.curvature > 0.0 {
                    zone.push((i, curve.curvature));
                }
            }
            add_scaled_rows(self.features, &sloped, &mut gradient[..b]);
            if self.with_offset {
                gradient[b] += sloped.iter().map(|row| row.1).sum::<f64>();
            }
            let loss = samples.loss_at(&f);
            let worth = 0.5 * dot(&pushed, &point) + loss;
            axpy(1.0, self.penalty, &mut past.hessian);
            let factor = match self.direct(&zone, &past.hessian, n, between) {
                Ok(factor) => factor,
                // No better point is to be had by these numbers.
                Err(Halt::Fail(Error::NotPositiveDefinite(_))) => break,
                Err(halt) => return Err(halt),
            };
            let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
            factor.solve(&mut direction);
            let promised = -dot(&direction, &gradient);
            if !promised.is_finite() || 0.5 * promised <= TOL * worth {
                break;
            }
            let value = worth + past.value + dot(pull, &point);
            if value - promised >= ceiling {
                return Ok(None);
            }
            // As far as it is best: a zone tells little of rows that a step brings into it.
            self.decide(&direction, &mut s);
            let along = moments.values(&direction)?;
            let linear = dot(&pushed, &direction) + dot(pull, &direction);
            let quadratic = dot(&symmetric_times(self.penalty, &direction), &direction);
            let ray = Ray { samples, f: &f, s: &s, base: 0.0, linear, quadratic };
            let both = |t: f64| {
                let past = moments.curve_along(of, (&point, &at), (&direction, &along), t);
                let Curve { value, slope, curvature } = ray.at(t);
                Curve {
                    value: value + past.value,
                    slope: slope + past.slope,
                    curvature: curvature + past.curvature,
                }
            };
            let (t, _) = search(both(0.0), &both);
            if t == 0.0 {
                break;
            }
            axpy(t, &direction, &mut point);
        }
        Ok(Some(point))
    }
}
