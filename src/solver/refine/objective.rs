//! The objective as a function of one vector: points, then coefficients, then offsets.

use super::config::Refine;
use super::curve::Curve;
use super::sums::{Point, Samples, add_up};
use crate::data::Problem;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::linalg::{axpy, matrix, multiply};
use crate::loss::Smoothed;
use crate::model::KernelModel;
use crate::parallel::{self, ROW_CHUNK, Spare};
use crate::simd::Tile;
use crate::watch::{Step, Watch};

/// Rows of a stripe at most: long enough for matrix products to run at full speed.
const STRIPE: usize = 512;
/// Bytes of a stripe's blocks, and of all stripes between two looks at the watch.
const STRIPE_BYTES: usize = 8 << 20;
const WAVE_BYTES: usize = 96 << 20;
/// Samples that the scales are estimated from.
const SCALE_SAMPLES: usize = 8192;
/// Bytes that the pairs of the descent may take.
const PAIR_BYTES: usize = 512 << 20;
/// Bytes that samples, and K_SS, may take for products with the curvature.
const CURVE_BYTES: usize = 256 << 20;
/// Rows of K_SS that a task makes.
const GRAM_CHUNK: usize = 32;

pub(super) struct Objective<'a, 'p, F: Real> {
    data: Samples<'a, 'p, F>,
    fit_intercept: bool,
    gamma: f64,
    /// Terms, features, outputs.
    sizes: (usize, usize, usize),
    /// The samples looked at, each counted `factor` times.
    samples: Vec<u32>,
    factor: f64,
    /// Those whose loss sloped where the objective was evaluated last.
    active: Vec<u32>,
    point: Point<F>,
    /// The basis points as `F` holds them: K_SS is made from these.
    rounded: Vec<F>,
}

impl<'a, 'p, F: Real> Objective<'a, 'p, F> {
    pub(super) fn new(
        refine: Refine,
        problem: &'a Problem<'p, F>,
        model: &KernelModel<F>,
    ) -> Result<Self> {
        let sizes = (model.n_terms(), model.n_features(), model.n_outputs());
        let centers = model.packed_centers()?.clone();
        let Some(gamma) = model.kernel().gaussian_gamma() else {
            return Err(Error::Unsupported("refining needs the Gaussian kernel".into()));
        };
        let point = Point {
            coef: try_vec("coefficients", sizes.0 * sizes.2, F::zero())?,
            coef_rows: try_vec("coefficients", centers.padded_len() * sizes.2, 0.0)?,
            centers,
            intercept: model.intercept().to_vec(),
        };
        Ok(Self {
            data: Samples {
                problem,
                kernel: model.kernel(),
                origin: model.origin().to_vec(),
                loss: Smoothed { loss: refine.loss, h: refine.h },
                values: Spare::default(),
                rooms: Spare::default(),
                sums: Spare::default(),
            },
            fit_intercept: refine.fit_intercept,
            gamma,
            sizes,
            samples: Vec::new(),
            factor: 1.0,
            active: Vec::new(),
            point,
            rounded: try_vec("basis points", sizes.0 * sizes.1, F::zero())?,
        })
    }

    /// The variables of a model.
    pub(super) fn variables(&self, model: &KernelModel<F>) -> Result<Vec<f64>> {
        let (terms, d, m) = self.sizes;
        let offsets = if self.fit_intercept { m } else { 0 };
        let mut x = try_vec("variables", terms * (d + m) + offsets, 0.0)?;
        let coef = model.coef();
        let centers = model.shifted_centers()?;
        let values = centers.iter().map(|v| Real::to_f64(*v)).chain(coef);
        let values = values.chain(model.intercept().iter().copied().take(offsets));
        x.iter_mut().zip(values).for_each(|(x, v)| *x = v);
        Ok(x)
    }

    /// The model of these variables.
    pub(super) fn model(&self, x: &[f64]) -> Result<KernelModel<F>> {
        let (terms, d, m) = self.sizes;
        let rows: Vec<F> = x[..terms * d].iter().map(|&v| F::from_f64(v)).collect();
        let (coef, offsets) = x[terms * d..].split_at(terms * m);
        let intercept = match offsets {
            [] => self.point.intercept.clone(),
            offsets => offsets.to_vec(),
        };
        let Samples { kernel, origin, .. } = &self.data;
        KernelModel::from_parts(*kernel, origin.clone(), (rows, d), coef, intercept)
    }

