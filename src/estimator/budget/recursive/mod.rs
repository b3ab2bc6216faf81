//! Streams that keep what they learn: passes find the basis, the recursive polish the coefficients.
//!
//! Rows are learnt in blocks of fixed lengths, whatever the calls they come in: the block begun is
//! held, and a model is made when it is asked for, from what the whole blocks left and the rows that
//! wait. So any cut of a stream gives the same model.
//!
//! A block: 1. one pass of the machine's own steps, with maintenance, from the solution so far
//! proposes a basis, and where it has room left rows that it does not hold join it (`unseen`); where
//! rows are of another kind than those before, terms traded for rows are another proposal (`trade`);
//! 2. the summaries move to the one that gains most (`proposal`), where that is worth it (`judge`);
//! 3. the coefficients are solved for; 4. the summaries take the block in
//! ([`crate::solver::recursive`]). Rows that wait are solved for on the basis as it is; where there is
//! none yet, where a class begins of which it knows nothing, or where they are of another kind than
//! those before (`surprise`, `ahead`), they are learnt as a block.
//!
//! A stream whose first block lacks a class, as one sorted by label does, keeps groups of its rows
//! beside the summaries (`known`), and asks them where the labels of a block are others than those
//! before (`familiar`).

mod ahead;
mod block;
mod familiar;
mod judge;
mod known;
mod learnt;
mod left;
mod made;
mod proposal;
mod rest;
mod saved;
mod seen;
mod surprise;
mod trade;
mod unseen;
mod waiting;

use std::sync::Arc;

use super::against_rest::against_rest;
use super::config::BudgetConfig;
use crate::data::Problem;
use crate::error::{Error, Result};
use crate::estimator::passes::Passes;
use crate::estimator::piece::Piece;
use crate::float::Real;
use crate::model::{KernelModel, Model};
use crate::watch::{Phase, Progress, Step, StopReason, Watch};

use block::How;
use familiar::{Familiar, Labels};
pub(super) use learnt::Learnt;
pub(super) use left::{summaries_of_fit, summaries_of_terms};
use made::Ahead;
use waiting::{Waiting, block_len};

/// A stream under training.
#[derive(Clone, Debug)]
pub struct Recursive<F: Real> {
    config: Arc<BudgetConfig>,
    /// Of the targets, as the rows of the first whole block, or of the fit, tell it.
    unit: Option<f64>,
    /// ν of one class, which the hyperparameters are then made of.
    nu: Option<f64>,
    /// One, or one a class; none before the first whole block.
    parts: Arc<Vec<Learnt<F>>>,
    /// Of the whole blocks.
    labels: Labels,
    waiting: Waiting<F>,
    /// Where rows that wait surprise, for answers.
    ahead: Ahead<F>,
    outputs: usize,
    n_features: usize,
}

/// Work on a part, if there is one yet, and rows that are new to it.
type OfPart<'a, F, T> =
    dyn Fn(Option<&Learnt<F>>, &Problem<'_, F>, &mut Watch<'_>) -> Step<T> + Sync + 'a;

impl<F: Real> Recursive<F> {
    /// Nothing learnt yet of data like this problem's.
    fn new((config, nu): (&BudgetConfig, Option<f64>), problem: &Problem<'_, F>) -> Self {
        Self {
            config: Arc::new(config.clone()),
            unit: None,
            nu,
            parts: Arc::default(),
            labels: Labels::default(),
            waiting: Waiting::default(),
            ahead: Ahead::default(),
            outputs: problem.targets().n_outputs(),
            n_features: problem.rows().n_cols(),
        }
    }

    /// What a batch fit came to, to go on from.
    pub(super) fn of_fit((config, unit): (&BudgetConfig, f64), parts: Vec<Learnt<F>>) -> Self {
        let outputs = if parts.len() == 1 { parts[0].model.n_outputs() } else { parts.len() };
        let n_features = parts.first().map_or(0, |part| part.model.n_features());
        let nu = parts.first().and_then(|part| part.units).map(|units| units.nu);
        let (config, parts) = (Arc::new(config.clone()), Arc::new(parts));
        let (labels, waiting, ahead) = (Labels::default(), Waiting::default(), Ahead::default());
        let unit = Some(unit);
        Self { config, unit, nu, parts, labels, waiting, ahead, outputs, n_features }
    }

