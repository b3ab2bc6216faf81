//! One pass over the data: blocks are filled ahead, their samples take their steps in order.
//!
//! While one block takes its steps, the next is filled against the model as it was before them,
//! by another thread; before its own steps the columns of the slots that changed are made anew, while
//! the block after it is filled. The same work is done for any number of threads, so the bits are the
//! same.

use std::sync::{PoisonError, RwLock};

use super::block::{Block, Snapshot, Touched, up_to_date};
use super::budgeted::{Budgeted, Method, State};
use crate::budget::Event;
use crate::data::Problem;
use crate::error::Result;
use crate::float::Real;
use crate::parallel::{Pool, Steps, take_turns};
use crate::simd::{self, zeroed, zeroed_places};
use crate::watch::Step;

/// What a pass did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) steps: usize,
    pub(super) moved: usize,
    pub(super) maintained: usize,
    /// Squared weight degradation, all events together, in the model's own units.
    pub(super) degradation: f64,
    /// Largest change of a coefficient times `k(x, x)`.
    pub(super) largest: f64,
}

/// Dual variables and the slots of the samples that are terms: what lasts from pass to pass over
/// one problem.
#[derive(Clone, Debug)]
pub(super) struct Duals {
    /// α, n x outputs, in units of the expansion's coefficients; empty where nobody asks for it.
    pub(super) alpha: Vec<f64>,
    /// The place behind the slot of each sample that is a term, unmerged; 0 of others, so that the
    /// system gives no page before one is written.
    pub(super) behind_slot_of: Vec<u32>,
    /// Sample of each slot.
    pub(super) sample_of: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Multiply-adds of a block below which another thread would take longer to hand it over than this
/// one takes to fill it.
const MIN_RELAYED: usize = 1 << 16;

impl Duals {
    /// All 0, nothing in the model. Plain BSGD needs no α: `with_alpha` is for its objective.
    pub(super) fn new(n: usize, outputs: usize, with_alpha: bool) -> Result<Self> {
        let alphas = if with_alpha { n.saturating_mul(outputs) } else { 0 };
        Ok(Self {
            alpha: zeroed("dual variables", alphas)?,
            behind_slot_of: zeroed_places("slots of samples", n)?,
            sample_of: Vec::new(),
        })
    }

    /// Asks for what a step of `sample` will read soon.
    fn prefetch(&self, sample: usize, outputs: usize) {
        simd::prefetch(&self.behind_slot_of[sample]);
        if let Some(alpha) = self.alpha.get(sample * outputs) {
            simd::prefetch(alpha);
        }
    }

    pub(super) fn slot(&self, sample: usize) -> Option<usize> {
        (self.behind_slot_of[sample] as usize).checked_sub(1)
    }

    fn set(&mut self, slot: usize, sample: u32) {
        if slot >= self.sample_of.len() {
            self.sample_of.resize(slot + 1, NONE);
        }
        let before = std::mem::replace(&mut self.sample_of[slot], sample);
        // A sample drawn twice may have left this slot for another one.
        if before != NONE && self.slot(before as usize) == Some(slot) {
            self.behind_slot_of[before as usize] = 0;
        }
        if sample != NONE {
            self.behind_slot_of[sample as usize] = slot as u32 + 1;
        }
    }
}

/// The block and the slots of samples follow the model's changes together.
struct Followers<'a, F: Real> {
    block: &'a mut Block<F>,
    duals: &'a mut Duals,
}

impl<F: Real> Event for Followers<'_, F> {
    fn coef_changed(&mut self, slot: usize, delta: &[f64]) {
        self.block.coef_changed(slot, delta);
    }

    fn merged(&mut self, parts: &[(usize, f64)], coef: &[f64], gap: f64, merged: &[f64]) {
        self.block.merged(parts, coef, gap, merged);
        if let Some(&(into, _)) = parts.last() {
            self.duals.set(into, NONE);
        }
    }

    fn removed(&mut self, slot: usize, last: usize) {
        self.block.removed(slot, last);
        let sample = self.duals.sample_of.get(last).copied().unwrap_or(NONE);
        self.duals.set(slot, NONE);
        self.duals.set(last, NONE);
        if slot != last {
            self.duals.set(slot, sample);
        }
    }
}

/// What is asked after every block.
pub(super) type Poll<'a, F> = dyn FnMut(&Place<'_, F>) -> Step + 'a;

/// Where a pass stands after a block.
pub(super) struct Place<'p, F: Real> {
    pub(super) state: &'p State<F>,
    pub(super) duals: &'p Duals,
    pub(super) counts: &'p Counts,
    /// Slots that the block changed.
    pub(super) touched: &'p Touched,
    /// The model that the next block is being filled against.
    pub(super) snapshot: &'p RwLock<Snapshot<F>>,
}

