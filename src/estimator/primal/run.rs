//! A fit of a primal machine as it runs: linear, or an expansion in all samples.

use super::config::{PrimalConfig, PrimalSolver};
use super::found::Found;
use super::report::PrimalReport;
use super::start::{PrimalBasis, PrimalStart};
use crate::data::{Problem, SomeTargets, StratifiedSample, Targets};
use crate::error::{Error, Result, try_collect, try_vec};
use crate::estimator::basis::{ModelRows, model_on};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::rng::Rng;
use crate::solver::primal::{Linear, Metric, leave_one_out, linear, newton, pcg};
use crate::solver::smoothed::{Polished, Start, basis_gram};
use crate::watch::{Halt, Watch};

/// The order in which a kernel machine meets its samples: any will do that is a fair mixture.
const ORDER_SEED: u64 = 5;
/// The share of `max_time` after which what comes before the machine itself, tuning and the choice
/// of a basis, ends with what it has.
pub(super) const SHARE_BEFORE: f64 = 0.5;
/// Of the objective of the machine that says 0.
const ROUNDING: f64 = 1e-6;

/// A fit as it runs.
pub(super) struct Run<'r, 'a> {
    pub(super) config: PrimalConfig,
    /// Of the targets.
    pub(super) unit: f64,
    pub(super) watch: &'r mut Watch<'a>,
}

impl Run<'_, '_> {
    pub(super) fn fit<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        basis: &PrimalBasis<'_, F>,
        start: Option<&PrimalStart>,
    ) -> Result<Found> {
        let mut machine = match basis {
            PrimalBasis::Samples if self.config.kernel == AnyKernel::Linear => {
                self.linear(problem, start)?
            }
            PrimalBasis::Samples => self.expansion(problem, start)?,
            PrimalBasis::Chosen(_, 0) | PrimalBasis::Given(_, 0) => {
                return Err(Error::param("n_components", ">= 1", 0));
            }
            PrimalBasis::Chosen(choice, count) => self.chosen(problem, *choice, *count)?,
            PrimalBasis::Given(points, count) => self.given(problem, (points, *count), start)?,
        };
        machine.report.history = self.watch.take_history();
        // Both terms of the objective are squares or losses, unless K is indefinite.
        let (value, cost) = (machine.report.smoothed, problem.cost().iter().sum::<f64>());
        // Before the first step it is not known.
        let ended = machine.report.stop.is_early();
        let size = match self.config.loss.has_bounded_slope() {
            true => cost * self.unit,
            false => cost * self.unit * self.unit,
        };
        if value < -ROUNDING * size || (value.is_nan() && !ended) {
            return Err(Error::NotPositiveDefinite("the kernel matrix"));
        }
        Ok(machine)
    }

    fn linear<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        from: Option<&PrimalStart>,
    ) -> Result<Found> {
        let (d, m) = (problem.rows().n_cols(), problem.targets().n_outputs());
        self.watch.tick.n_terms = d;
        let method = match self.config.solver {
            PrimalSolver::Auto => Linear::Auto,
            PrimalSolver::Newton if !self.config.newton_fits(d) => {
                return Err(Error::Unsupported(format!(
                    "solver='newton' needs a Hessian of {d} x {d} numbers, more than \
                     cache_size={}: use solver='cg'",
                    self.config.cache_size
                )));
            }
            PrimalSolver::Newton => Linear::Direct,
            PrimalSolver::Cg | PrimalSolver::PlainCg => Linear::Truncated,
        };
        let (mut coef, mut intercept) = (try_vec("weights", d * m, 0.0)?, vec![0.0; m]);
        if let Some(from) = from {
            from.check(d, m)?;
            coef.copy_from_slice(&from.coef);
            intercept.copy_from_slice(&from.intercept);
        }
        let start = Start {
            targets: problem.targets(),
            cost: problem.cost(),
            coef: &coef,
            intercept: &intercept,
        };
        let polish = self.config.polish(self.unit);
        let solved = linear(&polish, method, &problem.rows(), start, self.watch)?;
        Ok(machine(solved, None))
    }

    fn expansion<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        from: Option<&PrimalStart>,
    ) -> Result<Found> {
        let part = Shuffled::new(problem, ORDER_SEED)?;
        let (n, m) = (part.samples.len(), problem.targets().n_outputs());
        let by_newton = self.config.by_newton(n)?;
        self.watch.tick.n_terms = n;
        let (mut coef, mut intercept) = (try_vec("coefficients", n * m, 0.0)?, vec![0.0; m]);
        if let Some(from) = from {
            from.check(from.terms.len(), m)?;
            let mut place = try_vec("samples", problem.len(), usize::MAX)?;
            part.samples.iter().enumerate().for_each(|(at, &i)| place[i] = at);
            for (&i, values) in from.terms.iter().zip(from.coef.chunks_exact(m)) {
                // A sample that costs nothing now has no term.
                if let Some(&at) = place.get(i).filter(|&&at| at < n) {
                    coef[at * m..(at + 1) * m].copy_from_slice(values);
                }
            }
            intercept.copy_from_slice(&from.intercept);
        }
        let start =
            Start { targets: part.targets(), cost: &part.cost, coef: &coef, intercept: &intercept };
        let polish = self.config.polish(self.unit);
        // Where there was no time to begin.
        let none = |halt: Halt, coef: Vec<f64>, intercept: Vec<f64>| {
            let (smoothed, primal, stop) = (f64::NAN, f64::NAN, halt.into_reason()?);
            let (steps, converged) = (0, false);
            let none = Polished { coef, intercept, smoothed, primal, steps, converged, stop };
            Ok(machine_of(&part, none, m))
        };
        let model = model_on(self.config.kernel, &problem.rows(), &part.samples, m)?;
        if let Err(halt) = model.pack(&mut || self.watch.glance()) {
            return none(halt, coef, intercept);
        }
        let x = problem.rows();
        let all = ModelRows::of_some(x.view(), &part.samples, &model)?;
        let mut left_out = None;
        let solved = if by_newton {
            let gram = match basis_gram(&all, self.watch) {
                Ok(gram) => gram,
                Err(halt) => return none(halt, coef, intercept),
            };
            let mut solved = newton(&polish, &gram, start, self.watch)?;
            if self.config.leave_one_out && !solved.stop.is_early() {
                let solution = Start { coef: &solved.coef, intercept: &solved.intercept, ..start };
                self.watch.steps_before = solved.steps;
                match leave_one_out(&polish, &gram, solution, self.watch) {
                    Ok(found) => {
                        let mut values =
                            try_vec("leave-one-out values", problem.len() * m, f64::NAN)?;
                        for (&i, from) in part.samples.iter().zip(found.chunks_exact(m)) {
                            values[i * m..(i + 1) * m].copy_from_slice(from);
                        }
                        left_out = Some(values);
                    }
                    Err(Halt::Stop(stop)) => solved.stop = stop,
                    Err(Halt::Fail(error)) => return Err(error),
                }
            }
            solved
        } else {
            let metric = match self.config.solver {
                PrimalSolver::PlainCg => Metric::Plain,
                _ => Metric::Kernel,
            };
            pcg(&polish, metric, &all, start, self.watch)?
        };
        let mut found = machine_of(&part, solved, m);
        found.report.left_out = left_out;
        Ok(found)
    }
}

