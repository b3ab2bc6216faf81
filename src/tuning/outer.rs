//! Scales by the average squared gradient of the function found: what it hardly changes with, it
//! need not see.
//!
//! ```text
//! M_d = mean_i Σ_c (∂f_c/∂x_d)²,     w_d = (M_d / max M)^power
//! ```

use super::climb::{Tuned, climb};
use super::distances::{CHUNK, distances, into_kernel_values};
use super::grid::{Grid, Shape};
use super::recipe::{OUTER_FLOOR, OUTER_PATIENCE, OUTER_ROUNDS, OUTER_ROWS};
use super::reduced::Sought;
use crate::linalg;
use crate::parallel;
use crate::simd;
use crate::watch::{Step, Watch};

/// Rounds of scales and width from `from`, while the leave-one-out error falls.
pub(crate) fn outer(
    shape: Shape,
    rows: &Grid,
    (sought, power): (&Sought<'_>, f64),
    from: &Tuned,
    watch: &mut Watch<'_>,
) -> Step<Tuned> {
    let (mut best, mut here, mut failed) = (from.clone(), from.clone(), 0);
    for _ in 0..OUTER_ROUNDS {
        let squares = mean_squares(shape, rows, sought.landmarks, &here, watch)?;
        let most = squares.iter().fold(0.0f64, |a, &b| a.max(b));
        // A function that is constant says nothing of the features.
        if most <= 0.0 || !most.is_finite() {
            break;
        }
        let scales: Vec<f64> =
            squares.iter().map(|m| (m / most).powf(power).max(OUTER_FLOOR)).collect();
        here = climb(shape, rows, sought, (&scales, here.width), watch)?;
        // The first round may lose what the second wins.
        (best, failed) =
            if here.error < best.error { (here.clone(), 0) } else { (best, failed + 1) };
        if failed == OUTER_PATIENCE {
            break;
        }
    }
    Ok(best)
}

/// Mean squares of the derivatives by the unscaled features.
pub(super) fn mean_squares(
    shape: Shape,
    rows: &Grid,
    landmarks: usize,
    tuned: &Tuned,
    watch: &mut Watch<'_>,
) -> Step<Vec<f64>> {
    let n = rows.rows().min(OUTER_ROWS);
    let scaled = rows.range(0, n)?.scaled(&tuned.scales)?;
    let centers = rows.range(0, landmarks)?.scaled(&tuned.scales)?;
    let d = rows.columns;
    let k = into_kernel_values(distances(shape, &scaled, &centers, watch)?);
    let (columns, coef) = (centers.transposed()?, &tuned.coef);
    let mut sums = vec![0.0; d];
    for output in 0..coef.columns {
        let parts = parallel::map(n.div_ceil(CHUNK), &|c| {
            let (first, last) = (c * CHUNK, ((c + 1) * CHUNK).min(n));
            let mut sums = vec![0.0f64; d];
            let mut weighted = k.values[first * landmarks..last * landmarks].to_vec();
            for row in weighted.chunks_exact_mut(landmarks) {
                let of = coef.values.iter().skip(output).step_by(coef.columns);
                row.iter_mut().zip(of).for_each(|(v, a)| *v *= a);
            }
            let x = &scaled.values[first * d..last * d];
            match shape {
                // ∂f/∂x = -2 Σ_j a_j k_j (x - z_j).
                Shape::Gaussian => {
                    let mut pulled = vec![0.0f32; (last - first) * d];
                    let (a, b) =
                        (linalg::matrix(&weighted, landmarks), linalg::matrix(&centers.values, d));
                    linalg::multiply(&mut pulled, a, b);
                    for (i, row) in weighted.chunks_exact(landmarks).enumerate() {
                        let total: f32 = row.iter().sum();
                        for (k, sum) in sums.iter_mut().enumerate() {
                            let slope = 2.0 * (x[i * d + k] * total - pulled[i * d + k]);
                            *sum += f64::from(slope).powi(2);
                        }
                    }
                }
                // ∂f/∂x = -Σ_j a_j k_j sign(x - z_j).
                Shape::Laplacian => {
                    for (i, row) in weighted.chunks_exact(landmarks).enumerate() {
                        for (k, sum) in sums.iter_mut().enumerate() {
                            let slope = simd::signed(row, x[i * d + k], columns.row(k));
                            *sum += f64::from(slope).powi(2);
                        }
                    }
                }
            }
            sums
        });
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        }
        watch.glance()?;
    }
    for (sum, w) in sums.iter_mut().zip(&tuned.scales) {
        *sum *= w * w / n as f64;
    }
    Ok(sums)
}