/// What a pass has behind it, beside the model.
pub(super) struct Begun<F: Real> {
    pub(super) counts: Counts,
    pub(super) touched: Touched,
    pub(super) snapshot: Snapshot<F>,
}

impl<F: Real> Begun<F> {
    /// Nothing.
    pub(super) fn new(state: &State<F>) -> Result<Self> {
        let snapshot = Snapshot::new(&state.expansion)?;
        Ok(Self { counts: Counts::default(), touched: Touched::default(), snapshot })
    }
}

/// The rest of a pass in the order given, and what `poll` said, which is asked after every block.
pub(super) fn pass<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    state: &mut State<F>,
    duals: &mut Duals,
    (order, begun): (&[usize], Begun<F>),
    (pool, poll): (Pool<'_>, &mut Poll<'_, F>),
) -> Result<(Counts, Step)> {
    let Begun { counts, touched, snapshot } = begun;
    let mut shared = Shared { state, duals, counts, touched, poll, said: Ok(()) };
    let order = order.get(counts.steps..).unwrap_or_default();
    if order.is_empty() {
        return Ok((shared.counts, shared.said));
    }
    let (expansion, len) = (&shared.state.expansion, shared.state.block_len);
    let d = expansion.centers().n_features();
    let blocks = [Block::new(expansion, len)?, Block::new(expansion, len)?];
    let snapshot = RwLock::new(snapshot);
    let work = solver.budget.unwrap_or(usize::MAX).saturating_mul(len).saturating_mul(d);
    let pass = Pass { solver, problem, order, len, snapshot };
    shared = take_turns((pool, work >= MIN_RELAYED), &pass, shared, blocks)?;
    Ok((shared.counts, shared.said))
}

/// Blocks of a pass as steps.
struct Pass<'a, 'p, F: Real> {
    solver: &'a Budgeted,
    problem: &'a Problem<'p, F>,
    order: &'a [usize],
    /// Samples of a block.
    len: usize,
    /// The model that the next block is filled against.
    snapshot: RwLock<Snapshot<F>>,
}

/// What the steps of a pass change.
struct Shared<'a, F: Real> {
    state: &'a mut State<F>,
    duals: &'a mut Duals,
    counts: Counts,
    /// Slots that the last block changed.
    touched: Touched,
    poll: &'a mut Poll<'a, F>,
    said: Step,
}

impl<'a, F: Real> Steps for Pass<'a, '_, F> {
    type Shared = Shared<'a, F>;
    type Own = Block<F>;

    fn count(&self) -> usize {
        self.order.len().div_ceil(self.len)
    }

    fn prepare(&self, block: &mut Block<F>, step: usize) -> Result<()> {
        let ids = &self.order[step * self.len..];
        let snapshot = up_to_date(&self.snapshot);
        block.fill(&self.problem.rows(), &ids[..ids.len().min(self.len)], &snapshot)
    }

    fn catch_up(&self, shared: &mut Shared<'a, F>, block: &mut Block<F>) -> Result<()> {
        let mut snapshot = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        block.catch_up(&shared.state.expansion, &mut shared.touched, &mut snapshot)
    }

    fn take(&self, shared: &mut Shared<'a, F>, block: &mut Block<F>) -> Result<bool> {
        let Shared { state, duals, counts, .. } = shared;
        block.settle(&state.expansion, &self.snapshot)?;
        sweep(self.solver, self.problem, state, duals, block, counts)?;
        std::mem::swap(&mut shared.touched, &mut block.touched);
        let Shared { state, duals, counts, touched, .. } = shared;
        let snapshot = &self.snapshot;
        shared.said = (shared.poll)(&Place { state, duals, counts, touched, snapshot });
        Ok(shared.said.is_ok())
    }
}

/// A sample's own numbers are asked for this many steps ahead.
const AHEAD: usize = 8;

