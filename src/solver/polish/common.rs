//! Directions of several columns of values, from one sum over the rows that stands for the Hessians of
//! all.
//!
//! ```text
//! P_c = K_BB + d_c Σ_i C_i k_i k_iᵀ,     d_c = Σ_i C_i L_h''(y_ic, f_ic) / Σ_i C_i
//! ```
//!
//! Whether a loss of values bends at a sample has more to do with its noise than with where it lies,
//! so that the rows in the zone of a column are a part of all rows as if drawn by chance. `P_c` is then
//! its Hessian but for `sqrt(B / rows)`: exactly for squares, and at any width, for any column, from the
//! one sum.
//!
//! # Method
//!
//! 1. The sum over every k-th row, once, in `f32`.
//! 2. Gradients of all columns in one pass, as products of matrices.
//! 3. Conjugate gradients on the objective itself (Polak and Ribière's, anew where the width or the
//!    factor changes), preconditioned by `P_c`; columns whose `d_c` is about the same share a factor.
//!    The step along the direction is that of Newton's method.
//! 4. Done when the decrease that `P_c` promises, divided by the least curvature that directions had
//!    in its metric, is below half of `tol` of the objective.
//! 5. A column that gets on too slowly goes on alone, with Hessians of its own.
//!
//! # Cost
//!
//! A step 4nBm flops, all in products of matrices, where Newton's has qB² for each column too; a few
//! factors of B³/3 for all columns and widths. Memory: B² numbers, and B² for each of a few factors.
//!
//! References: ours.

use super::curvature::{Derivatives, Rule};
use super::output::{JITTER, Output, SHORT_STEP, SKETCH_JITTER, State};
use super::steps::Shared;
use crate::error::{Error, try_square};
use crate::float::Real;
use crate::linalg::{Cholesky, GramAccumulator, Sides, axpy, dot};
use crate::parallel::{self, ROW_CHUNK};
use crate::solver::smoothed::panels::Panels;
use crate::watch::{Halt, Step, Watch};

/// Columns from which on this is worth its sum, and terms up to which the factors are few enough.
pub(super) const COLUMNS: usize = 3;
pub(super) const MOST_TERMS: usize = 4096;
/// Columns that go together: what they hold is n numbers each, three times.
pub(super) const TOGETHER: usize = 16;
/// Rows of the sum for each of its columns.
const ROWS: usize = 16;
/// Rows of a task.
const TASK: usize = 8 * ROW_CHUNK;
/// A factor serves those whose d is within this ratio of its own; so many are kept.
const ALIKE: f64 = 1.25;
const FACTORS: usize = 4;
/// In so many steps at one width the squared norm of the gradient is to fall to this share.
const PATIENCE: usize = 6;
const ENOUGH: f64 = 0.02;
/// A step that promises less than this share of what is asked for is the last, by what directions have
/// told of P; and before any has.
const SURE: f64 = 0.5;
const UNTOLD: f64 = 0.1;

/// What the columns have in common.
pub(super) struct Common {
    b: usize,
    order: usize,
    /// `Σ C k kᵀ`, the lower triangle, the offset last where there is one.
    sum: Vec<f64>,
    /// `Σ C`.
    total: f64,
    factors: Vec<(f64, Cholesky)>,
}

