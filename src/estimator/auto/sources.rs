//! The samples of a fit, as its parts take them: drawn, centred, coded, some held out.

use super::columns::reorder;
use crate::data::{Problem, Rows, Targets};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::model::{Coding, KernelModel};
use crate::tuning::{Grid, recipe};
use crate::watch::{Step, Watch};

/// Values coded between two looks at the watch.
const CODED: usize = 1 << 18;
/// Rows that are left out in turn, at least and at most, and rows a column for that.
const LEAST_IN_TURN: usize = 4;
const MOST_IN_TURN: usize = 600;
const ROWS_A_COLUMN: usize = 10;
/// Fewer rows are not held out.
const LEAST_HELD_OUT: usize = 2;

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

/// Whether each of so many rows of so many columns is left out in turn: where a fifth of them is
/// few rows, and where scales of the columns cannot have learnt the rows by heart.
pub(super) fn in_turn(n: usize, columns: usize) -> bool {
    (LEAST_IN_TURN..=MOST_IN_TURN).contains(&n) && n >= ROWS_A_COLUMN * columns
}

/// The samples that candidates were judged on, which gave so many values: those held out, or each
/// of the rows of the search, the last first.
pub(super) fn judged(n: usize, (values, most): (usize, usize)) -> Vec<usize> {
    match values < n && values == held_out(n) {
        true => (n - values..n).collect(),
        false => (0..n).rev().take(most.min(values)).collect(),
    }
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
pub(super) fn coded<F: Real, G: Real>(
    rows: &Rows<'_, F>,
    index: &[usize],
    (coding, columns): (&Coding, &[usize]),
    watch: &mut Watch<'_>,
) -> Step<Grid<G>> {
    let d = rows.n_cols().max(1);
    let mut coded = Grid::zeros("coded rows", index.len(), rows.n_cols())?;
    let at_once = (CODED / d).max(1);
    for (to, index) in coded.values.chunks_mut(at_once * d).zip(index.chunks(at_once)) {
        reorder(&coding.coded::<F, G>(rows, index)?, columns, to);
        watch.glance()?;
    }
    Ok(coded)
}
