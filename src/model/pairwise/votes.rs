//! What the values of the pairs (0, 1), (0, 2), ..., (1, 2), ... of several classes come to.
//!
//! A value speaks for the first class of its pair where it is positive.

use crate::error::Result;
use crate::model::scratch::with_values;

/// The largest magnitude whose sums over all pairs floats hold.
const LARGEST: f64 = 1e300;

/// Calls `vote` with both classes and the value of every pair.
fn each_pair(values: &[f64], k: usize, mut vote: impl FnMut(usize, usize, f64)) {
    let mut values = values.iter();
    for i in 0..k {
        for (j, &value) in (i + 1..k).zip(&mut values) {
            vote(i, j, value);
        }
    }
}

/// The class with most votes of its pairs, the first of equals. A value of 0 speaks for the second
/// class of the pair, as in \[LIBSVM\].
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn voted(values: &[f64], k: usize) -> Result<usize> {
    with_values(k, |votes| {
        each_pair(values, k, |i, j, value| votes[if value > 0.0 { i } else { j }] += 1.0);
        let mut best = 0;
        for class in 1..k {
            if votes[class] > votes[best] {
                best = class;
            }
        }
        Ok(best)
    })
}

/// The votes of every class and, between equal ones, the sum of its values: what scikit-learn calls
/// "ovr". There a value of 0 speaks for the first class of the pair.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn by_class(values: &[f64], out: &mut [f64]) -> Result<()> {
    let k = out.len();
    with_values(k, |sums| {
        out.fill(0.0);
        each_pair(values, k, |i, j, value| {
            let value = value.clamp(-LARGEST, LARGEST);
            sums[i] += value;
            sums[j] -= value;
            out[if value >= 0.0 { i } else { j }] += 1.0;
        });
        for (votes, sum) in out.iter_mut().zip(sums) {
            *votes += *sum / (3.0 * (sum.abs() + 1.0));
        }
        Ok(())
    })
}
