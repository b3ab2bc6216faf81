//! Sums over a stripe of samples: the loss and its gradient, and the estimates of curvature.

use std::sync::{Mutex, PoisonError};

use crate::data::Problem;
use crate::error::{Result, try_reserve, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::linalg::{add_scaled_rows, matrix, multiply};
use crate::loss::Smoothed;
use crate::parallel::ROW_CHUNK;
use crate::simd::{Packed, Tile, weighted_sums};

/// Where the descent stands, in the forms that the sums need.
pub(super) struct Point<F: Real> {
    /// Basis points less the origin, B x d packed.
    pub(super) centers: Packed<F>,
    /// Coefficients, B x m.
    pub(super) coef: Vec<F>,
    /// Coefficients, a padded row an output.
    pub(super) coef_rows: Vec<f64>,
    /// Offsets, m.
    pub(super) intercept: Vec<f64>,
}

/// The samples' part of the problem.
pub(super) struct Samples<'a, 'p, F: Real> {
    pub(super) problem: &'a Problem<'p, F>,
    pub(super) kernel: AnyKernel,
    pub(super) origin: Vec<F>,
    pub(super) loss: Smoothed,
    /// Memory for kernel values and rows of a stripe that nobody uses: new pages, and asking whether
    /// the system has them, take long.
    pub(super) rooms: Mutex<Vec<[Vec<F>; 2]>>,
    /// That for the gradient of points.
    pub(super) spare: Mutex<Vec<Vec<F>>>,
}

/// Sums over a stripe.
pub(super) struct Partial<F> {
    /// Σ C_i L_h.
    pub(super) value: f64,
    /// Σ_i w_ij x_i, B x d.
    pub(super) points: Vec<F>,
    /// Σ_i w_ij, B.
    pub(super) weights: Vec<f64>,
    /// Σ_i r_ic k_ij, B x m.
    pub(super) coef: Vec<f64>,
    /// Σ_i r_ic, m.
    pub(super) intercept: Vec<f64>,
    /// The samples whose loss slopes.
    pub(super) active: Vec<u32>,
}

/// What products with the curvature need of some samples.
pub(super) struct Part<F> {
    /// Kernel values, a row of B each.
    pub(super) kernel: Vec<F>,
    /// The samples less the origin.
    pub(super) rows: Vec<F>,
    /// Curvature of a parabola above the loss, a row of outputs each.
    pub(super) bends: Vec<F>,
}

/// Sums over a stripe for the scales: `Σ D_ic k²` (B x m) and `Σ_ic D_ic β_jc² k² γ‖x - s‖²` (B).
pub(super) struct Curvatures {
    pub(super) coef: Vec<f64>,
    pub(super) points: Vec<f64>,
}

impl<F: Real> Samples<'_, '_, F> {
    /// Kernel values and decision values of each chunk of a stripe, given to `visit` with the
    /// chunk's first place in the stripe: `(first, kernel rows, their stride, decision values)`.
    fn each_chunk(
        &self,
        at: &Point<F>,
        stripe: &[u32],
        mut visit: impl FnMut(usize, &[F], usize, &[f64]),
    ) -> Result<()> {
        let (terms, stride) = (at.centers.len(), at.centers.padded_len());
        let m = at.intercept.len();
        let mut tile = Tile::new(at.centers.n_features());
        let mut values = try_vec("kernel values", ROW_CHUNK * stride, F::zero())?;
        let mut product = try_vec("decision values", ROW_CHUNK * m, F::zero())?;
        let mut f = try_vec("decision values", ROW_CHUNK * m, 0.0)?;
        let rows = self.problem.rows();
        for (chunk, samples) in stripe.chunks(ROW_CHUNK).enumerate() {
            let len = samples.len();
            load_tile(&rows, len, |i| samples[i] as usize, &self.origin, &mut tile);
            self.kernel.values(&tile, (0, len), &at.centers, &mut values, stride);
            let f = &mut f[..len * m];
            if m == 1 {
                for (f, row) in f.iter_mut().zip(values.chunks_exact(stride)) {
                    weighted_sums(row, &at.coef_rows, std::slice::from_mut(f));
                }
            } else {
                let kernel = matrix(&values[..len * stride], stride).subcols(0, terms);
                multiply(&mut product[..len * m], kernel, matrix(&at.coef, m));
                f.iter_mut().zip(&product).for_each(|(f, p)| *f = Real::to_f64(*p));
            }
            for row in f.chunks_exact_mut(m) {
                row.iter_mut().zip(&at.intercept).for_each(|(f, b)| *f += b);
            }
            visit(chunk * ROW_CHUNK, &values, stride, f);
        }
        Ok(())
    }

    /// These have been added up.
    pub(super) fn give_back(&self, parts: Vec<Partial<F>>) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend(parts.into_iter().map(|part| part.points));
    }

    /// The loss and its gradient over a stripe.
    pub(super) fn sum(&self, at: &Point<F>, stripe: &[u32]) -> Result<Partial<F>> {
        let (terms, d) = (at.centers.len(), at.centers.n_features());
        let m = at.intercept.len();
        // The samples with a slope: kernel rows, slopes, places.
        let room = self.rooms.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let [mut kernel, mut dense] = room.unwrap_or_default();
        kernel.clear();
        if kernel.capacity() < stripe.len() * terms {
            try_reserve("kernel values", &mut kernel, stripe.len() * terms)?;
        }
        let mut slopes = try_vec("slopes", stripe.len() * m, 0.0)?;
        let mut active = try_vec("samples", 0, 0u32)?;
        let mut value = 0.0;
        self.each_chunk(at, stripe, |first, values, stride, f| {
            for (k, f) in f.chunks_exact(m).enumerate() {
                let sample = stripe[first + k];
                let slope = &mut slopes[active.len() * m..][..m];
                value += self.slopes(sample as usize, f, slope);
                if slope.iter().any(|r| *r != 0.0) {
                    kernel.extend_from_slice(&values[k * stride..][..terms]);
                    active.push(sample);
                }
            }
        })?;
        let a = active.len();
        let slopes = &slopes[..a * m];
        let mut sums = Partial {
            value,
            points: match self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop() {
                Some(points) => points,
                None => try_vec("gradient", terms * d, F::zero())?,
            },
            weights: try_vec("gradient", terms, 0.0)?,
            coef: try_vec("gradient", terms * m, 0.0)?,
            intercept: try_vec("gradient", m, 0.0)?,
            active: Vec::new(),
        };
        for row in slopes.chunks_exact(m) {
            sums.intercept.iter_mut().zip(row).for_each(|(sum, r)| *sum += r);
        }
        if m == 1 {
            let scaled: Vec<(u32, f64)> = (0..).zip(slopes.iter().copied()).collect();
            add_scaled_rows(&kernel, &scaled, &mut sums.coef);
            for (row, &r) in kernel.chunks_exact_mut(terms).zip(slopes) {
                let r = F::from_f64(r);
                row.iter_mut().zip(&at.coef).for_each(|(k, &c)| *k *= r * c);
            }
        } else {
            weigh(&mut kernel, slopes, at, &mut sums.coef)?;
        }
        let ones: Vec<(u32, f64)> = (0..a as u32).map(|k| (k, 1.0)).collect();
        add_scaled_rows(&kernel, &ones, &mut sums.weights);
        if dense.capacity() < a * d {
            dense = try_vec("rows", stripe.len() * d, F::zero())?;
        }
        dense.resize(a * d, F::zero());
        self.copy_rows(&active, &mut dense);
        multiply(&mut sums.points, matrix(&kernel, terms).transpose(), matrix(&dense, d));
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).push([kernel, dense]);
        sums.active = active;
        Ok(sums)
    }

    /// Samples less the origin.
    fn copy_rows(&self, samples: &[u32], to: &mut [F]) {
        let rows = self.problem.rows();
        let d = rows.n_cols();
        for (row, &sample) in to.chunks_exact_mut(d).zip(samples) {
            rows.copy_row(sample as usize, row);
            row.iter_mut().zip(&self.origin).for_each(|(v, &o)| *v -= o);
        }
    }

    /// The loss of an output.
    fn loss_of(&self, output: usize) -> Smoothed {
        let level = self.problem.targets().level(output);
        Smoothed { loss: self.loss.loss.at_level(level), ..self.loss }
    }

    /// `C_i Σ_c L_h` of a sample, and its slopes `r_ic`.
    fn slopes(&self, sample: usize, f: &[f64], slopes: &mut [f64]) -> f64 {
        let (targets, cost) = (self.problem.targets(), self.problem.cost()[sample]);
        let mut value = 0.0;
        for (c, (&f, slope)) in f.iter().zip(slopes).enumerate() {
            let curve = self.loss_of(c).at(targets.value(sample, c), f);
            value += cost * curve.value;
            *slope = cost * curve.slope;
        }
        value
    }

    /// The loss over a stripe, and its samples whose loss slopes, or would if a decision value moved by
    /// the first of `reaches`, which fall: with each how many of these would do.
    pub(super) fn near(
        &self,
        at: &Point<F>,
        stripe: &[u32],
        reaches: &[f64],
    ) -> Result<(f64, Vec<(u32, u8)>)> {
        let (targets, m) = (self.problem.targets(), at.intercept.len());
        let (mut value, mut near) = (0.0, Vec::new());
        let mut unused = try_vec("slopes", m, 0.0)?;
        self.each_chunk(at, stripe, |first, _, _, f| {
            for (k, f) in f.chunks_exact(m).enumerate() {
                let sample = stripe[first + k];
                value += self.slopes(sample as usize, f, &mut unused);
                let slopes = |c: usize, f: f64| {
                    self.loss_of(c).at(targets.value(sample as usize, c), f).slope != 0.0
                };
                let within = |&&reach: &&f64| {
                    let reached = |(c, &f): (usize, &f64)| {
                        slopes(c, f) || slopes(c, f - reach) || slopes(c, f + reach)
                    };
                    f.iter().enumerate().any(reached)
                };
                let count = reaches.iter().take_while(within).count() as u8;
                near.extend((count > 0).then_some((sample, count)));
            }
        })?;
        Ok((value, near))
    }

    /// What products with the curvature need of a stripe, each sample counted `factor` times.
    pub(super) fn part(&self, at: &Point<F>, stripe: &[u32], factor: f64) -> Result<Part<F>> {
        let (terms, d, m) = (at.centers.len(), at.centers.n_features(), at.intercept.len());
        let (targets, cost) = (self.problem.targets(), self.problem.cost());
        let mut part = Part {
            kernel: try_vec("kernel values", stripe.len() * terms, F::zero())?,
            rows: try_vec("rows", stripe.len() * d, F::zero())?,
            bends: try_vec("curvatures", stripe.len() * m, F::zero())?,
        };
        self.copy_rows(stripe, &mut part.rows);
        self.each_chunk(at, stripe, |first, values, stride, f| {
            for (k, f) in f.chunks_exact(m).enumerate() {
                let (row, sample) = (first + k, stripe[first + k] as usize);
                part.kernel[row * terms..][..terms].copy_from_slice(&values[k * stride..][..terms]);
                for (c, (to, &f)) in part.bends[row * m..][..m].iter_mut().zip(f).enumerate() {
                    let bend = self.loss_of(c).majorant(targets.value(sample, c), f);
                    *to = F::from_f64(factor * cost[sample] * bend);
                }
            }
        })?;
        Ok(part)
    }

    /// What step 1 of the method sums over a stripe.
    pub(super) fn curvatures(&self, at: &Point<F>, stripe: &[u32]) -> Result<Curvatures> {
        let (terms, m) = (at.centers.len(), at.intercept.len());
        let (targets, cost) = (self.problem.targets(), self.problem.cost());
        let mut sums = Curvatures {
            coef: try_vec("curvatures", terms * m, 0.0)?,
            points: try_vec("curvatures", terms, 0.0)?,
        };
        let mut bends = try_vec("curvatures", m, (0, 0.0))?;
        self.each_chunk(at, stripe, |first, values, stride, f| {
            for (k, f) in f.chunks_exact(m).enumerate() {
                let sample = stripe[first + k] as usize;
                bends.clear();
                for (c, &f) in f.iter().enumerate() {
                    let bend = cost[sample] * self.loss_of(c).majorant(targets.value(sample, c), f);
                    bends.extend((bend != 0.0).then_some((c, bend)));
                }
                if bends.is_empty() {
                    continue;
                }
                let row = values[k * stride..][..terms].iter().map(|v| Real::to_f64(*v));
                for (j, value) in row.enumerate() {
                    let (square, mut weight) = (value * value, 0.0);
                    for &(c, bend) in &bends {
                        let beta = at.coef_rows[c * stride + j];
                        sums.coef[j * m + c] += bend * square;
                        weight += bend * beta * beta;
                    }
                    // A logarithm a pair of a sample and a term, not one a class.
                    if value > 0.0 && weight > 0.0 {
                        sums.points[j] -= weight * square * value.ln();
                    }
                }
            }
        })?;
        Ok(sums)
    }
}

/// Several outputs: `Σ_i r_ic k_ij` into `sums`, and then `w_ij` in place of `k_ij`.
fn weigh<F: Real>(kernel: &mut [F], slopes: &[f64], at: &Point<F>, sums: &mut [f64]) -> Result<()> {
    let (terms, m) = (at.centers.len(), at.intercept.len());
    let slopes: Vec<F> = slopes.iter().map(|&r| F::from_f64(r)).collect();
    let slopes = matrix(&slopes, m);
    let mut product = try_vec("gradient", terms * m, F::zero())?;
    multiply(&mut product, matrix(kernel, terms).transpose(), slopes);
    sums.iter_mut().zip(&product).for_each(|(sum, p)| *sum += Real::to_f64(*p));
    let mut weights = try_vec("kernel values", kernel.len(), F::zero())?;
    multiply(&mut weights, slopes, matrix(&at.coef, m).transpose());
    kernel.iter_mut().zip(&weights).for_each(|(k, &w)| *k *= w);
    Ok(())
}
