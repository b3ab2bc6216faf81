//! Whether a few features make up nearly all of the distance that a kernel sees.
//!
//! ```text
//! s_j = Σ (x_j - z_j)² / Σ ‖x - z‖²      over pairs of rows (x, z)
//! ```
//!
//! *Method*: 1. Draw pairs. 2. Sum their squared differences by feature. 3. Count the features
//! whose shares add up to `1 - UNSEEN`.
//!
//! On standardised features every s_j is alike, and the half of them that owns less owns a quarter
//! of the distance or more, on each of the two dozen real sets of `benches/python/scales.py`; where
//! a part of the features is scaled by 50 it owns at most 2.5 % (but for one large feature beside
//! hundreds, which costs little). Unscaled text, images and binary features lie at 5 to 10 %.

use super::summary::each;
use crate::data::{Point, Rows};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::rng::Rng;
use crate::watch::Look;

/// Pairs of rows that are looked at.
const PAIRS: usize = 1024;
/// Fewer where rows are long: beyond so many entries these are enough.
const MOST: usize = 1 << 24;
const LEAST: usize = 64;
/// Fewer rows say nothing of scales.
const FEWEST: usize = 20;
/// A warning is due where half of the features, or more, own less than this share together.
const UNSEEN: f64 = 0.04;
/// Rows whose lengths differ by less than this share were normalised: as with words weighed by how
/// rare they are, their scales are as somebody wanted them.
const EQUAL: f64 = 1e-3;

/// Features that make up nearly all of the squared distance between rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scales {
    /// How many these are.
    pub few: usize,
    /// How many features vary.
    pub varying: usize,
    /// The share of the squared distance that the few own.
    pub share: f64,
}

/// The features that drown the others, where some do. Rows of weight 0 do not count.
///
/// *Cost* O(d), or the stored entries, for each of 1,024 pairs of rows, whatever their number.
///
/// # Errors
/// `OutOfMemory`.
pub fn drowned<F: Real>(rows: &Rows<'_, F>, weight: &[f64]) -> Result<Option<Scales>> {
    drowned_watched(rows, weight, &mut || Ok(()))
}

/// [`drowned`]; `look` is asked between pairs of rows.
///
/// # Errors
/// As there, and those of `look`.
pub fn drowned_watched<F: Real>(
    rows: &Rows<'_, F>,
    weight: &[f64],
    look: Look<'_>,
) -> Result<Option<Scales>> {
    let n = rows.n_rows().min(weight.len());
    if n < FEWEST {
        return Ok(None);
    }
    // 1. and 2.
    let mut rng = Rng::new(0);
    let mut sums = Vec::new();
    let mut parts: Vec<(usize, f64)> = Vec::new();
    let (mut shortest, mut longest, mut visited) = (f64::INFINITY, 0.0f64, 0);
    for pair in 0..PAIRS {
        if visited > MOST && pair >= LEAST {
            break;
        }
        look()?;
        let (i, k) = (rng.below(n), rng.below(n));
        if weight[i] <= 0.0 || weight[k] <= 0.0 {
            continue;
        }
        let (x, z) = (rows.point(i), rows.point(k));
        let lengths: [f64; 2];
        if let (Point::Dense(x), Point::Dense(z)) = (x, z) {
            if sums.is_empty() {
                sums = try_vec("shares of features", x.len(), 0.0)?;
            }
            let mut length = [0.0; 2];
            for (sum, (x, z)) in sums.iter_mut().zip(x.iter().zip(z)) {
                let (x, z) = (Real::to_f64(*x), Real::to_f64(*z));
                *sum += (x - z) * (x - z);
                length = [length[0] + x * x, length[1] + z * z];
            }
            lengths = length;
            visited += x.len();
        } else {
            let mut entries: Vec<(usize, f64)> = Vec::new();
            each(rows, i, |j, value| entries.push((j, value.to_f64())));
            let stored = entries.len();
            each(rows, k, |j, value| entries.push((j, -value.to_f64())));
            let (of_x, of_z) = entries.split_at(stored);
            lengths = [of_x, of_z].map(|row| row.iter().map(|(_, v)| v * v).sum());
            visited += entries.len();
            add_by_feature(&mut entries, &mut parts, |sum| sum * sum);
        }
        for length in lengths {
            (shortest, longest) = (shortest.min(length), longest.max(length));
        }
    }
    if longest <= shortest * (1.0 + EQUAL) {
        return Ok(None);
    }
    let mut sparse = Vec::new();
    add_by_feature(&mut parts, &mut sparse, |sum| sum);
    sums.extend(sparse.into_iter().map(|(_, sum)| sum));
    // 3.
    sums.retain(|sum| *sum > 0.0);
    sums.sort_by(|a, b| b.total_cmp(a));
    let total: f64 = sums.iter().sum();
    let mut owned = 0.0;
    let few = sums.iter().position(|sum| {
        owned += sum;
        owned > (1.0 - UNSEEN) * total
    });
    let few = few.map_or(usize::MAX, |at| at + 1);
    let found = Scales { few, varying: sums.len(), share: owned / total };
    Ok(Some(found).filter(|s| s.share.is_finite() && s.few <= s.varying / 2))
}

