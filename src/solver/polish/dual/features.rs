//! Whitened features `φ_i = L⁻¹ k(S, x_i)` in `f32`, made when they are asked for.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{MatMut, MatRef, Par};

use crate::error::{Error, Result, try_square, try_vec};
use crate::float::Real;
use crate::linalg::Cholesky;
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::inner;
use crate::solver::smoothed::KernelRows;
use crate::watch::{Step, Watch};

/// Values of a line of memory.
const LINE: usize = 16;
/// Rows that one task whitens, and tasks between two looks at the watch.
const TASK: usize = 2 * ROW_CHUNK;
const WAVE: usize = 16;
/// No features were made of a sample yet.
const ABSENT: u32 = u32::MAX;

pub(super) struct Features {
    b: usize,
    /// Values of a row: whole lines.
    stride: usize,
    /// L, row-major.
    lower: Vec<f32>,
    values: Vec<f32>,
    /// ‖φ‖² of every row.
    norms: Vec<f32>,
    /// The sample of every row, and the row of every sample.
    samples: Vec<u32>,
    rows: Vec<u32>,
    /// Rows that the memory holds.
    most: usize,
}

impl Features {
    /// None yet, of n samples.
    pub(super) fn new(factor: &Cholesky, b: usize, n: usize, bytes: usize) -> Result<Self> {
        let stride = b.next_multiple_of(LINE);
        let mut lower = try_square("whitening", b, 0.0)?;
        lower.iter_mut().zip(factor.lower()).for_each(|(to, &v)| *to = v as f32);
        Ok(Self {
            b,
            stride,
            lower,
            values: Vec::new(),
            norms: Vec::new(),
            samples: Vec::new(),
            rows: try_vec("whitening", n, ABSENT)?,
            most: bytes / (4 * stride),
        })
    }

    pub(super) fn n_samples(&self) -> usize {
        self.rows.len()
    }

    /// All rows, each `stride` long.
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// The sample behind every row.
    pub(super) fn samples(&self) -> &[u32] {
        &self.samples
    }

    pub(super) fn norm(&self, row: u32) -> f32 {
        self.norms[row as usize]
    }

    pub(super) fn row(&self, row: u32) -> &[f32] {
        &self.values[row as usize * self.stride..][..self.stride]
    }

    pub(super) fn row_of(&self, sample: usize) -> u32 {
        self.rows[sample]
    }

    /// Whether the memory holds those of every sample.
    pub(super) fn holds_all(&self) -> bool {
        self.most >= self.rows.len()
    }

    /// Rows that the memory holds.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Forgets all of them; the memory stays.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.norms.clear();
        self.samples.clear();
        self.rows.fill(ABSENT);
    }

    /// Whether this sample has features.
    pub(super) fn has(&self, sample: usize) -> bool {
        self.rows[sample] != ABSENT
    }

    /// Makes those of these samples, which have none yet, unless memory ends: then false.
    pub(super) fn add<F: Real>(
        &mut self,
        kernel: &dyn KernelRows<F>,
        samples: &[u32],
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let sizes = (self.b, self.stride);
        self.add_by(samples, &|first, out| fill(kernel, &samples[first..], out, sizes), watch)
    }

    /// The same where kernel values are at hand: those of `samples[k]` are the row `places[k]` of
    /// `block`.
    pub(super) fn add_made<F: Real>(
        &mut self,
        samples: &[u32],
        (places, block): (&[u32], &[F]),
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let (b, stride) = (self.b, self.stride);
        let copy = |first: usize, out: &mut [f32]| {
            for (to, &place) in out.chunks_exact_mut(stride).zip(&places[first..]) {
                shorten(to, &block[place as usize * b..][..b]);
            }
        };
        self.add_by(samples, &copy, watch)
    }

    /// `fill(first, out)` writes kernel values of `samples[first..]`, as many rows as `out` has.
    fn add_by(
        &mut self,
        samples: &[u32],
        fill: &(dyn Fn(usize, &mut [f32]) + Sync),
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let (before, stride, b) = (self.samples.len(), self.stride, self.b);
        if before + samples.len() > self.most {
            return Ok(false);
        }
        grow(&mut self.values, samples.len() * stride, 0.0)?;
        grow(&mut self.norms, samples.len(), 0.0)?;
        grow(&mut self.samples, samples.len(), 0)?;
        self.samples[before..].copy_from_slice(samples);
        for (row, &sample) in (before as u32..).zip(samples) {
            self.rows[sample as usize] = row;
        }
        let lower = MatRef::from_row_major_slice(&self.lower, b, b);
        let values = self.values[before * stride..].chunks_mut(WAVE * TASK * stride);
        let norms = self.norms[before..].chunks_mut(WAVE * TASK);
        for (wave, (values, norms)) in values.zip(norms).enumerate() {
            let tasks = values.chunks_mut(TASK * stride).zip(norms.chunks_mut(TASK));
            parallel::each(tasks, &|task, (values, norms)| {
                fill((wave * WAVE + task) * TASK, values);
                let rows = norms.len();
                let columns =
                    MatMut::from_column_major_slice_with_stride_mut(values, b, rows, stride);
                solve_lower_triangular_in_place(lower, columns, Par::Seq);
                for (norm, row) in norms.iter_mut().zip(values.chunks_exact(stride)) {
                    *norm = inner(row, row);
                }
            });
            watch.poll()?;
        }
        Ok(true)
    }
}

fn grow<T: Clone>(values: &mut Vec<T>, by: usize, value: T) -> Result<()> {
    let bytes = by.saturating_mul(size_of::<T>());
    let full = |_| Error::OutOfMemory { what: "whitened features", bytes };
    values.try_reserve_exact(by).map_err(full)?;
    values.resize(values.len() + by, value);
    Ok(())
}

/// Kernel values of the first of these samples in single precision, as many as `out` has rows.
fn fill<F: Real>(
    kernel: &dyn KernelRows<F>,
    samples: &[u32],
    out: &mut [f32],
    (b, stride): (usize, usize),
) {
    let samples = &samples[..out.len() / stride];
    let mut values = vec![F::zero(); ROW_CHUNK.min(samples.len()) * b];
    for (samples, out) in samples.chunks(ROW_CHUNK).zip(out.chunks_mut(ROW_CHUNK * stride)) {
        let chosen: Vec<usize> = samples.iter().map(|&i| i as usize).collect();
        let values = &mut values[..samples.len() * b];
        kernel.fill(&chosen, values);
        let rows = out.chunks_exact_mut(stride).zip(values.chunks_exact(b));
        rows.for_each(|(to, from)| shorten(to, from));
    }
}

/// A row in single precision.
fn shorten<F: Real>(to: &mut [f32], from: &[F]) {
    to.iter_mut().zip(from).for_each(|(to, v)| *to = Real::to_f64(*v) as f32);
}
