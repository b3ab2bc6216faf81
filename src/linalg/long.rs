//! Long vectors, of which threads share the parts. Sums of parts are added in their order.

use crate::parallel;
use crate::simd::{add_rows, add_wide, dots, wide_products};

/// Numbers of a part: that of a vector which meets several others stays in the first cache.
const PART: usize = 1 << 11;
/// Numbers to read from which on threads share the work.
const WORTH: usize = 1 << 16;

/// `row · x` of every row, each as long as x.
pub(super) fn long_products(rows: &[&[f32]], x: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; rows.len() * x.len().div_ceil(PART)];
    let parts = x.chunks(PART).zip(sums.chunks_mut(rows.len().max(1)));
    parallel::each_if(rows.len() * x.len() > WORTH, parts, &|part, (x, sums)| {
        let own: Vec<&[f32]> = rows.iter().map(|row| &row[part * PART..][..x.len()]).collect();
        wide_products(&own, x, sums);
    });
    let mut found = vec![0.0; rows.len()];
    for sums in sums.chunks(rows.len().max(1)) {
        found.iter_mut().zip(sums).for_each(|(found, sum)| *found += sum);
    }
    found
}

/// `y += Σ by_k rows_k` of rows as long as y.
pub(super) fn long_add(rows: &[&[f32]], by: &[f64], y: &mut [f64]) {
    let worth = rows.len() * y.len() > WORTH;
    parallel::each_if(worth, y.chunks_mut(PART), &|part, y| {
        let own: Vec<&[f32]> = rows.iter().map(|row| &row[part * PART..][..y.len()]).collect();
        add_wide(&own, by, y);
    });
}

/// `a · b`, as long as each other.
pub(crate) fn long_dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = vec![0.0; a.len().div_ceil(PART)];
    let parts = a.chunks(PART).zip(b.chunks(PART)).zip(sums.chunks_mut(1));
    parallel::each_if(a.len() > WORTH, parts, &|_, ((a, b), sum)| dots(a, b, sum));
    sums.iter().sum()
}

/// `y += a x`.
pub(crate) fn long_axpy(a: f64, x: &[f64], y: &mut [f64]) {
    let parts = x.chunks(PART).zip(y.chunks_mut(PART));
    parallel::each_if(x.len() > WORTH, parts, &|_, (x, y)| add_rows(&[(x, a)], y));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than meet a vector at once.
    const COUNT: usize = 10;

    #[test]
    fn they_are_what_short_ones_are_for_any_threads() {
        let value = |i: usize| ((i * 37 + 11) % 101) as f64 - 50.0;
        for len in [0, 1, PART, PART + 1, 3 * PART + 7, WORTH + 5] {
            let x: Vec<f64> = (0..len).map(value).collect();
            let wide: Vec<f64> = (0..len).map(|i| value(i + 5)).collect();
            let rows: Vec<Vec<f32>> =
                (0..COUNT).map(|k| (0..len).map(|i| value(i + 5 * k) as f32).collect()).collect();
            let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
            // Whole numbers: every order of a sum is exact.
            let dot =
                |row: &&[f32]| x.iter().zip(*row).map(|(x, &y)| x * f64::from(y)).sum::<f64>();
            let exact: Vec<f64> = rows.iter().map(dot).collect();
            for threads in [1, 2, 3] {
                parallel::run(threads, |_| {
                    for count in 0..=COUNT {
                        let (rows, by) = (
                            &rows[..count],
                            &[0.0, 1.0, -2.0, 3.0, 5.0, -7.0, 2.0, 4.0, -1.0, 6.0],
                        );
                        assert_eq!(long_products(rows, &x), exact[..count]);
                        let mut y = x.clone();
                        long_add(rows, &by[..count], &mut y);
                        let own = |i: usize| -> f64 {
                            rows.iter().zip(by).map(|(row, by)| by * f64::from(row[i])).sum()
                        };
                        assert!((0..len).all(|i| y[i] == x[i] + own(i)));
                    }
                    assert_eq!(long_dot(&x, &wide), exact[1]);
                    let mut y = x.clone();
                    long_axpy(-3.0, &wide, &mut y);
                    assert!((0..len).all(|i| y[i] == x[i] - 3.0 * wide[i]));
                })
                .unwrap();
            }
        }
    }
}
