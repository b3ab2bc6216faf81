//! Primal machines without labels: which solver, on which basis.

use std::ops::ControlFlow;

use super::basis::{ModelRows, model_on};
use super::exact::Limited;
use super::primal_config::{Choice, PrimalConfig, PrimalSolver};
use super::primal_tune::{Tuned, tune};
use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::rng::Rng;
use crate::solver::polish::{Polished, Start, basis_gram};
use crate::solver::primal::{Linear, Metric, leave_one_out, linear, newton, pcg};
use crate::solver::{Observer, Phase, Progress, StopReason};

/// The order in which a kernel machine meets its samples: any will do that is a fair mixture.
const ORDER_SEED: u64 = 5;
/// The points that the expansion is made of.
#[derive(Clone, Debug)]
pub enum PrimalBasis<'a, F: Real> {
    /// Every sample.
    Samples,
    /// This many samples, found so.
    Chosen(Choice, usize),
    /// These points, or this many of them by incomplete Cholesky where there are more.
    Given(Rows<'a, F>, usize),
}

/// Where a fit begins: a solution found before, for these or other hyperparameters.
#[derive(Clone, Debug)]
pub struct PrimalStart {
    /// For an expansion in the samples: those that the terms are. Else empty: the terms are the
    /// features, or the points of the basis given.
    pub terms: Vec<usize>,
    /// Terms x outputs.
    pub coef: Vec<f64>,
    /// An offset an output.
    pub intercept: Vec<f64>,
}

/// A trained machine.
#[derive(Clone, Debug)]
pub struct PrimalMachine {
    /// The samples, or points of the basis given, that the terms are; none for a linear machine
    /// and for points that were moved.
    pub support: Option<Vec<usize>>,
    /// Points that refining moved, terms x features: numbers of the rows' precision.
    pub points: Option<Vec<f64>>,
    /// Terms (features of a linear machine) x outputs.
    pub coef: Vec<f64>,
    /// An offset an output.
    pub intercept: Vec<f64>,
    /// Objective with the loss smoothed, and as it is.
    pub objective: [f64; 2],
    /// Steps of the output that took most.
    pub n_iter: usize,
    /// Why it ended.
    pub stop: StopReason,
    /// Leave-one-out decision values, samples x outputs, where asked for; NaN for samples that
    /// cost nothing.
    pub left_out: Option<Vec<f64>>,
    /// What C and γ were multiplied by, when they were tuned.
    pub tuned: Option<Tuned>,
    /// Seconds and objective at each step.
    pub history: Vec<[f64; 2]>,
}

impl PrimalMachine {
    /// Trains on all samples whose cost is positive; `start` changes how long it takes, and where
    /// a basis that is given is refined also where it leads. A basis still to be chosen begins
    /// without one. Call it inside [`crate::parallel::run`].
    ///
    /// # Errors
    /// `InvalidParam`, `FeatureMismatch` for a basis given with other features, `LengthMismatch`
    /// for a start of another size, `Unsupported` when Newton's method does not fit the memory
    /// allowed or a machine without a basis is to be refined, `NonFinite`, `OutOfMemory`,
    /// `Interrupted`.
    pub fn fit<F: Real>(
        config: &PrimalConfig,
        problem: &Problem<'_, F>,
        basis: &PrimalBasis<'_, F>,
        start: Option<&PrimalStart>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        config.check()?;
        let everything = matches!(basis, PrimalBasis::Samples);
        if config.refine && everything {
            return Err(Error::Unsupported(
                "refine=True needs a basis (basis='kmeans++', n_components=500): an expansion in \
                 all samples has nothing to gain from other points"
                    .into(),
            ));
        }
        let linear = everything && config.kernel == AnyKernel::Linear;
        let n = problem.cost().iter().filter(|&&c| c > 0.0).count();
        if config.leave_one_out && (!everything || linear || !config.by_newton(n)?) {
            return Err(Error::Unsupported(
                "leave_one_out=True needs Newton's method on an expansion in all samples: a \
                 kernel that is not 'linear', basis=None, solver='newton'"
                    .into(),
            ));
        }
        if everything && !linear {
            config.by_newton(n)?;
        }
        let mut run = Run {
            config: *config,
            limited: Limited::new(observer, config.max_time),
            n_samples: problem.len(),
            n_terms: 0,
            phase: Phase::Step,
            steps_before: 0,
            history: Vec::new(),
        };
        let Some(size) = config.tune else { return run.fit(problem, basis, start) };
        let tuned = tune(&mut run, problem, size)?;
        run.config = config.scaled(tuned.gamma)?;
        let cost: Vec<f64> = problem.cost().iter().map(|c| c * tuned.c).collect();
        let rows = problem.rows();
        let problem = Problem::new(rows.view(), problem.targets(), &cost)?;
        let machine = run.fit(&problem, &basis.view(), start)?;
        let stop = match machine.stop {
            StopReason::Converged => tuned.stopped.unwrap_or(StopReason::Converged),
            stop => stop,
        };
        Ok(Self { tuned: Some(tuned), stop, ..machine })
    }
}

