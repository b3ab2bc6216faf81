//! `f = Kβ`, kept while β changes.

use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::kernel::RowCache;
use crate::watch::{Step, Watch};

/// Samples whose rows are fetched at a time while `f` is computed anew, at most.
const AT_ONCE: usize = 512;

/// Multiply-adds of kernel rows between two looks at the watch.
pub(super) const WORK_BETWEEN_LOOKS: usize = 1 << 31;

/// Inner steps between two looks at the watch: some milliseconds.
const STEPS_BETWEEN_LOOKS: u64 = 1 << 13;

/// The samples behind a working set, each once and rising, and the slots of their rows.
pub(in crate::solver) struct Held {
    samples: Vec<usize>,
    slots: Vec<u32>,
}

impl Held {
    /// Where the row of one of the samples is.
    pub(in crate::solver) fn slot(&self, sample: usize) -> u32 {
        self.samples.binary_search(&sample).map_or(0, |at| self.slots[at])
    }
}

/// The kernel rows of a problem, `f` and the watch.
pub(in crate::solver) struct Product<'r, 'a, 'w, F: Real> {
    pub(in crate::solver) cache: &'r mut RowCache<'a, F>,
    /// `Kβ`, a value a sample.
    pub(in crate::solver) f: Vec<f64>,
    /// `k(x, x)` of every sample.
    pub(in crate::solver) diagonal: Vec<f64>,
    /// Steps so far.
    pub(in crate::solver) steps: u64,
    watch: &'r mut Watch<'w>,
}

impl<'r, 'a, 'w, F: Real> Product<'r, 'a, 'w, F> {
    /// `f = 0`.
    pub(in crate::solver) fn new(
        cache: &'r mut RowCache<'a, F>,
        watch: &'r mut Watch<'w>,
    ) -> Result<Self> {
        let f = try_vec("scores", cache.columns().len(), 0.0)?;
        Self::part(cache, f, 0, watch)
    }

    /// A part of a larger problem, with `f` of all of its terms, after so many steps.
    pub(in crate::solver) fn part(
        cache: &'r mut RowCache<'a, F>,
        f: Vec<f64>,
        steps: u64,
        watch: &'r mut Watch<'w>,
    ) -> Result<Self> {
        let diagonal = cache.columns().diagonal()?;
        if !diagonal.iter().all(|value| value.is_finite()) {
            return Err(Error::OutOfRange { what: "X" });
        }
        Ok(Self { cache, f, diagonal, steps, watch })
    }

    /// `f = Kβ` anew, β given by variables of samples; the old one where it is stopped.
    pub(in crate::solver) fn recompute(&mut self, sample: &[usize], beta: &[f64]) -> Step {
        if beta.iter().all(|&b| b == 0.0) {
            self.f.fill(0.0);
            return Ok(());
        }
        let mut total = vec![0.0; self.f.len()];
        for (&i, &beta) in sample.iter().zip(beta) {
            total[i] += beta;
        }
        let mut f = try_vec("scores", total.len(), 0.0)?;
        let samples: Vec<usize> = (0..total.len()).filter(|&i| total[i] != 0.0).collect();
        let step = self.rows_between_looks().min(AT_ONCE).min(self.cache.capacity()).max(1);
        let mut slots = Vec::new();
        for part in samples.chunks(step) {
            self.cache.request(part, &mut slots)?;
            let terms = slots.iter().zip(part).map(|(&slot, &i)| (slot, total[i]));
            self.cache.accumulate(&terms.collect::<Vec<_>>(), &mut f)?;
            self.look(beta)?;
        }
        self.f = f;
        Ok(())
    }

    /// Has the rows of these samples computed, with looks at the watch between blocks.
    pub(in crate::solver) fn fetch(&mut self, mut samples: Vec<usize>, beta: &[f64]) -> Step<Held> {
        samples.sort_unstable();
        samples.dedup();
        let (step, mut slots) = (self.rows_between_looks(), Vec::new());
        for upto in (step..samples.len()).step_by(step) {
            self.cache.request(&samples[..upto], &mut slots)?;
            self.look(beta)?;
        }
        self.cache.request(&samples, &mut slots)?;
        Ok(Held { samples, slots })
    }

    /// Steps on a working set, by `run(at most)` which says how many it took and whether it is
    /// done, until there are `max_iter` in all; with looks at the watch in between.
    pub(in crate::solver) fn inner_steps(
        &mut self,
        max_iter: u64,
        mut run: impl FnMut(u64) -> (u64, bool),
    ) -> Step {
        inner_steps(&mut self.steps, max_iter, self.watch, &mut run)
    }

    /// `f` follows variables that moved by so much, each given by its sample: what their samples'
    /// `β` moved by in all, in magnitude.
    pub(in crate::solver) fn follow(&mut self, held: &Held, moves: &[(usize, f64)]) -> Result<f64> {
        let mut change = vec![0.0; held.samples.len()];
        for &(sample, by) in moves {
            if let Ok(at) = held.samples.binary_search(&sample) {
                change[at] += by;
            }
        }
        let terms = held.slots.iter().zip(&change).filter(|(_, c)| **c != 0.0);
        let terms: Vec<(u32, f64)> = terms.map(|(&slot, &c)| (slot, c)).collect();
        self.cache.accumulate(&terms, &mut self.f)?;
        Ok(terms.iter().map(|(_, c)| c.abs()).sum())
    }

    fn rows_between_looks(&self) -> usize {
        (WORK_BETWEEN_LOOKS / self.cache.columns().row_work().max(1)).max(4)
    }

    fn tell(&mut self, beta: &[f64]) {
        self.watch.tick.iteration = steps_told(self.steps);
        self.watch.tick.n_terms = beta.iter().filter(|b| **b != 0.0).count();
    }

    /// Whether to go on.
    pub(in crate::solver) fn look(&mut self, beta: &[f64]) -> Step {
        self.tell(beta);
        self.watch.poll()
    }
}

/// As [`Product::inner_steps`], of steps that are counted here.
pub(super) fn inner_steps(
    taken: &mut u64,
    max_iter: u64,
    watch: &mut Watch<'_>,
    run: &mut dyn FnMut(u64) -> (u64, bool),
) -> Step {
    loop {
        let left = max_iter.saturating_sub(*taken);
        let (steps, done) = run(left.min(STEPS_BETWEEN_LOOKS));
        *taken += steps;
        if done || steps == 0 || *taken >= max_iter {
            return Ok(());
        }
        // With the number of terms that was told last.
        watch.tick.iteration = steps_told(*taken);
        watch.poll()?;
    }
}

/// Steps as they are told.
pub(super) fn steps_told(steps: u64) -> usize {
    usize::try_from(steps).unwrap_or(usize::MAX)
}
