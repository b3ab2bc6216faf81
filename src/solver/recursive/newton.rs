//! A block of rows beside what was seen before them.

use super::whitened::Whitened;
use super::{Lost, Summary, WIDER, gram};
use crate::data::Targets;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::linalg::{Cholesky, add_scaled_rows, axpy, dot, dots, symmetric_times};
use crate::loss::Smoothed;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::watch::{Halt, Step};

/// Newton steps at a width.
const MAX_STEPS: usize = 25;
/// Steps end when the decrease predicted is at most this share of what the block and the penalty
/// are worth.
pub(super) const TOL: f64 = 1e-4;
/// A step shorter than this says that the zone knew too little.
const SHORT_STEP: f64 = 0.3;
/// Jitter of a Hessian, relative.
const JITTER: f64 = 1e-11;
/// Unknowns from which on a zone of fewer rows is solved for by its rows.
const BY_ROWS: usize = 200;

/// A block of rows, as the basis sees them.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a, F: Real> {
    /// Features, a row after another, without the offset's 1.
    pub features: &'a [F],
    /// Targets of the rows.
    pub targets: Targets<'a>,
    /// C_i of the rows.
    pub cost: &'a [f64],
    /// The loss at its final width.
    pub loss: Smoothed,
    /// K, row-major, of all unknowns.
    pub penalty: &'a [f64],
    /// Whether the last unknown is an offset.
    pub with_offset: bool,
    /// What the objective has beside the rest for one unit of the offset; 0 without one.
    pub tilt: f64,
    /// How much of the penalty is this block's: 1, or of one class the share of its rows.
    pub portion: f64,
    /// What a row has of a direction of unit length that the basis lacks, squared, on average.
    pub unseen: f64,
    /// What share of it a summary takes for curvature.
    pub price: f64,
}

