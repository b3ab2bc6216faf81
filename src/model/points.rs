//! The points of a model's terms: packed once, and as they came where that is to be known.

use std::sync::OnceLock;

use crate::data::Gathered;
use crate::error::{Error, Result, try_reserve};
use crate::float::Real;
use crate::simd::Packed;

/// Bytes of the pieces in which points are given up: from this size on, glibc always asks the
/// system for memory, and gives it back at once.
const PIECE: usize = 32 << 20;
/// Rows that are packed between two looks: whole lines.
const TOGETHER: usize = 64;

/// Points, and what they are moved by before rows are compared with them.
#[derive(Clone, Debug)]
pub(super) struct Points<F: Real> {
    len: usize,
    n_features: usize,
    origin: Vec<F>,
    /// The points as they came, of a machine whose terms are rows of its user's.
    rows: Option<Gathered<F>>,
    packed: OnceLock<Packed<F>>,
}

impl<F: Real> Points<F> {
    /// Points that are packed, moved by `origin` (empty: nothing).
    pub(super) fn of_packed(packed: Packed<F>, origin: Vec<F>) -> Self {
        let (len, n_features) = (packed.len(), packed.n_features());
        Self { len, n_features, origin, rows: None, packed: OnceLock::from(packed) }
    }

    /// Points as they came, packed when they are first needed: a file is not held twice.
    pub(super) fn of_rows(rows: Gathered<F>, origin: Vec<F>) -> Result<Self> {
        let view = rows.rows()?;
        let (len, n_features) = (view.n_rows(), view.n_cols());
        Ok(Self { len, n_features, origin, rows: Some(rows), packed: OnceLock::new() })
    }

    /// Points that are moved already, row by row, given up bit by bit.
    pub(super) fn of_moved(moved: Vec<F>, n_features: usize, origin: Vec<F>) -> Result<Self> {
        let mut packed = Packed::with_capacity(n_features, moved.len() / n_features)?;
        let rows = PIECE.div_ceil(size_of::<F>() * n_features);
        for piece in pieces(moved, rows * n_features)? {
            for center in piece.chunks_exact(n_features) {
                packed.push(center)?;
            }
        }
        Ok(Self::of_packed(packed, origin))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn n_features(&self) -> usize {
        self.n_features
    }

    pub(super) fn origin(&self) -> &[F] {
        &self.origin
    }

    pub(super) fn rows(&self) -> Option<&Gathered<F>> {
        self.rows.as_ref()
    }

    /// The packed points, moved by the origin.
    pub(super) fn packed(&self) -> Result<&Packed<F>> {
        self.pack(&mut || Ok::<_, Error>(()))
    }

    /// [`Points::packed`], and `look` is asked now and then; its error leaves nothing packed.
    pub(super) fn pack<E: From<Error>>(
        &self,
        look: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<&Packed<F>, E> {
        if let Some(packed) = self.packed.get() {
            return Ok(packed);
        }
        let mut packed = Packed::with_capacity(self.n_features, self.len)?;
        if let Some(rows) = &self.rows {
            let rows = rows.rows()?;
            for first in (0..self.len).step_by(TOGETHER) {
                packed.extend(TOGETHER.min(self.len - first), |i, center| {
                    rows.copy_row(first + i, center);
                    center.iter_mut().zip(&self.origin).for_each(|(v, &o)| *v -= o);
                })?;
                look()?;
            }
        }
        // Another thread may have been quicker.
        Ok(self.packed.get_or_init(|| packed))
    }

    /// The points, moved by the origin, row by row.
    pub(super) fn moved(&self) -> Result<Vec<F>> {
        let (packed, d) = (self.packed()?, self.n_features);
        let mut out = crate::error::try_vec("points", self.len.saturating_mul(d), F::zero())?;
        out.chunks_exact_mut(d).enumerate().for_each(|(slot, row)| packed.get(slot, row));
        Ok(out)
    }
}

/// Cuts a vector into pieces of `len` values, in order (the first may be shorter), holding no more
/// than it and one of them.
fn pieces<F: Real>(mut values: Vec<F>, len: usize) -> Result<Vec<Vec<F>>> {
    let mut pieces = Vec::new();
    while values.len() > len {
        let rest = values.len() - len;
        let mut piece = Vec::new();
        try_reserve("points", &mut piece, len)?;
        piece.extend_from_slice(&values[rest..]);
        values.truncate(rest);
        values.shrink_to_fit();
        pieces.push(piece);
    }
    pieces.push(values);
    pieces.reverse();
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_vector() {
        let values: Vec<f64> = (0..23).map(f64::from).collect();
        for len in [1, 2, 7, 22, 23, 100] {
            let cut = pieces(values.clone(), len).unwrap();
            assert_eq!(cut.concat(), values);
            assert!(cut.iter().all(|piece| piece.len() <= len));
            assert!(cut[1..].iter().all(|piece| piece.len() == len));
        }
    }
}
