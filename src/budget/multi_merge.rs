//! Where the point goes that several terms are merged into at once.
//!
//! ```text
//! β_z = Σ β_j k(z, s_j),   maximise ‖β_z‖²   (WD = Σ_jl β_j·β_l k(s_j, s_l) - ‖β_z‖²)
//! ```
//!
//! *Method*: mean shift. With `w_j = (β_j·β_z) k(z, s_j)` (one output: `∝ β_j k(z, s_j)`) the
//! gradient in z is `4γ Σ w_j (s_j - z)`, and `z ← Σ w_j s_j / Σ w_j` never lowers `‖β_z‖²` where no
//! two members have `β_j·β_l < 0`: `exp` is convex in the sum of two distances. Otherwise negative
//! weights count as 0 and the highest point seen is kept. Everything follows from the distances of
//! the members: `G_zj = Σ_l w_l G_jl - ½ ΣΣ w_j w_l G_jl`.
//!
//! *References*: \[QG18\].

/// Steps at most.
const STEPS: usize = 100;

/// Members of a merge: their coefficients, a row of `outputs` each, and their distances `G`, a row
/// each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members<'a> {
    pub(super) coef: &'a [f64],
    pub(super) outputs: usize,
    pub(super) pairwise: &'a [f64],
}

impl Members<'_> {
    fn len(&self) -> usize {
        self.coef.len() / self.outputs
    }

    /// The weights, summing to 1, of the point that all become. Several outputs begin in two places,
    /// as `‖β_z‖²` may have several maxima: at the mean, and at the heaviest member.
    pub(super) fn weights(&self) -> Vec<f64> {
        let norm = |beta: &[f64]| beta.iter().map(|b| b * b).sum::<f64>().sqrt();
        let mean: Vec<f64> = match self.outputs {
            1 => self.coef.iter().map(|b| b.abs()).collect(),
            outputs => self.coef.chunks_exact(outputs).map(norm).collect(),
        };
        if self.outputs == 1 {
            return self.shift(mean).1;
        }
        let mut heaviest = 0;
        (0..mean.len())
            .for_each(|j| heaviest = if mean[j] > mean[heaviest] { j } else { heaviest });
        let alone = (0..mean.len()).map(|j| f64::from(u8::from(j == heaviest))).collect();
        let (from_mean, from_alone) = (self.shift(mean), self.shift(alone));
        if from_alone.0 > from_mean.0 { from_alone.1 } else { from_mean.1 }
    }

    /// `‖β_z‖` where the steps end, and the weights of that point.
    fn shift(&self, mut weights: Vec<f64>) -> (f64, Vec<f64>) {
        let (mut height, mut best) = (0.0, weights.clone());
        for _ in 0..STEPS {
            normalise(&mut weights);
            let (new_height, next) = self.step(&weights);
            if new_height > height {
                best.copy_from_slice(&weights);
            }
            if new_height <= height * (1.0 + 1e-10) {
                break;
            }
            (height, weights) = (new_height, next);
        }
        // One output only rises: the last point is the highest, to rounding.
        let mut found = if self.outputs == 1 { weights } else { best };
        normalise(&mut found);
        (height, found)
    }

    /// `‖β_z‖` at the mean of these weights, and the weights of the next mean.
    fn step(&self, weights: &[f64]) -> (f64, Vec<f64>) {
        let (_, kernel) = to_mean(weights, self.pairwise);
        if self.outputs == 1 {
            let values = self.coef.iter().zip(kernel).map(|(beta, k)| beta * k);
            let values: Vec<f64> = values.collect();
            let height = values.iter().sum::<f64>().abs();
            return (height, values.into_iter().map(f64::abs).collect());
        }
        let merged = self.merged(&kernel);
        let along = self.coef.chunks_exact(self.outputs).map(|beta| dot(beta, &merged));
        let next: Vec<f64> = along.zip(&kernel).map(|(along, k)| (along * k).max(0.0)).collect();
        (dot(&merged, &merged).sqrt(), next)
    }

    /// `β_z` of the point whose kernel values with the members are given.
    pub(super) fn merged(&self, kernel: &[f64]) -> Vec<f64> {
        let mut merged = vec![0.0; self.outputs];
        for (beta, k) in self.coef.chunks_exact(self.outputs).zip(kernel) {
            merged.iter_mut().zip(beta).for_each(|(z, b)| *z += b * k);
        }
        merged
    }

    /// `Σ_jl β_j·β_l k(s_j, s_l) - ‖β_z‖²`.
    pub(super) fn degradation(&self, merged: &[f64]) -> f64 {
        let kappa: Vec<f64> = self.pairwise.iter().map(|g| (-g).exp()).collect();
        let size = self.len();
        let mut degradation = 0.0;
        for (c, merged) in merged.iter().enumerate() {
            for i in 0..size {
                let beta = self.coef[i * self.outputs + c];
                for j in 0..size {
                    degradation += beta * self.coef[j * self.outputs + c] * kappa[i * size + j];
                }
            }
            degradation -= merged * merged;
        }
        degradation.max(0.0)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn normalise(weights: &mut [f64]) {
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= total);
}