/// The steps of one block, in order.
fn sweep<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    state: &mut State<F>,
    duals: &mut Duals,
    block: &mut Block<F>,
    counts: &mut Counts,
) -> Result<()> {
    let outputs = state.expansion.outputs();
    let mut row = vec![F::zero(); state.expansion.centers().n_features()];
    let mut delta = vec![0.0; outputs];
    let mut alpha = vec![0.0; outputs];
    for turn in 0..block.ids.len() {
        block.turn = turn;
        counts.steps += 1;
        let sample = block.ids[turn];
        if let Some(&ahead) = block.ids.get(turn + AHEAD) {
            problem.prefetch(ahead);
            duals.prefetch(ahead, outputs);
        }
        let margins = &block.margins[turn * outputs..][..outputs];
        // 1. The step of every output.
        step(
            solver,
            problem,
            state,
            duals,
            (sample, margins, block.samples.diagonal[turn]),
            (&mut alpha, &mut delta),
        );
        if delta.iter().all(|&v| v == 0.0) {
            continue;
        }
        // 2. In place, or a new term.
        let expansion = &mut state.expansion;
        let place = duals.slot(sample);
        let full = solver.budget.is_some_and(|budget| expansion.len() >= budget);
        if place.is_none() && full && solver.maintenance.refuses_new_terms() {
            continue;
        }
        counts.moved += 1;
        if let Some(kept) = duals.alpha.get_mut(sample * outputs..).filter(|a| !a.is_empty()) {
            keep(solver, problem, sample, &mut kept[..outputs], (&alpha, &delta));
        }
        let size = delta.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        counts.largest = counts.largest.max(size * block.samples.diagonal[turn].abs());
        let slot = match place {
            Some(slot) => slot,
            None => {
                block.samples.tile.copy_row(turn, &mut row);
                let slot = expansion.push_known(&row, block.samples.norms(turn)?)?;
                duals.set(slot, sample as u32);
                block.added(slot, &delta)?;
                slot
            }
        };
        let mut zero = true;
        for (c, &change) in delta.iter().enumerate() {
            let value = expansion.coef(slot, c) + change;
            expansion.set_coef(slot, c, value);
            zero &= value == 0.0;
        }
        let mut followers = Followers { block, duals };
        if place.is_some() {
            followers.coef_changed(slot, &delta);
        }
        if zero {
            state.maintainer.remove_zero(expansion, slot, &mut followers);
        } else if place.is_none()
            && let Some(budget) = solver.budget
            // 3. Maintenance.
            && let Some(lost) = reduce(budget, state, slot, &mut followers)?
        {
            counts.maintained += 1;
            let scale = state.scale(solver.method);
            counts.degradation += lost * scale * scale;
        }
    }
    Ok(())
}

/// Maintenance after the sample whose turn it is has become the term in `slot`.
fn reduce<F: Real>(
    budget: usize,
    state: &mut State<F>,
    slot: usize,
    followers: &mut Followers<'_, F>,
) -> Result<Option<f64>> {
    let (expansion, maintainer) = (&mut state.expansion, &mut state.maintainer);
    if expansion.len() > budget {
        maintainer.know(slot, &followers.block.stored()[..expansion.len()]);
    }
    maintainer.reduce(expansion, budget, followers)
}

/// The sample's dual variables after its step: BSGD's are what \[BSCA\] eq. 4 adds up.
fn keep<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    sample: usize,
    kept: &mut [f64],
    (alpha, delta): (&[f64], &[f64]),
) {
    match solver.method {
        Method::Bsca => kept.copy_from_slice(alpha),
        Method::Bsgd => {
            for (c, (kept, &change)) in kept.iter_mut().zip(delta).enumerate() {
                let y = problem.targets().value(sample, c);
                // The change of the model is its own inverse.
                *kept += solver.loss.model_change(y, 0.0, change);
            }
        }
    }
}

/// The change of the sample's coefficients (`delta`) and, for BSCA, its new dual variables.
fn step<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    state: &mut State<F>,
    duals: &Duals,
    (sample, margins, diagonal): (usize, &[f64], f64),
    (alpha, delta): (&mut [f64], &mut [f64]),
) {
    let targets = problem.targets();
    let cost = problem.cost()[sample];
    let scale = state.scale(solver.method);
    state.seen += 1;
    if solver.method == Method::Bsgd {
        state.steps += 1;
    }
    for (c, &margin) in margins.iter().enumerate() {
        let (y, loss) = (targets.value(sample, c), solver.loss.at_level(targets.level(c)));
        let f = scale * margin + state.intercept[c];
        delta[c] = match solver.method {
            Method::Bsca => {
                let old = duals.alpha[sample * margins.len() + c];
                alpha[c] = loss.dual_step(old, y, f, diagonal, cost);
                loss.model_change(y, old, alpha[c])
            }
            Method::Bsgd => {
                let n = solver.n_expected.unwrap_or(0) as u64;
                let n = n.max(if solver.n_expected.is_some() { state.seen } else { 0 });
                let n = if n == 0 { problem.len() as u64 } else { n };
                loss.violation(y, f) * cost * n as f64
            }
        };
    }
}