impl Common {
    /// Step 1.
    pub(super) fn new<F: Real>(
        shared: &Shared<'_>,
        panels: &mut Panels<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let b = shared.gram.len().isqrt();
        let order = b + usize::from(shared.polish.fit_intercept);
        let cost = shared.samples(0, shared.polish.h).cost;
        let every = (cost.len() / (ROWS * order)).max(1);
        let chosen = |i: usize| i.is_multiple_of(every) && cost[i] > 0.0;
        let (mut met, mut total) = (0.0, 0.0);
        cost.iter().enumerate().filter(|&(_, &c)| c > 0.0).for_each(|(i, c)| {
            total += c;
            met += if chosen(i) { *c } else { 0.0 };
        });
        let share = if met > 0.0 { total / met } else { 0.0 };
        let mut gram = GramAccumulator::new(order)?;
        gram.clear(true)?;
        panels.for_each_wave(watch, Some(&chosen), |wave, watch| {
            let rows: Vec<usize> = (wave.first..wave.last).filter(|&i| chosen(i)).collect();
            let mut rest = &rows[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(gram.room()));
                gram.push(now.len(), |at| {
                    let place = wave.place(now[at]) as usize;
                    (&wave.block[place * b..(place + 1) * b], (share * cost[now[at]]).sqrt())
                });
                if gram.room() == 0 {
                    gram.flush(|| watch.poll())?;
                }
                rest = later;
            }
            Ok(())
        })?;
        gram.flush(|| watch.poll())?;
        let mut sum = try_square("Hessian", order, 0.0)?;
        gram.add_to(&mut sum);
        Ok(Self { b, order, sum, total, factors: Vec::new() })
    }

    /// Step 2, of the losses and the penalty.
    pub(super) fn gradients<F: Real>(
        &self,
        shared: &Shared<'_>,
        panels: &mut Panels<'_, F>,
        live: &mut [&mut Output],
        watch: &mut Watch<'_>,
    ) -> Step {
        let (b, m) = (self.b, live.len());
        if m == 0 {
            return Ok(());
        }
        let (mut sums, mut offsets) = (Sides::zeros(m, b), vec![0.0; m]);
        let columns: Vec<_> =
            live.iter().map(|o| (shared.samples(o.index, o.h), o.f.as_slice())).collect();
        panels.for_each_wave(watch, None, |wave, _| {
            let count = wave.last - wave.first;
            let parts = parallel::map(count.div_ceil(TASK), &|task| {
                let rows = task * TASK..((task + 1) * TASK).min(count);
                let mut slopes = vec![0.0; m * ROW_CHUNK];
                let (mut part, mut offsets) = (Sides::zeros(m, b), vec![0.0; m]);
                for first in rows.clone().step_by(ROW_CHUNK) {
                    let last = (first + ROW_CHUNK).min(rows.end);
                    let slopes = &mut slopes[..m * (last - first)];
                    let own = slopes.chunks_exact_mut(last - first).zip(&columns);
                    for (c, (slopes, (samples, f))) in own.enumerate() {
                        let begin = wave.first + first;
                        samples.slopes(begin, &f[begin..wave.first + last], slopes);
                        offsets[c] += slopes.iter().sum::<f64>();
                    }
                    part.add(&wave.block[first * b..last * b], slopes);
                }
                (part, offsets)
            });
            for (part, own) in &parts {
                sums.plus(part);
                axpy(1.0, own, &mut offsets);
            }
            Ok(())
        })?;
        for (c, o) in live.iter_mut().enumerate() {
            let gradient = &mut o.derivatives.gradient;
            gradient.iter_mut().zip(sums.vector(c)).for_each(|(to, sum)| *to = sum);
            axpy(1.0, &o.pull, gradient);
            if let Some(offset) = gradient.get_mut(b) {
                *offset = offsets[c];
            }
        }
        Ok(())
    }

    /// Steps 3 to 5.
    pub(super) fn directions(
        &mut self,
        shared: &Shared<'_>,
        live: &mut [&mut Output],
        watch: &mut Watch<'_>,
    ) -> Step {
        for o in live {
            let d = self.mean_curvature(shared, o);
            let Some(at) = self.factor(shared, d, watch)? else {
                o.goes_alone(shared)?;
                continue;
            };
            let (d, factor) = &self.factors[at];
            o.conjugate(*d, factor);
            if o.is_slow() {
                o.goes_alone(shared)?;
            } else {
                o.step_4_stop(shared);
            }
            watch.poll()?;
        }
        Ok(())
    }

    fn mean_curvature(&self, shared: &Shared<'_>, o: &Output) -> f64 {
        let samples = shared.samples(o.index, o.h);
        let majorant =
            || samples.sum(|i| [Rule::Majorant.curvature(&samples, i, o.f[i])])[0] / self.total;
        let short = o.last_step < SHORT_STEP;
        match if short { majorant() } else { samples.curvature_at(&o.f) / self.total } {
            // None bends: K_BB alone, or the parabolas.
            d if d <= 0.0 => majorant(),
            d => d,
        }
    }

    /// The place of the factor for d; none where there is none.
    fn factor(
        &mut self,
        shared: &Shared<'_>,
        d: f64,
        watch: &mut Watch<'_>,
    ) -> Step<Option<usize>> {
        let alike = |of: f64| of == d || (of / d).max(d / of) <= ALIKE;
        if let Some(at) = self.factors.iter().position(|&(of, _)| alike(of)) {
            return Ok(Some(at));
        }
        let (b, order) = (self.b, self.order);
        let mut hessian = try_square("Hessian", order, 0.0)?;
        hessian.iter_mut().zip(&self.sum).for_each(|(h, v)| *h = d * v);
        for (j, row) in shared.gram.chunks_exact(b).enumerate() {
            axpy(1.0, &row[..=j], &mut hessian[j * order..=j * order + j]);
        }
        if order > b && d <= 0.0 {
            hessian[b * order + b] = (0..b).map(|j| hessian[j * order + j]).sum::<f64>() / b as f64;
        }
        let between = &mut || watch.poll();
        let factor = match Cholesky::factor("Hessian", &hessian, order, SKETCH_JITTER, between) {
            Ok(factor) => factor,
            Err(Halt::Fail(Error::NotPositiveDefinite(_))) => return Ok(None),
            Err(halt) => return Err(halt),
        };
        if self.factors.len() >= FACTORS {
            self.factors.remove(0);
        }
        self.factors.push((d, factor));
        Ok(Some(self.factors.len() - 1))
    }
}

