//! Coordinate ascent in the dual.
//!
//! ```text
//! max  Σ_i term(α_i) - 1/2 βᵀKβ     β_i = y_i α_i  (labels),   β_i = α_i  (real targets)
//!
//! hinge                   term = α                      0 ≤ α ≤ C
//! squared hinge           term = α - α²/(4C)            0 ≤ α
//! logistic                term = C H(α/C)               0 ≤ α ≤ C      H(p) = -p ln p - (1-p) ln(1-p)
//! ε-insensitive           term = yα - ε|α|             -C ≤ α ≤ C
//! squared ε-insensitive   term = yα - ε|α| - α²/(4C)
//! quantile                term = yα           -(1-q)C ≤ α ≤ qC
//! ```

use super::{AnyLoss, log_loss};

/// A kernel value k(x, x) below this counts as this: the step stays finite for a zero row under
/// a linear kernel and for kernels that are not positive definite.
const LEAST_DIAGONAL: f64 = 1e-12;

impl AnyLoss {
    /// The α that maximises the dual along one coordinate.
    ///
    /// `alpha` is the value held now, `f` the decision value with it in the model, `k_ii` the
    /// kernel of the sample with itself, `cost` its C. A sample of cost 0 gets 0.
    #[must_use]
    pub fn dual_step(&self, alpha: f64, y: f64, f: f64, k_ii: f64, cost: f64) -> f64 {
        if cost <= 0.0 {
            return 0.0;
        }
        let k = k_ii.max(LEAST_DIAGONAL);
        match *self {
            Self::Hinge => (alpha + (1.0 - y * f) / k).clamp(0.0, cost),
            Self::SquaredHinge => {
                let ridge = 0.5 / cost;
                (alpha + (1.0 - y * f - alpha * ridge) / (k + ridge)).max(0.0)
            }
            Self::LogLoss => log_loss::dual_step(alpha, y * f, k, cost),
            Self::EpsilonInsensitive { epsilon } => {
                soft_threshold(alpha + (y - f) / k, epsilon / k).clamp(-cost, cost)
            }
            Self::SquaredEpsilonInsensitive { epsilon } => {
                let ridge = 0.5 / cost;
                let k = k + ridge;
                soft_threshold(alpha + (y - f - alpha * ridge) / k, epsilon / k)
            }
            Self::Quantile { .. } => {
                let (low, high) = self.dual_box(cost);
                (alpha + (y - f) / k).clamp(low, high)
            }
        }
    }

    /// What the model's coefficient of the sample gains when its α moves from `old` to `new`.
    #[inline]
    #[must_use]
    pub fn model_change(&self, y: f64, old: f64, new: f64) -> f64 {
        if self.is_classification() { y * (new - old) } else { new - old }
    }

    /// The sample's term of the dual objective; the objective is their sum less `1/2 βᵀKβ`.
    #[must_use]
    pub fn dual_term(&self, alpha: f64, y: f64, cost: f64) -> f64 {
        let square = if cost > 0.0 { alpha * alpha / (4.0 * cost) } else { 0.0 };
        match *self {
            Self::Hinge => alpha,
            Self::SquaredHinge => alpha - square,
            Self::LogLoss => log_loss::dual_term(alpha, cost),
            Self::EpsilonInsensitive { epsilon } => y * alpha - epsilon * alpha.abs(),
            Self::SquaredEpsilonInsensitive { epsilon } => {
                y * alpha - epsilon * alpha.abs() - square
            }
            Self::Quantile { .. } => y * alpha,
        }
    }

    /// Whether the formula of [`Self::dual_term`] goes on beyond the box: that of the log loss
    /// ends there.
    #[must_use]
    pub fn dual_beyond_box(&self) -> bool {
        match self {
            Self::LogLoss => false,
            Self::Hinge
            | Self::SquaredHinge
            | Self::EpsilonInsensitive { .. }
            | Self::SquaredEpsilonInsensitive { .. }
            | Self::Quantile { .. } => true,
        }
    }

    /// The interval that α is kept in.
    #[must_use]
    pub fn dual_box(&self, cost: f64) -> (f64, f64) {
        let most = if cost > 0.0 { f64::INFINITY } else { 0.0 };
        match self {
            Self::Hinge | Self::LogLoss => (0.0, cost),
            Self::SquaredHinge => (0.0, most),
            Self::EpsilonInsensitive { .. } => (-cost, cost),
            Self::SquaredEpsilonInsensitive { .. } => (-most, most),
            Self::Quantile { quantile } => ((quantile - 1.0) * cost, quantile * cost),
        }
    }
}

/// `sign(u) max(|u| - by, 0)`.
fn soft_threshold(u: f64, by: f64) -> f64 {
    u.signum() * (u.abs() - by).max(0.0)
}
