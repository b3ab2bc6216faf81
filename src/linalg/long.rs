//! Long vectors, of which threads share the parts.

use super::{axpy, dot};
use crate::parallel;

/// Numbers of a part; sums of parts are added in their order.
const PART: usize = 1 << 15;

/// `a · b`, as long as each other.
pub(crate) fn long_dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() <= PART {
        return dot(a, b);
    }
    let own = |part: usize| part * PART..((part + 1) * PART).min(a.len());
    let parts = parallel::map(a.len().div_ceil(PART), &|p| dot(&a[own(p)], &b[own(p)]));
    parts.iter().sum()
}

/// `y += a x`.
pub(crate) fn long_axpy(a: f64, x: &[f64], y: &mut [f64]) {
    let parts = x.chunks(PART).zip(y.chunks_mut(PART));
    parallel::each_if(x.len() > PART, parts, &|_, (x, y)| axpy(a, x, y));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_what_short_ones_are_for_any_threads() {
        let value = |i: usize| ((i * 37 + 11) % 101) as f64 - 50.0;
        for len in [0, 1, PART, PART + 1, 3 * PART + 7] {
            let x: Vec<f64> = (0..len).map(value).collect();
            let y: Vec<f64> = (0..len).map(|i| value(i + 5)).collect();
            // Whole numbers: every order of the sum is exact.
            let exact: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            for threads in [1, 2, 3] {
                parallel::run(threads, |_| {
                    assert_eq!(long_dot(&x, &y), exact);
                    let mut z = y.clone();
                    long_axpy(-3.0, &x, &mut z);
                    assert!((0..len).all(|i| z[i] == y[i] - 3.0 * x[i]));
                })
                .unwrap();
            }
        }
    }
}
