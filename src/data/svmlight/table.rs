//! All rows of a text as one matrix.

use std::io::Read;

use super::parse::Piece;
use super::reader::Reader;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::parallel;
use crate::watch::Look;

/// A dense matrix of more values than this is made only of rows that store [`FULL`] of them.
const DENSE: usize = 1 << 24;
const FULL: f64 = 1e-3;
/// Rows of a part of a dense matrix.
const ROWS: usize = 1024;

/// What the index of the first column is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// 1, unless an index is 0.
    #[default]
    Found,
    /// 0.
    Zero,
    /// 1.
    One,
}

/// A CSR matrix and a label a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<F: Real> {
    /// Labels, so many a row as were asked for.
    pub labels: Vec<f64>,
    /// Values, row by row.
    pub values: Vec<F>,
    /// Their columns, from 0 on.
    pub columns: Vec<i32>,
    /// Where rows begin among the values, and where the last one ends.
    pub starts: Vec<i64>,
    /// Number of columns: what was asked for, or what the largest index needs.
    pub n_cols: usize,
}

fn bad<T>(reason: String) -> Result<T> {
    Err(Error::InvalidData { what: "svmlight", reason })
}

impl<F: Real> Table<F> {
    /// Reads all rows; `look` is asked before anything more of the text is read.
    ///
    /// ```
    /// use budgetsvm::data::svmlight::{Origin, Reader, Table};
    ///
    /// let text = "1 1:0.5 3:2\n-1 2:1\n".as_bytes();
    /// let table = Table::<f64>::read(Reader::new(text), Origin::Found, None, &mut || Ok(()))?;
    /// assert_eq!((table.columns, table.n_cols), (vec![0, 2, 1], 3));
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidData` for text that is not exactly valid, without a row, or with an index that the
    /// origin or `n_features` does not allow; `Io`, `OutOfMemory`, those of `look`.
    pub fn read(
        mut reader: Reader<impl Read>,
        origin: Origin,
        n_features: Option<usize>,
        look: Look<'_>,
    ) -> Result<Self> {
        let mut pieces = Vec::new();
        loop {
            let block = reader.watched_block(look)?;
            if block.is_empty() {
                break;
            }
            pieces.extend(block);
        }
        Self::joined(pieces, origin, n_features)
    }

    fn joined(pieces: Vec<Piece<F>>, origin: Origin, n_features: Option<usize>) -> Result<Self> {
        let rows = pieces.iter().map(Piece::n_rows).sum::<usize>();
        if rows == 0 {
            return bad("no rows".into());
        }
        let of_piece = |i: usize| {
            let indices = &pieces[i].indices;
            let bound = |m: (u32, u32), &v: &u32| (m.0.min(v), m.1.max(v));
            indices.iter().fold((u32::MAX, 0), bound)
        };
        let bounds = parallel::map(pieces.len(), &of_piece);
        let (least, most) =
            bounds.into_iter().fold((u32::MAX, 0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let stored: usize = pieces.iter().map(|piece| piece.values.len()).sum();
        let first = match origin {
            Origin::Zero => 0,
            Origin::One if least == 0 => {
                return bad("an index is 0, but indices begin with 1 (zero_based=false)".into());
            }
            Origin::One => 1,
            Origin::Found => u32::from(stored > 0 && least > 0),
        };
        let found = if stored == 0 { 0 } else { (most - first) as usize + 1 };
        let n_cols = n_features.unwrap_or(found);
        if n_cols < found {
            return bad(format!("n_features={n_cols}, but index {most} needs {found}"));
        }
        let per_row = pieces.iter().map(|piece| piece.labels.len()).sum::<usize>() / rows;
        let mut labels = try_vec("labels", rows * per_row, 0.0)?;
        let mut values = try_vec("values", stored, F::zero())?;
        let mut columns = try_vec("columns", stored, 0)?;
        let mut starts = try_vec("rows", rows + 1, 0)?;
        let mut parts = Vec::with_capacity(pieces.len());
        {
            let (mut labels, mut values) = (labels.as_mut_slice(), values.as_mut_slice());
            let (mut columns, mut starts) = (columns.as_mut_slice(), &mut starts[1..]);
            let mut begin = 0;
            for piece in pieces {
                let (own, to, at, ends);
                (own, labels) = labels.split_at_mut(piece.labels.len());
                (to, values) = values.split_at_mut(piece.values.len());
                (at, columns) = columns.split_at_mut(piece.values.len());
                (ends, starts) = starts.split_at_mut(piece.n_rows());
                let before = begin;
                begin += piece.values.len();
                parts.push((piece, before, own, to, at, ends));
            }
            parallel::each(parts.into_iter(), &|_, (piece, before, own, to, at, ends)| {
                own.copy_from_slice(&piece.labels);
                to.copy_from_slice(&piece.values);
                // `MOST` is an `i32`.
                at.iter_mut().zip(&piece.indices).for_each(|(to, &i)| *to = (i - first) as i32);
                ends.iter_mut().zip(&piece.ends).for_each(|(to, &e)| *to = (before + e) as i64);
            });
        }
        Ok(Self { labels, values, columns, starts, n_cols })
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }
}

/// The rows of a table written out, n x columns.
///
/// # Errors
/// `InvalidData` where that would be many times what they store, `OutOfMemory`.
pub fn dense<F: Real>(table: &Table<F>) -> Result<Vec<F>> {
    let (n, d) = (table.n_rows(), table.n_cols);
    let size = n.saturating_mul(d);
    if size > DENSE && (table.values.len() as f64) < FULL * size as f64 {
        let stored = table.values.len();
        return bad(format!("{n} rows of {d} columns with {stored} values: read them sparse"));
    }
    let mut out = try_vec("rows", size, F::zero())?;
    parallel::each(out.chunks_mut(ROWS * d.max(1)), &|part, out| {
        let ends = table.starts[part * ROWS..].windows(2);
        for (row, ends) in out.chunks_mut(d.max(1)).zip(ends) {
            let at = ends[0] as usize..ends[1] as usize;
            let pairs = table.columns[at.clone()].iter().zip(&table.values[at]);
            pairs.for_each(|(&column, &value)| row[column as usize] = value);
        }
    });
    Ok(out)
}