    pub(super) fn problem(&self) -> &'a Problem<'p, F> {
        self.data.problem
    }

    /// Looks at these samples from now on, each counted `factor` times.
    pub(super) fn choose(&mut self, samples: Vec<u32>, factor: f64) {
        (self.samples, self.factor) = (samples, factor);
    }

    /// Whether there are samples without a slope.
    pub(super) fn has_zones(&self) -> bool {
        self.data.loss.has_zones()
    }

    /// The objective at `x`, and those of the samples whose loss slopes there, or would if a decision
    /// value moved by the first of `reaches`, which fall: with each how many of these would do.
    pub(super) fn near(
        &mut self,
        x: &[f64],
        reaches: &[f64],
        watch: &mut Watch<'_>,
    ) -> Step<(f64, Vec<(u32, u8)>)> {
        self.move_to(x);
        let (mut value, mut near) = (0.0, Vec::new());
        let work = |stripe: &[u32]| self.data.near(&self.point, stripe, reaches);
        self.stripes(&self.samples, watch, work, |parts| {
            for part in parts {
                value += part.0;
                near.extend(&part.1);
            }
        })?;
        let (terms, d, m) = self.sizes;
        let (mut points, mut coef) =
            (try_vec("gradient", terms * d, 0.0)?, try_vec("gradient", terms * m, 0.0)?);
        let weights = try_vec("gradient", terms, 0.0)?;
        let beta = &x[terms * d..][..terms * m];
        let penalty = self.penalty(beta, &weights, (&mut points, &mut coef));
        Ok((penalty + self.factor * value, near))
    }

    /// How many pairs of vectors the memory holds, up to `most`.
    pub(super) fn affordable_pairs(&self, most: usize) -> usize {
        let (terms, d, m) = self.sizes;
        (PAIR_BYTES / (8 * terms * (d + m))).clamp(2, most.max(2))
    }

    /// Samples looked at whose loss sloped where the objective was evaluated last, in their order.
    pub(super) fn active(&self) -> &[u32] {
        &self.active
    }

    /// Terms.
    pub(super) fn n_terms(&self) -> usize {
        self.sizes.0
    }

    /// How many samples' part of a [`Curve`] the memory holds.
    pub(super) fn affordable_samples(&self) -> usize {
        let (terms, d, m) = self.sizes;
        let bytes = |numbers: usize| numbers.saturating_mul(size_of::<F>());
        if bytes(terms.saturating_mul(terms)) > CURVE_BYTES {
            return 0;
        }
        CURVE_BYTES / bytes(terms + d + m)
    }

    /// The curvature at `x` by some of the samples looked at, each counted `factor` times what it is.
    pub(super) fn curve(
        &mut self,
        x: &[f64],
        samples: &[u32],
        factor: f64,
        watch: &mut Watch<'_>,
    ) -> Step<Curve<F>> {
        self.move_to(x);
        let (terms, d, m) = self.sizes;
        let (mut parts, factor) = (Vec::new(), self.factor * factor);
        let work = |stripe: &[u32]| self.data.part(&self.point, stripe, factor);
        self.stripes(samples, watch, work, |more| parts.extend(more))?;
        let stride = self.point.centers.padded_len();
        let mut gram = try_vec("kernel matrix", terms * terms, F::zero())?;
        parallel::each(gram.chunks_mut(GRAM_CHUNK * terms), &|chunk, rows: &mut [F]| {
            let values = self.gram_rows(chunk * GRAM_CHUNK, rows.len() / terms);
            let pairs = rows.chunks_exact_mut(terms).zip(values.chunks_exact(stride));
            pairs.for_each(|(to, from)| to.copy_from_slice(&from[..terms]));
        });
        let square = |beta: &[f64]| 2.0 * self.gamma * beta.iter().map(|b| b * b).sum::<f64>();
        Ok(Curve {
            gamma: self.gamma,
            sizes: self.sizes,
            offsets: self.fit_intercept,
            parts,
            gram,
            points: self.rounded.clone(),
            coef: self.point.coef.clone(),
            stiffness: x[terms * d..][..terms * m].chunks_exact(m).map(square).collect(),
            rooms: Spare::default(),
        })
    }

