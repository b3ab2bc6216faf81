//! The samples of a fit, as its parts take them: drawn, centred, coded, some held out.

use super::columns::reorder;
use crate::data::{Problem, Rows, Targets};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::model::{Coding, KernelModel};
use crate::tuning::{Grid, recipe};
use crate::watch::{Step, Watch};

/// Rows coded between two looks at the watch.
const CODED: usize = 1 << 14;
/// Fewer rows are not held out.
pub(super) const LEAST_HELD_OUT: usize = 2;

/// The samples in the order drawn: their rows, weights of mean 1, and values less their means, in
/// units of `unit`.
pub(super) struct Sources {
    pub(super) index: Vec<usize>,
    pub(super) weights: Vec<f64>,
    pub(super) values: Grid,
    /// Weighted means of the outputs.
    pub(super) means: Vec<f64>,
    pub(super) unit: f64,
    /// Whether values are the sides of classes.
    pub(super) sides: bool,
}

impl Sources {
    pub(super) fn new<F: Real>(
        problem: &Problem<'_, F>,
        index: Vec<usize>,
        weights: Vec<f64>,
    ) -> Result<Self> {
        let (targets, n) = (problem.targets(), index.len());
        let q = targets.n_outputs();
        let total: f64 = weights.iter().sum();
        let each = || index.iter().zip(&weights);
        let mean = |c: usize| each().map(|(&i, w)| w / total * targets.value(i, c)).sum();
        let means: Vec<f64> = (0..q).map(mean).collect();
        let unit = match targets {
            Targets::Classes { .. } => 1.0,
            Targets::Values(_) | Targets::Columns { .. } => {
                let square = |c: usize| {
                    let one = |(&i, w): (&usize, &f64)| {
                        w / total * (targets.value(i, c) - means[c]).powi(2)
                    };
                    each().map(one).sum::<f64>()
                };
                let spread = (0..q).map(square).sum::<f64>().sqrt();
                if spread > 0.0 && spread.is_finite() { spread } else { 1.0 }
            }
        };
        let mut values = Grid::zeros("targets", n, q)?;
        for (row, &i) in values.values.chunks_exact_mut(q).zip(&index) {
            for (c, v) in row.iter_mut().enumerate() {
                *v = ((targets.value(i, c) - means[c]) / unit) as f32;
            }
        }
        let sides = matches!(targets, Targets::Classes { .. });
        Ok(Self { index, weights, values, means, unit, sides })
    }
}

/// An expansion of coded rows.
pub(super) type Part<F> = (Coding, KernelModel<F>);

/// How many of so many rows, the last ones, candidates meet on.
pub(super) fn held_out(n: usize) -> usize {
    let held = ((recipe::HELD_OUT_SHARE * n as f64) as usize).min(recipe::HELD_OUT);
    // Of very few rows none can be spared: then candidates meet where they were found.
    if held < LEAST_HELD_OUT { 0 } else { held }
}

impl Sources {
    /// Values and weights of some samples, by their numbers in the order drawn; of a memory that
    /// nothing else holds.
    pub(super) fn part(&self, of: &[usize]) -> Result<(Grid, Vec<f64>)> {
        let mut weights = try_vec("weights", of.len(), 0.0)?;
        weights.iter_mut().zip(of).for_each(|(w, &i)| *w = self.weights[i]);
        let mut values = Grid::zeros("targets", of.len(), self.means.len())?;
        for (row, &i) in values.values.chunks_exact_mut(self.means.len()).zip(of) {
            row.copy_from_slice(self.values.row(i));
        }
        Ok((values, weights))
    }
}

/// Rows with their columns in this order.
pub(super) fn coded<F: Real>(
    rows: &Rows<'_, F>,
    index: &[usize],
    (coding, columns): (&Coding, &[usize]),
    watch: &mut Watch<'_>,
) -> Step<Grid> {
    let mut coded = Grid::zeros("coded rows", index.len(), rows.n_cols())?;
    let parts = coded.values.chunks_mut(CODED * rows.n_cols());
    for (to, index) in parts.zip(index.chunks(CODED)) {
        reorder(&coding.coded::<F, f32>(rows, index)?, columns, to);
        watch.glance()?;
    }
    Ok(coded)
}
