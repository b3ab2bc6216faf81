//! K_nB in blocks of rows: kept when it fits, made again each time when it does not; then only
//! the rows that are asked for. The bits are the same either way.

use super::KernelRows;
use crate::error::try_vec;
use crate::float::Real;
use crate::linalg::{Sides, dots, matrix, multiply};
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::{self, zeroed};
use crate::watch::{Step, Watch};

/// Bytes of one wave of blocks: what is computed between two looks at the watch.
const WAVE_BYTES: usize = 4 << 20;
const MOST_WAVE_CHUNKS: usize = 64;
/// One row in so many is worth keeping.
const WORTH: usize = 8;
/// Rows of K_BB between two looks at the watch, and those of a task, at most.
const GRAM_ROWS: usize = 256;
const GRAM_CHUNK: usize = 16;
/// Multiply-adds of them, about: a few tenths of a second of one core where rows are wide.
const GRAM_WORK: usize = 1 << 29;

/// Vectors, with an offset each, and which samples they are to meet.
type Meeting<'v> = (&'v [(&'v [f64], f64)], Option<&'v dyn Fn(usize) -> bool>);

/// Hears of every wave, and of the products of its rows with vectors.
type Hears<'h, F> = dyn FnMut(&Wave<'_, F>, &[f64], &mut Watch<'_>) -> Step + 'h;

/// The rows of K_nB, a wave at a time.
pub(in crate::solver) struct Panels<'a, F: Real> {
    rows: &'a dyn KernelRows<F>,
    n: usize,
    b: usize,
    /// Rows of a wave: a multiple of `ROW_CHUNK` that depends on B alone.
    wave: usize,
    /// The first rows: all of them, some or none.
    kept: Vec<F>,
    buffer: Vec<F>,
    /// Samples of the rows in `buffer`.
    chosen: Vec<usize>,
    /// Row in `buffer` of every sample of a wave.
    places: Vec<u32>,
}

/// Samples `first..last` and their rows, or those of them that were asked for.
pub(in crate::solver) struct Wave<'w, F> {
    pub(in crate::solver) first: usize,
    pub(in crate::solver) last: usize,
    pub(in crate::solver) block: &'w [F],
    places: Option<&'w [u32]>,
}

impl<F> Wave<'_, F> {
    /// The row in the block of sample i.
    #[inline]
    pub(in crate::solver) fn place(&self, i: usize) -> u32 {
        let k = i - self.first;
        self.places.map_or(k as u32, |places| places[k])
    }
}

impl<'a, F: Real> Panels<'a, F> {
    /// Makes the values that are to be kept: all rows when they fit, else those that fit when
    /// they are one in `WORTH` or more.
    pub(in crate::solver) fn new(
        rows: &'a dyn KernelRows<F>,
        cache_bytes: usize,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let (n, b) = (rows.n_rows(), rows.n_terms());
        let row_bytes = b.max(1) * size_of::<F>();
        let wave = (WAVE_BYTES / (ROW_CHUNK * row_bytes)).clamp(1, MOST_WAVE_CHUNKS) * ROW_CHUNK;
        let fit = cache_bytes / row_bytes;
        let keep = match fit {
            fit if fit >= n => n,
            fit if fit >= n / WORTH => fit / wave * wave,
            _ => 0,
        };
        let mut kept = simd::touched("kernel values", keep * b, &mut || watch.poll())?;
        for (w, block) in kept.chunks_mut(wave * b.max(1)).enumerate() {
            fill(rows, b, &|k| w * wave + k, block);
            watch.poll()?;
        }
        let others = if keep < n { wave.min(n) } else { 0 };
        let buffer = try_vec("kernel values", others * b, F::zero())?;
        Ok(Self { rows, n, b, wave, kept, buffer, chosen: Vec::new(), places: Vec::new() })
    }

    /// Whether all rows are kept.
    pub(in crate::solver) fn are_kept(&self) -> bool {
        self.kept.len() >= self.n * self.b
    }

    /// Calls `work` on every wave in order. Rows of samples that are not `wanted` may be left
    /// out; [`Wave::place`] of such a sample means nothing.
    pub(in crate::solver) fn for_each_wave(
        &mut self,
        watch: &mut Watch<'_>,
        wanted: Option<&dyn Fn(usize) -> bool>,
        mut work: impl FnMut(&Wave<'_, F>, &mut Watch<'_>) -> Step,
    ) -> Step {
        let b = self.b;
        let mut first = 0;
        while first < self.n {
            let last = (first + self.wave).min(self.n);
            let (block, places) = if last * b <= self.kept.len() {
                (&self.kept[first * b..last * b], None)
            } else {
                self.chosen.clear();
                self.places.clear();
                for i in first..last {
                    self.places.push(self.chosen.len() as u32);
                    if wanted.is_none_or(|wanted| wanted(i)) {
                        self.chosen.push(i);
                    }
                }
                let block = &mut self.buffer[..self.chosen.len() * b];
                let chosen = &self.chosen;
                fill(self.rows, b, &|k| chosen[k], block);
                (&*block, Some(self.places.as_slice()))
            };
            work(&Wave { first, last, block, places }, watch)?;
            watch.poll()?;
            first = last;
        }
        Ok(())
    }

