//! The one loop over chunks of rows that decide together.

use super::scratch::{Scratch, with_scratch};
use crate::data::Rows;
use crate::error::{Result, check_features, check_len};
use crate::float::Real;
use crate::parallel::{self, MIN_PARALLEL_WORK, ROW_CHUNK};

/// Values of a chunk of rows, about, if a row has fewer.
const CHUNK_VALUES: usize = 1 << 20;

/// Calls `decide(scratch, first, out)` for chunks of rows from `first` on, whose values, `outputs` a
/// row, are `out`: on the calling thread where `row_work` multiply-adds a row are few, else in
/// parallel inside the current pool. The rows must have `n_features` columns.
///
/// # Errors
/// `FeatureMismatch`, `LengthMismatch` of `out`.
pub(super) fn in_chunks<F: Real, T: Send>(
    (rows, n_features): (&Rows<'_, F>, usize),
    (out, outputs): (&mut [T], usize),
    row_work: usize,
    decide: impl Fn(&mut Scratch<F>, usize, &mut [T]) + Sync + Send,
) -> Result<()> {
    let (n, got) = (rows.n_rows(), rows.n_cols());
    check_features(n_features, got)?;
    check_len("out", n.saturating_mul(outputs), out.len())?;
    let rows = (CHUNK_VALUES / outputs.max(1)).clamp(1, ROW_CHUNK);
    let size = rows * outputs.max(1);
    // A single chunk is computed on the calling thread: handing it to the pool would allocate.
    if n <= rows || n.saturating_mul(row_work) < MIN_PARALLEL_WORK {
        with_scratch(|scratch| {
            let chunks = out.chunks_mut(size).enumerate();
            chunks.for_each(|(chunk, out)| decide(scratch, chunk * rows, out));
        });
    } else {
        let decide = |scratch: &mut _, chunk, out: &mut [T]| decide(scratch, chunk * rows, out);
        parallel::each_with(out.chunks_mut(size), &Scratch::default, &decide);
    }
    Ok(())
}
