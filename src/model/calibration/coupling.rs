//! Probabilities of several classes from those of their pairs.
//!
//! ```text
//! min over p of sum 1   Σ_{i<j} (r_ji p_i - r_ij p_j)²
//! ```
//!
//! with r_ij the share of i in the pair (i, j): linear equations, since no p_i comes out negative.
//!
//! Reference: \[WLW\] (their second approach).

use super::curves::divide;

/// Shares stay this far from 0 and 1, as in LIBSVM.
const LEAST: f64 = 1e-7;

/// Writes the k probabilities for the shares of the pairs (0, 1), (0, 2), ..., (1, 2), ...
pub(super) fn coupled(shares: &[f64], k: usize, out: &mut [f64]) {
    let mut r = vec![0.0; k * k];
    let mut at = 0;
    for i in 0..k {
        for j in i + 1..k {
            let share = shares[at].clamp(LEAST, 1.0 - LEAST);
            (r[i * k + j], r[j * k + i]) = (share, 1.0 - share);
            at += 1;
        }
    }
    // Q p + λ 1 = 0 and 1ᵀp = 1, bordered by the right side.
    let (order, width) = (k + 1, k + 2);
    let mut m = vec![0.0; order * width];
    for i in 0..k {
        for j in 0..k {
            let own = (0..k).filter(|&l| l != i).map(|l| r[l * k + i].powi(2)).sum::<f64>();
            m[i * width + j] = if i == j { own } else { -r[i * k + j] * r[j * k + i] };
        }
        (m[i * width + k], m[k * width + i]) = (1.0, 1.0);
    }
    m[k * width + order] = 1.0;
    for column in 0..order {
        let size = |row: usize| m[row * width + column].abs();
        let pivot = (column..order).max_by(|&a, &b| size(a).total_cmp(&size(b))).unwrap_or(column);
        for c in 0..width {
            m.swap(column * width + c, pivot * width + c);
        }
        let by = m[column * width + column];
        for row in (0..order).filter(|&row| row != column) {
            let factor = m[row * width + column] / by;
            if factor != 0.0 {
                for c in column..width {
                    m[row * width + c] -= factor * m[column * width + c];
                }
            }
        }
    }
    for (i, p) in out.iter_mut().enumerate() {
        *p = (m[i * width + order] / m[i * width + i]).max(0.0);
    }
    divide(out);
}

#[cfg(test)]
mod tests {
    use super::coupled;

    /// The objective at the solution is no larger than anywhere near it; consistent shares give
    /// back their probabilities.
    #[test]
    fn the_least_squares_of_the_pairs() {
        let p = [0.5, 0.2, 0.2, 0.1];
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        let shares: Vec<f64> = pairs.iter().map(|&(i, j)| p[i] / (p[i] + p[j])).collect();
        let mut out = [0.0; 4];
        coupled(&shares, 4, &mut out);
        assert!(out.iter().zip(p).all(|(a, b)| (a - b).abs() < 1e-12), "{out:?}");

        let shares = [0.9, 0.3, 0.6, 0.2, 0.45, 0.8];
        let value = |p: &[f64]| -> f64 {
            let each = pairs.iter().zip(shares);
            each.map(|(&(i, j), r)| ((1.0 - r) * p[i] - r * p[j]).powi(2)).sum()
        };
        coupled(&shares, 4, &mut out);
        assert!((out.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let best = value(&out);
        for (i, j) in pairs {
            for by in [1e-4, -1e-4] {
                let mut near = out;
                near[i] += by;
                near[j] -= by;
                assert!(value(&near) > best, "{i} {j}");
            }
        }
    }
}
