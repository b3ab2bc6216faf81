//! Sums over a stripe of samples: the loss and its gradient, and the estimates of curvature.

use crate::data::Problem;
use crate::error::{Result, try_reserve, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::linalg::{add_scaled_rows, matrix, multiply};
use crate::loss::{Smoothed, by_loss};
use crate::parallel::{self, ROW_CHUNK, Spare};
use crate::simd::{Packed, Tile, add_rows, weighted_sums};

/// Decision values whose losses are computed side by side.
const BLOCK: usize = 64;
/// Numbers of a vector that a task adds up.
const CHUNK: usize = 1 << 12;

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
    /// Memory for kernel values of a chunk.
    pub(super) values: Spare<Vec<F>>,
    /// That of a stripe: kernel values of samples with a slope, what slopes and coefficients make of
    /// pairs, and the samples.
    pub(super) rooms: Spare<[Vec<F>; 3]>,
    /// That of its sums for points and coefficients.
    pub(super) sums: Spare<(Vec<F>, Vec<f64>)>,
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
        let mut values = self.values.take().unwrap_or_default();
        sized("kernel values", &mut values, ROW_CHUNK * stride)?;
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
        self.values.give(values);
        Ok(())
    }

    /// These have been added up.
    pub(super) fn give_back(&self, parts: Vec<Partial<F>>) {
        parts.into_iter().for_each(|part| self.sums.give((part.points, part.coef)));
    }

    /// The loss and its gradient over a stripe.
    pub(super) fn sum(&self, at: &Point<F>, stripe: &[u32]) -> Result<Partial<F>> {
        let (terms, d) = (at.centers.len(), at.centers.n_features());
        let m = at.intercept.len();
        let mut room = self.rooms.take().unwrap_or_default();
        let [kernel, pulls, rows] = &mut room;
        // The samples with a slope: kernel rows, slopes, places.
        kernel.clear();
        if kernel.capacity() < stripe.len() * terms {
            try_reserve("kernel values", kernel, stripe.len() * terms)?;
        }
        let mut slopes = try_vec("slopes", stripe.len() * m, 0.0)?;
        let (mut value, mut active) = (0.0, try_vec("samples", 0, 0u32)?);
        self.each_chunk(at, stripe, |first, values, stride, f| {
            let (samples, from) = (&stripe[first..][..f.len() / m], active.len());
            let own = &mut slopes[from * m..][..f.len()];
            value += self.slopes(samples, f, own);
            for (k, &sample) in samples.iter().enumerate() {
                if own[k * m..][..m].iter().any(|r| *r != 0.0) {
                    own.copy_within(k * m..(k + 1) * m, (active.len() - from) * m);
                    kernel.extend_from_slice(&values[k * stride..][..terms]);
                    active.push(sample);
                }
            }
        })?;
        let a = active.len();
        let slopes = &slopes[..a * m];
        let (mut points, mut coef) = self.sums.take().unwrap_or_default();
        sized("gradient", &mut points, terms * d)?;
        sized("gradient", &mut coef, terms * m)?;
        let mut intercept = try_vec("gradient", m, 0.0)?;
        for row in slopes.chunks_exact(m) {
            intercept.iter_mut().zip(row).for_each(|(sum, r)| *sum += r);
        }
        if m == 1 {
            let scaled: Vec<(u32, f64)> = (0..).zip(slopes.iter().copied()).collect();
            coef.fill(0.0);
            add_scaled_rows(kernel, &scaled, &mut coef);
            for (row, &r) in kernel.chunks_exact_mut(terms).zip(slopes) {
                let r = F::from_f64(r);
                row.iter_mut().zip(&at.coef).for_each(|(k, &c)| *k *= r * c);
            }
        } else {
            weigh((kernel, pulls), slopes, at, &mut coef)?;
        }
        let ones: Vec<(u32, f64)> = (0..a as u32).map(|k| (k, 1.0)).collect();
        let mut weights = try_vec("gradient", terms, 0.0)?;
        add_scaled_rows(kernel, &ones, &mut weights);
        sized("rows", rows, stripe.len() * d)?;
        let rows = &mut rows[..a * d];
        self.copy_rows(&active, rows);
        multiply(&mut points, matrix(kernel, terms).transpose(), matrix(rows, d));
        self.rooms.give(room);
        Ok(Partial { value, points, weights, coef, intercept, active })
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

    /// `Σ C_i L_h` of some samples, whose decision values are f, row by row, and their slopes `r_ic`.
    fn slopes(&self, samples: &[u32], f: &[f64], slopes: &mut [f64]) -> f64 {
        let (targets, cost) = (self.problem.targets(), self.problem.cost());
        let m = targets.n_outputs();
        let mut y = Vec::with_capacity(f.len());
        samples.iter().for_each(|&sample| targets.append(sample as usize, &mut y));
        let mut values = vec![0.0; f.len()];
        if targets.level(0).is_some() {
            for (at, (value, slope)) in values.iter_mut().zip(&mut *slopes).enumerate() {
                let curve = self.loss_of(at % m).at(y[at], f[at]);
                (*value, *slope) = (curve.value, curve.slope);
            }
        } else {
            by_loss!(self.loss, loss => {
                let both = values.chunks_mut(BLOCK).zip(slopes.chunks_mut(BLOCK));
                for ((y, f), (values, slopes)) in y.chunks(BLOCK).zip(f.chunks(BLOCK)).zip(both) {
                    let mut block = [[0.0; BLOCK]; 2];
                    block[0][..y.len()].copy_from_slice(y);
                    block[1][..f.len()].copy_from_slice(f);
                    let curves = loss.curves(&block[0], &block[1]);
                    values.copy_from_slice(&curves.value[..f.len()]);
                    slopes.copy_from_slice(&curves.slope[..f.len()]);
                }
            });
        }
        let rows = values.chunks_exact(m).zip(slopes.chunks_exact_mut(m));
        rows.zip(samples).fold(0.0, |sum, ((values, slopes), &sample)| {
            let cost = cost[sample as usize];
            slopes.iter_mut().for_each(|slope| *slope *= cost);
            sum + cost * values.iter().sum::<f64>()
        })
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
        let mut unused = try_vec("slopes", ROW_CHUNK * m, 0.0)?;
        self.each_chunk(at, stripe, |first, _, _, f| {
            value += self.slopes(&stripe[first..][..f.len() / m], f, &mut unused[..f.len()]);
            for (k, f) in f.chunks_exact(m).enumerate() {
                let sample = stripe[first + k];
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

/// Adds vectors of `parts` to `sums`, on all threads where they are long.
pub(super) fn add_up<P: Sync, T: Real>(
    parts: &[P],
    vector: impl Fn(&P) -> &Vec<T> + Sync,
    sums: &mut [f64],
) {
    let worth = sums.len() > CHUNK;
    parallel::each_if(worth, sums.chunks_mut(CHUNK), &|chunk, sums: &mut [f64]| {
        let own = |part| (&vector(part)[chunk * CHUNK..][..sums.len()], 1.0);
        add_rows(&parts.iter().map(own).collect::<Vec<_>>(), sums);
    });
}

/// So many values, whatever they are.
pub(super) fn sized<T: Real>(what: &'static str, values: &mut Vec<T>, len: usize) -> Result<()> {
    if values.capacity() < len {
        *values = try_vec(what, len, T::zero())?;
    }
    values.resize(len, T::zero());
    Ok(())
}

/// Several outputs: `Σ_i r_ic k_ij` as `sums`, and then `w_ij` in place of `k_ij`.
fn weigh<F: Real>(
    (kernel, pulls): (&mut [F], &mut Vec<F>),
    slopes: &[f64],
    at: &Point<F>,
    sums: &mut [f64],
) -> Result<()> {
    let (terms, m) = (at.centers.len(), at.intercept.len());
    let slopes: Vec<F> = slopes.iter().map(|&r| F::from_f64(r)).collect();
    let slopes = matrix(&slopes, m);
    sized("gradient", pulls, kernel.len().max(sums.len()))?;
    multiply(&mut pulls[..sums.len()], matrix(kernel, terms).transpose(), slopes);
    sums.iter_mut().zip(&*pulls).for_each(|(sum, p)| *sum = Real::to_f64(*p));
    let pulls = &mut pulls[..kernel.len()];
    multiply(pulls, slopes, matrix(&at.coef, m).transpose());
    kernel.iter_mut().zip(&*pulls).for_each(|(k, &w)| *k *= w);
    Ok(())
}
