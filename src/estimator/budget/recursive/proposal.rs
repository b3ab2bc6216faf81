//! Bases that are proposed for a block.

use super::familiar::Familiar;
use super::judge::{Judged, judge};
use super::known::Known;
use super::learnt::Learnt;
use super::seen::{Seen, Terms};
use super::surprise::Held;
use super::trade::Trade;
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::estimator::budget::units::Units;
use crate::float::Real;
use crate::model::KernelModel;
use crate::watch::{Halt, Step, Watch};

/// The first trade is of one term in so many.
const FIRST: usize = 8;
/// Twice as many are traded where one gains this share of penalty and block more than the one before,
/// or than none.
const MORE: f64 = 0.2;

/// What a block is beside its rows, on any basis.
pub(super) struct Around<'a, 'r, F: Real> {
    pub(super) rows: &'a Rows<'r, F>,
    pub(super) terms: &'a Terms<'a>,
    pub(super) units: Option<&'a Units>,
    pub(super) with_offset: bool,
    pub(super) familiar: Familiar,
}

impl<F: Real> Around<'_, '_, F> {
    /// A model as the recursion sees it.
    pub(super) fn seen(&self, model: &KernelModel<F>, watch: &mut Watch<'_>) -> Step<Seen<F>> {
        Ok(Seen::new(self.rows, model, self.with_offset, watch)?.weigh(self.units))
    }
}

/// A basis, and what is known on it.
pub(super) struct Proposal<F: Real> {
    /// With what the steps have come to as coefficients.
    pub(super) model: KernelModel<F>,
    /// Its last terms that no step has made.
    pub(super) fresh: usize,
    pub(super) seen: Seen<F>,
    pub(super) known: Known,
    /// Whether it is another than the one that there is.
    pub(super) is_new: bool,
    /// Once it was.
    pub(super) judged: Option<Judged>,
}

impl<F: Real> Proposal<F> {
    /// The basis of `model` in place of that of `from`; new directions have this share of the price.
    pub(super) fn new(
        around: &Around<'_, '_, F>,
        (model, fresh): (KernelModel<F>, usize),
        (from, known, priced): (&Learnt<F>, &Known, f64),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let seen = around.seen(&model, watch)?;
        let (change, is_new) = from.change((&model, &seen), around.with_offset, watch)?;
        let known = known.moved((&change, priced), (&from.model, &model), watch)?;
        Ok(Self { model, fresh, seen, known, is_new, judged: None })
    }

    /// The basis that there is, and the steps of it, which is `seen` so.
    pub(super) fn held(from: &Learnt<F>, (seen, known): (Seen<F>, Known)) -> Result<Self> {
        let model = from.model.with_coef(&from.stepped, from.model.intercept().to_vec())?;
        Ok(Self { model, fresh: 0, seen, known, is_new: false, judged: None })
    }

    /// Judged beside the basis that there is.
    pub(super) fn judged(
        self,
        around: &Around<'_, '_, F>,
        (known, held): (&Known, &Held),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let new = (&around.terms.block(&self.seen), &self.known);
        let judged = judge(around.familiar, (known, held), new, watch)?;
        Ok(Self { judged: Some(judged), ..self })
    }

    fn gain(&self) -> f64 {
        self.judged.as_ref().map_or(0.0, |judged| judged.gain)
    }

    /// This, or what gains more by terms of the basis that there is, which is `seen` so, traded for
    /// rows of the block.
    pub(super) fn or_traded(
        self,
        around: &Around<'_, '_, F>,
        (from, known, priced): (&Learnt<F>, &Known, f64),
        (held, seen): (&Held, &Seen<F>),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let block = around.terms.block(seen);
        let (mut best, mut before) = (self, 0.0);
        let trade = Trade::new(&from.model, (&block, seen), (known, held), around.rows, watch);
        let mut trade = match trade {
            // Nothing to be had by these numbers.
            Err(Halt::Fail(Error::NotPositiveDefinite(_))) => return Ok(best),
            other => other?,
        };
        let (terms, mut count) = (from.model.n_terms(), (from.model.n_terms() / FIRST).max(1));
        while count <= terms / 2 {
            trade.grow(count, watch)?;
            let model = (trade.model(from, around.rows)?, trade.count());
            let found = Self::new(around, model, (from, known, priced), watch)?;
            let found = found.judged(around, (known, held), watch)?;
            let Some(judged) = &found.judged else { break };
            let (gain, more) = (judged.gain, MORE * judged.worth);
            if gain <= before {
                break;
            }
            let goes_on = gain > before + more;
            if gain > best.gain() && (before == 0.0 || goes_on) {
                best = found;
            }
            if !goes_on {
                break;
            }
            (before, count) = (gain, 2 * count);
        }
        Ok(best)
    }
}