impl PrimalStart {
    /// Whether it has this many terms and outputs.
    pub(super) fn check(&self, terms: usize, outputs: usize) -> Result<()> {
        for (what, got, expected) in [
            ("coefficients of the start", self.coef.len(), terms * outputs),
            ("intercept of the start", self.intercept.len(), outputs),
        ] {
            if got != expected {
                return Err(Error::LengthMismatch { what, expected, got });
            }
        }
        let values = self.coef.iter().chain(&self.intercept);
        match values.enumerate().find(|(_, v)| !v.is_finite()) {
            Some((row, _)) => Err(Error::NonFinite { what: "start", row, column: 0 }),
            None => Ok(()),
        }
    }
}

impl<F: Real> PrimalBasis<'_, F> {
    /// The same for a shorter time.
    fn view(&self) -> PrimalBasis<'_, F> {
        match self {
            Self::Samples => PrimalBasis::Samples,
            Self::Chosen(choice, count) => PrimalBasis::Chosen(*choice, *count),
            Self::Given(points, count) => PrimalBasis::Given(points.view(), *count),
        }
    }
}

/// A fit as it runs.
pub(super) struct Run<'a> {
    pub(super) config: PrimalConfig,
    pub(super) limited: Limited<'a>,
    n_samples: usize,
    pub(super) n_terms: usize,
    /// What is going on, and the steps of what went before it.
    pub(super) phase: Phase,
    pub(super) steps_before: usize,
    history: Vec<[f64; 2]>,
}

impl Run<'_> {
    /// Tells the observer, and keeps one entry a step.
    pub(super) fn watch(&mut self, steps: usize, objective: f64) -> ControlFlow<StopReason> {
        let steps = self.steps_before + steps;
        if objective.is_finite() && steps >= self.history.len() {
            self.history.push([self.limited.elapsed().as_secs_f64(), objective]);
        }
        self.limited.observe(&Progress {
            phase: self.phase,
            iteration: steps,
            seen: 0,
            n_samples: self.n_samples,
            n_terms: self.n_terms,
            moved: 0.0,
            maintained: 0.0,
            objective: Some(objective).filter(|o| o.is_finite()),
            elapsed: std::time::Duration::ZERO,
        })
    }

    /// For work that has no result until it is done.
    pub(super) fn poll(&mut self) -> Result<()> {
        match self.watch(0, f64::NAN) {
            ControlFlow::Break(StopReason::Interrupted) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    fn fit<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        basis: &PrimalBasis<'_, F>,
        start: Option<&PrimalStart>,
    ) -> Result<PrimalMachine> {
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
        machine.history = std::mem::take(&mut self.history);
        Ok(machine)
    }

    fn linear<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        from: Option<&PrimalStart>,
    ) -> Result<PrimalMachine> {
        let (d, m) = (problem.rows().n_cols(), problem.targets().n_outputs());
        self.n_terms = d;
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
        let polish = self.config.polish();
        let solved = linear(&polish, method, &problem.rows(), start, &mut |s, o| self.watch(s, o))?;
        Ok(machine(solved, None))
    }

    fn expansion<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        from: Option<&PrimalStart>,
    ) -> Result<PrimalMachine> {
        let part = Shuffled::new(problem, ORDER_SEED);
        let (n, m) = (part.samples.len(), problem.targets().n_outputs());
        let by_newton = self.config.by_newton(n)?;
        self.n_terms = n;
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
        let polish = self.config.polish();
        let model = model_on(self.config.kernel, &problem.rows(), &part.samples, m)?;
        let x = problem.rows();
        let all = ModelRows::of_some(x.view(), &part.samples, &model)?;
        let mut left_out = None;
        let solved = if by_newton {
            let gram = basis_gram(&all, || self.poll())?;
            let solved = newton(&polish, &gram, start, &mut |s, o| self.watch(s, o))?;
            if self.config.leave_one_out {
                let solution = Start { coef: &solved.coef, intercept: &solved.intercept, ..start };
                let steps = solved.steps;
                let found = leave_one_out(&polish, &gram, solution, &mut |_, _| {
                    self.watch(steps, f64::NAN)
                })?;
                let mut values = try_vec("leave-one-out values", problem.len() * m, f64::NAN)?;
                for (&i, from) in part.samples.iter().zip(found.chunks_exact(m)) {
                    values[i * m..(i + 1) * m].copy_from_slice(from);
                }
                left_out = Some(values);
            }
            solved
        } else {
            let metric = match self.config.solver {
                PrimalSolver::PlainCg => Metric::Plain,
                _ => Metric::Kernel,
            };
            pcg(&polish, metric, &all, start, &mut |s, o| self.watch(s, o))?
        };
        // Only support vectors stay, in the order of the samples.
        let supports = |j: &usize| solved.coef[j * m..(j + 1) * m].iter().any(|&b| b != 0.0);
        let mut terms: Vec<usize> = (0..n).filter(supports).collect();
        terms.sort_by_key(|&j| part.samples[j]);
        let coef: Vec<f64> =
            terms.iter().flat_map(|&j| solved.coef[j * m..(j + 1) * m].iter().copied()).collect();
        let support = terms.iter().map(|&j| part.samples[j]).collect();
        let machine = machine(Polished { coef, ..solved }, Some(support));
        Ok(PrimalMachine { left_out, ..machine })
    }
}

