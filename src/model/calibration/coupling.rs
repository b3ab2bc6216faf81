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

/// Numbers that [`coupled`] needs room for.
pub(super) fn room_for(k: usize) -> usize {
    k.saturating_mul(k).saturating_add((k + 1).saturating_mul(k + 2))
}

/// Multiply-adds of [`coupled`].
pub(super) fn work_of(k: usize) -> usize {
    k.saturating_mul(k).saturating_mul(k) / 3
}

/// Writes the k probabilities for the shares of the pairs (0, 1), (0, 2), ..., (1, 2), ...; what is
/// in `room`, of [`room_for`] numbers, has no meaning.
pub(super) fn coupled(
    shares: impl Iterator<Item = f64>,
    k: usize,
    room: &mut [f64],
    out: &mut [f64],
) {
    let (r, m) = room.split_at_mut(k * k);
    let mut shares = shares;
    for i in 0..k {
        r[i * k + i] = 0.0;
        for (j, share) in (i + 1..k).zip(&mut shares) {
            let share = share.clamp(LEAST, 1.0 - LEAST);
            (r[i * k + j], r[j * k + i]) = (share, 1.0 - share);
        }
    }
    // Q p + λ 1 = 0 and 1ᵀp = 1, bordered by the right side.
    let (order, width) = (k + 1, k + 2);
    m.fill(0.0);
    for i in 0..k {
        for j in 0..k {
            m[i * width + j] = -r[i * k + j] * r[j * k + i];
        }
        let own = (0..k).filter(|&l| l != i).map(|l| r[l * k + i].powi(2)).sum::<f64>();
        m[i * width + i] = own;
        (m[i * width + k], m[k * width + i]) = (1.0, 1.0);
    }
    m[k * width + order] = 1.0;
    for column in 0..order {
        let size = |row: usize| m[row * width + column].abs();
        let pivot = (column..order).max_by(|&a, &b| size(a).total_cmp(&size(b))).unwrap_or(column);
        for c in 0..width {
            m.swap(column * width + c, pivot * width + c);
        }
        let (above, below) = m.split_at_mut((column + 1) * width);
        let top = &above[column * width..];
        for row in below.chunks_exact_mut(width) {
            let factor = row[column] / top[column];
            if factor != 0.0 {
                let rest = row.iter_mut().zip(top).skip(column);
                rest.for_each(|(value, top)| *value -= factor * top);
            }
        }
    }
    // Back substitution, in the column of the right side.
    for i in (0..order).rev() {
        let known: f64 = (i + 1..order).map(|j| m[i * width + j] * m[j * width + order]).sum();
        m[i * width + order] = (m[i * width + order] - known) / m[i * width + i];
    }
    for (i, p) in out.iter_mut().enumerate() {
        *p = m[i * width + order].max(0.0);
    }
    divide(out);
}

#[cfg(test)]
mod tests {
    use super::room_for;

    fn coupled(shares: &[f64], k: usize, out: &mut [f64]) {
        // What is left of another row has no meaning.
        let mut room = vec![f64::NAN; room_for(k)];
        super::coupled(shares.iter().copied(), k, &mut room, out);
    }

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
