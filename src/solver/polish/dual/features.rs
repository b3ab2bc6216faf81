//! Whitened features `φ_i = L⁻¹ k(S, x_i)`, made in `f32` when they are asked for. In 16 bits, where
//! that is near enough, twice as many fit into memory, and passes read half as much.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{MatMut, MatRef, Par};

use crate::error::{Result, try_reserve, try_vec};
use crate::float::Real;
use crate::linalg::Cholesky;
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::{add_rows, inner, zeroed};
use crate::solver::polish::held::{Held, Width};
use crate::solver::polish::row::Row;
use crate::solver::smoothed::KernelRows;
use crate::watch::{Step, Watch};

/// Values of a line of memory.
const LINE: usize = 16;
/// Bytes of features that stay near.
const NEAR: usize = 1 << 22;
/// Rows that one task whitens, and tasks between two looks at the watch.
const TASK: usize = 2 * ROW_CHUNK;
const WAVE: usize = 16;
/// Rows that are added together.
const TOGETHER: usize = 16;
/// No features were made of a sample yet.
const ABSENT: u32 = u32::MAX;
/// The least `tol` that 16 bits are near enough for: a margin is off by 1e-5 of ‖w‖ by them.
const LEAST_TOL: f64 = 1e-5;

/// How features are held for this `tol`.
fn width(tol: f64) -> Width {
    if tol >= LEAST_TOL { Width::Short } else { Width::Full }
}

/// Values of a row for b terms: whole lines.
fn stride(b: usize) -> usize {
    b.next_multiple_of(LINE)
}

pub(super) struct Features {
    b: usize,
    stride: usize,
    /// L by columns, as faer solves fastest.
    lower: Vec<f32>,
    width: Width,
    values: Held,
    /// ‖φ‖² of every row.
    norms: Vec<f32>,
    /// The sample of every row, and the row of every sample.
    samples: Vec<u32>,
    rows: Vec<u32>,
    /// Rows that the memory holds.
    most: usize,
    /// Bytes that stay near.
    pub(super) near: usize,
}

impl Features {
    /// None yet, of n samples; `tol` says how near they are to be.
    pub(super) fn new(
        factor: &Cholesky,
        (n, b): (usize, usize),
        (bytes, tol): (usize, f64),
    ) -> Result<Self> {
        let mut lower = zeroed("whitening", b.saturating_mul(b))?;
        parallel::each(lower.chunks_mut((LINE * b).max(1)), &|strip, columns: &mut [f32]| {
            let (first, width) = (strip * LINE, columns.len() / b);
            for (i, row) in factor.lower().chunks_exact(b).enumerate().skip(first) {
                let known = row[first..first + width].iter().take(i + 1 - first);
                known.enumerate().for_each(|(j, &v)| columns[j * b + i] = v as f32);
            }
        });
        Ok(Self {
            b,
            stride: stride(b),
            lower,
            width: width(tol),
            values: Held::none(width(tol)),
            norms: Vec::new(),
            samples: Vec::new(),
            rows: try_vec("whitening", n, ABSENT)?,
            most: bytes / Self::row_bytes(b, tol),
            near: NEAR,
        })
    }

    /// Bytes of a row.
    pub(super) fn row_bytes(b: usize, tol: f64) -> usize {
        width(tol).bytes(stride(b))
    }

    pub(super) fn n_samples(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// w as long as a row, in `f32`.
    pub(super) fn in_single(&self, w: &[f64]) -> Vec<f32> {
        let zeros = std::iter::repeat_n(0.0, self.stride - w.len());
        w.iter().map(|&w| w as f32).chain(zeros).collect()
    }

    /// The sample behind every row.
    pub(super) fn samples(&self) -> &[u32] {
        &self.samples
    }

    /// ‖φ‖² of every row: not finite where a value is not.
    pub(super) fn norms(&self) -> &[f32] {
        &self.norms
    }

    pub(super) fn norm(&self, row: u32) -> f32 {
        self.norms[row as usize]
    }

    /// As it lies, `stride` long.
    #[inline]
    pub(super) fn row(&self, row: usize) -> Row<'_> {
        self.values.row(row, self.stride)
    }

    /// Rows `first..last` in `f32`, each `stride` long.
    pub(super) fn block<'r>(&'r self, rows: (usize, usize), buffer: &'r mut Vec<f32>) -> &'r [f32] {
        self.values.rows(rows, self.stride, buffer)
    }

    /// `Σ a φ` over pairs of a row and `a`, in `f64`, as long as a row.
    pub(super) fn sum(&self, scaled: &[(u32, f64)]) -> Vec<f64> {
        let mut sum = vec![0.0; self.stride];
        let mut buffers = vec![Vec::new(); TOGETHER];
        for scaled in scaled.chunks(TOGETHER) {
            let rows = scaled.iter().zip(&mut buffers);
            let rows: Vec<(&[f32], f64)> = rows
                .map(|(&(row, a), buffer)| {
                    (self.block((row as usize, row as usize + 1), buffer), a)
                })
                .collect();
            add_rows(&rows, &mut sum);
        }
        sum
    }

    pub(super) fn row_of(&self, sample: usize) -> u32 {
        self.rows[sample]
    }

    /// Whether the memory holds those of every sample.
    pub(super) fn holds_all(&self) -> bool {
        self.most >= self.rows.len()
    }

    /// Whether they stay near while a pass meets them.
    pub(super) fn are_near(&self) -> bool {
        self.samples.len() * self.width.bytes(self.stride) <= self.near
    }

    /// Rows that the memory holds.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Forgets all of them; the memory stays.
    pub(super) fn clear(&mut self) {
        self.norms.clear();
        self.samples.clear();
        self.rows.fill(ABSENT);
    }

    /// Sets memory aside for those of all samples, before there are any.
    pub(super) fn reserve(&mut self, watch: &mut Watch<'_>) -> Step {
        let n = self.n_samples();
        let values = std::mem::take(&mut self.values);
        self.values = values.room((n, self.stride), (self.width, 0), watch)?;
        try_reserve("whitened features", &mut self.norms, n)?;
        try_reserve("whitened features", &mut self.samples, n)?;
        Ok(())
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
        self.values.grow_to((before + samples.len(), stride))?;
        try_reserve("whitened features", &mut self.norms, samples.len())?;
        try_reserve("whitened features", &mut self.samples, samples.len())?;
        self.norms.resize(before + samples.len(), 0.0);
        self.samples.extend_from_slice(samples);
        for (row, &sample) in (before as u32..).zip(samples) {
            self.rows[sample as usize] = row;
        }
        let lower = MatRef::from_column_major_slice(&self.lower, b, b);
        let parts = self.values.parts((before, before + samples.len()), (stride, TASK));
        let mut tasks = parts.into_iter().zip(self.norms[before..].chunks_mut(TASK)).enumerate();
        loop {
            let wave: Vec<_> = tasks.by_ref().take(WAVE).collect();
            if wave.is_empty() {
                return Ok(true);
            }
            parallel::each(wave.into_iter(), &|_, (task, (part, norms))| {
                part.put((stride, TASK), &mut |_, values| {
                    fill(task * TASK, values);
                    let rows = norms.len();
                    let columns =
                        MatMut::from_column_major_slice_with_stride_mut(values, b, rows, stride);
                    solve_lower_triangular_in_place(lower, columns, Par::Seq);
                    for (norm, row) in norms.iter_mut().zip(values.chunks_exact(stride)) {
                        *norm = inner(row, row);
                    }
                });
            });
            watch.poll()?;
        }
    }
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
