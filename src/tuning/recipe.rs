//! The numbers of the recipe, all in one place: those of a trial in NumPy. What comes of others is
//! said by `benches/python/auto.py --choose`, on training rows of the development sets.

use crate::config::hyperparameters;

hyperparameters! {
    /// What of the search is done: for measurements of what each part brings. The default is what a
    /// machine that tunes itself is.
    #[non_exhaustive]
    #[derive(Copy)]
    pub struct Recipe {
        /// Rows that the search works on, at most.
        pub rows: usize = 3000;
        /// Landmarks, at most; never more than a third of the rows.
        pub landmarks: usize = 300;
        /// Whether there is a Gaussian.
        pub gaussian: bool = true;
        /// Whether there is a Laplacian.
        pub laplacian: bool = true;
        /// Whether features may be ranked.
        pub ranks: bool = true;
        /// Whether scales are begun by gradient products.
        pub outer: bool = true;
        /// The power that makes scales of mean squares.
        pub outer_power: f64 = 0.5;
        /// Whether they are made by half the power too: two places for the descent to begin.
        pub two_starts: bool = true;
        /// Whether the coding is chosen again once there are scales.
        pub recoded: bool = true;
        /// Evaluations of the two-fold error at most.
        pub descent: usize = 40;
        /// Whether candidates meet on rows held out, not by leaving one out.
        pub judged: bool = true;
        /// λ of the last fit is that of the search times (its rows / all rows, 40,000 at
        /// most) to this power.
        pub lambda_fall: f64 = 1.0;
        /// Whether the best of both kernels are blended.
        pub blended: bool = true;
        /// Whether the terms of a small machine are moved to where they serve best.
        pub moved: bool = true;
    }
}

impl Recipe {
    /// The powers that make scales of mean squares.
    pub(crate) fn powers(&self) -> Vec<f64> {
        match self.outer && self.two_starts {
            true => vec![self.outer_power, 0.5 * self.outer_power],
            false => vec![self.outer_power],
        }
    }

    /// What λ of `seen` rows is times for n: noise is averaged over all rows, so nλ is what stays.
    pub(crate) fn fall(&self, seen: usize, n: usize) -> f64 {
        let n = n.clamp(1, FALL_ROWS);
        (seen as f64 / n as f64).min(1.0).powf(self.lambda_fall)
    }
}

/// Rows from which on λ stays: it was not measured on more, the terms are no more than on 16,000, and
/// conjugate gradients are slow at a small one.
pub(crate) const FALL_ROWS: usize = 40_000;

/// Rows that candidates are judged on, at most, and as a share of all.
pub(crate) const HELD_OUT: usize = 4000;
pub(crate) const HELD_OUT_SHARE: f64 = 0.2;
/// Jitter of the landmarks' kernel matrix.
pub(crate) const JITTER: f64 = 3e-5;
/// λ tried: these powers of ten, in steps of [`LAMBDA_STEP`].
pub(crate) const LAMBDAS: (f64, f64) = (-6.0, 1.0);
pub(crate) const LAMBDA_STEP: f64 = 0.75;
/// Least of `1 - H_ii`: a row cannot be more than so well explained by itself alone.
pub(crate) const LEAST_LEFT: f64 = 0.01;
/// Rows that gradients are averaged over, rounds of it, and the least scale.
pub(crate) const OUTER_ROWS: usize = 2000;
pub(crate) const OUTER_ROUNDS: usize = 5;
pub(crate) const OUTER_FLOOR: f64 = 1e-4;
/// Rounds without a gain that end it.
pub(crate) const OUTER_PATIENCE: usize = 3;
/// Gain of a few steps of the descent below which it ends, and what holds the logarithms of the
/// scales together.
pub(crate) const DESCENT_GAIN: f64 = 0.002;
pub(crate) const DESCENT_PULL: f64 = 1e-3;
/// Logarithms of the scales and of λ stay in these ranges.
pub(crate) const SCALE_RANGE: (f64, f64) = (-6.0, 3.0);
pub(crate) const LAMBDA_RANGE: (f64, f64) = (1e-7, 100.0);
/// Width steps of the climb, and how many widths it may try.
pub(crate) const CLIMB_STEP: f64 = 2.0;
pub(crate) const CLIMB_TRIALS: usize = 7;
/// λ is divided or multiplied by this, γ raised by these (Gaussian, Laplacian) so many times.
pub(crate) const JUDGE_LAMBDA: f64 = 6.0;
pub(crate) const JUDGE_WIDTHS: (f64, f64) = (2.0, 1.5);
pub(crate) const JUDGE_RAISES: usize = 3;
/// Moving landmarks: times that every row is seen (for values, for sides), rows of a step,
/// multiply-adds of all at most, steps as a share of the spread, those of coefficients and of the
/// logarithms of scales, and exact solutions on the way.
pub(crate) const MOVE_ROUNDS: (usize, usize) = (40, 60);
pub(crate) const MOVE_BATCH: usize = 512;
pub(crate) const MOVE_WORK: u64 = 40_000_000_000;
pub(crate) const MOVE_STEP: (f64, f64) = (0.02, 0.05);
pub(crate) const MOVE_COEF: f64 = 0.01;
pub(crate) const MOVE_SCALE: f64 = 0.02;
pub(crate) const MOVE_SOLUTIONS: usize = 10;
/// Rows of such a solution, at least and as a multiple of the landmarks, and its jitter.
pub(crate) const MOVE_ROWS: (usize, usize) = (4000, 4);
pub(crate) const MOVE_JITTER: f64 = 1e-7;
/// Steps for the sides of classes, on the way and at the end; their multiply-adds at most, and the
/// change of coefficients that ends them.
pub(crate) const SIDES_STEPS: (usize, usize) = (8, 40);
pub(crate) const SIDES_WORK: u64 = 10_000_000_000;
pub(crate) const SIDES_NEAR: f64 = 1e-3;
/// Kernel values of the rows that sides are solved for, at most.
pub(crate) const SIDES_VALUES: usize = 24_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambda_falls_as_rows_grow_up_to_some() {
        let recipe = Recipe::default();
        let falls = [100, 3000, 6000, 40_000, 1_000_000].map(|n| recipe.fall(3000, n));
        assert_eq!(falls, [1.0, 1.0, 0.5, 0.075, 0.075]);
        let stays = Recipe { lambda_fall: 0.0, ..recipe };
        assert_eq!(stays.fall(3000, 6000), 1.0);
    }
}
