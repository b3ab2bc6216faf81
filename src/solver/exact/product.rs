//! `f = Kβ`, kept while β changes.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::kernel::RowCache;
use crate::solver::{Observer, Phase, Progress, StopReason};

/// Samples whose rows are fetched at a time while `f` is computed anew, at most.
const AT_ONCE: usize = 512;

/// Multiply-adds of kernel rows between two looks at the observer.
pub(super) const WORK_BETWEEN_LOOKS: usize = u32::MAX as usize;

/// The kernel rows of a problem, `f` and the observer that watches.
pub(in crate::solver) struct Product<'r, 'a, F: Real> {
    pub(in crate::solver) cache: &'r mut RowCache<'a, F>,
    /// `Kβ`, a value a sample.
    pub(in crate::solver) f: Vec<f64>,
    /// `k(x, x)` of every sample.
    pub(in crate::solver) diagonal: Vec<f64>,
    /// Steps so far, for the observer.
    pub(in crate::solver) steps: u64,
    n_samples: usize,
    n_terms: usize,
    observer: &'r mut dyn Observer,
    started: Instant,
}

impl<'r, 'a, F: Real> Product<'r, 'a, F> {
    /// `f = 0`.
    pub(in crate::solver) fn new(
        cache: &'r mut RowCache<'a, F>,
        observer: &'r mut dyn Observer,
    ) -> Result<Self> {
        let f = try_vec("scores", cache.columns().len(), 0.0)?;
        let watch = Watch { steps: 0, n_samples: f.len(), started: Instant::now() };
        Self::part(cache, f, watch, observer)
    }

    /// A part of a larger problem, with `f` of all of its terms.
    pub(in crate::solver) fn part(
        cache: &'r mut RowCache<'a, F>,
        f: Vec<f64>,
        watch: Watch,
        observer: &'r mut dyn Observer,
    ) -> Result<Self> {
        let diagonal = cache.columns().diagonal()?;
        let Watch { steps, n_samples, started } = watch;
        Ok(Self { cache, f, diagonal, steps, n_samples, n_terms: 0, observer, started })
    }

    /// `f = Kβ` anew, β given by variables of samples.
    pub(in crate::solver) fn recompute(&mut self, sample: &[usize], beta: &[f64]) -> Result<()> {
        let mut total = vec![0.0; self.f.len()];
        for (&i, &beta) in sample.iter().zip(beta) {
            total[i] += beta;
        }
        self.f.fill(0.0);
        let samples: Vec<usize> = (0..total.len()).filter(|&i| total[i] != 0.0).collect();
        let step = self.rows_between_looks().min(AT_ONCE).min(self.cache.capacity()).max(1);
        let mut slots = Vec::new();
        for part in samples.chunks(step) {
            self.cache.request(part, &mut slots)?;
            let terms = slots.iter().zip(part).map(|(&slot, &i)| (slot, total[i]));
            self.cache.accumulate(&terms.collect::<Vec<_>>(), &mut self.f);
            // Half a sum is of no use: only an interrupt ends it.
            self.look(beta)?;
        }
        Ok(())
    }

    /// Has the rows of these samples computed, with looks at the observer between blocks.
    pub(in crate::solver) fn fetch(
        &mut self,
        samples: &[usize],
        slots: &mut Vec<u32>,
        beta: &[f64],
    ) -> Result<Option<StopReason>> {
        let step = self.rows_between_looks();
        for upto in (step..samples.len()).step_by(step) {
            self.cache.request(&samples[..upto], slots)?;
            if let Some(stop) = self.look(beta)? {
                return Ok(Some(stop));
            }
        }
        self.cache.request(samples, slots)?;
        Ok(None)
    }

    fn rows_between_looks(&self) -> usize {
        (WORK_BETWEEN_LOOKS / self.cache.columns().row_work().max(1)).max(16)
    }

    /// Asks the observer.
    pub(in crate::solver) fn look(&mut self, beta: &[f64]) -> Result<Option<StopReason>> {
        self.n_terms = beta.iter().filter(|b| **b != 0.0).count();
        self.look_again()
    }

    /// Asks the observer, with the number of terms that it was told last.
    pub(in crate::solver) fn look_again(&mut self) -> Result<Option<StopReason>> {
        let watch = Watch { steps: self.steps, n_samples: self.n_samples, started: self.started };
        watch.look(self.n_terms, self.observer)
    }
}

/// What the observer of a run is told.
#[derive(Clone, Copy, Debug)]
pub(in crate::solver) struct Watch {
    /// Steps so far.
    pub(in crate::solver) steps: u64,
    /// Samples of the whole problem.
    pub(in crate::solver) n_samples: usize,
    /// When the run began.
    pub(in crate::solver) started: Instant,
}

impl Watch {
    /// Asks the observer.
    pub(in crate::solver) fn look(
        &self,
        n_terms: usize,
        observer: &mut dyn Observer,
    ) -> Result<Option<StopReason>> {
        let progress = Progress {
            phase: Phase::Pass,
            iteration: usize::try_from(self.steps).unwrap_or(usize::MAX),
            seen: 0,
            n_samples: self.n_samples,
            n_terms,
            moved: 0.0,
            maintained: 0.0,
            objective: None,
            elapsed: self.started.elapsed(),
        };
        match observer.observe(&progress) {
            ControlFlow::Continue(()) => Ok(None),
            ControlFlow::Break(StopReason::Interrupted) => Err(Error::Interrupted),
            ControlFlow::Break(stop) => Ok(Some(stop)),
        }
    }
}
