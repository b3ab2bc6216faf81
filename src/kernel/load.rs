//! Training rows, less an origin, as centres and as points.

use crate::data::Rows;
use crate::error::Result;
use crate::float::Real;
use crate::simd::{Packed, Tile};

/// Samples as one packed set; `row` is room for one of them.
pub(super) fn pack<F: Real>(
    rows: &Rows<'_, f64>,
    origin: &[f64],
    samples: &[usize],
    row: &mut [f64],
) -> Result<Packed<F>> {
    let mut set = Packed::new(row.len())?;
    set.extend(samples.len(), |i, center| convert(rows, origin, samples[i], row, center))?;
    Ok(set)
}

/// A row less the origin (if there is one), through `row` where it is not at hand as a slice.
fn convert<F: Real>(
    rows: &Rows<'_, f64>,
    origin: &[f64],
    sample: usize,
    row: &mut [f64],
    out: &mut [F],
) {
    let values = match rows {
        Rows::Dense(x) => x.row(sample).to_slice(),
        Rows::Csr(_) => None,
    };
    let values = values.unwrap_or_else(|| {
        rows.copy_row(sample, row);
        row
    });
    if origin.is_empty() {
        out.iter_mut().zip(values).for_each(|(to, &v)| *to = F::from_f64(v));
    } else {
        let moved = values.iter().zip(origin).map(|(v, o)| F::from_f64(v - o));
        out.iter_mut().zip(moved).for_each(|(to, v)| *to = v);
    }
}

/// Fills a tile with the samples `sample(0..len)`: sparse ones as they are.
pub(super) fn load<F: Real>(
    rows: &Rows<'_, f64>,
    origin: &[f64],
    (len, sample): (usize, &dyn Fn(usize) -> usize),
    tile: &mut Tile<F>,
) {
    match rows {
        Rows::Csr(csr) if csr.density() < super::sparse_density(rows.n_cols()) => {
            tile.fill_sparse(len, |i, columns, entries| {
                csr.for_each(sample(i), |column, value| {
                    columns.push(column as u32);
                    entries.push(F::from_f64(value));
                });
            });
        }
        _ => {
            let mut row = vec![0.0; rows.n_cols()];
            tile.fill_dense(len, |i, out| convert(rows, origin, sample(i), &mut row, out));
        }
    }
}
