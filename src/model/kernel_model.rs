//! The fitted model: what predicts, is saved and loaded.

use rayon::prelude::*;

use super::Expansion;
use crate::data::Rows;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::parallel::{MIN_PARALLEL_WORK, ROW_CHUNK};
use crate::simd::{Packed, Tile};

/// `f_c(x) = Σ_j β_jc k(s_j, x) + b_c`.
///
/// *Cost* of a prediction: O(B d) a row, or O(B · stored entries) for CSR rows.
#[derive(Clone, Debug)]
pub struct KernelModel<F: Real> {
    kernel: AnyKernel,
    origin: Vec<F>,
    centers: Packed<F>,
    /// One padded row an output.
    coef: Vec<f64>,
    intercept: Vec<f64>,
}

/// Bytes of the pieces in which centres are given up: from this size on, glibc always asks the
/// system for memory, and gives it back at once.
const PIECE: usize = 32 << 20;

impl<F: Real> KernelModel<F> {
    /// A model from its parts: `shifted_centers` is B x d, already moved by `origin` (d values,
    /// or none for no move), `coef` is B x outputs, `intercept` one value an output.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`, `InvalidParam` of the kernel, `OutOfMemory`.
    pub fn from_parts(
        kernel: AnyKernel,
        origin: Vec<F>,
        (shifted_centers, n_features): (&[F], usize),
        coef: &[f64],
        intercept: Vec<f64>,
    ) -> Result<Self> {
        let parts = (shifted_centers, n_features);
        let terms = check_parts(kernel, &origin, parts, coef, &intercept)?;
        let mut centers = Packed::with_capacity(n_features, terms)?;
        for center in shifted_centers.chunks_exact(n_features) {
            centers.push(center)?;
        }
        Self::on(kernel, origin, centers, coef, intercept)
    }

    /// The same with centres that are given up bit by bit, so that they are never held twice.
    ///
    /// # Errors
    /// As [`KernelModel::from_parts`].
    pub fn from_owned_parts(
        kernel: AnyKernel,
        origin: Vec<F>,
        (shifted_centers, n_features): (Vec<F>, usize),
        coef: &[f64],
        intercept: Vec<f64>,
    ) -> Result<Self> {
        let parts = (shifted_centers.as_slice(), n_features);
        let terms = check_parts(kernel, &origin, parts, coef, &intercept)?;
        let mut centers = Packed::with_capacity(n_features, terms)?;
        let rows = PIECE.div_ceil(size_of::<F>() * n_features);
        for piece in pieces(shifted_centers, rows * n_features)? {
            for center in piece.chunks_exact(n_features) {
                centers.push(center)?;
            }
        }
        Self::on(kernel, origin, centers, coef, intercept)
    }

    fn on(
        kernel: AnyKernel,
        origin: Vec<F>,
        centers: Packed<F>,
        coef: &[f64],
        intercept: Vec<f64>,
    ) -> Result<Self> {
        let outputs = intercept.len();
        let stride = centers.padded_len();
        let mut padded = try_vec("coefficients", stride * outputs, 0.0)?;
        for (term, row) in coef.chunks_exact(outputs).enumerate() {
            for (c, &value) in row.iter().enumerate() {
                padded[c * stride + term] = value;
            }
        }
        Ok(Self { kernel, origin, centers, coef: padded, intercept })
    }

    /// The model of an expansion whose coefficients count `scale` times.
    ///
    /// # Errors
    /// As [`KernelModel::from_parts`].
    pub fn from_expansion(
        expansion: &Expansion<F>,
        scale: f64,
        intercept: Vec<f64>,
    ) -> Result<Self> {
        expansion.check_finite()?;
        let d = expansion.centers().n_features();
        let mut rows = try_vec("centers", expansion.len().saturating_mul(d), F::zero())?;
        let mut coef = Vec::with_capacity(expansion.len() * expansion.outputs());
        for (slot, row) in rows.chunks_exact_mut(d).enumerate() {
            expansion.centers().get(slot, row);
            coef.extend((0..expansion.outputs()).map(|c| scale * expansion.coef(slot, c)));
        }
        let origin = expansion.origin().to_vec();
        Self::from_parts(expansion.kernel(), origin, (&rows, d), &coef, intercept)
    }

