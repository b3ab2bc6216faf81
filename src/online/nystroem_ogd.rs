//! Online gradient descent on the Nyström features of its first terms [LSOKL].
//!
//! ```text
//! K_BB ≈ V D Vᵀ (the k largest eigenvalues),   z(x) = D^{-1/2} Vᵀ k_B(x),   f = wᵀ z = βᵀ k_B(x)
//! with β = V D^{-1/2} w:    w ← w + η y z   is   β ← β + η y K⁺ k_B(x),   K⁺ = V D⁻¹ Vᵀ
//! ```
//!
//! # Method
//! 1. Kernel gradient descent, without decay, until B samples with a loss are terms.
//! 2. Then K is decomposed, w starts at `D^{1/2} Vᵀ β`, that is `β ← V Vᵀ β`: what the terms'
//!    functions are, seen through the k features ([LSOKL] Algorithm 2).
//! 3. From then on a loss moves w by `η y z`; the terms stay.
//!
//! w is never formed: β costs O(B) a margin instead of O(B k), and the model is one of B terms like
//! any other. Departs from [LSOKL] in the eigenvalues that count: those below 1e-10 of the largest
//! (1e-6 in single precision), which are rounding error, never do.
//!
//! *Cost* O(B min(B, 2k)) a loss, O(B³) once; memory B min(B, k).

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::{OnlineLearner, check_positive};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::linalg::{dot64, symmetric_eigen, symmetric_times};
use crate::simd::{add_scaled_rows, dots};

/// Gradient descent on the span of B terms.
#[derive(Clone, Debug, PartialEq)]
pub struct NystroemOgd {
    /// B >= 1.
    pub budget: usize,
    /// η > 0.
    pub learning_rate: f64,
    /// k: the eigenvalues that count at most; none: all that are no rounding error.
    pub n_components: Option<usize>,
    /// K⁺, B x B, or where that is less work its factor `V D^{-1/2}`, B x k with 2k <= B; empty
    /// until the terms are chosen.
    pub(super) inverse: Vec<f64>,
}

impl NystroemOgd {
    /// Nothing learnt yet.
    #[must_use]
    pub fn new(budget: usize, learning_rate: f64, n_components: Option<usize>) -> Self {
        Self { budget, learning_rate, n_components, inverse: Vec::new() }
    }

    pub(super) fn check(&self) -> Result<()> {
        check_positive("learning_rate", self.learning_rate)?;
        match self.n_components {
            Some(0) => Err(Error::param("n_components", ">= 1 or None", 0)),
            _ => Ok(()),
        }
    }

    pub(super) fn adopt(&mut self, new: &Self) {
        self.learning_rate = new.learning_rate;
        if self.inverse.is_empty() {
            (self.budget, self.n_components) = (new.budget, new.n_components);
        }
    }

    /// Whether the terms are chosen and K is still to be decomposed.
    pub(super) fn is_due<F: Real>(&self, model: &BudgetedExpansion<F>) -> bool {
        self.inverse.is_empty() && model.is_full(self.budget)
    }

    /// `K⁺ k`.
    fn direction(&self, row: &[f64]) -> Vec<f64> {
        let width = self.inverse.len() / row.len();
        if width == row.len() {
            return symmetric_times(&self.inverse, row);
        }
        let scaled: Vec<(u32, f64)> = (0..).zip(row.iter().copied()).collect();
        let (mut z, mut out) = (vec![0.0; width], vec![0.0; row.len()]);
        add_scaled_rows(&self.inverse, &scaled, &mut z);
        dots(&self.inverse, &z, &mut out);
        out
    }

    /// Step 2; `between` is asked every few milliseconds and its error ends the work.
    pub(super) fn decompose<F: Real>(
        &mut self,
        model: &mut BudgetedExpansion<F>,
        between: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let n = model.len();
        let mut gram = try_vec("the kernel matrix of the terms", n.saturating_mul(n), 0.0)?;
        for (slot, out) in gram.chunks_exact_mut(n).enumerate() {
            let row = model.row_of(slot);
            out.iter_mut().zip(&row).for_each(|(o, v)| *o = Real::to_f64(*v));
            between()?;
        }
        let eigen = symmetric_eigen("the kernel matrix of the terms", gram, n, between)?;
        let share = if F::NAME == f32::NAME { 1e-6 } else { 1e-10 };
        let floor = eigen.values[0] * share;
        let rank = eigen.values.iter().take_while(|v| **v > floor && **v > 0.0).count();
        let rank = rank.min(self.n_components.unwrap_or(n));
        let factored = 2 * rank <= n;
        let width = if factored { rank } else { n };
        let mut inverse = try_vec("the inverse of the kernel matrix", n * width, 0.0)?;
        let q = |i: usize| &eigen.vectors[i * n..][..rank];
        for (i, out) in inverse.chunks_exact_mut(width).enumerate() {
            let values = q(i).iter().zip(&eigen.values);
            if factored {
                out.iter_mut().zip(values).for_each(|(o, (q, v))| *o = q / v.sqrt());
            } else {
                let scaled: Vec<f64> = values.map(|(q, v)| q / v).collect();
                out.iter_mut().enumerate().for_each(|(j, o)| *o = dot64(&scaled, q(j)));
            }
            between()?;
        }
        // β ← V (Vᵀ β).
        let mut along = vec![0.0; rank];
        for slot in 0..n {
            let beta = model.weights.get(slot);
            along.iter_mut().zip(q(slot)).for_each(|(a, q)| *a += beta * q);
        }
        for slot in 0..n {
            let change = dot64(&along, q(slot)) - model.weights.get(slot);
            model.weights.add(slot, change);
        }
        self.inverse = inverse;
        Ok(())
    }
}

impl<F: Real> OnlineLearner<F> for NystroemOgd {
    fn learn(&mut self, turn: &Turn<'_, F>, model: &mut BudgetedExpansion<F>) -> Result<Update> {
        if turn.y * turn.f >= 1.0 {
            return Ok(Update::None);
        }
        let step = self.learning_rate * turn.y;
        // 1.
        if self.inverse.is_empty() {
            return model.add(turn, step);
        }
        // 3.
        let row: Vec<f64> = turn.row[..model.len()].iter().map(|v| Real::to_f64(*v)).collect();
        model.weights.add_all(step, &self.direction(&row));
        Ok(Update::Coefficients)
    }
}
