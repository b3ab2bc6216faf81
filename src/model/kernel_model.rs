//! The fitted expansion: one set of terms, coefficients for every output.

use std::sync::Arc;

use super::Expansion;
use super::chunks::in_chunks;
use super::points::Points;
use super::scratch::Scratch;
use crate::data::{Gathered, Rows, check_finite};
use crate::error::{Error, Result, check_len, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::simd::Packed;

/// `f_c(x) = Σ_j β_jc k(s_j, x) + b_c`.
///
/// *Cost* of a prediction: O(B d) a row, or O(B · stored entries) for CSR rows.
#[derive(Clone, Debug)]
pub struct KernelModel<F: Real> {
    kernel: AnyKernel,
    points: Arc<Points<F>>,
    /// One padded row an output.
    coef: Vec<f64>,
    intercept: Vec<f64>,
}

impl<F: Real> KernelModel<F> {
    /// A model from its parts: `shifted_centers` is B x d, already moved by `origin` (d values,
    /// or none for no move), `coef` is B x outputs, `intercept` one value an output. The centres
    /// are given up bit by bit, so that they are never held twice.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`, `InvalidParam` of the kernel, `OutOfMemory`.
    pub fn from_parts(
        kernel: AnyKernel,
        origin: Vec<F>,
        (shifted_centers, n_features): (Vec<F>, usize),
        coef: &[f64],
        intercept: Vec<f64>,
    ) -> Result<Self> {
        let centers = Rows::of_slice(&shifted_centers, n_features)?;
        check_origin(&origin, n_features)?;
        centers.check_finite("centers")?;
        let points = Points::of_moved(shifted_centers, n_features, origin)?;
        Self::on(kernel, Arc::new(points), coef, intercept)
    }

    /// A model whose terms are these rows, which it keeps as they came; packed when it first
    /// decides, or by [`KernelModel::packed_centers`].
    ///
    /// # Errors
    /// As [`KernelModel::from_parts`].
    pub fn of_rows(
        kernel: AnyKernel,
        origin: Vec<F>,
        rows: Gathered<F>,
        coef: &[f64],
        intercept: Vec<f64>,
    ) -> Result<Self> {
        rows.rows()?.check_finite("centers")?;
        check_origin(&origin, rows.rows()?.n_cols())?;
        Self::on(kernel, Arc::new(Points::of_rows(rows, origin)?), coef, intercept)
    }

    fn on(
        kernel: AnyKernel,
        points: Arc<Points<F>>,
        coef: &[f64],
        intercept: Vec<f64>,
    ) -> Result<Self> {
        kernel.check()?;
        let (terms, outputs) = (points.len(), intercept.len());
        if points.n_features() == 0 || outputs == 0 {
            return Err(Error::InvalidData {
                what: "model",
                reason: "a model has at least one feature and one output".into(),
            });
        }
        check_len("coef", terms.saturating_mul(outputs), coef.len())?;
        check_finite("coef", coef, 1)?;
        check_finite("intercept", &intercept, 1)?;
        let stride = terms.next_multiple_of(Packed::<F>::line());
        let mut padded = try_vec("coefficients", stride * outputs, 0.0)?;
        for (term, row) in coef.chunks_exact(outputs).enumerate() {
            for (c, &value) in row.iter().enumerate() {
                padded[c * stride + term] = value;
            }
        }
        Ok(Self { kernel, points, coef: padded, intercept })
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
            expansion.center(slot, row);
            coef.extend((0..expansion.outputs()).map(|c| scale * expansion.coef(slot, c)));
        }
        let origin = expansion.origin().to_vec();
        Self::from_parts(expansion.kernel(), origin, (rows, d), &coef, intercept)
    }

    /// An expansion to go on training from; its coefficients are those of this model.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn to_expansion(&self) -> Result<Expansion<F>> {
        let (d, centers) = (self.n_features(), self.packed_centers()?);
        let mut out = Expansion::new(self.kernel, self.origin().to_vec(), d, self.n_outputs())?;
        out.reserve(self.n_terms())?;
        let mut row = vec![F::zero(); d];
        for term in 0..self.n_terms() {
            centers.get(term, &mut row);
            let slot = out.push(&row)?;
            for c in 0..self.n_outputs() {
                out.set_coef(slot, c, self.coef[c * self.stride() + term]);
            }
        }
        Ok(out)
    }

    /// The same centres with other coefficients (B x outputs) and offsets.
    ///
    /// # Errors
    /// As [`KernelModel::from_parts`].
    pub fn with_coef(&self, coef: &[f64], intercept: Vec<f64>) -> Result<Self> {
        Self::on(self.kernel, Arc::clone(&self.points), coef, intercept)
    }

    /// The same model without the rows as they came: its centres are what is packed.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn without_rows(&self) -> Result<Self> {
        let parts = (self.shifted_centers()?, self.n_features());
        let (origin, intercept) = (self.origin().to_vec(), self.intercept.clone());
        Self::from_parts(self.kernel, origin, parts, &self.coef(), intercept)
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> AnyKernel {
        self.kernel
    }

    /// Number of terms B.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.points.len()
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.intercept.len()
    }

    /// Number of features d.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.points.n_features()
    }

    /// What points are moved by before they are compared with the centres (empty: nothing).
    #[must_use]
    pub fn origin(&self) -> &[F] {
        self.points.origin()
    }

    /// The packed centres, moved by the origin.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn packed_centers(&self) -> Result<&Packed<F>> {
        self.points.packed()
    }

    /// Packs the centres; `look` is asked now and then.
    ///
    /// # Errors
    /// `OutOfMemory`; those of `look`.
    pub fn pack<E: From<Error>>(
        &self,
        look: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.points.pack(look).map(drop)
    }

    /// The centres, moved by the origin, B x d.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn shifted_centers(&self) -> Result<Vec<F>> {
        self.points.moved()
    }

    /// The centres, B x d: as they came, where they are rows of the user's.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn centers(&self) -> Result<Gathered<F>> {
        if let Some(rows) = self.points.rows() {
            return Ok(rows.clone());
        }
        let mut out = self.shifted_centers()?;
        for row in out.chunks_exact_mut(self.n_features()) {
            row.iter_mut().zip(self.origin()).for_each(|(v, &o)| *v += o);
        }
        Gathered::from_values(out, self.n_features())
    }

    pub(super) fn kept_rows(&self) -> Option<&Gathered<F>> {
        self.points.rows()
    }

    fn stride(&self) -> usize {
        self.coef.len() / self.intercept.len()
    }

    /// Coefficients, B x outputs.
    #[must_use]
    pub fn coef(&self) -> Vec<f64> {
        let stride = self.stride();
        (0..self.n_terms())
            .flat_map(|j| (0..self.n_outputs()).map(move |c| (j, c)))
            .map(|(j, c)| self.coef[c * stride + j])
            .collect()
    }

    /// Coefficients of one output, one a term.
    #[must_use]
    pub fn coef_of(&self, output: usize) -> &[f64] {
        &self.coef[output * self.stride()..][..self.n_terms()]
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
    /// `FeatureMismatch`, `LengthMismatch` of `out`, `OutOfMemory` where centres are still to be
    /// packed.
    pub fn decision(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        let (outputs, centers) = (self.n_outputs(), self.packed_centers()?);
        let work = self.n_terms().saturating_mul(self.n_features()).saturating_mul(outputs);
        in_chunks((rows, self.n_features()), (out, outputs), work, |scratch, first, out| {
            self.decide_tile(centers, rows, |i| first + i, scratch, out);
        })
    }

    /// Decision values of the rows `row(0), row(1), ...`, as many as `out` has room for.
    pub(super) fn decide_some(
        &self,
        rows: &Rows<'_, F>,
        row: impl Fn(usize) -> usize,
        scratch: &mut Scratch<F>,
        out: &mut [f64],
    ) -> Result<()> {
        self.decide_tile(self.packed_centers()?, rows, row, scratch, out);
        Ok(())
    }

    /// Gradients of some outputs, (first, last), of the rows `row(0), row(1), ...`: those of row i
    /// are the values of `out` from `i * width + at` on, outputs x features.
    pub(super) fn gradients(
        &self,
        rows: &Rows<'_, F>,
        row: impl Fn(usize) -> usize,
        (first, last): (usize, usize),
        scratch: &mut Scratch<F>,
        (out, width, at): (&mut [f64], usize, usize),
    ) -> Result<()> {
        let Scratch { tile, slopes, .. } = scratch;
        let (centers, own) = (self.packed_centers()?, (last - first) * self.n_features());
        tile.reset(self.n_features());
        load_tile(rows, out.len() / width, row, self.origin(), tile);
        let coef = (&self.coef[first * self.stride()..last * self.stride()], last - first);
        out.chunks_exact_mut(width).for_each(|out| out[at..at + own].fill(0.0));
        self.kernel.add_gradients(tile, centers, coef, (out, width, at), slopes);
        Ok(())
    }

    fn decide_tile(
        &self,
        centers: &Packed<F>,
        rows: &Rows<'_, F>,
        row: impl Fn(usize) -> usize,
        scratch: &mut Scratch<F>,
        out: &mut [f64],
    ) {
        let Scratch { tile, values, .. } = scratch;
        let outputs = self.n_outputs();
        let len = out.len() / outputs;
        tile.reset(self.n_features());
        load_tile(rows, len, row, self.origin(), tile);
        let to = (&mut *out, values);
        self.kernel.sums(tile, (0, len), centers, (&self.coef, outputs), to);
        for row in out.chunks_exact_mut(outputs) {
            row.iter_mut().zip(&self.intercept).for_each(|(f, b)| *f += b);
        }
    }
}

/// Whether the origin fits rows of so many features.
pub(super) fn check_origin<F: Real>(origin: &[F], n_features: usize) -> Result<()> {
    if !origin.is_empty() {
        check_len("origin", n_features, origin.len())?;
    }
    check_finite("origin", origin, n_features)
}