    /// Goes on with new rows: the stream, and why it ended. Stopped early, it holds the blocks that
    /// were learnt whole.
    pub(super) fn learn(
        (config, nu): (&BudgetConfig, Option<f64>),
        problem: &Problem<'_, F>,
        start: Option<&Self>,
        watch: &mut Watch<'_>,
    ) -> Result<(Self, StopReason)> {
        let mut stream = start.cloned().unwrap_or_else(|| Self::new((config, nu), problem));
        if *stream.config != *config {
            stream.config = Arc::new(config.clone());
            stream.ahead = Ahead::default();
        }
        let n = problem.len();
        let mut first = 0;
        let mut stop = StopReason::MaxIter;
        while first < n {
            let tick = Progress { seen: first, n_samples: n, ..Progress::default() };
            watch.enter(Phase::Pass, Progress { n_terms: stream.known_terms(), ..tick });
            let block = stream.block_len();
            // What is to be had again where the block is not learnt.
            let begun = stream.waiting.len() + (n - first) >= block;
            let before = if begun { stream.waiting.clone() } else { Waiting::default() };
            let next = stream.waiting.take(problem, first, block)?;
            if stream.waiting.len() < block {
                first = next;
                break;
            }
            match stream.whole_block(watch) {
                Ok((parts, labels)) => {
                    if stream.unit.is_none() {
                        stream.unit = Some(stream.unit_with(&*stream.waiting.gather()?)?);
                    }
                    (stream.parts, stream.labels) = (Arc::new(parts), labels);
                    (stream.waiting, stream.ahead) = (Waiting::default(), Ahead::default());
                    first = next;
                    watch.tick.seen = first;
                    if let Err(halt) = watch.poll() {
                        stop = halt.into_reason()?;
                        break;
                    }
                }
                Err(halt) => {
                    stop = halt.into_reason()?;
                    stream.waiting = before;
                    if stream.parts.is_empty() {
                        // Something to answer with: rows that wait for the last of their block.
                        first = stream.waiting.take(problem, first, block - 1)?;
                    }
                    break;
                }
            }
        }
        stream.keep_ahead();
        let tick = Progress { seen: first, n_samples: n, iteration: 1, ..Progress::default() };
        watch.enter(Phase::EndOfPass, Progress { n_terms: stream.known_terms(), ..tick });
        if !stop.is_early() {
            match watch.poll() {
                Ok(()) => {}
                Err(halt) => stop = halt.into_reason()?,
            }
        }
        Ok((stream, stop))
    }

    /// Terms as the last whole block left them.
    pub(super) fn known_terms(&self) -> usize {
        self.parts.iter().map(|part| part.model.n_terms()).sum()
    }

    /// Terms of the largest part.
    pub(super) fn most_terms(&self) -> usize {
        self.parts.iter().map(|part| part.model.n_terms()).max().unwrap_or(0)
    }

    /// Rows of the block begun. Of one class the first block tells its units: it is not cut short.
    fn block_len(&self) -> usize {
        let seen = self.parts.first().map(|part| part.passes.seen);
        block_len(&self.config, seen.or(self.nu.map(|_| u64::MAX)).unwrap_or(0))
    }

    /// Whether so many rows more would only be held.
    pub(super) fn has_room(&self, rows: usize) -> bool {
        self.waiting.len() + rows < self.block_len()
    }

    /// The parts and the labels after the rows that wait, which are a whole block.
    fn whole_block(&self, watch: &mut Watch<'_>) -> Step<(Vec<Learnt<F>>, Labels)> {
        let (gathered, mut labels) = (self.waiting.gather()?, self.labels.clone());
        let targets = gathered.targets.view();
        let familiar = labels.shared([targets])?;
        let unit = self.unit_with(&gathered)?;
        let config = &*self.config.in_unit(unit);
        let how = How { config, unit, nu: self.nu, whole: true, familiar };
        let parts = self.each_part((&self.parts, &gathered), watch, &|part, problem, watch| {
            Learnt::block(how, problem, part, watch)
        })?;
        if self.nu.is_none() {
            labels.count(targets, self.parts.is_empty(), self.config.forgetting)?;
        }
        Ok((parts, labels))
    }

    /// The unit of the targets; that of these, where no block has told it.
    fn unit_with(&self, piece: &Piece<F>) -> Result<f64> {
        self.unit.map_or_else(|| self.config.unit(&piece.problem()?), Ok)
    }