impl<F: Real> Block<'_, F> {
    pub(super) fn samples(&self, output: usize, h: f64) -> Samples<'_> {
        let loss = Smoothed { loss: self.loss.loss.at_level(self.targets.level(output)), h };
        Samples { loss, targets: self.targets, output, cost: self.cost }
    }

    /// Points of the basis.
    pub(super) fn n_points(&self, unknowns: usize) -> usize {
        unknowns - usize::from(self.with_offset)
    }

    pub(super) fn row(&self, i: usize, b: usize) -> &[F] {
        &self.features[i * b..(i + 1) * b]
    }

    /// Decision values at a point.
    pub(super) fn decide(&self, point: &[f64], out: &mut [f64]) {
        let b = self.n_points(point.len());
        out.fill(0.0);
        if b > 0 {
            dots(self.features, &point[..b], out);
        }
        if self.with_offset {
            out.iter_mut().for_each(|f| *f += point[b]);
        }
    }

    /// The minimum of penalty, summary and block, beginning with `start`, or else that of penalty and
    /// summary.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says, which is asked at every step.
    pub fn solve(
        &self,
        summary: &Summary,
        output: usize,
        start: Option<Vec<f64>>,
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Vec<f64>> {
        let found = self.solve_below((summary, f64::INFINITY), output, start, between)?;
        Ok(found.unwrap_or_default())
    }

    /// The same, or nothing where the objective is nowhere less than `ceiling`, which can be told
    /// before the minimum is found: with a gradient G, `A = K + H` and convex losses it is at least
    /// `value - ½ GᵀA⁻¹G`, and as H is of all rows before, that is near.
    ///
    /// # Errors
    /// Those of [`Block::solve`].
    pub fn solve_below(
        &self,
        (summary, ceiling): (&Summary, f64),
        output: usize,
        start: Option<Vec<f64>>,
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Option<Vec<f64>>> {
        if summary.unknowns() == 0 {
            return Ok(Some(Vec::new()));
        }
        let mut curved = summary.hessian.clone();
        axpy(1.0, self.penalty, &mut curved);
        let mut factor = None;
        let point = match start {
            Some(start) => start,
            None => {
                let made = summary.factor(&curved, between)?;
                let mut point = summary.linear.clone();
                made.solve(&mut point);
                factor = Some(made);
                point
            }
        };
        let mut at = Point::new(self, point, &curved, summary)?;
        let samples = self.samples(output, self.loss.h);
        let below = self.newton(&mut at, (&curved, factor, summary, ceiling), samples, between)?;
        Ok(below.then_some(at.point))
    }

    /// Newton's method; whether it got to the end, and the objective may be below the ceiling.
    fn newton(
        &self,
        at: &mut Point,
        (curved, mut factor, summary, ceiling): (&[f64], Option<Cholesky>, &Summary, f64),
        samples: Samples<'_>,
        between: &mut dyn FnMut() -> Step,
    ) -> Step<bool> {
        let n = at.point.len();
        let b = self.n_points(n);
        let mut s = try_vec("margins", at.f.len(), 0.0)?;
        // With nothing known of earlier rows the zone may know too little.
        let mut cautious = summary.linear.iter().all(|v| *v == 0.0);
        let mut whitened: Option<Whitened> = None;
        // The factor of the last step's Hessian, where that is a matrix of its own.
        let (mut last, mut known_zone): (Option<Cholesky>, _) = (None, false);
        for _ in 0..MAX_STEPS {
            between()?;
            // Derivatives: the slopes of the rows, and the curvature of those in the zone; after a
            // short step that of a parabola above the loss, which knows all rows with a slope.
            let mut gradient = at.pull.clone();
            let (mut sloped, mut zone) = (Vec::new(), Vec::new());
            for (i, &f) in at.f.iter().enumerate().filter(|(i, _)| samples.cost[*i] > 0.0) {
                let curve = samples.at(i, f);
                if curve.slope != 0.0 {
                    sloped.push((i as u32, curve.slope));
                }
                let curvature = if cautious { samples.majorant(i, f) } else { curve.curvature };
                if curvature > 0.0 {
                    zone.push((i, curvature));
                }
            }
            add_scaled_rows(self.features, &sloped, &mut gradient[..b]);
            if self.with_offset {
                gradient[b] += sloped.iter().map(|row| row.1).sum::<f64>();
            }
            let loss = samples.loss_at(&at.f);
            let worth = at.penalty(self.penalty) + loss;
            let of_past = whitened.as_ref().map(Whitened::factor).or(factor.as_ref());
            if let Some(of_past) = of_past.filter(|_| ceiling < f64::INFINITY) {
                let tilt = if self.with_offset { self.tilt * at.point[b] } else { 0.0 };
                let past = dot(&at.pull, &at.point) - dot(&summary.linear, &at.point) + tilt;
                let mut part = gradient.clone();
                of_past.solve_lower(&mut part);
                if 0.5 * past + loss - 0.5 * dot(&part, &part) >= ceiling {
                    return Ok(false);
                }
            }
            let predicted = |direction: &[f64]| -0.5 * dot(direction, &gradient);
            let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
            if !cautious && known_zone {
                // Most last steps would only say that they are none: the zone of the step before
                // tells that too, and is factored already.
                let mut guess = direction.clone();
                match (&last, &whitened) {
                    (Some(factor), _) => factor.solve(&mut guess),
                    (None, Some(whitened)) => Whitened::again(whitened, &mut guess)?,
                    (None, None) => {}
                }
                if predicted(&guess) <= TOL * worth {
                    return Ok(true);
                }
            }
            known_zone = !cautious;
            let known = !self.with_offset || summary.hessian[n * n - 1] > 0.0;
            if n >= BY_ROWS && zone.len() <= n && known {
                let whitened = match &mut whitened {
                    Some(made) => made,
                    none => {
                        let factor = match factor.take() {
                            Some(factor) => factor,
                            None => summary.factor(curved, between)?,
                        };
                        none.insert(Whitened::new(factor, self.cost.len())?)
                    }
                };
                whitened.solve(&zone, |i| self.row(i, b), &mut direction, between)?;
                last = None;
            } else {
                match self.direct(&zone, curved, n, between) {
                    Ok(factor) => last.insert(factor).solve(&mut direction),
                    // No better point is to be had by these numbers.
                    Err(Halt::Fail(Error::NotPositiveDefinite(_))) => return Ok(true),
                    Err(halt) => return Err(halt),
                }
            }
            let predicted = predicted(&direction);
            if !predicted.is_finite() || (predicted <= TOL * worth && !cautious) {
                return Ok(true);
            }
            self.decide(&direction, &mut s);
            let pushed = symmetric_times(curved, &direction);
            let ray = Ray {
                samples,
                f: &at.f,
                s: &s,
                base: 0.0,
                linear: dot(&direction, &at.pull),
                quadratic: dot(&direction, &pushed),
            };
            let (t, _) = ray.minimise();
            if t == 0.0 && cautious {
                return Ok(true);
            }
            axpy(t, &direction, &mut at.point);
            axpy(t, &pushed, &mut at.pull);
            axpy(t, &s, &mut at.f);
            cautious = t < SHORT_STEP;
        }
        // Sums of many steps are made anew.
        *at = Point::new(self, std::mem::take(&mut at.point), curved, summary)?;
        Ok(true)
    }

    /// The factor of K + H + Σ c φφᵀ, of order n, over the rows and curvatures of the zone.
    pub(super) fn direct(
        &self,
        zone: &[(usize, f64)],
        curved: &[f64],
        n: usize,
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Cholesky> {
        let b = self.n_points(n);
        let rows: Vec<_> = zone.iter().map(|&(i, c)| (self.row(i, b), c.sqrt())).collect();
        let mut hessian = gram(n, &rows, between)?;
        axpy(1.0, curved, &mut hessian);
        if self.with_offset && zone.is_empty() && hessian[n * n - 1] <= 0.0 {
            hessian[n * n - 1] = 1.0;
        }
        Cholesky::factor_small::<Halt>("Hessian", &hessian, n, JITTER, between)
    }

    /// The objective of penalty, summary and block, to the summary's constant, and the share of
    /// penalty and block.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn value(&self, summary: &Summary, output: usize, point: &[f64]) -> Result<(f64, f64)> {
        let mut f = try_vec("margins", self.cost.len(), 0.0)?;
        self.decide(point, &mut f);
        let penalty = 0.5 * dot(&symmetric_times(self.penalty, point), point);
        let loss = self.samples(output, self.loss.h).loss_at(&f);
        let tilt = if self.with_offset { self.tilt * point[point.len() - 1] } else { 0.0 };
        let past = 0.5 * dot(&symmetric_times(&summary.hessian, point), point)
            - dot(&summary.linear, point);
        Ok((penalty + loss + tilt + past, self.portion * penalty + loss))
    }

    /// `Φᵀ W Φ` with the curvature that wide corners have at most: what the outputs have in common,
    /// where there are several of them.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says.
    pub fn common(
        &self,
        outputs: usize,
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Option<Vec<f64>>> {
        let b = self.features.len() / self.cost.len().max(1);
        if outputs < 2 {
            return Ok(None);
        }
        let top = most_curvature(self.samples(0, self.loss.h).widened(WIDER).loss);
        let all = self.cost.iter().enumerate().filter(|(_, cost)| **cost > 0.0);
        let rows: Vec<_> = all.map(|(i, cost)| (self.row(i, b), (top * cost).sqrt())).collect();
        gram(b + usize::from(self.with_offset), &rows, between).map(Some)
    }

    /// What the block loses at a point, where it has these decision values.
    fn lost(&self, output: usize, point: &[f64], f: &[f64]) -> Lost {
        let samples = self.samples(output, self.loss.h);
        let offset = if self.with_offset { point[point.len() - 1] } else { 0.0 };
        let untold = (0..f.len()).map(|i| samples.at(i, offset).value).sum();
        Lost { learnt: samples.loss_at(f), untold }
    }

    /// What the block loses at a point.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn lost_at(&self, output: usize, point: &[f64]) -> Result<Lost> {
        let mut f = try_vec("margins", self.cost.len(), 0.0)?;
        self.decide(point, &mut f);
        Ok(self.lost(output, point, &f))
    }

    /// Rows that have curvature where wide corners are, with `point` the solution.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn curved(&self, output: usize, point: &[f64]) -> Result<usize> {
        let mut f = try_vec("margins", self.cost.len(), 0.0)?;
        self.decide(point, &mut f);
        let wide = self.samples(output, self.loss.h).widened(WIDER);
        let has = |&(i, &f): &(usize, &f64)| self.cost[i] > 0.0 && wide.at(i, f).curvature > 0.0;
        Ok(f.iter().enumerate().filter(has).count())
    }

    /// The summary takes in the curvature that wide corners have at most, of every row: its minimum
    /// is then to be settled.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says.
    pub fn absorb_most(&self, summary: &mut Summary, between: &mut dyn FnMut() -> Step) -> Step {
        let b = self.n_points(summary.unknowns());
        let top = most_curvature(self.samples(0, self.loss.h).widened(WIDER).loss);
        let rows = self.cost.iter().enumerate();
        let rows: Vec<_> = rows.map(|(i, cost)| (self.row(i, b), (top * cost).sqrt())).collect();
        summary.add(&gram(summary.unknowns(), &rows, between)?, 1.0);
        summary.unseen += self.price * self.unseen * top * self.cost.iter().sum::<f64>();
        Ok(())
    }

    /// The summary takes the block in, with `point` its solution. `common` is that of
    /// [`Block::common`]: most rows have no other curvature.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says.
    pub fn absorb(
        &self,
        summary: &mut Summary,
        output: usize,
        point: &[f64],
        common: Option<&[f64]>,
        between: &mut dyn FnMut() -> Step,
    ) -> Step {
        let b = self.n_points(point.len());
        let mut f = try_vec("margins", self.cost.len(), 0.0)?;
        self.decide(point, &mut f);
        let samples = self.samples(output, self.loss.h);
        let wide = samples.widened(WIDER);
        let top = most_curvature(wide.loss);
        // Rows with the curvature that they have, and with what they lack of the most.
        let (mut pulls, mut rows, mut lacking) = (Vec::new(), Vec::new(), Vec::new());
        summary.lost = summary.lost.and(self.lost(output, point, &f));
        for (i, &f) in f.iter().enumerate().filter(|(i, _)| self.cost[*i] > 0.0) {
            let (slope, curvature) = (samples.at(i, f).slope, wide.at(i, f).curvature);
            let pull = curvature * f - slope;
            if pull != 0.0 {
                pulls.push((i as u32, pull));
            }
            if curvature > 0.0 {
                rows.push((self.row(i, b), curvature.sqrt()));
                summary.unseen += self.price * self.unseen * curvature;
            }
            let lack = top * self.cost[i] - curvature;
            if common.is_some() && lack > 0.0 {
                lacking.push((self.row(i, b), lack.sqrt()));
            }
        }
        match common.filter(|_| lacking.len() < rows.len()) {
            Some(common) => {
                summary.add(common, 1.0);
                summary.add(&gram(point.len(), &lacking, between)?, -1.0);
            }
            None => summary.add(&gram(point.len(), &rows, between)?, 1.0),
        }
        add_scaled_rows(self.features, &pulls, &mut summary.linear[..b]);
        if self.with_offset {
            summary.linear[b] += pulls.iter().map(|row| row.1).sum::<f64>() - self.tilt;
        }
        Ok(())
    }
}