    /// An expansion to go on training from; its coefficients are those of this model.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn to_expansion(&self) -> Result<Expansion<F>> {
        let d = self.n_features();
        let mut out = Expansion::new(self.kernel, self.origin.clone(), d, self.n_outputs())?;
        out.reserve(self.n_terms())?;
        let mut row = vec![F::zero(); d];
        for term in 0..self.n_terms() {
            self.centers.get(term, &mut row);
            let slot = out.push(&row)?;
            for c in 0..self.n_outputs() {
                out.set_coef(slot, c, self.coef[c * self.centers.padded_len() + term]);
            }
        }
        Ok(out)
    }

    /// The same centres with other coefficients (B x outputs) and offsets.
    ///
    /// # Errors
    /// As [`KernelModel::from_parts`].
    pub fn with_coef(&self, coef: &[f64], intercept: Vec<f64>) -> Result<Self> {
        let rows = self.shifted_centers();
        let origin = self.origin.clone();
        Self::from_parts(self.kernel, origin, (&rows, self.n_features()), coef, intercept)
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> AnyKernel {
        self.kernel
    }

    /// Number of terms B.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.centers.len()
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.intercept.len()
    }

    /// Number of features d.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.centers.n_features()
    }

    /// What points are moved by before they are compared with the centres (empty: nothing).
    #[must_use]
    pub fn origin(&self) -> &[F] {
        &self.origin
    }

    /// The packed centres, moved by the origin.
    #[must_use]
    pub fn packed_centers(&self) -> &Packed<F> {
        &self.centers
    }

    /// The centres, moved by the origin, B x d.
    #[must_use]
    pub fn shifted_centers(&self) -> Vec<F> {
        let d = self.n_features();
        let mut out = vec![F::zero(); self.n_terms() * d];
        out.chunks_exact_mut(d).enumerate().for_each(|(slot, row)| self.centers.get(slot, row));
        out
    }

    /// The centres, B x d.
    #[must_use]
    pub fn centers(&self) -> Vec<F> {
        let mut out = self.shifted_centers();
        for row in out.chunks_exact_mut(self.n_features()) {
            row.iter_mut().zip(&self.origin).for_each(|(v, &o)| *v += o);
        }
        out
    }

    /// Coefficients, B x outputs.
    #[must_use]
    pub fn coef(&self) -> Vec<f64> {
        let stride = self.centers.padded_len();
        (0..self.n_terms())
            .flat_map(|j| (0..self.n_outputs()).map(move |c| (j, c)))
            .map(|(j, c)| self.coef[c * stride + j])
            .collect()
    }

    /// Offsets b, one an output.
    #[must_use]
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// Decision values, n x outputs, in parallel inside the current pool. The same bits for any
    /// cut of the rows and any number of threads.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`.
    pub fn decision(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        let outputs = self.n_outputs();
        if rows.n_cols() != self.n_features() {
            let (expected, got) = (self.n_features(), rows.n_cols());
            return Err(Error::FeatureMismatch { expected, got });
        }
        if out.len() != rows.n_rows() * outputs {
            let expected = rows.n_rows() * outputs;
            return Err(Error::LengthMismatch { what: "out", expected, got: out.len() });
        }
        let work = out.len().saturating_mul(self.n_terms()).saturating_mul(self.n_features());
        let new_tile = || Tile::new(self.n_features());
        let chunks = |(chunk, out): (usize, &mut [f64]), tile: &mut Tile<F>| {
            let first = chunk * ROW_CHUNK;
            let len = out.len() / outputs;
            load_tile(rows, len, |i| first + i, &self.origin, tile);
            self.kernel.sums(tile, (0, len), &self.centers, (&self.coef, outputs), out);
            for row in out.chunks_exact_mut(outputs) {
                row.iter_mut().zip(&self.intercept).for_each(|(f, b)| *f += b);
            }
        };
        if work < MIN_PARALLEL_WORK {
            let mut tile = new_tile();
            out.chunks_mut(ROW_CHUNK * outputs).enumerate().for_each(|c| chunks(c, &mut tile));
        } else {
            out.par_chunks_mut(ROW_CHUNK * outputs)
                .enumerate()
                .for_each_init(new_tile, |tile, c| chunks(c, tile));
        }
        Ok(())
    }

    /// Whether [`KernelModel::decision`] of this many rows is worth entering a pool for.
    #[must_use]
    pub fn wants_pool(&self, n_rows: usize) -> bool {
        let work = n_rows.saturating_mul(self.n_terms()).saturating_mul(self.n_features());
        work.saturating_mul(self.n_outputs()) >= MIN_PARALLEL_WORK
    }
}

/// Whether the parts of a model fit together and are finite: the number of terms.
fn check_parts<F: Real>(
    kernel: AnyKernel,
    origin: &[F],
    (shifted_centers, n_features): (&[F], usize),
    coef: &[f64],
    intercept: &[f64],
) -> Result<usize> {
    kernel.check()?;
    let outputs = intercept.len();
    let wrong = |what, expected, got| Err(Error::LengthMismatch { what, expected, got });
    if n_features == 0 || outputs == 0 {
        return Err(Error::InvalidData {
            what: "model",
            reason: "a model has at least one feature and one output".into(),
        });
    }
    let terms = shifted_centers.len() / n_features;
    if terms * n_features != shifted_centers.len() {
        return wrong("centers", terms * n_features, shifted_centers.len());
    }
    if coef.len() != terms * outputs {
        return wrong("coef", terms * outputs, coef.len());
    }
    if !origin.is_empty() && origin.len() != n_features {
        return wrong("origin", n_features, origin.len());
    }
    let finite = |v: &[F]| v.iter().position(|v| !v.is_finite());
    if let Some(at) = finite(shifted_centers) {
        let (row, column) = (at / n_features, at % n_features);
        return Err(Error::NonFinite { what: "centers", row, column });
    }
    if let Some(column) = finite(origin) {
        return Err(Error::NonFinite { what: "origin", row: 0, column });
    }
    for (what, values) in [("coef", coef), ("intercept", intercept)] {
        if let Some(row) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NonFinite { what, row, column: 0 });
        }
    }
    Ok(terms)
}

/// Cuts a vector into pieces of `len` values, in order (the first may be shorter), holding no more
/// than it and one of them.
fn pieces<F: Real>(mut values: Vec<F>, len: usize) -> Result<Vec<Vec<F>>> {
    let mut pieces = Vec::new();
    while values.len() > len {
        let rest = values.len() - len;
        let mut piece = Vec::new();
        piece
            .try_reserve_exact(len)
            .map_err(|_| Error::OutOfMemory { what: "centers", bytes: len * size_of::<F>() })?;
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