/// Only support vectors stay of an expansion in a part of the samples, in the order of the samples.
fn machine_of(part: &Shuffled, solved: Polished, m: usize) -> Found {
    let supports = |j: &usize| solved.coef[j * m..(j + 1) * m].iter().any(|&b| b != 0.0);
    let mut terms: Vec<usize> = (0..part.samples.len()).filter(supports).collect();
    terms.sort_by_key(|&j| part.samples[j]);
    let coef: Vec<f64> =
        terms.iter().flat_map(|&j| solved.coef[j * m..(j + 1) * m].iter().copied()).collect();
    let support = terms.iter().map(|&j| part.samples[j]).collect();
    machine(Polished { coef, ..solved }, Some(support))
}

pub(super) fn machine(solved: Polished, support: Option<Vec<usize>>) -> Found {
    let report = PrimalReport {
        smoothed: solved.smoothed,
        primal: solved.primal,
        n_iter: solved.steps,
        stop: solved.stop,
        tuned: None,
        support,
        left_out: None,
        history: Vec::new(),
    };
    Found { points: None, coef: solved.coef, intercept: solved.intercept, report }
}

/// The samples of positive cost in a mixed order.
#[derive(Clone)]
pub(super) struct Shuffled {
    pub(super) samples: Vec<usize>,
    pub(super) cost: Vec<f64>,
    targets: SomeTargets,
}

impl Shuffled {
    pub(super) fn new<F: Real>(problem: &Problem<'_, F>, seed: u64) -> Result<Self> {
        Self::some(problem, seed, usize::MAX)
    }

    /// So many samples alone, rare classes up to a half of them; costs undo that.
    pub(super) fn some<F: Real>(problem: &Problem<'_, F>, seed: u64, size: usize) -> Result<Self> {
        let weighty = (0..problem.len()).filter(|&i| problem.cost()[i] > 0.0);
        let samples = try_collect("samples", weighty)?;
        let rng = &mut Rng::new(seed);
        let drawn = StratifiedSample::draw(problem.targets(), samples, size, rng)?;
        let each = drawn.rows.iter().zip(&drawn.weights);
        let cost = try_collect("costs", each.map(|(&i, weight)| weight * problem.cost()[i]))?;
        let targets = SomeTargets::new(problem.targets(), drawn.rows.iter().copied())?;
        Ok(Self { samples: drawn.rows, cost, targets })
    }

    pub(super) fn targets(&self) -> Targets<'_> {
        self.targets.view()
    }
}
