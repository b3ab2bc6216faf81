//! The one loop over passes.

use std::ops::Range;

use super::order::SampleOrder;
use crate::error::Result;
use crate::rng::Rng;
use crate::watch::{Phase, Progress, Step, StopReason, Watch};

/// A pass over the samples, about to begin.
#[derive(Debug)]
pub struct Pass<'a> {
    order: &'a SampleOrder,
    n: usize,
    ids: &'a mut Vec<usize>,
}

impl Pass<'_> {
    /// The samples in the order of this pass.
    ///
    /// # Errors
    /// Those of [`SampleOrder::next_pass`].
    pub fn ids(&mut self, rng: &mut Rng) -> Result<&[usize]> {
        self.first_ids(rng, self.n)
    }

    /// The same of a pass that visits at most `most` samples where the order is random.
    ///
    /// # Errors
    /// Those of [`SampleOrder::next_pass`].
    pub fn first_ids(&mut self, rng: &mut Rng, most: usize) -> Result<&[usize]> {
        let most = self.order.visited(self.n, most);
        self.order.first_of_pass(rng, (self.n, most), self.ids)?;
        Ok(self.ids)
    }
}

/// Calls `pass` for each of `passes` over `n` samples, and tells the end of each, until the watch
/// says so or `pass` has its own reason to make it the last: why they ended. `pass` keeps up the
/// tick of the watch.
///
/// # Errors
/// `OutOfMemory`, those of `pass`, `Interrupted`.
pub fn passes(
    watch: &mut Watch<'_>,
    (order, n, passes): (&SampleOrder, usize, Range<usize>),
    pass: &mut dyn FnMut(&mut Watch<'_>, &mut Pass<'_>) -> Step<Option<StopReason>>,
) -> Result<StopReason> {
    let mut ids = Vec::new();
    let mut one = |watch: &mut Watch<'_>, iteration: usize| -> Step<Option<StopReason>> {
        watch.enter(Phase::Pass, Progress { iteration, n_samples: n, ..Progress::default() });
        let last = pass(watch, &mut Pass { order, n, ids: &mut ids })?;
        watch.enter(Phase::EndOfPass, Progress { iteration: iteration + 1, ..watch.tick });
        watch.poll()?;
        Ok(last)
    };
    for iteration in passes {
        if let Some(reason) = one(watch, iteration).or_else(|halt| halt.into_reason().map(Some))? {
            return Ok(reason);
        }
    }
    Ok(StopReason::MaxIter)
}