/// The most curvature that a loss has: of classes at the corner, or where it cannot tell them; of
/// values at the edge of the tube.
fn most_curvature(loss: Smoothed) -> f64 {
    let edge = 1.0 + loss.loss.tube().unwrap_or(0.0);
    [0.0, 1.0, edge].iter().map(|&f| loss.at(1.0, f).curvature).fold(0.0, f64::max)
}

/// Where the steps stand.
struct Point {
    point: Vec<f64>,
    /// `(K + H) β - g`, with the tilt in the offset's place.
    pull: Vec<f64>,
    /// Decision values.
    f: Vec<f64>,
}

impl Point {
    fn new<F: Real>(
        block: &Block<'_, F>,
        point: Vec<f64>,
        curved: &[f64],
        summary: &Summary,
    ) -> Step<Self> {
        let mut f = try_vec("margins", block.cost.len(), 0.0)?;
        block.decide(&point, &mut f);
        let mut pull = symmetric_times(curved, &point);
        axpy(-1.0, &summary.linear, &mut pull);
        if block.with_offset {
            pull[point.len() - 1] += block.tilt;
        }
        Ok(Self { point, pull, f })
    }

    /// `½ βᵀKβ`.
    fn penalty(&self, matrix: &[f64]) -> f64 {
        0.5 * dot(&symmetric_times(matrix, &self.point), &self.point)
    }
}
