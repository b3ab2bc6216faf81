//! Points in tiles: what the block kernel compares with packed centres.

use std::sync::OnceLock;

use super::blanks::Blanks;
use super::found::Found;
use super::lanes::PART;
use super::norms::{part_norms, sq_norm, sq_norms};
use super::packed::Packed;
use super::present::Present;
use crate::error::{Result, try_reserve};
use crate::float::Real;

/// A tile of points, dense rows one after another or sparse ones, with their squared norms.
#[derive(Clone, Debug, Default)]
pub struct Tile<F: Real> {
    n_features: usize,
    len: usize,
    pub(super) dense: bool,
    /// Dense rows; empty for a sparse tile.
    pub(super) values: Vec<F>,
    /// Which parts of them are blank, looked for when first asked for.
    blanks: Found<Blanks>,
    /// Which values of them are not zero, likewise.
    present: Found<Present>,
    /// Sparse rows: `starts[i]..starts[i + 1]` of `columns` and `entries`.
    pub(super) starts: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) entries: Vec<F>,
    /// Made when first asked for: most kernels of few features never ask.
    sq_norms: OnceLock<Norms<F>>,
    /// The same in parts, for many features.
    part_norms: Found<Vec<F>>,
}

/// Rows whose norms need no memory of their own. Not more: a row that is learnt moves all of it.
const FEW: usize = 8;

/// Squared norms.
#[derive(Clone, Debug)]
enum Norms<F> {
    Few([F; FEW]),
    Many(Vec<F>),
}

impl<F: Real> Tile<F> {
    /// An empty tile.
    #[must_use]
    pub fn new(n_features: usize) -> Self {
        Self { n_features, ..Self::default() }
    }

    /// Empties the tile, for points of so many features.
    pub fn reset(&mut self, n_features: usize) {
        self.n_features = n_features;
        self.fill_dense(0, |_, _| ());
    }

    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of features.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Columns and entries of a sparse row; nothing of a dense one.
    #[must_use]
    pub fn sparse_row(&self, i: usize) -> (&[u32], &[F]) {
        if self.dense {
            return (&[], &[]);
        }
        let at = self.starts[i]..self.starts[i + 1];
        (&self.columns[at.clone()], &self.entries[at])
    }

    /// Whether the rows are written out.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.dense
    }

    /// Squared norms, summed in the order in which the block kernel sums its products, so that
    /// the distance of a point to itself is exactly 0.
    #[must_use]
    pub fn sq_norms(&self) -> &[F] {
        let norms = self.sq_norms.get_or_init(|| {
            let mut norms = match self.len {
                0..=FEW => Norms::Few([F::zero(); FEW]),
                len => Norms::Many(vec![F::zero(); len]),
            };
            let out = match &mut norms {
                Norms::Few(norms) => &mut norms[..self.len],
                Norms::Many(norms) => norms,
            };
            if self.dense {
                sq_norms(&self.values, self.n_features, out);
            } else {
                let ranges = self.starts.windows(2).map(|ends| ends[0]..ends[1]);
                out.iter_mut().zip(ranges).for_each(|(n, at)| *n = sq_norm(&self.entries[at]));
            }
            norms
        });
        match norms {
            Norms::Few(norms) => &norms[..self.len],
            Norms::Many(norms) => norms,
        }
    }

    /// Squared norms, summed in parts of [`PART`] features.
    pub(super) fn part_norms(&self) -> &[F] {
        if self.n_features <= PART {
            return self.sq_norms();
        }
        self.part_norms.get_or_make(|norms| {
            norms.clear();
            norms.resize(self.len, F::zero());
            if self.dense {
                part_norms(&self.values, self.n_features, norms);
            } else {
                let mut row = vec![F::zero(); self.n_features];
                for (i, norm) in norms.iter_mut().enumerate() {
                    self.copy_row(i, &mut row);
                    part_norms(&row, self.n_features, std::slice::from_mut(norm));
                }
            }
        })
    }

    /// Makes one centre the only point; its norm is known. A centre with fewer than `sparse_below`
    /// entries that are not 0 is kept sparse.
    pub fn fill_center(&mut self, centers: &Packed<F>, slot: usize, sparse_below: usize) {
        self.fill_dense(1, |_, row| centers.get(slot, row));
        let row = std::mem::take(&mut self.values);
        let stored = || row.iter().enumerate().filter(|(_, value)| **value != F::zero());
        if stored().count() < sparse_below {
            self.fill_sparse(1, |_, columns, entries| {
                columns.extend(stored().map(|(column, _)| column as u32));
                entries.extend(stored().map(|(_, &value)| value));
            });
        }
        self.values = row;
        self.sq_norms = OnceLock::from(Norms::Few([centers.sq_norms()[slot]; FEW]));
    }

    /// Memory for so many dense rows, so that filling the tile asks for none.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn set_aside(&mut self, len: usize) -> Result<()> {
        let more = len.saturating_mul(self.n_features).saturating_sub(self.values.len());
        try_reserve("rows", &mut self.values, more)
    }

    /// Fills the tile with dense rows: `write(i, row)` writes row `i`.
    pub fn fill_dense(&mut self, len: usize, mut write: impl FnMut(usize, &mut [F])) {
        self.dense = true;
        self.len = len;
        self.values.resize(len * self.n_features, F::zero());
        for (i, row) in self.values.chunks_exact_mut(self.n_features.max(1)).enumerate() {
            write(i, row);
        }
        self.blanks.clear();
        self.present.clear();
        self.sq_norms.take();
        self.part_norms.clear();
    }

    /// Fills the tile with sparse rows: `append(i, columns, entries)` appends what row `i` holds,
    /// columns increasing and below the number of features.
    pub fn fill_sparse(
        &mut self,
        len: usize,
        mut append: impl FnMut(usize, &mut Vec<u32>, &mut Vec<F>),
    ) {
        self.dense = false;
        self.len = len;
        self.starts.clear();
        self.starts.push(0);
        self.columns.clear();
        self.entries.clear();
        self.sq_norms.take();
        self.part_norms.clear();
        for i in 0..len {
            append(i, &mut self.columns, &mut self.entries);
            self.starts.push(self.entries.len());
        }
        let widest = self.columns.iter().fold(0, |most, &column| most.max(column));
        assert!(self.columns.len() == self.entries.len(), "a column for every entry");
        assert!(self.columns.is_empty() || (widest as usize) < self.n_features, "columns in range");
    }

    /// Which parts of dense rows are blank.
    pub(super) fn blanks(&self) -> &Blanks {
        self.blanks.get_or_make(|blanks| blanks.find(&self.values, self.n_features))
    }

    /// Which values of dense rows are not zero.
    pub(super) fn present(&self) -> &Present {
        self.present.get_or_make(|present| present.find(&self.values, self.n_features))
    }

    /// Row `i` written out densely.
    pub fn copy_row(&self, i: usize, out: &mut [F]) {
        if self.dense {
            out.copy_from_slice(&self.values[i * self.n_features..][..self.n_features]);
        } else {
            out.fill(F::zero());
            let at = self.starts[i]..self.starts[i + 1];
            for (&column, &value) in self.columns[at.clone()].iter().zip(&self.entries[at]) {
                out[column as usize] = value;
            }
        }
    }
}
