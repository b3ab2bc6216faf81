//! What blocks of rows go through on their way.

use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::simd::{Packed, Tile};

/// What a thread needs while it maps blocks.
#[derive(Clone, Debug, Default)]
pub struct Scratch<F: Real> {
    pub(super) points: Tile<F>,
    pub(super) values: Vec<F>,
    pub(super) inner: Tile<F>,
    pub(super) padded: Vec<F>,
}

/// Products of the first `len` points of a tile with packed columns, padded rows.
pub(super) fn multiply<F: Real>(tile: &Tile<F>, len: usize, columns: &Packed<F>, out: &mut Vec<F>) {
    let stride = columns.padded_len();
    out.resize(len * stride, F::zero());
    AnyKernel::Linear.values(tile, (0, len), columns, out, stride);
}

/// Padded rows into rows of `width` values, the rest 0.
pub(super) fn unpad<F: Real>(padded: &[F], columns: &Packed<F>, (out, width): (&mut [F], usize)) {
    let (stride, len) = (columns.padded_len(), columns.len());
    for (to, from) in out.chunks_exact_mut(width).zip(padded.chunks_exact(stride)) {
        to[..len].copy_from_slice(&from[..len]);
        to[len..].fill(F::zero());
    }
}

/// Packed centres as rows, one after another.
pub(super) fn unpack<F: Real>(packed: &Packed<F>) -> Result<Vec<F>> {
    let d = packed.n_features();
    let mut out = try_vec("rows", packed.len().saturating_mul(d), F::zero())?;
    out.chunks_exact_mut(d.max(1)).enumerate().for_each(|(j, row)| packed.get(j, row));
    Ok(out)
}