/// Adds up what is of one feature, and appends a function of the sum.
fn add_by_feature(
    entries: &mut [(usize, f64)],
    to: &mut Vec<(usize, f64)>,
    of_sum: impl Fn(f64) -> f64,
) {
    entries.sort_by_key(|&(j, _)| j);
    let features = entries.chunk_by(|a, b| a.0 == b.0);
    to.extend(features.map(|all| (all[0].0, of_sum(all.iter().map(|(_, v)| v).sum()))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Indices};

    fn normal(n: usize, scales: &[f64]) -> ndarray::Array2<f64> {
        let mut rng = Rng::new(7);
        ndarray::Array2::from_shape_fn((n, scales.len()), |(_, j)| scales[j] * rng.normal())
    }

    fn of(x: &ndarray::Array2<f64>) -> Option<Scales> {
        drowned(&Rows::Dense(x.view()), &vec![1.0; x.nrows()]).unwrap()
    }

    #[test]
    fn a_feature_fifty_times_as_wide_is_found_and_equal_ones_are_not() {
        assert_eq!(of(&normal(500, &[1.0; 8])), None);
        let mut scales = [1.0; 8];
        scales[3] = 50.0;
        let found = of(&normal(500, &scales)).unwrap();
        assert_eq!((found.few, found.varying), (1, 8));
        assert!(found.share > 0.99 && found.share < 1.0, "{found:?}");
        let half = [50.0, 1.0, 50.0, 1.0, 50.0, 1.0, 50.0, 1.0];
        assert_eq!(of(&normal(500, &half)).unwrap().few, 4);
        // One feature alone, features that do not vary, and few rows.
        assert_eq!(of(&normal(500, &[50.0])), None);
        assert_eq!(of(&normal(500, &[50.0, 0.0, 0.0])), None);
        assert_eq!(of(&normal(19, &scales)), None);
    }

    #[test]
    fn sparse_rows_are_as_dense_ones_and_weightless_ones_do_not_count() {
        let dense = normal(300, &[1.0, 40.0, 1.0, 2.0]);
        let values: Vec<f64> = dense.iter().copied().collect();
        let indices: Vec<i32> = (0..300).flat_map(|_| [0, 7, 8, 9]).collect();
        let indptr: Vec<i32> = (0..=300).map(|i| 4 * i).collect();
        let csr = Csr::new(&values, Indices::I32(&indices), Indices::I32(&indptr), 10).unwrap();
        let sparse = drowned(&Rows::Csr(csr), &[1.0; 300]).unwrap();
        assert_eq!(sparse, of(&dense));
        assert!(sparse.is_some());
        let mut spoilt = dense.clone();
        spoilt.row_mut(0).fill(1e9);
        let weight: Vec<f64> = (0..300).map(|i| f64::from(i > 0)).collect();
        let found = drowned(&Rows::Dense(spoilt.view()), &weight).unwrap().unwrap();
        assert_eq!((found.few, found.varying), (1, 4));
    }

    #[test]
    fn normalised_rows_are_as_they_should_be() {
        let mut x = normal(300, &[50.0, 1.0, 1.0]);
        assert!(of(&x).is_some());
        for mut row in x.rows_mut() {
            let length = row.dot(&row).sqrt();
            row /= length;
        }
        assert_eq!(of(&x), None);
    }
}
