//! The expansion under training: packed centres, coefficients, and the age of each term.

mod left;
#[cfg(test)]
mod tests;

use super::lightest::Lightest;
use crate::error::{Error, Result, try_reserve};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::simd::{PART, Packed, Tile};

/// `Σ_j β_jc k(s_j, x)` for outputs c, held in slots `0..len`. A slot that is freed is filled by
/// the last term. Without outputs it is the points alone.
#[derive(Clone, Debug)]
pub struct Expansion<F: Real> {
    kernel: AnyKernel,
    origin: Vec<F>,
    centers: Packed<F>,
    /// The centres row by row, where there are so many features that a packed one is dear to read, a
    /// line of memory a value; else empty.
    rows: Vec<F>,
    outputs: usize,
    /// One row of `stride` coefficients an output; 0 from `len` on.
    coef: Vec<f64>,
    stride: usize,
    /// When the term was added or last merged.
    stamp: Vec<u64>,
    clock: u64,
    lightest: Lightest,
}

impl<F: Real> Expansion<F> {
    /// An empty expansion. `origin` is what centres and points are moved by (empty: nothing).
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(
        kernel: AnyKernel,
        origin: Vec<F>,
        n_features: usize,
        outputs: usize,
    ) -> Result<Self> {
        Ok(Self {
            kernel,
            origin,
            centers: Packed::new(n_features)?,
            rows: Vec::new(),
            outputs,
            coef: Vec::new(),
            stride: 0,
            stamp: Vec::new(),
            clock: 0,
            lightest: Lightest::default(),
        })
    }

