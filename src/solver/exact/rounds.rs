//! The rounds of working sets.

use super::dual::Dual;
use super::product::Product;
use super::select::{Selector, extremes, largest_magnitude, violation};
use super::working::Working;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::watch::{Step, StopReason};

/// Variables of a working set, at most: the values among them stay in the second cache.
const WORKING_SET: usize = 512;

/// A working set is a sixteenth of the problem or a little more, so that few rows are computed in
/// vain.
const SHARE: usize = 16;

/// A problem of up to this many variables is one working set.
pub(super) const SMALL: usize = 1024;

/// What rounding may add to a score, in units of the tolerance.
pub(super) const DRIFT: f64 = 0.01;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Violation at which the problem counts as solved, > 0.
    pub tol: f64,
    /// SMO steps, at most.
    pub max_iter: u64,
    /// Whether a small problem is solved further than `tol`, so that its answer does not depend
    /// on the order of the samples.
    pub refine: bool,
    /// Whether a large problem is solved on a part of its samples at a time.
    pub shrinking: bool,
}

/// What a run is to reach.
pub(super) struct Goal {
    pub(super) settings: Settings,
    /// Whether there are terms outside, so that `f` cannot be computed anew.
    pub(super) part: bool,
}

/// Rounds of working sets on a problem all of whose columns are in the cache.
pub(super) struct Run<'r, 'a, 'w, F: Real> {
    pub(super) dual: &'r Dual,
    pub(super) product: Product<'r, 'a, 'w, F>,
    pub(super) scores: Vec<f64>,
    selector: Selector,
    pub(super) beta: Vec<f64>,
    /// The largest of the diagonal of K.
    pub(super) largest: f64,
    /// What rounding may have added to a value of `f`, at most.
    pub(super) drift: f64,
}

impl<'r, 'a, 'w, F: Real> Run<'r, 'a, 'w, F> {
    pub(super) fn new(
        dual: &'r Dual,
        product: Product<'r, 'a, 'w, F>,
        beta: Vec<f64>,
    ) -> Result<Self> {
        let scores = try_vec("scores", dual.len(), 0.0)?;
        let largest = largest_magnitude(&product.diagonal, 0.0);
        let selector = Selector::default();
        Ok(Self { dual, product, scores, selector, beta, largest, drift: 0.0 })
    }
}

impl<F: Real> Run<'_, '_, '_, F> {
    /// Until the violation is at most `tol`. `MaxIter` is also the answer when no step moves
    /// anything.
    pub(super) fn rounds(&mut self, goal: &Goal) -> Step<StopReason> {
        let m = self.dual.len();
        let settings = &goal.settings;
        let size = if m <= SMALL { m } else { (m / SHARE).next_power_of_two().min(WORKING_SET) };
        let size = match self.product.cache.capacity() {
            all if all == self.product.f.len() => size,
            some => size.min(some).max(2),
        };
        let whole = size == m;
        let (tol, max_iter) = (settings.tol, settings.max_iter);
        let mut set: Vec<usize> = Vec::new();
        let (mut fresh, mut idle) = (false, 0);
        loop {
            self.rescore();
            let extremes = extremes(self.dual, &self.beta, &self.scores);
            let now = violation(&extremes);
            if now <= tol && !fresh && !goal.part && self.drift > DRIFT * tol {
                // What rounding has gathered in f is removed before the last word.
                self.product.recompute(&self.dual.sample, &self.beta)?;
                fresh = true;
                continue;
            }
            if now <= tol {
                return Ok(StopReason::Converged);
            }
            if self.product.steps >= max_iter || idle > 2 {
                return Ok(StopReason::MaxIter);
            }
            self.product.look(&self.beta)?;
            set = if whole {
                (0..m).collect()
            } else {
                let state = (self.beta.as_slice(), self.scores.as_slice());
                self.selector.select(self.dual, state, &extremes, (size, tol), &set)
            };
            let inner = if whole { tol } else { tol.max(0.1 * now) };
            idle = if self.round(&set, inner, max_iter)? { 0 } else { idle + 1 };
        }
    }

    /// One working set: its rows, its steps, f. Whether anything moved.
    fn round(&mut self, set: &[usize], tol: f64, max_iter: u64) -> Step<bool> {
        let samples = set.iter().map(|&v| self.dual.sample[v]).collect();
        let held = self.product.fetch(samples, &self.beta)?;
        let state = (self.beta.as_slice(), self.scores.as_slice());
        let mut working = Working::new(self.dual, set, state, &self.product.diagonal, |samples| {
            let slots: Vec<u32> = samples.iter().map(|&sample| held.slot(sample)).collect();
            self.product.cache.among(&slots, samples)
        })?;
        let said = self.product.inner_steps(max_iter, |steps| working.run(tol, steps));
        let mut moves = Vec::new();
        for (v, beta) in working.values() {
            let by = beta - self.beta[v];
            if by != 0.0 {
                self.beta[v] = beta;
                moves.push((self.dual.sample[v], by));
            }
        }
        let added = self.product.follow(&held, &moves)? * self.largest;
        self.drift += f64::EPSILON * (added + largest_magnitude(&self.scores, 0.0));
        said.map(|()| !moves.is_empty())
    }

    pub(super) fn rescore(&mut self) {
        for (v, score) in self.scores.iter_mut().enumerate() {
            *score = self.dual.linear[v] - self.product.f[self.dual.sample[v]];
        }
    }
}
