//! The rest of rows: what the terms of a model do not hold of them.
//!
//! `r(x, x') = k(x, x') - k(x, S) K⁻¹ k(S, x')`

use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::estimator::basis::{ModelRows, model_on};
use crate::float::Real;
use crate::linalg::{Cholesky, PivotedCholesky, dot};
use crate::model::KernelModel;
use crate::solver::recursive::MOVE_JITTER;
use crate::solver::smoothed::KernelRows as _;
use crate::watch::{Halt, Step, Watch};

use super::seen::features;

/// Rows of no more numbers than these are laid side by side, as terms are.
const SIDE_BY_SIDE: usize = 1 << 22;

/// Of some rows.
pub(super) struct Rest<'a, 'r, F: Real> {
    rows: &'a Rows<'r, F>,
    samples: Vec<usize>,
    model: &'a KernelModel<F>,
    /// Kernel values with the terms, and those times K⁻¹.
    held: Vec<f64>,
    solved: Vec<f64>,
    /// The largest kernel value of a row with itself.
    most: f64,
    /// r(x, x).
    own: Vec<f64>,
}

impl<'a, 'r, F: Real> Rest<'a, 'r, F> {
    /// Of these rows, of which `held` are the kernel values with the terms, and `gram` is K.
    pub(super) fn new(
        (rows, samples): (&'a Rows<'r, F>, Vec<usize>),
        model: &'a KernelModel<F>,
        (held, gram): (Vec<f64>, &[f64]),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let terms = model.n_terms();
        let mut solved = try_vec("kernel values", held.len(), 0.0)?;
        solved.copy_from_slice(&held);
        times_inverse(gram, &mut solved, terms, watch)?;
        let mut row = try_vec("row", rows.n_cols(), F::zero())?;
        let (mut own, mut most) = (try_vec("kernel values", samples.len(), 0.0)?, 0.0_f64);
        for (k, (to, &i)) in own.iter_mut().zip(&samples).enumerate() {
            rows.copy_row(i, &mut row);
            let wide: Vec<f64> = row.iter().map(|&v| Real::to_f64(v)).collect();
            let value = model.kernel().eval(&wide, &wide);
            let part = k * terms..(k + 1) * terms;
            *to = value - dot(&solved[part.clone()], &held[part]);
            most = most.max(value);
        }
        Ok(Self { rows, samples, model, held, solved, most, own })
    }

    /// The largest rest of a row, as a share of the largest kernel value of one with itself.
    pub(super) fn largest(&self) -> f64 {
        let largest = self.own.iter().fold(0.0_f64, |a, &b| a.max(b));
        if self.most > 0.0 { largest / self.most } else { 0.0 }
    }

    /// Rows that span most of the rest, each row counting `weights` times: the pivots of a Cholesky
    /// factor of `w_i r(x_i, x_j) w_j`, at most `most` of them, and down to this part of the largest.
    pub(super) fn spanning(
        &self,
        weights: &[f64],
        limits: (usize, f64),
        watch: &mut Watch<'_>,
    ) -> Step<Vec<usize>> {
        let (terms, kernel) = (self.model.n_terms(), self.model.kernel());
        let side_by_side = self.samples.len().saturating_mul(self.rows.n_cols()) <= SIDE_BY_SIDE;
        let all =
            side_by_side.then(|| model_on(kernel, self.rows, &self.samples, 1)).transpose()?;
        let all = all.as_ref().map(|all| ModelRows::new(self.rows.view(), all)).transpose()?;
        let mut values = try_vec("kernel values", self.samples.len(), F::zero())?;
        let diagonal = self.own.iter().zip(weights).map(|(r, w)| r * w * w).collect();
        let column = |pivot: usize, out: &mut [f64]| {
            let row = [self.samples[pivot]];
            match &all {
                Some(all) => {
                    watch.glance()?;
                    all.fill(&row, &mut values);
                }
                None => {
                    let one = model_on(kernel, self.rows, &row, 1)?;
                    let each = ModelRows::of_some(self.rows.view(), &self.samples, &one)?;
                    values = features(&each, self.samples.len(), watch)?;
                }
            }
            let own = &self.held[pivot * terms..(pivot + 1) * terms];
            for (i, (to, &value)) in out.iter_mut().zip(&values).enumerate() {
                let rest = Real::to_f64(value) - dot(&self.solved[i * terms..(i + 1) * terms], own);
                *to = weights[i] * rest * weights[pivot];
            }
            Ok::<(), Halt>(())
        };
        let go_on = &mut || Ok(true);
        let found = PivotedCholesky::<f64>::new("basis", diagonal, limits, column, go_on)?;
        Ok(found.pivots.iter().map(|&pivot| self.samples[pivot]).collect())
    }
}

/// A model like this one of these terms, and of rows after them with 0 as coefficients.
pub(super) fn with_rows<F: Real>(
    model: &KernelModel<F>,
    (mut centers, mut coef): (Vec<F>, Vec<f64>),
    (rows, chosen): (&Rows<'_, F>, &[usize]),
) -> Result<KernelModel<F>> {
    let mut row = try_vec("row", rows.n_cols(), F::zero())?;
    for &sample in chosen {
        rows.copy_row(sample, &mut row);
        row.iter_mut().zip(model.origin()).for_each(|(v, &o)| *v -= o);
        centers.extend_from_slice(&row);
    }
    coef.resize(coef.len() + chosen.len() * model.n_outputs(), 0.0);
    let (origin, intercept) = (model.origin().to_vec(), model.intercept().to_vec());
    KernelModel::from_parts(model.kernel(), origin, (centers, rows.n_cols()), &coef, intercept)
}

/// Overwrites each row of `values` by it times K⁻¹.
pub(super) fn times_inverse(
    gram: &[f64],
    values: &mut [f64],
    terms: usize,
    watch: &mut Watch<'_>,
) -> Step {
    if terms > 0 {
        let between = &mut || watch.glance();
        let factor = Cholesky::factor::<Halt>("basis", gram, terms, MOVE_JITTER, between)?;
        factor.solve_columns(values, between)?;
    }
    Ok(())
}