    /// Calls `work` on every part and these rows, as its problem.
    fn each_part<T: Send>(
        &self,
        (parts, piece): (&[Learnt<F>], &Piece<F>),
        watch: &mut Watch<'_>,
        work: &OfPart<'_, F, T>,
    ) -> Step<Vec<T>> {
        let problem = piece.problem()?;
        if self.outputs < 2 || self.config.shared {
            return Ok(vec![work(parts.first(), &problem, watch)?]);
        }
        watch.all_side_by_side(self.outputs, |class, watch| {
            let part = parts.get(class);
            against_rest(&problem, class, |binary| Ok(work(part, binary, watch)))?
        })
    }

    /// What the whole blocks and the rows that wait speak for.
    ///
    /// # Errors
    /// `OutOfMemory`; `Interrupted` by a wish to have nothing.
    pub(in crate::estimator) fn model(&self, watch: &mut Watch<'_>) -> Result<Model<F>> {
        let models = watch.unbroken(|watch| self.models(watch))?;
        if models.is_empty() {
            return Err(Error::Unsupported("a stream that has learnt nothing".into()));
        }
        Ok(Model::of_expansions(models))
    }

    /// One a part, with the rows that wait.
    fn models(&self, watch: &mut Watch<'_>) -> Step<Vec<KernelModel<F>>> {
        if self.waiting.len() == 0 {
            return Ok(self.parts.iter().map(Learnt::outside).collect::<Result<_>>()?);
        }
        let familiar = self.familiar()?;
        let as_they_are = (Arc::clone(&self.parts), 0);
        let (parts, learnt) = if familiar.strange { as_they_are } else { self.ahead(watch)? };
        if learnt == self.waiting.len() {
            return Ok(parts.iter().map(Learnt::outside).collect::<Result<_>>()?);
        }
        let mut piece = self.waiting.gather()?;
        if learnt > 0 {
            piece = Arc::new(piece.range(learnt, self.waiting.len())?);
        }
        let (unit, nu) = (self.unit_with(&piece)?, self.nu);
        let config = &*self.config.in_unit(unit);
        self.each_part((&parts, &piece), watch, &|part, problem, watch| match part {
            Some(part) if !part.begins(familiar) => part.answer((config, familiar), problem, watch),
            part => {
                let how = How { config, unit, nu, whole: part.is_some(), familiar };
                Ok(Learnt::block(how, problem, part, watch)?.outside()?)
            }
        })
    }

    /// How like the labels of the rows that wait are to those before, where a part asks.
    fn familiar(&self) -> Result<Familiar> {
        if self.parts.iter().any(|part| part.moments.is_some()) {
            return self.labels.shared(self.waiting.targets());
        }
        Ok(Familiar::ALL)
    }

    /// Number of outputs.
    pub(in crate::estimator) fn n_outputs(&self) -> usize {
        self.outputs
    }

    /// Number of features.
    pub(in crate::estimator) fn n_features(&self) -> usize {
        self.n_features
    }

    /// ν of one class.
    pub(in crate::estimator) fn nu(&self) -> Option<f64> {
        self.nu
    }

    /// The hyperparameters of the last call.
    pub(in crate::estimator) fn config(&self) -> &BudgetConfig {
        &self.config
    }

    /// How far the passes of each part are, the rows that wait not counted.
    pub(super) fn passes(&self) -> impl Iterator<Item = Passes> + '_ {
        self.parts.iter().map(|part| part.passes)
    }

    /// How far the passes of each part are, the rows that wait counted.
    pub(in crate::estimator) fn passes_of_all(&self) -> Vec<Passes> {
        let waiting = self.waiting.len() as u64;
        let none = if self.outputs > 1 && !self.config.shared { self.outputs } else { 1 };
        let begun: Vec<Passes> = self.passes().collect();
        let all = if begun.is_empty() { vec![Passes::default(); none] } else { begun };
        let on = |p: Passes| Passes { seen: p.seen + waiting, steps: p.steps + waiting };
        all.into_iter().map(on).collect()
    }

    /// Samples seen, those that wait with them.
    pub(in crate::estimator) fn seen(&self) -> u64 {
        self.parts.first().map_or(0, |part| part.passes.seen) + self.waiting.len() as u64
    }
}
