//! The rows of the block begun.

use std::sync::Arc;

use crate::data::{Problem, Targets};
use crate::error::Result;
use crate::estimator::budget::config::BudgetConfig;
use crate::estimator::piece::Piece;
use crate::float::Real;

/// Rows of a block, for each term of the budget, and at least and at most.
const ROWS_A_TERM: usize = 8;
const FEWEST: usize = 512;
pub(super) const MOST: usize = 4096;

/// Rows of the first block, where that is two a term: until it is whole there is no basis, and every
/// answer is made from nothing. (Of fewer rows a term the basis is a worse one to the end of the
/// stream: .2 to .7 points on held-out rows of three sets at 200 to 500 terms.)
const FIRST: usize = 256;
/// Rows of small pieces that are joined.
const TOGETHER: usize = 64;

/// Rows of a block for this budget, where so many rows have been learnt: the first blocks double
/// what is known.
pub(super) fn block_len(config: &BudgetConfig, seen: u64) -> usize {
    let terms = config.budget.unwrap_or(MOST);
    let most = ROWS_A_TERM.saturating_mul(terms).clamp(FEWEST, MOST).next_power_of_two();
    let first = if 2 * terms.min(FIRST) <= FIRST { FIRST } else { most };
    usize::try_from(seen).map_or(most, |seen| seen.clamp(first, most).next_power_of_two())
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

    /// Their targets, a piece after another.
    pub(super) fn targets(&self) -> impl Iterator<Item = Targets<'_>> {
        self.pieces.iter().map(|piece| piece.targets.view())
    }

    /// Takes samples from `first` on until there are `most`, or more already, where a budget was
    /// made smaller; those of cost 0 are none. The first one not looked at.
    pub(super) fn take(
        &mut self,
        problem: &Problem<'_, F>,
        first: usize,
        most: usize,
    ) -> Result<usize> {
        let mut chosen =
            Vec::with_capacity(most.saturating_sub(self.len).min(problem.len() - first));
        let mut next = first;
        while next < problem.len() && self.len + chosen.len() < most {
            if problem.cost()[next] > 0.0 {
                chosen.push(next);
            }
            next += 1;
        }
        if !chosen.is_empty() {
            self.len += chosen.len();
            self.pieces.push(Arc::new(Piece::new(problem, &chosen)?));
            self.join()?;
        }
        Ok(next)
    }

    /// Joins small pieces at the end, so that rows which came one by one are few pieces.
    fn join(&mut self) -> Result<()> {
        while let [.., before, last] = &self.pieces[..] {
            let (of_before, of_last) = (before.cost.len(), last.cost.len());
            if of_last < of_before || of_before + of_last > TOGETHER {
                break;
            }
            let pieces = self.pieces.split_off(self.pieces.len() - 2);
            let joined = Self { pieces, len: 0 }.gather()?;
            self.pieces.push(joined);
        }
        Ok(())
    }

    /// All of them as one piece: sparse where every piece is.
    pub(super) fn gather(&self) -> Result<Arc<Piece<F>>> {
        if let [only] = &self.pieces[..] {
            return Ok(Arc::clone(only));
        }
        Ok(Arc::new(Piece::joined(self.pieces.iter().map(|piece| &**piece))?))
    }
}
