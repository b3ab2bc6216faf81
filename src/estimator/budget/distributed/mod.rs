//! Training on rows that are in several places: shards, partitions, files.
//!
//! 1. [`BudgetConfig::shard_pass`] on every shard: the passes of a fit, with the whole budget.
//! 2. [`BudgetConfig::join`]: the terms of all, brought to two budgets. The basis is what is wanted of
//!    it: every shard's machine solves the same problem for its rows, so their mean by rows is a start.
//! 3. [`BudgetConfig::finish_joined`]: Newton's method on sums over all rows, which
//!    [`BudgetConfig::polish_sums`] takes of a part of them; terms beyond the budget go on the way.
//!
//! Every step is a function of its arguments alone: the same parts and the same order of joining and
//! adding give the same bits, wherever they are computed.

mod finish;
mod join;

pub use finish::SumsOfMachine;

use std::borrow::Cow;

use super::config::{BudgetConfig, ROWS_A_TERM};
use super::part::{Part, passes};
use super::train::{machine, train};
use crate::config::Config as _;
use crate::data::Problem;
use crate::error::{Error, Result};
use crate::estimator::machine::Machine;
use crate::estimator::report::Report;
use crate::float::Real;
use crate::watch::Watch;

/// Budgets that terms joined may take. The rows choose among these; of three or more they are too
/// many for the rows that a Hessian is made of.
const JOINED: usize = 2;
/// Rows a term that a shard's pass visits at least, where there are so many.
const FEWEST_ROWS_A_TERM: usize = 100;

impl BudgetConfig {
    /// What these settings ask for that training in parts has no answer to.
    fn check_parts(&self) -> Result<()> {
        self.check()?;
        let refused = |what: &str, why: &str| {
            Err(Error::Unsupported(format!("{what} cannot be used on shards: {why}")))
        };
        if self.budget.is_none() {
            return refused("budget=none", "machines without a budget are not joined");
        }
        if !self.polishing {
            return refused("polishing=false", "coefficients joined are solved for anew");
        }
        if self.refine {
            return refused("refine=true", "moving points needs all rows in one place");
        }
        if self.early_stopping {
            return refused("early_stopping=true", "no rows are held out of a shard");
        }
        Ok(())
    }

    /// The passes of a fit on a shard, one of `n_shards`; a shard may have one class alone. In random
    /// order a pass visits the shard's part of 3,000 rows a term of the budget at most, but 100 rows
    /// a term.
    ///
    /// # Errors
    /// Those of [`Config::check`](crate::config::Config::check); `Unsupported` without a budget or polishing, for `refine` and
    /// `early_stopping`; `OutOfMemory`, `Interrupted`.
    pub fn shard_pass<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        n_shards: usize,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.check_parts()?;
        let of_passes = Self { loss: self.loss.of_passes(), ..self.clone() };
        let budget = self.budget.unwrap_or(1);
        let share = (ROWS_A_TERM / n_shards.max(1)).max(FEWEST_ROWS_A_TERM);
        let visited = budget.saturating_mul(share);
        watch.limit(self.max_time, 1.0);
        train(self, problem, watch, &|problem, _, watch| {
            let how = (self.max_iter, visited);
            let mut trained = passes(&of_passes, problem, (None, None), watch, how)?;
            // It stands for all rows of the shard.
            trained.part.passes.seen = problem.len() as u64;
            Ok(trained)
        })
    }

    /// With the budget of machines joined.
    fn wide(&self) -> Self {
        Self { budget: self.budget.map(|budget| budget.saturating_mul(JOINED)), ..self.clone() }
    }

    /// The parts of machines of shards, each as this one has it.
    fn shards<'m, F: Real>(
        &self,
        machines: &[&'m Machine<F>],
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Vec<Part<F>>>> {
        let behind = |machine: &'m Machine<F>| match machine.scaling() {
            Some(_) => Cow::Owned(machine.behind()),
            None => Cow::Borrowed(machine),
        };
        let wide = self.wide();
        machines.iter().map(|machine| wide.parts_of(&behind(machine), watch)).collect()
    }
}
