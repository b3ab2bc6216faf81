//! Rows against the terms of a model, as polishing asks for them.

use std::any::Any;

use crate::data::{Gathered, Rows};
use crate::error::Result;
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile, origin_for};
use crate::model::KernelModel;
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::{Packed, Tile, zeroed};
use crate::solver::smoothed::KernelRows;
use crate::watch::{Step, Watch};

/// Rows of K_BB that are computed together: wide centres are read once for them.
const GRAM_POINTS: usize = 8;
/// Chunks of rows whose values are made between two looks at the watch.
const HELD_WAVE: usize = 64;

/// K_nB of the rows and the terms of a model, computed when asked for.
pub(super) struct ModelRows<'a, F: Real> {
    rows: Rows<'a, F>,
    /// The rows meant, in this order; all of them as they are when there is no list.
    samples: Option<&'a [usize]>,
    model: &'a KernelModel<F>,
    centers: &'a Packed<F>,
    /// Those meant, where they are not all.
    some: Option<Packed<F>>,
    /// The centres in double precision: K_BB in single precision has eigenvalues below 0, along
    /// which the objective would have no bound. None where they are in it.
    exact: Option<Packed<f64>>,
}

impl<'a, F: Real> ModelRows<'a, F> {
    pub(super) fn new(rows: Rows<'a, F>, model: &'a KernelModel<F>) -> Result<Self> {
        let centers = model.packed_centers()?;
        let mut made = Self { rows, samples: None, model, centers, some: None, exact: None };
        if made.doubles().is_none() {
            made.exact = Some(doubled(centers)?);
        }
        Ok(made)
    }

    /// The centres meant.
    fn centers(&self) -> &Packed<F> {
        self.some.as_ref().unwrap_or(self.centers)
    }

    /// The centres in double precision.
    fn doubles(&self) -> Option<&Packed<f64>> {
        let centers: &dyn Any = self.centers();
        self.exact.as_ref().or_else(|| centers.downcast_ref())
    }

    /// Of these rows alone, in this order.
    pub(super) fn of_some(
        rows: Rows<'a, F>,
        samples: &'a [usize],
        model: &'a KernelModel<F>,
    ) -> Result<Self> {
        Ok(Self { samples: Some(samples), ..Self::new(rows, model)? })
    }

    fn tile(&self, samples: &[usize]) -> Tile<F> {
        let mut tile = Tile::new(self.model.n_features());
        let row = |i: usize| self.samples.map_or(samples[i], |all| all[samples[i]]);
        load_tile(&self.rows, samples.len(), row, self.model.origin(), &mut tile);
        tile
    }

    fn values(&self, tile: &Tile<F>, len: usize, out: &mut [F]) {
        let centers = self.centers();
        let (terms, stride) = (centers.len(), centers.padded_len());
        if terms == stride {
            return self.model.kernel().values(tile, (0, len), centers, out, stride);
        }
        let mut padded = vec![F::zero(); len * stride];
        self.model.kernel().values(tile, (0, len), centers, &mut padded, stride);
        for (to, from) in out.chunks_exact_mut(terms.max(1)).zip(padded.chunks_exact(stride.max(1)))
        {
            to.copy_from_slice(&from[..terms]);
        }
    }
}