/// `gap = ½ ΣΣ w_j w_l G_jl` and `k(z, s_j) = exp(gap - Σ_l w_l G_jl)` of the mean `z = Σ w_j s_j`.
pub(super) fn to_mean(weights: &[f64], pairwise: &[f64]) -> (f64, Vec<f64>) {
    let rows = pairwise.chunks_exact(weights.len());
    let distances = rows.map(|row| row.iter().zip(weights).map(|(g, w)| g * w).sum::<f64>());
    let gap = 0.5 * weights.iter().zip(distances.clone()).map(|(w, d)| w * d).sum::<f64>();
    (gap, distances.map(|distance| (-(distance - gap).max(0.0)).exp()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const GAMMA: f64 = 0.7;

    /// Points of a plane with their coefficients.
    struct Case {
        points: Vec<[f64; 2]>,
        coef: Vec<f64>,
        outputs: usize,
        pairwise: Vec<f64>,
    }

    fn distance(a: &[f64; 2], b: &[f64; 2]) -> f64 {
        GAMMA * ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2))
    }

    fn case(rng: &mut Rng, outputs: usize) -> Case {
        let size = 3 + rng.below(4);
        let points: Vec<[f64; 2]> = (0..size).map(|_| [rng.uniform(), rng.uniform()]).collect();
        let coef = (0..size * outputs).map(|_| 0.1 + rng.uniform() * 3.0).collect();
        let pairs = points.iter().flat_map(|a| points.iter().map(move |b| distance(a, b)));
        let pairwise = pairs.collect();
        Case { points, coef, outputs, pairwise }
    }

    impl Case {
        /// `Σ_jl β_j·β_l k(s_j, s_l)` and `β_z` of any point, from the points themselves.
        fn at(&self, z: &[f64; 2]) -> (f64, Vec<f64>) {
            let beta = |j: usize| &self.coef[j * self.outputs..][..self.outputs];
            let size = self.points.len();
            let norm = (0..size * size).map(|i| {
                let (j, l) = (i / size, i % size);
                dot(beta(j), beta(l)) * (-distance(&self.points[j], &self.points[l])).exp()
            });
            let merged = (0..self.outputs).map(|c| {
                let each = self.points.iter().enumerate();
                each.map(|(j, s)| beta(j)[c] * (-distance(s, z)).exp()).sum()
            });
            (norm.sum(), merged.collect())
        }
    }

    #[test]
    fn all_become_the_point_that_loses_least() {
        let mut rng = Rng::new(31);
        for (outputs, _) in [1, 3].into_iter().flat_map(|o| (0..60).map(move |i| (o, i))) {
            let case = case(&mut rng, outputs);
            let members = Members { coef: &case.coef, outputs, pairwise: &case.pairwise };
            let weights = members.weights();
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let z: [f64; 2] =
                [0, 1].map(|k| case.points.iter().zip(&weights).map(|(s, w)| w * s[k]).sum());
            let (_, kernel) = to_mean(&weights, &case.pairwise);
            let merged = members.merged(&kernel);
            let (norm, want) = case.at(&z);
            merged.iter().zip(&want).for_each(|(got, want)| assert!((got - want).abs() < 1e-12));
            let degradation = members.degradation(&merged);
            assert!((degradation - (norm - dot(&want, &want))).abs() < 1e-10 * norm);
            // No point of a grid over all members is higher.
            for at in 0..60 * 60 {
                let other = [f64::from(at % 60) / 59.0, f64::from(at / 60) / 59.0];
                let (_, other) = case.at(&other);
                assert!(dot(&other, &other) <= dot(&want, &want) * (1.0 + 1e-7));
            }
        }
    }

    #[test]
    fn opposed_members_end_no_lower_than_the_heaviest_stands() {
        let mut rng = Rng::new(32);
        for _ in 0..200 {
            let mut case = case(&mut rng, 2);
            case.coef.iter_mut().for_each(|b| *b -= 1.5);
            let members = Members { coef: &case.coef, outputs: 2, pairwise: &case.pairwise };
            let weights = members.weights();
            assert!(weights.iter().all(|w| (0.0..=1.0).contains(w)), "{weights:?}");
            let (_, kernel) = to_mean(&weights, &case.pairwise);
            let merged = members.merged(&kernel);
            let norms = case.coef.chunks(2).map(|beta| dot(beta, beta));
            let heaviest = norms.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
            let (_, alone) = case.at(&case.points[heaviest]);
            assert!(dot(&merged, &merged) >= dot(&alone, &alone) * (1.0 - 1e-9));
        }
    }

    #[test]
    fn equal_points_become_themselves() {
        let coef = [1.0, 2.0, 3.0, -1.0, -2.0, -3.0];
        for outputs in [1, 2] {
            let coef = &coef[..3 * outputs];
            let members = Members { coef, outputs, pairwise: &[0.0; 9] };
            let (_, kernel) = to_mean(&members.weights(), members.pairwise);
            assert!(members.degradation(&members.merged(&kernel)) < 1e-12);
        }
    }
}
