//! What a machine must know of the data before its kernel is settled.

use crate::data::{Point, Rows};
use crate::error::{Error, Result, check_len, check_room};
use crate::float::Real;
use crate::watch::Look;

/// Spread of the rows, weighted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Variance of all entries together: `gamma = 1 / (d variance)` is `"scale"`.
    pub variance: f64,
}

/// Two passes over the rows. A row of weight w counts as w rows, a row of weight 0 not at all.
///
/// *Cost* O(n d), or the stored entries.
///
/// # Errors
/// `LengthMismatch`, `NonFinite`, `InvalidData` when no row has a positive weight or columns are too
/// many, `OutOfMemory` where not even one row of as many features could be held.
pub fn summarize<F: Real>(rows: &Rows<'_, F>, weight: &[f64]) -> Result<Summary> {
    summarize_watched(rows, weight, &mut || Ok(()))
}

/// [`summarize`]; `look` is asked between blocks of rows.
///
/// # Errors
/// As there, and those of `look`.
pub fn summarize_watched<F: Real>(
    rows: &Rows<'_, F>,
    weight: &[f64],
    look: Look<'_>,
) -> Result<Summary> {
    let (n, d) = (rows.n_rows(), rows.n_cols());
    check_len("sample_weight", n, weight.len())?;
    let entries = weight.iter().filter(|&&w| w > 0.0).sum::<f64>() * d as f64;
    if entries.is_nan() || entries <= 0.0 {
        return Err(Error::InvalidData { what: "X", reason: "no row of positive weight".into() });
    }
    // What is made of rows holds some of them dense: where not even one fits, that is said here.
    check_columns(d)?;
    check_room("a dense row of X", d * size_of::<f64>())?;
    let (mut sum, mut all) = (0.0, 0.0);
    each_sum(
        rows,
        |value| value,
        |i, row, _| {
            all += row;
            if weight[i] > 0.0 {
                sum += weight[i] * row;
            }
        },
        &mut *look,
    )?;
    // A value that is not finite leaves no finite sum.
    if !f64::is_finite(all) {
        rows.check_finite("X")?;
    }
    let mean = sum / entries;
    let mut squares = 0.0;
    each_sum(
        rows,
        |value| (value - mean).powi(2),
        |i, row, stored| {
            if weight[i] > 0.0 {
                squares += weight[i] * (row + (d - stored) as f64 * mean * mean);
            }
        },
        look,
    )?;
    Ok(Summary { variance: squares / entries })
}

/// Rows whose sums are made side by side: an addition waits for the one before it, in one row.
const SIDE: usize = 8;

/// Entries that are added between two looks.
const ENTRIES_BETWEEN_LOOKS: usize = 1 << 22;

/// Tells every row's sum of `of` its stored entries, added in their order, and how many these are.
fn each_sum<F: Real>(
    rows: &Rows<'_, F>,
    of: impl Fn(f64) -> f64,
    mut tell: impl FnMut(usize, f64, usize),
    look: Look<'_>,
) -> Result<()> {
    let (n, d) = (rows.n_rows(), rows.n_cols());
    let (mut first, mut added) = (0, 0);
    let mut ask = |entries: usize| {
        added += entries;
        if added < ENTRIES_BETWEEN_LOOKS {
            return Ok(());
        }
        added = 0;
        look()
    };
    if let Rows::Dense(x) = rows
        && let Some(values) = x.as_slice()
    {
        for block in values.chunks_exact(SIDE * d.max(1)) {
            let mut sums = [0.0; SIDE];
            for j in 0..d {
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum += of(block[row * d + j].to_f64());
                }
            }
            for (at, sum) in sums.into_iter().enumerate() {
                tell(first + at, sum, d);
            }
            first += SIDE;
            ask(SIDE * d)?;
        }
    }
    for i in first..n {
        let (mut row, mut stored) = (0.0, 0usize);
        each(rows, i, |_, value| {
            row += of(value.to_f64());
            stored += 1;
        });
        tell(i, row, stored);
        ask(stored)?;
    }
    Ok(())
}

/// Columns of rows whose terms are dense, at most: beyond, one row in f64 is more than a gigabyte.
/// Systems promise more memory than they have, so that no allocation would be refused.
const MOST_COLUMNS: usize = 1 << 27;

/// Whether machines of dense terms take rows of so many columns.
pub(in crate::estimator) fn check_columns(d: usize) -> Result<()> {
    if d <= MOST_COLUMNS {
        return Ok(());
    }
    let reason = format!(
        "{d} columns, and this machine keeps dense rows: {MOST_COLUMNS} at most. Is an index of a \
         text a mistake? Else hash the features into fewer columns (scikit-learn's FeatureHasher)"
    );
    Err(Error::InvalidData { what: "X", reason })
}

/// Visits the entries of a row.
pub(super) fn each<F: Real>(rows: &Rows<'_, F>, row: usize, mut visit: impl FnMut(usize, F)) {
    match rows.point(row) {
        Point::Dense(values) => values.iter().enumerate().for_each(|(j, &v)| visit(j, v)),
        Point::Sparse(csr, row) => csr.for_each(row, visit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Indices};

    #[test]
    fn rows_side_by_side_have_the_sums_of_rows_one_by_one() {
        let mut rng = crate::rng::Rng::new(3);
        let mut dense = ndarray::Array2::from_shape_fn((29, 5), |_| rng.normal());
        let weight: Vec<f64> = (0..29).map(|i| f64::from(i % 4)).collect();
        let columns = dense.t().as_standard_layout().into_owned();
        let together = summarize(&Rows::Dense(dense.view()), &weight).unwrap();
        // Columns one after another are no rows in one piece.
        let apart = summarize(&Rows::Dense(columns.t()), &weight).unwrap();
        assert_eq!(together.variance.to_bits(), apart.variance.to_bits());
        dense[(8, 3)] = f64::INFINITY;
        let told = summarize(&Rows::Dense(dense.view()), &weight).unwrap_err();
        assert!(matches!(told, Error::NonFinite { row: 8, column: 3, .. }), "{told}");
    }

    #[test]
    fn dense_and_sparse_and_repeated_rows_agree() {
        let dense = ndarray::arr2(&[[1.0, 0.0, -2.0], [0.0, 0.0, 4.0], [3.0, 0.0, 0.0]]);
        let weight = [2.0, 0.0, 1.0];
        let direct = summarize(&Rows::Dense(dense.view()), &weight).unwrap();
        let repeated = ndarray::arr2(&[[1.0, 0.0, -2.0], [1.0, 0.0, -2.0], [3.0, 0.0, 0.0]]);
        let entries: Vec<f64> = repeated.iter().copied().collect();
        let mean = entries.iter().sum::<f64>() / 9.0;
        let variance = entries.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 9.0;
        assert!((direct.variance - variance).abs() < 1e-14);
        let values = [1.0, -2.0, 4.0, 3.0];
        let csr = Csr::new(&values, Indices::I32(&[0, 2, 2, 0]), Indices::I32(&[0, 2, 3, 4]), 3);
        let sparse = summarize(&Rows::Csr(csr.unwrap()), &weight).unwrap();
        assert!((sparse.variance - variance).abs() < 1e-14);
    }
}
