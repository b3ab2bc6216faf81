//! The rows of the block begun.

use std::sync::Arc;

use crate::data::{Gathered, Problem, Rows, SomeTargets};
use crate::error::Result;
use crate::estimator::budget::config::BudgetConfig;
use crate::float::Real;

/// Rows of a block, for each term of the budget, and at least and at most.
const ROWS_A_TERM: usize = 8;
const FEWEST: usize = 512;
const MOST: usize = 4096;

/// Rows of a block for this budget.
pub(super) fn block_len(config: &BudgetConfig) -> usize {
    let terms = config.budget.unwrap_or(MOST);
    ROWS_A_TERM.saturating_mul(terms).clamp(FEWEST, MOST).next_power_of_two()
}

/// Rows that wait, in the pieces that calls brought: a copy of a stream shares them.
#[derive(Clone, Debug)]
pub(super) struct Waiting<F: Real> {
    pieces: Vec<Arc<Piece<F>>>,
    len: usize,
}

impl<F: Real> Default for Waiting<F> {
    fn default() -> Self {
        Self { pieces: Vec::new(), len: 0 }
    }
}

/// Some samples, owned.
#[derive(Clone, Debug)]
pub(super) struct Piece<F: Real> {
    pub(super) rows: Gathered<F>,
    pub(super) targets: SomeTargets,
    pub(super) cost: Vec<f64>,
}

impl<F: Real> Piece<F> {
    /// The samples as a problem.
    pub(super) fn problem(&self) -> Result<Problem<'_, F>> {
        Problem::new(self.rows.rows()?, self.targets.view(), &self.cost)
    }
}

impl<F: Real> Waiting<F> {
    /// Of these samples alone.
    pub(super) fn of(piece: Piece<F>) -> Self {
        let len = piece.cost.len();
        Self { pieces: vec![Arc::new(piece)], len }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Takes samples from `first` on until there are `most`; those of cost 0 are none. The first
    /// one not looked at.
    pub(super) fn take(
        &mut self,
        problem: &Problem<'_, F>,
        first: usize,
        most: usize,
    ) -> Result<usize> {
        let mut chosen = Vec::with_capacity((most - self.len).min(problem.len() - first));
        let mut next = first;
        while next < problem.len() && self.len + chosen.len() < most {
            if problem.cost()[next] > 0.0 {
                chosen.push(next);
            }
            next += 1;
        }
        if !chosen.is_empty() {
            self.len += chosen.len();
            self.pieces.push(Arc::new(Piece {
                rows: Gathered::new(&problem.rows(), &chosen)?,
                targets: SomeTargets::new(problem.targets(), chosen.iter().copied()),
                cost: chosen.iter().map(|&i| problem.cost()[i]).collect(),
            }));
        }
        Ok(next)
    }

    /// All of them as one piece: sparse where every piece is.
    pub(super) fn gather(&self) -> Result<Arc<Piece<F>>> {
        if let [only] = &self.pieces[..] {
            return Ok(Arc::clone(only));
        }
        let all: Result<Vec<Rows<'_, F>>> = self.pieces.iter().map(|p| p.rows.rows()).collect();
        let cost = self.pieces.iter().flat_map(|p| p.cost.iter().copied()).collect();
        let targets = SomeTargets::joined(self.pieces.iter().map(|p| &p.targets));
        Ok(Arc::new(Piece { rows: Gathered::joined(&all?)?, targets, cost }))
    }
}
