//! The samples of an exact machine that cost something, and how far values spread.

use crate::data::check_finite;
use crate::error::{Error, Result, check_len};

/// What is to be predicted.
#[derive(Clone, Copy, Debug)]
pub enum ExactTargets<'a> {
    /// Class indices and the number of classes, at least 2.
    Classes(&'a [u32], usize),
    /// Values.
    Values(&'a [f64]),
    /// Nothing (one class).
    None,
}

/// Indices of the samples that count.
pub(super) fn costly(n: usize, targets: ExactTargets<'_>, cost: &[f64]) -> Result<Vec<usize>> {
    match targets {
        ExactTargets::Values(y) => {
            check_len("y", n, y.len())?;
            check_finite("y", y, 1)?;
        }
        ExactTargets::Classes(y, k) => {
            check_len("y", n, y.len())?;
            if let Some(bad) = y.iter().find(|&&c| c as usize >= k) {
                return Err(Error::BadLabels(format!("class index {bad} of {k}")));
            }
        }
        ExactTargets::None => {}
    }
    check_len("sample_weight", n, cost.len())?;
    if let Some(row) = cost.iter().position(|c| c.is_nan()) {
        return Err(Error::NonFinite { what: "sample_weight", row, column: 0 });
    }
    let samples: Vec<usize> = (0..n).filter(|&i| cost[i] > 0.0).collect();
    if samples.is_empty() {
        let reason = format!("none of {n} samples has a weight > 0");
        return Err(Error::InvalidData { what: "X", reason });
    }
    Ok(samples)
}

/// Mean distance of values from their mean; 1 where they have none.
pub(super) fn spread(y: &[f64]) -> f64 {
    let n = y.len().max(1) as f64;
    let mean = y.iter().map(|y| y / n).sum::<f64>();
    let found = y.iter().map(|y| (y - mean).abs() / n).sum::<f64>();
    if found > 0.0 { found } else { 1.0 }
}
