//! The kernel rows of the next samples of a pass, computed at once and kept true to a model whose
//! terms change while the samples take their turns.

use super::{AnyKernel, load_tile};
use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::simd::{Packed, Tile};

/// How a row is computed: [`AnyKernel::values`] or [`AnyKernel::stored`].
type Values<F> = fn(&AnyKernel, &Tile<F>, (usize, usize), &Packed<F>, &mut [F], usize);

/// A row of kernel values against the terms for each of a run of samples.
#[derive(Clone, Debug)]
pub struct SampleRows<F: Real> {
    kernel: AnyKernel,
    values: Values<F>,
    /// The samples.
    pub tile: Tile<F>,
    /// `k(x, x)`.
    pub diagonal: Vec<f64>,
    rows: Vec<F>,
    stride: usize,
    len: usize,
    /// The samples as centres: made when the first of them becomes a term.
    points: Packed<F>,
    points_ready: bool,
    cross: Vec<F>,
}

impl<F: Real> SampleRows<F> {
    /// No samples yet.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(kernel: AnyKernel, n_features: usize, values: Values<F>) -> Result<Self> {
        Ok(Self {
            kernel,
            values,
            tile: Tile::new(n_features),
            diagonal: Vec::new(),
            rows: Vec::new(),
            stride: 0,
            len: 0,
            points: Packed::new(n_features)?,
            points_ready: false,
            cross: Vec::new(),
        })
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// From one row to the next.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Loads the samples `ids`, moved by `origin`; their rows are still to be computed.
    pub fn load(&mut self, rows: &Rows<'_, F>, ids: &[usize], origin: &[F]) {
        self.points_ready = false;
        load_tile(rows, ids.len(), |i| ids[i], origin, &mut self.tile);
        self.kernel.diagonal(&self.tile, &mut self.diagonal);
    }

    /// Makes room for rows of `terms` values for `len` samples; what is in them has no meaning.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn resize(&mut self, len: usize, terms: usize) -> Result<()> {
        self.stride = self.stride.max(terms.next_multiple_of(Packed::<F>::line()));
        self.len = len;
        let needed = len.saturating_mul(self.stride);
        if self.rows.len() < needed {
            // Some more: a model that fills asks for a little at every block.
            self.rows = try_vec("kernel rows", needed.saturating_add(needed / 4), F::zero())?;
        }
        Ok(())
    }

    /// The samples, and all rows to be changed.
    pub fn parts(&mut self) -> (&Tile<F>, &mut [F]) {
        (&self.tile, &mut self.rows[..self.len * self.stride])
    }

    /// All rows.
    #[must_use]
    pub fn rows(&self) -> &[F] {
        &self.rows[..self.len * self.stride]
    }

    fn pack_points(&mut self) -> Result<()> {
        if !self.points_ready {
            let tile = &self.tile;
            self.points.set_all(tile.len(), |i, row| tile.copy_row(i, row))?;
            self.points_ready = true;
        }
        Ok(())
    }

    /// The squared norms of a sample that becomes a term, as [`Packed::norms`] has them.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn norms(&mut self, turn: usize) -> Result<[F; 2]> {
        self.pack_points()?;
        Ok(self.points.norms(turn))
    }

    /// The sample whose turn it is has become the term in `slot`: the rows of the samples to come
    /// follow. What they got.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn wrote(&mut self, turn: usize, slot: usize) -> Result<&[F]> {
        self.pack_points()?;
        let padded = self.points.padded_len();
        self.cross.resize(padded, F::zero());
        let range = (turn, turn + 1);
        (self.values)(&self.kernel, &self.tile, range, &self.points, &mut self.cross, padded);
        let to_come = &self.cross[turn + 1..self.len];
        for (row, &value) in self.rows.chunks_exact_mut(self.stride).skip(turn + 1).zip(to_come) {
            row[slot] = value;
        }
        Ok(to_come)
    }
}
