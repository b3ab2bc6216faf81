//! Fewer terms: those go that the objective misses least.
//!
//! ```text
//! cost of dropping j:  Σ_c β_jc² / (2 M_jj),   M = H⁻¹,   β_c ← β_c - (β_jc / M_jj) M_·j
//! strike j:            M ← M - M_·j M_j· / M_jj
//! ```
//!
//! At the minimum, where the gradient is 0, this is what Newton's model of the objective says. Budget
//! maintenance asks how far a function moves in the space of the kernel, everywhere alike; H asks where
//! the rows are. Outputs that share their terms share one H, the mean of theirs.
//!
//! *Cost* O(b²) a term dropped, and b³ for M.

use crate::error::{Result, try_square};
use crate::linalg::Cholesky;
use crate::parallel;
use crate::watch::Watch;

/// Rows of M that a task changes, and orders from which on tasks are worth it.
const TASK: usize = 64;
const SHARED_ORDER: usize = 512;
/// As that of a Hessian made in `f32`.
const JITTER: f64 = 1e-9;

/// Drops terms until `target` are left, of outputs at the minimum; those that stay, in order.
/// `hessian` is of order b (and one for an offset, which stays), its lower triangle is read. `points`:
/// coefficients of an output, then its offset.
pub(super) fn prune(
    (hessian, order): (&[f64], usize),
    points: &mut [Vec<f64>],
    (b, target): (usize, usize),
    watch: &mut Watch<'_>,
) -> Result<Vec<usize>> {
    let factor = watch.unbroken(|watch| {
        Cholesky::factor("Hessian", hessian, order, JITTER, &mut || watch.poll())
    })?;
    let mut inverse = try_square("inverse of the Hessian", order, 0.0)?;
    (0..order).for_each(|j| inverse[j * order + j] = 1.0);
    watch.unbroken(|watch| factor.solve_columns(&mut inverse, &mut || watch.poll()))?;
    drop(factor);
    let mut alive = vec![true; b];
    let mut column = vec![0.0; order];
    for _ in target..b {
        let cost = |j: usize| {
            let square: f64 = points.iter().map(|point| point[j] * point[j]).sum();
            square / inverse[j * order + j].max(f64::MIN_POSITIVE)
        };
        let left = (0..b).filter(|&j| alive[j]);
        let Some(gone) = left.min_by(|&i, &j| cost(i).total_cmp(&cost(j))) else { break };
        column.copy_from_slice(&inverse[gone * order..(gone + 1) * order]);
        let diagonal = column[gone].max(f64::MIN_POSITIVE);
        for point in points.iter_mut() {
            let factor = point[gone] / diagonal;
            point.iter_mut().zip(&column).for_each(|(p, m)| *p -= factor * m);
            point[gone] = 0.0;
        }
        alive[gone] = false;
        let rows = inverse.chunks_mut(TASK * order);
        parallel::each_if(order >= SHARED_ORDER, rows, &|task, rows| {
            for (k, row) in rows.chunks_exact_mut(order).enumerate() {
                let factor = column[task * TASK + k] / diagonal;
                if factor != 0.0 {
                    row.iter_mut().zip(&column).for_each(|(m, c)| *m -= factor * c);
                }
            }
        });
        // Rounding leaves nothing of it.
        inverse[gone * order..(gone + 1) * order].fill(0.0);
        (0..order).for_each(|i| inverse[i * order + gone] = 0.0);
        watch.unbroken(Watch::glance)?;
    }
    Ok((0..b).filter(|&j| alive[j]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dot;
    use crate::rng::Rng;
    use crate::watch::Silent;

    /// A quadratic with the minimum 0 at `points`; what is left after the best coefficients for some.
    #[test]
    fn coefficients_left_are_the_best_for_the_terms_that_stay() {
        let (b, order) = (6, 7);
        let mut rng = Rng::new(5);
        let roots: Vec<f64> = (0..order * order).map(|_| rng.uniform() - 0.5).collect();
        let row = |i: usize| &roots[i * order..(i + 1) * order];
        let mut hessian: Vec<f64> =
            (0..order * order).map(|at| dot(row(at / order), row(at % order))).collect();
        (0..order).for_each(|j| hessian[j * order + j] += 0.1);
        let start: Vec<Vec<f64>> =
            (0..2).map(|_| (0..order).map(|_| rng.uniform() - 0.5).collect()).collect();
        let mut points = start.clone();
        let stay = Watch::run_here(&mut Silent, |watch| {
            prune((&hessian, order), &mut points, (b, 4), watch)
        })
        .unwrap();
        assert_eq!(stay.len(), 4);
        let free: Vec<usize> = stay.iter().copied().chain([b]).collect();
        for (point, start) in points.iter().zip(&start) {
            (0..b).filter(|j| !stay.contains(j)).for_each(|j| assert_eq!(point[j], 0.0));
            let gap: Vec<f64> = point.iter().zip(start).map(|(p, s)| p - s).collect();
            // The gradient along everything that is free is 0.
            for &j in &free {
                let slope = dot(&hessian[j * order..(j + 1) * order], &gap);
                assert!(slope.abs() < 1e-6, "{j}: {slope}");
            }
        }
        // The first to go is the one that costs least, by trying each.
        let one = |gone: usize| {
            let mut own = start.clone();
            let mut matrix = hessian.clone();
            // A wall in front of all others' terms: j alone is forced to 0.
            matrix[gone * order + gone] += 1e9;
            let factor: Cholesky =
                Cholesky::factor::<crate::error::Error>("H", &matrix, order, 0.0, &mut || Ok(()))
                    .unwrap();
            own.iter_mut()
                .map(|point| {
                    let mut rhs: Vec<f64> = (0..order)
                        .map(|i| dot(&hessian[i * order..(i + 1) * order], point))
                        .collect();
                    factor.solve(&mut rhs);
                    let gap: Vec<f64> = rhs.iter().zip(&*point).map(|(r, p)| r - p).collect();
                    (0..order)
                        .map(|i| gap[i] * dot(&hessian[i * order..(i + 1) * order], &gap))
                        .sum::<f64>()
                })
                .sum::<f64>()
        };
        let best = (0..b).min_by(|&i, &j| one(i).total_cmp(&one(j))).unwrap();
        let mut points = start.clone();
        let stay = Watch::run_here(&mut Silent, |watch| {
            prune((&hessian, order), &mut points, (b, b - 1), watch)
        })
        .unwrap();
        assert!(!stay.contains(&best));
    }
}