pub(super) fn machine(solved: Polished, support: Option<Vec<usize>>) -> PrimalMachine {
    PrimalMachine {
        support,
        points: None,
        coef: solved.coef,
        intercept: solved.intercept,
        objective: [solved.smoothed, solved.primal],
        n_iter: solved.steps,
        stop: solved.stop,
        left_out: None,
        tuned: None,
        history: Vec::new(),
    }
}

/// The samples of positive cost in a mixed order.
#[derive(Clone)]
pub(super) struct Shuffled {
    pub(super) samples: Vec<usize>,
    pub(super) cost: Vec<f64>,
    classes: Vec<u32>,
    values: Vec<f64>,
    n_classes: Option<usize>,
}

impl Shuffled {
    pub(super) fn new<F: Real>(problem: &Problem<'_, F>, seed: u64) -> Self {
        let mut samples: Vec<usize> =
            (0..problem.len()).filter(|&i| problem.cost()[i] > 0.0).collect();
        Rng::new(seed).shuffle(&mut samples);
        let cost = samples.iter().map(|&i| problem.cost()[i]).collect();
        let (mut classes, mut values, mut n) = (Vec::new(), Vec::new(), None);
        match problem.targets() {
            Targets::Classes { index, n_classes } => {
                classes = samples.iter().map(|&i| index[i]).collect();
                n = Some(n_classes);
            }
            Targets::Values(all) => values = samples.iter().map(|&i| all[i]).collect(),
        }
        Self { samples, cost, classes, values, n_classes: n }
    }

    /// The first samples alone.
    pub(super) fn first(mut self, size: usize) -> Self {
        self.samples.truncate(size);
        self.cost.truncate(size);
        self.classes.truncate(size);
        self.values.truncate(size);
        self
    }

    pub(super) fn targets(&self) -> Targets<'_> {
        match self.n_classes {
            Some(n_classes) => Targets::Classes { index: &self.classes, n_classes },
            None => Targets::Values(&self.values),
        }
    }
}

/// Decision values of an expansion on these points, samples x outputs. `coef` is terms x outputs.
/// Call it inside [`crate::parallel::run`].
///
/// # Errors
/// `LengthMismatch`, `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
pub fn primal_decision<F: Real>(
    kernel: AnyKernel,
    points: &Rows<'_, F>,
    (coef, intercept): (&[f64], &[f64]),
    rows: &Rows<'_, F>,
) -> Result<Vec<f64>> {
    rows.check_finite("X")?;
    let all: Vec<usize> = (0..points.n_rows()).collect();
    let model = model_on(kernel, points, &all, intercept.len())?;
    let model = model.with_coef(coef, intercept.to_vec())?;
    let mut values = try_vec("decision values", rows.n_rows() * intercept.len(), 0.0)?;
    model.decision(rows, &mut values)?;
    Ok(values)
}
