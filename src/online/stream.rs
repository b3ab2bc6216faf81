//! A learner on its stream: the state that lasts, and the loop over samples.

use super::any::AnyLearner;
use super::basis::Basis;
use super::block::{Block, PART};
use super::expansion::{BudgetedExpansion, Span, Turn, Update};
use super::learner::BasisForm;
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::watch::{Halt, Step, Watch};

/// Samples whose kernel rows are computed at once.
const BLOCK: usize = 128;

/// Multiply-adds for the coordinates of a block at most, a tenth of a second of two threads.
const MOST_WORK: usize = u32::MAX as usize;

/// Columns of rows that are copied in much more time than a look takes.
const WIDE: usize = 1 << 12;

/// What the samples of a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples seen.
    pub steps: usize,
    /// Steps that changed more than the scale of the model.
    pub updates: usize,
    /// Samples on the wrong side of the boundary when they came.
    pub mistakes: usize,
}

/// A learner and its model: everything that the next sample needs.
#[derive(Clone, Debug)]
pub struct Stream<F: Real> {
    pub(super) learner: AnyLearner,
    pub(super) model: BudgetedExpansion<F>,
    pub(super) seed: u64,
}

impl<F: Real> Stream<F> {
    /// A stream before its first sample; `seed` is that of the learner's own random choices.
    #[must_use]
    pub fn new(learner: AnyLearner, mut model: BudgetedExpansion<F>, seed: u64) -> Self {
        if learner.basis() == BasisForm::Triangular {
            model.span = Span::Basis(Basis::default());
        }
        Self { learner, model, seed }
    }

    /// The learner.
    #[must_use]
    pub fn learner(&self) -> &AnyLearner {
        &self.learner
    }

    /// Goes on with the hyperparameters of `fresh`, a learner of the same kind.
    ///
    /// # Errors
    /// `Unsupported` for another learner, `InvalidParam` for what cannot change on the way.
    pub fn adopt(&mut self, fresh: &AnyLearner) -> Result<()> {
        self.learner.adopt(fresh, self.model.basis().is_some())
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &BudgetedExpansion<F> {
        &self.model
    }

    /// The seed of the learner's random choices.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether learning from so many samples may share work among threads.
    #[must_use]
    pub fn shares_work(&self, n_samples: usize) -> bool {
        let to_be_found = self.learner.basis() == BasisForm::Full && self.model.basis().is_none();
        n_samples > PART || to_be_found
    }

    /// Learns from the rows `order` of `rows`, whose labels -1 or +1 are `label(row)`, one after
    /// the other; `before` is told the value of each before it is learnt from. What was learnt, and
    /// what the watch said.
    ///
    /// # Errors
    /// `OutOfMemory`; `Unsupported` when coefficients leave the range of floats; `Interrupted`.
    pub fn learn(
        &mut self,
        rows: &Rows<'_, F>,
        label: impl Fn(usize) -> f64,
        order: &[usize],
        before: impl FnMut(f64),
        watch: &mut Watch<'_>,
    ) -> Result<(Counts, Step)> {
        let mut counts = Counts::default();
        match self.learn_all((rows, label), order, before, &mut counts, watch) {
            Err(Halt::Fail(error)) => Err(error),
            said => {
                self.tell(&counts, watch);
                Ok((counts, said))
            }
        }
    }

    fn learn_all(
        &mut self,
        (rows, label): (&Rows<'_, F>, impl Fn(usize) -> f64),
        order: &[usize],
        mut before: impl FnMut(f64),
        counts: &mut Counts,
        watch: &mut Watch<'_>,
    ) -> Step {
        let mut block = Block::new(&self.model)?;
        let mut rest = order;
        while !rest.is_empty() {
            let (ids, after) = rest.split_at(self.block_len().min(rest.len()));
            rest = after;
            block.fill(rows, ids, &self.model)?;
            for (at, &id) in ids.iter().enumerate() {
                if self.learner.is_due(&self.model) {
                    self.tell(counts, watch);
                    self.learner.decompose(&mut self.model, watch)?;
                    block.project(at, &self.model)?;
                }
                before(self.step(&mut block, at, label(id), counts)?);
                // Steps of O(B²) make a block long, wide rows a step.
                if at % 16 == 15 || self.model.n_features() >= WIDE {
                    self.tell(counts, watch);
                    watch.glance()?;
                }
            }
            if !self.model.weights.is_finite() {
                return Err(out_of_range().into());
            }
            self.tell(counts, watch);
            watch.glance()?;
        }
        Ok(())
    }

    fn tell(&self, counts: &Counts, watch: &mut Watch<'_>) {
        watch.tick.seen = counts.steps;
        watch.tick.n_terms = self.model.n_terms();
        watch.tick.moved = counts.updates as f64 / counts.steps.max(1) as f64;
    }

    /// Samples of the next block: fewer where the coordinates of one are long work.
    fn block_len(&self) -> usize {
        let work = self.model.basis().map_or(0, Basis::work);
        (MOST_WORK / work.max(1)).clamp(1, BLOCK)
    }

    fn step(
        &mut self,
        block: &mut Block<F>,
        at: usize,
        y: f64,
        counts: &mut Counts,
    ) -> Result<f64> {
        let row = block.row(at, self.model.row_len());
        let coordinates = block.coordinates(at, &self.model);
        let f = match self.model.basis() {
            Some(_) => self.model.value_along(coordinates),
            None => self.model.value(row),
        };
        let turn = Turn {
            y,
            f,
            own: block.samples.diagonal[at],
            row,
            coordinates,
            tile: &block.samples.tile,
            at,
            seed: self.seed,
            step: self.model.weights.steps(),
        };
        // A value that is no number would pass for neither mistake nor loss.
        if !(turn.f.is_finite() && turn.own.is_finite()) {
            return Err(out_of_range());
        }
        counts.steps += 1;
        counts.mistakes += usize::from(turn.is_mistake());
        let update = self.learner.learn(&turn, &mut self.model)?;
        self.model.weights.end_step();
        counts.updates += usize::from(update != Update::None);
        if let Update::Term(slot) = update {
            block.wrote(at, slot, &self.model)?;
        }
        Ok(f)
    }
}

fn out_of_range() -> Error {
    Error::Unsupported(
        "training left the range of floating point numbers: scale the features, or lower the \
         learning rate or the kernel's degree"
            .into(),
    )
}