    /// Rows of K_SS, as long as packed centres are.
    fn gram_rows(&self, first: usize, len: usize) -> Vec<F> {
        let (centers, mut tile) = (&self.point.centers, Tile::new(self.sizes.1));
        tile.fill_dense(len, |i, row| centers.get(first + i, row));
        let mut gram = vec![F::zero(); len * centers.padded_len()];
        self.data.kernel.values(&tile, (0, len), centers, &mut gram, centers.padded_len());
        gram
    }

    /// Of those looked at.
    pub(super) fn n_samples(&self) -> usize {
        self.samples.len()
    }

    fn move_to(&mut self, x: &[f64]) {
        let (terms, d, m) = self.sizes;
        let mut row = vec![F::zero(); d];
        for j in 0..terms {
            for (k, v) in row.iter_mut().enumerate() {
                *v = F::from_f64(x[j * d + k]);
                self.rounded[j * d + k] = *v;
            }
            self.point.centers.set(j, &row);
        }
        let stride = self.point.centers.padded_len();
        let (coef, offsets) = x[terms * d..].split_at(terms * m);
        self.point.coef.iter_mut().zip(coef).for_each(|(to, &value)| *to = F::from_f64(value));
        for (c, row) in self.point.coef_rows.chunks_exact_mut(stride.max(1)).enumerate() {
            row.iter_mut().zip(coef.iter().skip(c).step_by(m)).for_each(|(to, &value)| *to = value);
        }
        self.point.intercept[..offsets.len()].copy_from_slice(offsets);
    }

    /// Applies `work` to the stripes of `samples` in parallel and `add` to the results, some at a time, in
    /// their order.
    fn stripes<T: Send>(
        &self,
        samples: &[u32],
        watch: &mut Watch<'_>,
        work: impl Fn(&[u32]) -> Result<T> + Sync,
        mut add: impl FnMut(Vec<T>),
    ) -> Step {
        let (terms, d, m) = self.sizes;
        let row_bytes = size_of::<F>() * (2 * terms + d);
        let rows = (STRIPE_BYTES / row_bytes.max(1)).clamp(ROW_CHUNK, STRIPE);
        let stripe_bytes = rows * row_bytes + 8 * terms * (d + 2 * m);
        let wave = (WAVE_BYTES / stripe_bytes.max(1)).clamp(2, 16);
        for stripes in samples.chunks(rows * wave) {
            let stripe = |s: usize| &stripes[s * rows..((s + 1) * rows).min(stripes.len())];
            let parts = parallel::map(stripes.len().div_ceil(rows), &|s| work(stripe(s)));
            add(parts.into_iter().collect::<Result<Vec<T>>>()?);
            watch.poll()?;
        }
        Ok(())
    }

