//! Rows, less an origin, as centres and as points, in their own precision or another.

use super::blocks::differences_up_to;
use crate::data::{AnyRows, Csr, Rows, each_rows};
use crate::error::Result;
use crate::float::Real;
use crate::simd::{self, Packed, Tile};

/// CSR rows with a smaller share of stored entries than this are compared entry by entry,
/// denser ones are written out first: jumping through centres that no near cache holds a few lines of
/// costs more than running through them, past the zeros (`cargo bench --bench engine`, group `kernel`).
#[must_use]
pub fn sparse_density(n_features: usize) -> f64 {
    let near = n_features <= 2 * simd::PART;
    (400.0 / n_features.max(1) as f64).min(if near { 0.28 } else { 0.05 })
}

/// The rows `samples` as one packed set, moved by `origin` (empty: not moved).
pub(super) fn pack<F: Real>(
    rows: &AnyRows<'_>,
    origin: &[f64],
    samples: &[usize],
) -> Result<Packed<F>> {
    let mut set = Packed::new(rows.n_cols())?;
    each_rows!(rows, rows => {
        set.extend(samples.len(), |i, center| copy_moved(rows, samples[i], origin, center))?;
    });
    Ok(set)
}

/// [`load_tile`] of rows of either precision.
pub(super) fn load_any<F: Real>(
    rows: &AnyRows<'_>,
    len: usize,
    row: impl Fn(usize) -> usize,
    origin: &[f64],
    tile: &mut Tile<F>,
) {
    each_rows!(rows, rows => load(rows, len, &row, origin, tile));
}

/// Fills `tile` with the rows `row(0), row(1), ...` (`len` of them), moved by `origin` (empty:
/// not moved); sparse ones as they are.
pub fn load_tile<S: Real, F: Real>(
    rows: &Rows<'_, S>,
    len: usize,
    row: impl Fn(usize) -> usize,
    origin: &[S],
    tile: &mut Tile<F>,
) {
    load(rows, len, &row, origin, tile);
}

/// Compiled once, not for every numbering of the rows.
fn load<S: Real, O: Real, F: Real>(
    rows: &Rows<'_, S>,
    len: usize,
    row: &dyn Fn(usize) -> usize,
    origin: &[O],
    tile: &mut Tile<F>,
) {
    // The row that is this many ahead is asked for.
    const AHEAD: usize = 8;
    let row = |i: usize| {
        if i + AHEAD < len {
            rows.prefetch(row(i + AHEAD));
        }
        row(i)
    };
    // Rows of few features are written out whatever their density, or distances would be computed in
    // one way or the other as the whole batch is sparse or not: by norms, or by differences.
    let wide = rows.n_cols() > differences_up_to();
    match rows {
        Rows::Csr(csr)
            if wide && origin.is_empty() && csr.density() < sparse_density(rows.n_cols()) =>
        {
            fill_sparse(csr, len, &row, tile);
        }
        Rows::Dense(_) | Rows::Csr(_) => {
            tile.fill_dense(len, |i, out| copy_moved(rows, row(i), origin, out))
        }
    }
}

fn fill_sparse<S: Real, F: Real>(
    csr: &Csr<'_, S>,
    len: usize,
    row: &dyn Fn(usize) -> usize,
    tile: &mut Tile<F>,
) {
    tile.fill_sparse(len, |i, columns, entries| {
        csr.for_each(row(i), |column, value| {
            columns.push(column as u32);
            entries.push(convert(value));
        });
    });
}

/// [`load_any`] of sparse rows, kept sparse however many entries they have.
pub(super) fn load_sparse<F: Real>(
    rows: &AnyRows<'_>,
    len: usize,
    row: impl Fn(usize) -> usize,
    tile: &mut Tile<F>,
) {
    each_rows!(rows, rows => match rows {
        Rows::Csr(csr) => fill_sparse(csr, len, &row, tile),
        Rows::Dense(_) => load(rows, len, &row, &[] as &[f64], tile),
    });
}

/// A row, written out densely, less the origin if there is one.
fn copy_moved<S: Real, O: Real, F: Real>(
    rows: &Rows<'_, S>,
    row: usize,
    origin: &[O],
    out: &mut [F],
) {
    match rows {
        Rows::Dense(x) => {
            let source = x.row(row);
            match source.as_slice() {
                Some(values) => write_moved(values.iter(), origin, out),
                None => write_moved(source.iter(), origin, out),
            }
        }
        Rows::Csr(csr) => {
            out.fill(F::zero());
            csr.for_each(row, |column, value| out[column] = convert(value));
            out.iter_mut().zip(origin).for_each(|(v, &o)| *v -= convert::<O, F>(o));
        }
    }
}

fn write_moved<'s, S: Real, O: Real, F: Real>(
    values: impl Iterator<Item = &'s S>,
    origin: &[O],
    out: &mut [F],
) {
    if origin.is_empty() {
        out.iter_mut().zip(values).for_each(|(to, &v)| *to = convert(v));
    } else {
        let moved = values.zip(origin).map(|(&v, &o)| moved(v, o));
        out.iter_mut().zip(moved).for_each(|(to, v)| *to = v);
    }
}

/// A value less another, subtracted in the more precise of their types.
#[inline(always)]
fn moved<S: Real, O: Real, F: Real>(value: S, origin: O) -> F {
    if S::NAME == f32::NAME && O::NAME == f32::NAME {
        convert(value - convert::<O, S>(origin))
    } else {
        F::from_f64(Real::to_f64(value) - Real::to_f64(origin))
    }
}

/// The nearest value of the other type; the same value where it is the same type.
#[inline(always)]
fn convert<S: Real, F: Real>(value: S) -> F {
    F::from_f64(Real::to_f64(value))
}
