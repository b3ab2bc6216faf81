//! The numbers of the recipe, all in one place: those of a trial in NumPy, not searched for since;
//! `benches/python/auto.py` says what comes of them.

/// Rows that the search works on, at most.
pub(crate) const ROWS: usize = 3000;
/// Rows that candidates are judged on, at most, and as a share of all.
pub(crate) const HELD_OUT: usize = 4000;
pub(crate) const HELD_OUT_SHARE: f64 = 0.2;
/// Landmarks, at most; never more than a third of the rows.
pub(crate) const LANDMARKS: usize = 300;
/// Jitter of the landmarks' kernel matrix.
pub(crate) const JITTER: f64 = 3e-5;
/// λ tried: these powers of ten, in steps of [`LAMBDA_STEP`].
pub(crate) const LAMBDAS: (f64, f64) = (-6.0, 1.0);
pub(crate) const LAMBDA_STEP: f64 = 0.75;
/// Least of `1 - H_ii`: a row cannot be more than so well explained by itself alone.
pub(crate) const LEAST_LEFT: f64 = 0.01;
/// Rows that gradients are averaged over, rounds of it, the power that makes scales of the mean
/// squares, and the least scale.
pub(crate) const OUTER_ROWS: usize = 2000;
pub(crate) const OUTER_ROUNDS: usize = 5;
pub(crate) const OUTER_POWER: f64 = 0.5;
pub(crate) const OUTER_FLOOR: f64 = 1e-4;
/// Rounds without a gain that end it.
pub(crate) const OUTER_PATIENCE: usize = 3;
/// Evaluations of the two-fold error at most, the gain of a few steps below which they end, and what
/// holds the logarithms of the scales together.
pub(crate) const DESCENT_EVALUATIONS: usize = 40;
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