impl<F: Real> KernelRows<F> for ModelRows<'_, F> {
    fn n_rows(&self) -> usize {
        self.samples.map_or(self.rows.n_rows(), <[usize]>::len)
    }

    fn n_terms(&self) -> usize {
        self.centers().len()
    }

    fn of_terms(&self, terms: &[u32]) -> Result<Option<Box<dyn KernelRows<F> + '_>>> {
        let d = self.model.n_features();
        let (mut some, mut row) = (Packed::with_capacity(d, terms.len())?, vec![F::zero(); d]);
        for &term in terms {
            self.centers().get(term as usize, &mut row);
            some.push(&row)?;
        }
        let exact = self.exact.is_some().then(|| doubled(&some)).transpose()?;
        Ok(Some(Box::new(Self { some: Some(some), exact, ..*self })))
    }

    fn fill(&self, samples: &[usize], out: &mut [F]) {
        self.values(&self.tile(samples), samples.len(), out);
    }

    fn weigh(&self, samples: &[usize], coef: &[f64], out: &mut [f64]) {
        let tile = self.tile(samples);
        let mut padded = vec![0.0; self.centers().padded_len()];
        padded[..coef.len()].copy_from_slice(coef);
        let points = (0, out.len());
        let kernel = self.model.kernel();
        kernel.sums(&tile, points, self.centers(), (&padded, 1), (out, &mut Vec::new()));
    }

    fn gram_work(&self) -> usize {
        self.n_terms().saturating_mul(self.model.n_features())
    }

    fn fill_gram(&self, first: usize, out: &mut [f64]) {
        let terms = self.n_terms().max(1);
        let Some(exact) = self.doubles() else { return };
        let stride = exact.padded_len();
        let mut rows = vec![0.0; GRAM_POINTS * stride];
        let mut tile = Tile::new(self.model.n_features());
        for (part, out) in out.chunks_mut(GRAM_POINTS * terms).enumerate() {
            let (first, len) = (first + part * GRAM_POINTS, out.len() / terms);
            tile.fill_dense(len, |i, point| exact.get(first + i, point));
            let rows = &mut rows[..len * stride];
            self.model.kernel().values(&tile, (0, len), exact, rows, stride);
            for (out, row) in out.chunks_exact_mut(terms).zip(rows.chunks_exact(stride)) {
                out.copy_from_slice(&row[..terms]);
            }
        }
    }
}

/// Centres in double precision.
fn doubled<F: Real>(centers: &Packed<F>) -> Result<Packed<f64>> {
    let d = centers.n_features();
    let mut exact = Packed::with_capacity(d, centers.len())?;
    let (mut row, mut wide) = (vec![F::zero(); d], vec![0.0; d]);
    for term in 0..centers.len() {
        centers.get(term, &mut row);
        wide.iter_mut().zip(&row).for_each(|(w, v)| *w = Real::to_f64(*v));
        exact.push(&wide)?;
    }
    Ok(exact)
}

/// [`ModelRows`] whose values are held, where they take no more bytes than allowed.
pub(super) struct HeldRows<'a, F: Real> {
    rows: ModelRows<'a, F>,
    values: Vec<F>,
}

impl<'a, F: Real> HeldRows<'a, F> {
    pub(super) fn new(
        rows: ModelRows<'a, F>,
        bytes: usize,
        watch: &mut Watch<'_>,
    ) -> Step<HeldRows<'a, F>> {
        let (n, b) = (rows.n_rows(), rows.n_terms());
        let held =
            if n.saturating_mul(b).saturating_mul(size_of::<F>()) <= bytes { n * b } else { 0 };
        let mut values = zeroed("kernel values", held)?;
        for (wave, part) in values.chunks_mut(HELD_WAVE * ROW_CHUNK * b.max(1)).enumerate() {
            parallel::each(part.chunks_mut(ROW_CHUNK * b), &|c, out| {
                let first = (wave * HELD_WAVE + c) * ROW_CHUNK;
                let samples: Vec<usize> = (first..first + out.len() / b).collect();
                rows.fill(&samples, out);
            });
            watch.poll()?;
        }
        Ok(Self { rows, values })
    }

    /// The values, n x B, where they are held.
    pub(super) fn values(&self) -> &[F] {
        &self.values
    }
}

impl<F: Real> KernelRows<F> for HeldRows<'_, F> {
    fn n_rows(&self) -> usize {
        self.rows.n_rows()
    }

    fn n_terms(&self) -> usize {
        self.rows.n_terms()
    }

    fn fill(&self, samples: &[usize], out: &mut [F]) {
        let b = self.n_terms();
        if self.values.is_empty() {
            return self.rows.fill(samples, out);
        }
        for (to, &i) in out.chunks_exact_mut(b.max(1)).zip(samples) {
            to.copy_from_slice(&self.values[i * b..(i + 1) * b]);
        }
    }

    fn gram_work(&self) -> usize {
        self.rows.gram_work()
    }

    fn fill_gram(&self, first: usize, out: &mut [f64]) {
        self.rows.fill_gram(first, out);
    }
}

/// A model on these rows whose coefficients are all 0.
pub(super) fn model_on<F: Real>(
    kernel: AnyKernel,
    rows: &Rows<'_, F>,
    chosen: &[usize],
    outputs: usize,
) -> Result<KernelModel<F>> {
    let coef = vec![0.0; chosen.len().saturating_mul(outputs)];
    let terms = Gathered::new(rows, chosen)?;
    KernelModel::of_rows(kernel, origin_for(kernel, rows)?, terms, &coef, vec![0.0; outputs])
}