    /// The objective at `x`, and its gradient.
    pub(super) fn evaluate(
        &mut self,
        x: &[f64],
        gradient: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step<f64> {
        self.move_to(x);
        let (terms, d, m) = self.sizes;
        gradient.fill(0.0);
        let (points, rest) = gradient.split_at_mut(terms * d);
        let (coef, offsets) = rest.split_at_mut(terms * m);
        let mut weights = try_vec("gradient", terms, 0.0)?;
        let (mut value, mut active) = (0.0, std::mem::take(&mut self.active));
        active.clear();
        self.stripes(
            &self.samples,
            watch,
            |stripe| self.data.sum(&self.point, stripe),
            |parts| {
                for part in &parts {
                    value += part.value;
                    active.extend(&part.active);
                    axpy(1.0, &part.weights, &mut weights);
                    axpy(1.0, &part.intercept, offsets);
                }
                add_up(&parts, |part| &part.points, points);
                add_up(&parts, |part| &part.coef, coef);
                self.data.give_back(parts);
            },
        )?;
        self.active = active;
        for sums in [&mut *points, &mut weights[..], &mut *coef, &mut *offsets] {
            sums.iter_mut().for_each(|sum| *sum *= self.factor);
        }
        value *= self.factor;
        value += self.penalty(&x[terms * d..][..terms * m], &weights, (points, coef));
        points.iter_mut().for_each(|g| *g *= 2.0 * self.gamma);
        Ok(value)
    }

    /// `1/2 Σ_c β_cᵀ K_SS β_c`. Its part of the gradients is added (of the points': over 2γ), and what
    /// weights `w_j` of samples have pulled every point by is set against the point.
    fn penalty(
        &self,
        beta: &[f64],
        weights: &[f64],
        (points, coef): (&mut [f64], &mut [f64]),
    ) -> f64 {
        let (terms, d, m) = self.sizes;
        let centers = &self.point.centers;
        let stride = centers.padded_len();
        let (beta, single) = (matrix(beta, m), matrix(&self.point.coef, m));
        let mut parts = vec![0.0; terms.div_ceil(GRAM_CHUNK)];
        let chunks = points.chunks_mut(GRAM_CHUNK * d).zip(coef.chunks_mut(GRAM_CHUNK * m));
        // Row by row, so that no bit depends on the threads.
        parallel::each(chunks.zip(&mut parts), &|chunk, ((points, coef), part)| {
            let (first, len) = (chunk * GRAM_CHUNK, coef.len() / m);
            let gram = self.gram_rows(first, len);
            let exact: Vec<f64> = gram.iter().map(|&k| Real::to_f64(k)).collect();
            let mut pull = vec![0.0; len * m];
            multiply(&mut pull, matrix(&exact, stride).subcols(0, terms), beta);
            axpy(1.0, &pull, coef);
            let mut pairs = vec![F::zero(); len * terms];
            multiply(&mut pairs, single.subrows(first, len), single.transpose());
            for (pairs, gram) in pairs.chunks_exact_mut(terms).zip(gram.chunks_exact(stride)) {
                pairs.iter_mut().zip(gram).for_each(|(pair, &k)| *pair *= k);
            }
            let mut moved = vec![F::zero(); len * d];
            multiply(&mut moved, matrix(&pairs, terms), matrix(&self.rounded, d));
            let rows = points
                .chunks_exact_mut(d)
                .zip(moved.chunks_exact(d))
                .zip(pairs.chunks_exact(terms));
            for (i, ((to, moved), pairs)) in rows.enumerate() {
                let own = &self.rounded[(first + i) * d..][..d];
                let sum: f64 =
                    weights[first + i] + pairs.iter().map(|&p| Real::to_f64(p)).sum::<f64>();
                for ((to, &moved), &s) in to.iter_mut().zip(moved).zip(own) {
                    *to += Real::to_f64(moved) - sum * Real::to_f64(s);
                }
            }
            let own = beta.subrows(first, len);
            *part = (0..len * m).map(|at| own[(at / m, at % m)] * pull[at]).sum();
        });
        0.5 * parts.iter().sum::<f64>()
    }

    /// Method, 1: the inverse second derivative of each variable on its own.
    pub(super) fn step_1_inverse_curvature(
        &mut self,
        x: &[f64],
        watch: &mut Watch<'_>,
    ) -> Step<Vec<f64>> {
        self.move_to(x);
        let (terms, d, m) = self.sizes;
        let step = self.samples.len().div_ceil(SCALE_SAMPLES).max(1);
        let chosen: Vec<u32> = self.samples.iter().copied().step_by(step).collect();
        let mut coef = try_vec("curvatures", terms * m, 0.0)?;
        let mut points = try_vec("curvatures", terms, 0.0)?;
        self.stripes(
            &chosen,
            watch,
            |stripe| self.data.curvatures(&self.point, stripe),
            |parts| {
                for part in parts {
                    axpy(1.0, &part.coef, &mut coef);
                    axpy(1.0, &part.points, &mut points);
                }
            },
        )?;
        let factor = self.factor * step as f64;
        let mut inverse = try_vec("curvatures", x.len(), 1.0)?;
        let beta = &x[terms * d..][..terms * m];
        let inverse_of = |curvature: f64| {
            // A term of no weight has no pull: its point stays.
            if curvature > f64::MIN_POSITIVE { 1.0 / curvature } else { 0.0 }
        };
        for j in 0..terms {
            let weight: f64 = beta[j * m..][..m].iter().map(|b| b * b).sum();
            // ‖x - s‖² = (γ‖x - s‖²)/γ
            let square = 4.0 * self.gamma * factor * points[j] / d as f64;
            inverse[j * d..][..d].fill(inverse_of(square + 2.0 * self.gamma * weight));
        }
        for (inverse, sum) in inverse[terms * d..].iter_mut().zip(&coef) {
            *inverse = inverse_of(1.0 + factor * sum);
        }
        // An offset acts on every sample at once, as a term with k = 1 would.
        for (c, inverse) in inverse[terms * (d + m)..].iter_mut().enumerate() {
            let most = (0..terms).map(|j| coef[j * m + c]).fold(0.0, f64::max);
            *inverse = inverse_of(1.0 + factor * most);
        }
        Ok(inverse)
    }
}