impl Output {
    /// Step 5.
    fn goes_alone(&mut self, shared: &Shared<'_>) -> Step {
        (self.line, self.stalls, self.jitter) = (None, 0, JITTER);
        self.derivatives = Derivatives::new(self.pull.len(), shared.polish.fit_intercept)?;
        Ok(())
    }

    /// Step 3.
    fn conjugate(&mut self, d: f64, factor: &Cholesky) {
        let gradient = &self.derivatives.gradient;
        let order = gradient.len();
        let (Some(line), h) = (&mut self.line, self.h) else { return };
        let mut z = gradient.clone();
        factor.solve(&mut z);
        let norm = dot(gradient, &z);
        if line.h != h {
            (line.least, line.steps, line.mark) = (1.0, 0, f64::INFINITY);
        }
        let mut ratio = 0.0;
        if line.h == h && line.d == d {
            if self.last_step > 0.0 {
                let curvature = -line.slope / (self.last_step * line.bend);
                line.least = line.least.min(curvature).max(0.0);
            }
            ratio = ((norm - dot(gradient, &line.z)) / line.norm).max(0.0);
        }
        let turned = |v: &mut [f64], by: &[f64], ratio: f64| {
            v.iter_mut().zip(by).for_each(|(v, by)| *v = ratio * *v - by);
        };
        let direction = &mut self.direction[..order];
        turned(direction, &z, ratio);
        turned(&mut line.pushed, gradient, ratio);
        line.slope = dot(direction, gradient);
        if line.slope > -0.1 * norm {
            turned(direction, &z, 0.0);
            turned(&mut line.pushed, gradient, 0.0);
            line.slope = -norm;
        }
        line.bend = dot(direction, &line.pushed);
        (line.d, line.h, line.z, line.norm) = (d, h, z, norm);
        line.steps += 1;
        self.predicted = 0.5 * norm / line.least;
    }

    fn is_slow(&mut self) -> bool {
        let Some(line) = &mut self.line else { return false };
        if self.stalls > 0 || line.norm.is_nan() {
            return true;
        }
        if line.steps % PATIENCE != 1 {
            return false;
        }
        let slow = line.norm > ENOUGH * line.mark;
        line.mark = line.norm;
        slow
    }

    /// Step 4.
    fn step_4_stop(&mut self, shared: &Shared<'_>) {
        let Some(line) = &self.line else { return };
        let wanted = shared.polish.tol * self.value.abs();
        let sure = if line.steps > 1 { SURE } else { UNTOLD };
        if self.h <= shared.polish.h && self.predicted <= sure * wanted {
            self.state = State::Converged;
        }
    }
}
