//! K_nB in blocks of rows: kept when it fits, made again each time when it does not.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use rayon::prelude::*;

use super::KernelRows;
use super::watch::{Step, Watch};
use crate::error::try_vec;
use crate::float::Real;
use crate::linalg::dots;
use crate::parallel::ROW_CHUNK;

/// Bytes of one wave of blocks: what is computed between two looks at the watcher.
const WAVE_BYTES: usize = 8 << 20;
const MOST_WAVE_CHUNKS: usize = 64;

/// The rows of K_nB, a wave at a time.
pub(super) struct Panels<'a, F: Real> {
    rows: &'a dyn KernelRows<F>,
    n: usize,
    b: usize,
    /// Rows of a wave: a multiple of `ROW_CHUNK` that depends on B alone.
    wave: usize,
    kept: Option<Vec<F>>,
    buffer: Vec<F>,
}

impl<'a, F: Real> Panels<'a, F> {
    /// Makes the values when they are to be kept.
    pub(super) fn new(
        rows: &'a dyn KernelRows<F>,
        cache_bytes: usize,
        watch: &mut Watch<'_, '_>,
    ) -> Step<Self> {
        let (n, b) = (rows.n_rows(), rows.n_terms());
        let chunk_bytes = ROW_CHUNK * b.max(1) * size_of::<F>();
        let wave = (WAVE_BYTES / chunk_bytes).clamp(1, MOST_WAVE_CHUNKS) * ROW_CHUNK;
        let mut panels = Self { rows, n, b, wave, kept: None, buffer: Vec::new() };
        let fits = n.checked_mul(b).and_then(|len| len.checked_mul(size_of::<F>()));
        if fits.is_some_and(|bytes| bytes <= cache_bytes) {
            let mut kept = try_vec("kernel values", n * b, F::zero())?;
            for (w, block) in kept.chunks_mut(wave * b.max(1)).enumerate() {
                panels.fill(w * wave, block);
                watch.poll()?;
            }
            panels.kept = Some(kept);
        } else {
            panels.buffer = try_vec("kernel values", wave.min(n) * b, F::zero())?;
        }
        Ok(panels)
    }

    fn fill(&self, first: usize, block: &mut [F]) {
        let (rows, b) = (self.rows, self.b);
        block.par_chunks_mut(ROW_CHUNK * b).enumerate().for_each(|(c, out)| {
            let first = first + c * ROW_CHUNK;
            rows.fill(first, first + out.len() / b, out);
        });
    }

    /// Calls `work(first row, rows)` on every wave in order.
    pub(super) fn for_each_wave(
        &mut self,
        watch: &mut Watch<'_, '_>,
        mut work: impl FnMut(usize, &[F], &mut Watch<'_, '_>) -> Step<()>,
    ) -> Step<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut first = 0;
        while first < self.n {
            let last = (first + self.wave).min(self.n);
            let block = match &self.kept {
                Some(kept) => &kept[first * self.b..last * self.b],
                None => {
                    let block = &mut buffer[..(last - first) * self.b];
                    self.fill(first, block);
                    &*block
                }
            };
            work(first, block, watch)?;
            watch.poll()?;
            first = last;
        }
        self.buffer = buffer;
        Ok(())
    }

    /// `out[c] = K_nB d_c + b_c` for several vectors `(d_c, b_c)` in one pass.
    pub(super) fn times(
        &mut self,
        vectors: &[(&[f64], f64)],
        out: &mut [&mut [f64]],
        watch: &mut Watch<'_, '_>,
    ) -> Step<()> {
        let (m, b) = (vectors.len(), self.b);
        let mut products = try_vec("margins", self.wave.min(self.n) * m, 0.0)?;
        let packed: Vec<f64> = vectors.iter().flat_map(|v| v.0.iter().copied()).collect();
        self.for_each_wave(watch, |first, block, _| {
            let count = block.len() / b;
            products[..count * m]
                .par_chunks_mut(ROW_CHUNK * m)
                .zip(block.par_chunks(ROW_CHUNK * b))
                .for_each(|(out, rows)| times_block(rows, b, &packed, out));
            for (c, (out, vector)) in out.iter_mut().zip(vectors).enumerate() {
                let column = products[..count * m].iter().skip(c).step_by(m);
                for (out, value) in out[first..first + count].iter_mut().zip(column) {
                    *out = value + vector.1;
                }
            }
            Ok(())
        })
    }
}

/// `out = rows · packedᵀ`, row-major count x m; `packed` holds the m vectors one after another.
fn times_block<F: Real>(rows: &[F], b: usize, packed: &[f64], out: &mut [f64]) {
    if packed.len() == b {
        dots(rows, packed, out);
        return;
    }
    let (count, m) = (rows.len() / b, packed.len() / b);
    let wide: Vec<f64> = rows.iter().map(|&v| v.to_f64()).collect();
    matmul(
        MatMut::from_row_major_slice_mut(out, count, m),
        Accum::Replace,
        MatRef::from_row_major_slice(&wide, count, b),
        MatRef::from_column_major_slice(packed, b, m),
        1.0,
        Par::Seq,
    );
}
