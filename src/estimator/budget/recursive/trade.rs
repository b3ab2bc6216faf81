//! Terms traded for rows of a block.
//!
//! What a pass proposes for a block of another kind is often no gain: its steps go on with old terms
//! that have grown with every row near them, and merge away what is new before it has grown, or
//! merge so much that the past loses more than the block gains; and what it merges does not know the
//! past. So some terms are traded: those go without which past and block lose least ([`Worth`]), for
//! rows that span most of what the basis does not hold of those that still lose something, each
//! weighed by its slope ([`Rest`]).

use super::known::Known;
use super::learnt::Learnt;
use super::rest::{Rest, with_rows};
use super::seen::{Seen, side_by_side};
use super::surprise::{Held, output_of};
use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::model::KernelModel;
use crate::solver::recursive::{Block, Worth};
use crate::watch::{Step, Watch};

/// Rows of which less than this part of the most is left are held.
const HELD: f64 = 1e-6;

/// Which terms go, and which rows come; none at first.
pub(super) struct Trade<'a, 'r, F: Real> {
    rest: Rest<'a, 'r, F>,
    /// Of the rows that lose something.
    weights: Vec<f64>,
    /// Of each judge, without those that go.
    worth: Vec<Worth>,
    stays: Vec<bool>,
    coming: Vec<usize>,
}

impl<'a, 'r, F: Real> Trade<'a, 'r, F> {
    /// Where `held` are the solutions with the block on the basis that there is.
    pub(super) fn new(
        model: &'a KernelModel<F>,
        (block, seen): (&Block<'_, F>, &Seen<F>),
        (known, held): (&Known, &Held),
        rows: &'a Rows<'r, F>,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let (terms, outputs, judges) = (model.n_terms(), known.outputs(), held.judges());
        let mut weights = try_vec("weights", rows.n_rows(), 0.0)?;
        for (judge, (point, _)) in judges.iter().enumerate() {
            let slopes = block.slopes(output_of(judge, outputs), point)?;
            weights.iter_mut().zip(slopes).for_each(|(w, slope)| *w += slope * slope);
        }
        let lossy: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let weights = lossy.iter().map(|&i| weights[i].sqrt()).collect();
        let held_values = (lossy.iter())
            .flat_map(|&i| seen.row(i, terms).iter().map(|&v| Real::to_f64(v)))
            .collect();
        let gram = seen.gram(terms)?;
        let rest = Rest::new((rows, lossy), model, (held_values, &gram), watch)?;
        let worth = side_by_side(watch, judges.len(), &|judge, between| {
            let (output, point) = (output_of(judge, outputs), &judges[judge].0);
            block.worth(known.of(output).summary, (output, point), between)
        })?;
        Ok(Self { rest, weights, worth, stays: vec![true; terms], coming: Vec::new() })
    }

    /// Trades so many terms, those before among them, or as many as there are rows for.
    pub(super) fn grow(&mut self, count: usize, watch: &mut Watch<'_>) -> Step {
        let before = self.coming.len();
        self.coming = self.rest.spanning(&self.weights, (count, HELD), watch)?;
        for _ in before..self.coming.len() {
            watch.glance()?;
            let of = |term: usize| self.worth.iter().map(|worth| worth.of(term)).sum::<f64>();
            let left = (0..self.stays.len()).filter(|&term| self.stays[term]);
            let left = left.map(|term| (of(term), term));
            let Some((_, term)) = left.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            self.worth.iter_mut().try_for_each(|worth| worth.without(term))?;
            self.stays[term] = false;
        }
        Ok(())
    }

    /// How many terms are traded.
    pub(super) fn count(&self) -> usize {
        self.coming.len()
    }

    /// The model with these terms traded, the new ones last, with what steps have come to as
    /// coefficients, 0 for those that are new.
    pub(super) fn model(&self, from: &Learnt<F>, rows: &Rows<'_, F>) -> Result<KernelModel<F>> {
        let (model, d, outputs) = (&from.model, rows.n_cols(), from.model.n_outputs());
        let old = model.shifted_centers()?;
        let (mut centers, mut coef) = (Vec::new(), Vec::new());
        for term in (0..self.stays.len()).filter(|&term| self.stays[term]) {
            centers.extend_from_slice(&old[term * d..(term + 1) * d]);
            coef.extend_from_slice(&from.stepped[term * outputs..(term + 1) * outputs]);
        }
        with_rows(model, (centers, coef), (rows, &self.coming))
    }
}