    /// Makes room for `terms` terms.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn reserve(&mut self, terms: usize) -> Result<()> {
        self.centers.reserve(terms)?;
        let more = terms.saturating_sub(self.len()).saturating_mul(self.row_len());
        try_reserve("centres", &mut self.rows, more)?;
        let stride = terms.next_multiple_of(Packed::<F>::line());
        if stride > self.stride {
            let mut coef =
                crate::error::try_vec("coefficients", stride.saturating_mul(self.outputs), 0.0)?;
            for c in 0..self.outputs {
                coef[c * stride..][..self.len()].copy_from_slice(self.coef_of(c));
            }
            (self.coef, self.stride) = (coef, stride);
        }
        Ok(())
    }

    /// Number of terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.centers.len()
    }

    /// Number of outputs.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> AnyKernel {
        self.kernel
    }

    /// What centres and points are moved by (empty: nothing).
    #[must_use]
    pub fn origin(&self) -> &[F] {
        &self.origin
    }

    /// The centres, moved by the origin.
    #[must_use]
    pub fn centers(&self) -> &Packed<F> {
        &self.centers
    }

    /// Writes the centre of a term out as a row.
    pub fn center(&self, slot: usize, out: &mut [F]) {
        match self.row(slot) {
            Some(row) => out.copy_from_slice(row),
            None => self.centers.get(slot, out),
        }
    }

    /// Values of a centre that are held as a row: all or none.
    fn row_len(&self) -> usize {
        let d = self.centers.n_features();
        if d > PART { d } else { 0 }
    }

    fn row(&self, slot: usize) -> Option<&[F]> {
        let d = self.row_len();
        (d > 0).then(|| &self.rows[slot * d..][..d])
    }

    /// Coefficients of one output.
    #[must_use]
    pub fn coef_of(&self, output: usize) -> &[f64] {
        &self.coef[output * self.stride..][..self.len()]
    }

    /// Coefficients of all outputs, one row of [`Expansion::stride`] an output, padded with 0.
    #[must_use]
    pub fn padded_coef(&self) -> &[f64] {
        &self.coef
    }

    /// Slots of a row of coefficients.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// One coefficient.
    #[inline]
    #[must_use]
    pub fn coef(&self, slot: usize, output: usize) -> f64 {
        self.coef[output * self.stride + slot]
    }

    /// Sets one coefficient.
    #[inline]
    pub fn set_coef(&mut self, slot: usize, output: usize, value: f64) {
        debug_assert!(slot < self.len());
        self.coef[output * self.stride + slot] = value;
        self.lightest.changed(slot);
    }

    /// Multiplies every coefficient.
    pub fn scale(&mut self, factor: f64) {
        self.coef.iter_mut().for_each(|c| *c *= factor);
        self.lightest.forget();
    }

    /// When the term was added or last merged.
    #[must_use]
    pub fn stamp(&self, slot: usize) -> u64 {
        self.stamp[slot]
    }

    /// Adds a term with all coefficients 0 and returns its slot.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn push(&mut self, center: &[F]) -> Result<usize> {
        self.push_known(center, Packed::norms_of(center))
    }

    /// [`Expansion::push`] of a centre whose norms are known, as a packed set has them.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn push_known(&mut self, center: &[F], norms: [F; 2]) -> Result<usize> {
        let slot = self.len();
        if slot == self.stride {
            self.reserve((2 * slot).max(16))?;
        }
        let row = &center[..self.row_len()];
        let full = |_| Error::OutOfMemory { what: "centres", bytes: size_of_val(row) };
        self.rows.try_reserve(row.len()).map_err(full)?;
        self.centers.push_known(center, norms)?;
        self.rows.extend_from_slice(row);
        self.clock += 1;
        self.stamp.push(self.clock);
        self.lightest.changed(slot);
        Ok(slot)
    }

    /// Replaces the point of a term.
    pub fn move_center(&mut self, slot: usize, center: &[F]) {
        self.centers.set(slot, center);
        let d = self.row_len();
        self.rows[slot * d..][..d].copy_from_slice(&center[..d]);
        self.clock += 1;
        self.stamp[slot] = self.clock;
    }

    /// Removes a term; the last one takes its slot.
    pub fn swap_remove(&mut self, slot: usize) {
        let last = self.len() - 1;
        for row in self.coef.chunks_exact_mut(self.stride) {
            row[slot] = row[last];
            row[last] = 0.0;
        }
        self.centers.swap_remove(slot);
        let d = self.row_len();
        self.rows.copy_within(last * d..(last + 1) * d, slot * d);
        self.rows.truncate(last * d);
        self.stamp.swap_remove(slot);
        self.lightest.changed(slot);
    }

    /// What the smallest term is judged by: `|β|`, or the squared norm of several outputs'
    /// coefficients.
    #[must_use]
    pub fn weight(&self, slot: usize) -> f64 {
        if self.outputs == 1 {
            self.coef[slot].abs()
        } else {
            (0..self.outputs).map(|c| self.coef(slot, c).powi(2)).sum()
        }
    }

    /// The first term of least weight; slot 0 of an empty expansion.
    pub fn lightest(&mut self) -> usize {
        let mut lightest = std::mem::take(&mut self.lightest);
        lightest.update(self.len(), |slot| self.weight(slot));
        self.lightest = lightest;
        self.lightest.slot()
    }

    /// What every term weighed when [`Expansion::lightest`] was last asked.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        self.lightest.weights()
    }

    /// `Σ_c β_ac β_jc` for the terms `slots`, in increasing order.
    pub fn products(&self, a: usize, slots: &[usize], out: &mut Vec<f64>) {
        // So many of a run of slots that all of them are the quicker to take, a vector at a time.
        const MANY: usize = 32;
        out.clear();
        let own = |c: usize| self.coef(a, c);
        let (Some(&first), Some(&last)) = (slots.first(), slots.last()) else { return };
        let run = last + 1 - first;
        if slots.len() < MANY || 4 * slots.len() < run {
            out.resize(slots.len(), 0.0);
            for c in 0..self.outputs {
                let (own, coef) = (own(c), self.coef_of(c));
                out.iter_mut().zip(slots).for_each(|(out, &slot)| *out += own * coef[slot]);
            }
            return;
        }
        out.resize(run, 0.0);
        let row = |c: usize| (&self.coef_of(c)[first..=last], own(c));
        let rows: Vec<(&[f64], f64)> = (0..self.outputs).map(row).collect();
        crate::simd::add_rows(&rows, out);
        if slots.len() < run {
            slots.iter().enumerate().for_each(|(at, &slot)| out[at] = out[slot - first]);
            out.truncate(slots.len());
        }
    }

    /// The kernel's stored values (`AnyKernel::stored`) between one term and all, padded.
    pub fn stored_row(&self, slot: usize, scratch: &mut RowScratch<F>) {
        let d = self.centers.n_features();
        let tile = scratch.tile.get_or_insert_with(|| Tile::new(d));
        self.kernel.load_center(&self.centers, slot, tile);
        let padded = self.centers.padded_len();
        scratch.row.resize(padded, F::zero());
        self.kernel.stored(tile, (0, 1), &self.centers, &mut scratch.row, padded);
    }

    /// `½ Σ_c βᵀKβ`, by kernel rows: O(B² d).
    #[must_use]
    pub fn half_norm(&self) -> f64 {
        let mut scratch = RowScratch::default();
        let mut total = 0.0;
        let mut sums = vec![0.0; self.outputs];
        for slot in 0..self.len() {
            self.stored_row(slot, &mut scratch);
            self.kernel.stored_to_values(&mut scratch.row);
            for (c, sum) in sums.iter_mut().enumerate() {
                let coef = &self.coef[c * self.stride..][..scratch.row.len()];
                crate::simd::weighted_sums(&scratch.row, coef, std::slice::from_mut(sum));
                *sum *= self.coef(slot, c);
            }
            total += sums.iter().sum::<f64>();
        }
        0.5 * total
    }

    /// Whether every coefficient is finite.
    ///
    /// # Errors
    /// `Unsupported` with advice: the numbers have left the range of floats.
    pub fn check_finite(&self) -> Result<()> {
        if self.coef.iter().all(|c| c.is_finite()) {
            return Ok(());
        }
        Err(Error::Unsupported(
            "training left the range of floating point numbers: scale the features, or lower C \
             or the kernel's degree"
                .into(),
        ))
    }
}

/// Buffers of [`Expansion::stored_row`].
#[derive(Clone, Debug)]
pub struct RowScratch<F: Real> {
    tile: Option<Tile<F>>,
    /// The row.
    pub row: Vec<F>,
}

impl<F: Real> Default for RowScratch<F> {
    fn default() -> Self {
        Self { tile: None, row: Vec::new() }
    }
}
