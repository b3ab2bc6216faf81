//! Machines of shards as one.
//!
//! *Method*: machines are joined two by two, in a tree over their order. 1. Coefficients and offsets
//! are the mean of both, by the rows that each has seen: each solves the same problem for its rows, so
//! that a sum would be as many times too large as there are shards. 2. The terms of both stand side
//! by side. 3. Maintenance brings them to twice the budget: which of these go is for the rows to say
//! ([`BudgetConfig::finish_joined`]).
//!
//! *Cost* of two: O(B² d) for B events of maintenance.

use super::{BudgetConfig, Error, Machine, Part, Real, Result, Watch, machine};
use crate::budget::Maintainer;
use crate::estimator::passes::Passes;
use crate::model::{Expansion, KernelModel};

/// Events between two looks at the watch.
const EVENTS: usize = 64;

impl BudgetConfig {
    /// One machine of those of shards, in their order, with at most twice `budget` terms. Of more than
    /// two machines terms are merged on the way, which knows of no rows: better are pairs, each brought
    /// back to the budget by [`BudgetConfig::finish_joined`] on some rows of both.
    ///
    /// # Errors
    /// As [`BudgetConfig::shard_pass`]; `InvalidData` for no machine, `Unsupported` or `BadLabels` for
    /// machines that do not fit each other or these settings.
    pub fn join<F: Real>(
        &self,
        machines: &[&Machine<F>],
        watch: &mut Watch<'_>,
    ) -> Result<Machine<F>> {
        self.check_parts()?;
        let Some(first) = machines.first() else {
            return Err(Error::InvalidData { what: "machines", reason: "none to join".into() });
        };
        for machine in machines {
            crate::error::check_features(first.n_features(), machine.n_features())?;
            if machine.n_outputs() != first.n_outputs() {
                return Err(Error::BadLabels("machines of other numbers of classes".into()));
            }
        }
        let scaling = first.scaling().cloned();
        let scales = |m: &Machine<F>| m.scaling().map(|s| s.scales().values().to_vec());
        if machines.iter().any(|machine| scales(machine) != scales(first)) {
            return Err(Error::Unsupported("machines of features scaled in other ways".into()));
        }
        let mut level = self.shards(machines, watch)?;
        while level.len() > 1 {
            let mut next = Vec::with_capacity(level.len().div_ceil(2));
            let mut rest = level.into_iter();
            while let Some(left) = rest.next() {
                next.push(match rest.next() {
                    Some(right) => self.pairs(left, right, watch)?,
                    None => left,
                });
            }
            level = next;
        }
        let joined = machine(self, level.pop().unwrap_or_default());
        match scaling {
            Some(scaling) => joined.scaled(scaling),
            None => Ok(joined),
        }
    }

    fn pairs<F: Real>(
        &self,
        left: Vec<Part<F>>,
        right: Vec<Part<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Part<F>>> {
        let pairs = left.iter().zip(&right);
        pairs.map(|(left, right)| self.pair(left, right, watch)).collect()
    }

    fn pair<F: Real>(
        &self,
        left: &Part<F>,
        right: &Part<F>,
        watch: &mut Watch<'_>,
    ) -> Result<Part<F>> {
        let seen = left.passes.seen + right.passes.seen;
        let share = |part: &Part<F>| match seen {
            0 => 0.5,
            _ => part.passes.seen as f64 / seen as f64,
        };
        let mut both = left.model.to_expansion()?;
        // Step 1.
        both.scale(share(left));
        let mut reduced = Reduce {
            maintainer: Maintainer::new(self.resolve_maintenance()?, self.kernel, self.seed)?,
            budget: self.wide().budget.unwrap_or(usize::MAX),
            at_once: self.resolve_maintenance()?.looks_at_all(),
        };
        reduced.add(&mut both, &right.model, share(right), watch)?;
        let offsets = left.model.intercept().iter().zip(right.model.intercept());
        let intercept = offsets.map(|(l, r)| share(left) * l + share(right) * r).collect();
        let steps = left.passes.steps + right.passes.steps;
        let model = KernelModel::from_expansion(&both, 1.0, intercept)?;
        Ok(Part { model, passes: Passes { seen, steps }, left: None })
    }
}

struct Reduce<F: Real> {
    maintainer: Maintainer<F>,
    budget: usize,
    at_once: bool,
}

impl<F: Real> Reduce<F> {
    /// Steps 2 and 3. Maintenance that knows of the newest term alone is asked after each.
    fn add(
        &mut self,
        both: &mut Expansion<F>,
        model: &KernelModel<F>,
        share: f64,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let (centers, coef, m) = (model.centers()?, model.coef(), model.n_outputs());
        let rows = centers.rows()?;
        let mut row = vec![F::zero(); rows.n_cols()];
        both.reserve(model.n_terms())?;
        for term in 0..model.n_terms() {
            rows.copy_row(term, &mut row);
            row.iter_mut().zip(both.origin()).for_each(|(v, &o)| *v -= o);
            let slot = both.push(&row)?;
            (0..m).for_each(|c| both.set_coef(slot, c, share * coef[term * m + c]));
            if !self.at_once && both.len() > self.budget {
                self.maintainer.reduce(both, self.budget, &mut ())?;
                watch.unbroken(Watch::glance)?;
            }
        }
        while both.len() > self.budget {
            let next = both.len().saturating_sub(EVENTS).max(self.budget);
            self.maintainer.reduce(both, next, &mut ())?;
            watch.unbroken(Watch::poll)?;
        }
        both.check_finite()
    }
}
