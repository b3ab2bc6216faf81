//! The rounds of working sets.

use super::dual::Dual;
use super::product::{Held, Product};
use super::select::{Selector, extremes, largest_magnitude, violation};
use super::working::Working;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::watch::{Halt, Step, StopReason};

/// Variables of a working set, at most: the values among them stay in the second cache.
const WORKING_SET: usize = 512;

/// A working set is a sixteenth of the problem or a little more, so that few rows are computed in
/// vain.
const SHARE: usize = 16;

/// A problem of up to this many variables is one working set ...
const SMALL: usize = 1024;

/// ... and is solved on to this violation, relative to the largest score,
const REFINED: f64 = 1e-11;

/// for at most this many times the steps that `tol` took.
const REFINING: u64 = 20;

/// One leap over the free variables is tried each time that steps have made the violation so much
/// smaller.
const STAGE: f64 = 0.01;

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
        let (mut tol, mut max_iter) = (settings.tol, settings.max_iter);
        let mut set: Vec<usize> = Vec::new();
        let (mut solved, mut fresh, mut idle) = (false, false, 0);
        loop {
            self.rescore();
            let extremes = extremes(self.dual, &self.beta, &self.scores);
            let mut now = violation(&extremes);
            if now <= tol && !solved {
                solved = true;
                if !(settings.refine && whole && m > 1) {
                    return Ok(StopReason::Converged);
                }
                // Small values have small scores; labels are 1, and where there are none 1 counts.
                let least = match largest_magnitude(&self.dual.linear, 0.0) {
                    0.0 => 1.0,
                    most => most.min(1.0),
                };
                tol = tol.min(REFINED * largest_magnitude(&self.scores, least));
                max_iter = max_iter.min(self.product.steps.saturating_mul(REFINING) + 1000);
                continue;
            }
            if now <= tol && !fresh && !goal.part && self.drift > DRIFT * tol {
                // What rounding has gathered in f is removed before the last word.
                self.product.recompute(&self.dual.sample, &self.beta)?;
                fresh = true;
                continue;
            }
            if solved && now > tol {
                now = match self.leap(now) {
                    Ok(left) => left,
                    Err(halt) => return halted(halt, solved),
                };
            }
            if now <= tol || (solved && idle > 1) {
                return Ok(StopReason::Converged);
            }
            if self.product.steps >= max_iter || idle > 2 {
                let stop = if solved { StopReason::Converged } else { StopReason::MaxIter };
                return Ok(stop);
            }
            if let Err(halt) = self.product.look(&self.beta) {
                return halted(halt, solved);
            }
            set = if whole {
                let mut all: Vec<usize> = (0..m).collect();
                all.sort_by_key(|&v| self.dual.group(v));
                all
            } else {
                let state = (self.beta.as_slice(), self.scores.as_slice());
                self.selector.select(self.dual, state, &extremes, (size, tol), &set)
            };
            let inner = match (whole, solved) {
                (true, false) => tol,
                (true, true) => tol.max(STAGE * now),
                (false, _) => tol.max(0.1 * now),
            };
            idle = match self.round(&set, inner, max_iter) {
                Ok(true) => 0,
                Ok(false) => idle + 1,
                Err(halt) => return halted(halt, solved),
            };
        }
    }

    /// One working set: its rows, its steps, f. Whether anything moved.
    fn round(&mut self, set: &[usize], tol: f64, max_iter: u64) -> Step<bool> {
        let samples = set.iter().map(|&v| self.dual.sample[v]).collect();
        let held = self.product.fetch(samples, &self.beta)?;
        let mut working = self.working(set, &held)?;
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

    pub(super) fn working(&self, set: &[usize], held: &Held) -> Result<Working<F>> {
        let mut sorted = set.to_vec();
        sorted.sort_by_key(|&v| (self.dual.group(v), self.dual.sample[v], v));
        let mut variables: Vec<(usize, Option<usize>)> = Vec::with_capacity(sorted.len());
        for v in sorted {
            match variables.last_mut() {
                Some((first, other @ None)) if self.one(*first, v) => *other = Some(v),
                _ => variables.push((v, None)),
            }
        }
        let first = variables.iter().filter(|&&(v, _)| self.dual.group(v) == 0).count();
        let ranges = match self.dual.two_sums {
            true => vec![(0, first), (first, variables.len())],
            false => vec![(0, variables.len())],
        };
        let q = variables.len();
        let columns: Vec<usize> = variables.iter().map(|&(v, _)| self.dual.sample[v]).collect();
        let slots: Vec<u32> = columns.iter().map(|&c| held.slot(c)).collect();
        let kernel = self.product.cache.among(&slots, &columns)?;
        let linear = &self.dual.linear;
        let half =
            |(v, other): (usize, Option<usize>)| other.map_or(0.0, |o| linear[o] - linear[v]) / 2.0;
        let half: Vec<f64> = variables.iter().map(|&pair| half(pair)).collect();
        let pick = |list: &[f64]| variables.iter().map(|&(v, _)| list[v]).collect::<Vec<_>>();
        let pairs = || variables.iter().map(|&(v, other)| (v, other.unwrap_or(v)));
        let both = |(v, other): (usize, usize)| {
            if v == other { self.beta[v] } else { self.beta[v] + self.beta[other] }
        };
        Ok(Working {
            beta: pairs().map(both).collect(),
            lower: pairs().map(|(_, other)| self.dual.lower[other]).collect(),
            upper: pick(&self.dual.upper),
            scores: pick(&self.scores)
                .iter()
                .zip(&half)
                .map(|(score, half)| score + half)
                .collect(),
            half,
            diagonal: columns.iter().map(|&c| self.product.diagonal[c]).collect(),
            up: vec![0.0; q],
            down: vec![0.0; q],
            gains: vec![0.0; q],
            none: vec![0.0; q],
            kernel,
            stride: q,
            ranges,
            variables,
        })
    }

    /// Whether two variables are `α` and `-α*` of one sample, not both other than 0.
    fn one(&self, v: usize, other: usize) -> bool {
        let (dual, beta) = (self.dual, &self.beta);
        let same = dual.sample[v] == dual.sample[other] && dual.group(v) == dual.group(other);
        let signs = dual.lower[v] == 0.0 && dual.upper[other] == 0.0;
        same && signs
            && dual.linear[v] <= dual.linear[other]
            && (beta[v] == 0.0 || beta[other] == 0.0)
    }

    pub(super) fn rescore(&mut self) {
        for (v, score) in self.scores.iter_mut().enumerate() {
            *score = self.dual.linear[v] - self.product.f[self.dual.sample[v]];
        }
    }
}

/// A stop beyond the tolerance asked for is no early one.
fn halted(halt: Halt, solved: bool) -> Step<StopReason> {
    match halt {
        Halt::Stop(_) if solved => Ok(StopReason::Converged),
        Halt::Stop(_) | Halt::Fail(_) => Err(halt),
    }
}
