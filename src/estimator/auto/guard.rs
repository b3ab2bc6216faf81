//! What no machine that is handed out may be: worse, on rows that it can see, than the candidate that
//! was chosen, or than a constant.
//!
//! Values are those that the machine itself decides with, in its own precision, so that neither a
//! system that was not solved nor coefficients that cancel can hide.

use super::sources::{Part, Sources, judged};
use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::model::{CodedModel, KernelModel};
use crate::tuning::{Aim, Grid};
use crate::watch::{Step, StopReason, Watch};

/// Rows held out that a machine is asked about, at most, and as many others.
const ROWS: usize = 2000;
/// Rows between two looks at the watch.
const BLOCK: usize = 256;
/// The error may be this times the candidate's, and so much larger as a share of the variance: the
/// candidate was fitted to other rows.
const SLACK: f64 = 1.2;
const LEAST: f64 = 1e-4;
/// The same times a constant's error, for what rounding adds to it.
const ROUNDING: f64 = 1.001;

/// The parts of the machine, and how they came about.
pub(super) struct Finished<F: Real> {
    pub(super) parts: Vec<Part<F>>,
    /// What stopped them before they were fitted to all rows; `MaxIter` where a system was not solved.
    pub(super) stopped: Option<StopReason>,
    /// What the user should know.
    pub(super) advice: Option<String>,
}

/// What is said of a machine that had to be a constant.
pub(super) fn constant_advice() -> Option<String> {
    Some(
        "no machine that was found is better than a constant on the rows it was fitted to, so the \
         machine is that constant: look for columns of very large values, and for targets that the \
         columns say nothing about"
            .into(),
    )
}

/// The rows that a machine is asked about, and what the chosen candidate misses on those held out.
pub(super) struct Guard<'a, 'r, F: Real> {
    rows: &'a Rows<'r, F>,
    sources: &'a Sources,
    /// Numbers of the samples, those held out first, and how many these are.
    asked: Vec<usize>,
    held: usize,
    /// The candidate's mean square on the rows held out; none where it was not judged.
    candidate: Option<f64>,
    aim: Aim<'a>,
}

impl<'a, 'r, F: Real> Guard<'a, 'r, F> {
    /// With the candidate's values on the rows that it was judged on, if these are known.
    pub(super) fn new(
        rows: &'a Rows<'r, F>,
        sources: &'a Sources,
        (candidate, aim): (Option<&Grid>, Aim<'a>),
    ) -> Self {
        let n = sources.index.len();
        let candidate = candidate.filter(|values| values.columns == sources.means.len());
        let known = candidate.map_or(0, Grid::rows);
        let mut asked = judged(n, (known, ROWS));
        asked.truncate(ROWS);
        let held = asked.len();
        // Those fitted alone are the first ones.
        asked.extend((0..n.saturating_sub(held)).take(ROWS));
        let mut guard = Self { rows, sources, asked, held, candidate: None, aim };
        guard.candidate = candidate.filter(|_| held > 0).map(|values| {
            let places = guard.asked[..held].iter().enumerate();
            guard.mean_square(places.map(|(at, &i)| (i, values.row(at))))
        });
        guard
    }

    /// `Σ c |missed|² / Σ c` of samples with these values, which are less the means.
    fn mean_square<'v>(&self, found: impl Iterator<Item = (usize, &'v [f32])>) -> f64 {
        let (mut missed, mut weight) = (0.0, 0.0);
        for (i, values) in found {
            let one = |values: &[f32]| Grid { values: values.to_vec(), columns: values.len() };
            let mut left = one(values);
            self.aim.too_large(&mut left, &one(self.sources.values.row(i)));
            let square: f64 = left.values.iter().map(|&v| f64::from(v).powi(2)).sum();
            missed += self.sources.weights[i] * square;
            weight += self.sources.weights[i];
        }
        missed / weight
    }

    /// Whether these parts are no worse than the candidate and than a constant.
    pub(super) fn admits(&self, parts: &[Part<F>], watch: &mut Watch<'_>) -> Step<bool> {
        let found = self.decided(parts, watch)?;
        let constant = vec![0.0f32; found.columns];
        let each = |all: usize| self.asked[..all].iter().copied().zip(0..all);
        let own = |all: usize| self.mean_square(each(all).map(|(i, at)| (i, found.row(at))));
        let worst = self.mean_square(each(self.asked.len()).map(|(i, _)| (i, &constant[..])));
        let (held, whole) = (own(self.held), own(self.asked.len()));
        let near = self.candidate.is_none_or(|known| held <= SLACK * known + LEAST * worst);
        // Not a number is no less than anything.
        Ok(near && whole <= ROUNDING * worst + f64::MIN_POSITIVE)
    }

    /// The values of the samples asked about, less the means and in the unit of the targets.
    fn decided(&self, parts: &[Part<F>], watch: &mut Watch<'_>) -> Step<Grid> {
        let Sources { index, means, unit, .. } = self.sources;
        let (d, q) = (self.rows.n_cols(), means.len());
        let model = CodedModel::new(parts.to_vec())?;
        let mut block = try_vec("rows", BLOCK.min(self.asked.len()) * d, F::zero())?;
        let mut values = try_vec("values", BLOCK.min(self.asked.len()) * q, 0.0)?;
        let mut found = Grid::zeros("values", self.asked.len(), q)?;
        let outs = found.values.chunks_mut(BLOCK * q);
        for (asked, out) in self.asked.chunks(BLOCK).zip(outs) {
            let (block, values) = (&mut block[..asked.len() * d], &mut values[..out.len()]);
            for (row, &i) in block.chunks_exact_mut(d).zip(asked) {
                self.rows.copy_row(index[i], row);
            }
            model.decision(&Rows::of_slice(block, d)?, values)?;
            for (to, from) in out.chunks_exact_mut(q).zip(values.chunks_exact(q)) {
                for ((to, v), mean) in to.iter_mut().zip(from).zip(means) {
                    *to = ((v - mean) / unit) as f32;
                }
            }
            watch.glance()?;
        }
        Ok(found)
    }
}

/// A machine that says the means alone, as a part.
pub(super) fn constant<F: Real>(sources: &Sources, part: &Part<F>) -> Result<Part<F>> {
    let (coding, model) = part;
    let d = coding.n_features();
    let (means, coef) = (sources.means.clone(), vec![0.0; sources.means.len()]);
    let centers = try_vec("a centre", d, F::zero())?;
    let model = KernelModel::from_parts(model.kernel(), Vec::new(), (centers, d), &coef, means)?;
    Ok((coding.clone(), model))
}