    /// `out[c] = K_nB d_c + b_c` for several vectors `(d_c, b_c)` in one pass.
    pub(in crate::solver) fn times(
        &mut self,
        vectors: &[(&[f64], f64)],
        out: &mut [&mut [f64]],
        watch: &mut Watch<'_>,
    ) -> Step {
        self.times_and((vectors, None), out, watch, &mut |_, _, _| Ok(()))
    }

    /// [`Panels::times`] of the samples that are `wanted` (none: of all), and every wave is given to
    /// `and` too, with `K_nB d_c`, a row of vectors for each of its rows.
    pub(in crate::solver) fn times_and(
        &mut self,
        (vectors, wanted): Meeting<'_>,
        out: &mut [&mut [f64]],
        watch: &mut Watch<'_>,
        and: &mut Hears<'_, F>,
    ) -> Step {
        let (m, b) = (vectors.len(), self.b);
        let mut products = try_vec("margins", self.wave.min(self.n) * m, 0.0)?;
        let packed = Packed::new(vectors, b);
        self.for_each_wave(watch, wanted, |wave, watch| {
            let (first, last, block) = (wave.first, wave.last, wave.block);
            let products = &mut products[..block.len() / b.max(1) * m];
            let chunks = products.chunks_mut(ROW_CHUNK * m);
            parallel::each(chunks.zip(block.chunks(ROW_CHUNK * b)), &|_, (out, rows)| {
                packed.times(rows, b, out);
            });
            let chosen = (first..last).filter(|&i| wanted.is_none_or(|wanted| wanted(i)));
            for i in chosen {
                let row = &products[wave.place(i) as usize * m..][..m];
                for ((out, value), vector) in out.iter_mut().zip(row).zip(vectors) {
                    out[i] = value + vector.1;
                }
            }
            and(wave, products, watch)
        })
    }
}

/// Rows of K_BB that are made between two looks at the watch, and rows of a task.
pub fn gram_rows<F: Real>(rows: &dyn KernelRows<F>) -> (usize, usize) {
    let at_once = (GRAM_WORK / rows.gram_work().max(1)).clamp(1, GRAM_ROWS);
    (at_once, GRAM_CHUNK.min(at_once.div_ceil(GRAM_CHUNK)))
}

/// K_BB, row-major.
///
/// # Errors
/// `OutOfMemory`; what the watch says.
pub fn basis_gram<F: Real>(rows: &dyn KernelRows<F>, watch: &mut Watch<'_>) -> Step<Vec<f64>> {
    let b = rows.n_terms();
    let mut gram = zeroed("kernel matrix", b.saturating_mul(b))?;
    let (at_once, task) = gram_rows(rows);
    for (part, block) in gram.chunks_mut((at_once * b).max(1)).enumerate() {
        parallel::each(block.chunks_mut(task * b), &|c, out| {
            rows.fill_gram(part * at_once + c * task, out);
        });
        watch.poll()?;
    }
    Ok(gram)
}

/// Kernel values of the samples `sample(0), sample(1), ...`, a chunk a task.
fn fill<F: Real>(
    rows: &dyn KernelRows<F>,
    b: usize,
    sample: &(dyn Fn(usize) -> usize + Sync),
    block: &mut [F],
) {
    parallel::each(block.chunks_mut(ROW_CHUNK * b), &|c, out| {
        let samples: Vec<usize> = (0..out.len() / b).map(|k| sample(c * ROW_CHUNK + k)).collect();
        rows.fill(&samples, out);
    });
}

/// Vectors that meet rows.
enum Packed<'a> {
    One(&'a [f64]),
    Few(Sides),
    /// One after another.
    Many(Vec<f64>),
}

/// Vectors that are few.
const FEW: usize = 32;

impl<'a> Packed<'a> {
    fn new(vectors: &[(&'a [f64], f64)], b: usize) -> Self {
        match vectors {
            [one] => Self::One(one.0),
            few if few.len() <= FEW => Self::Few(Sides::of(few.iter().map(|v| v.0), b)),
            many => Self::Many(many.iter().flat_map(|v| v.0.iter().copied()).collect()),
        }
    }

    /// Products of rows with all of them, row-major.
    fn times<F: Real>(&self, rows: &[F], b: usize, out: &mut [f64]) {
        match self {
            Self::One(vector) => dots(rows, vector, out),
            Self::Few(sides) => sides.products(rows, out),
            Self::Many(packed) => {
                let mut wide = vec![0.0; rows.len()];
                simd::widen(rows, &mut wide);
                multiply(out, matrix(&wide, b), matrix(packed, b).transpose());
            }
        }
    }
}
