//! How good C and γ are for the machine's own loss, on rows that it was not trained on.
//!
//! # Method
//!
//! 1. *Few rows*: every row is a term, the coefficients are solved for by Newton's method, and each
//!    row is decided about by the machine without it ([`leave_one_out`]).
//! 2. *More rows, every one a term*: the same on either half of the rows, each decided about by the
//!    machine of the other half.
//! 3. *A budget that is small beside the rows*: the first rows are the terms, the coefficients are
//!    polished for either half of the rows, and the rows that are no terms are decided about.
//! 4. C goes up by factors while the score rises, or else down; each solution begins with the last.

use super::config::BudgetConfig;
use super::grid::Grid;
use super::halving::Fold;
use crate::data::{Problem, SomeTargets};
use crate::error::{Error, Result, try_vec};
use crate::estimator::basis::{HeldRows, ModelRows, model_on};
use crate::estimator::coefficients;
use crate::estimator::score::proper_score_of;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::KernelModel;
use crate::solver::primal::{leave_one_out, newton};
use crate::solver::smoothed::{Polish, Start, basis_gram};
use crate::watch::{Halt, Step, Watch};

/// Rows up to which each is left out by itself where all of them are terms.
const LEAVE_ONE_OUT: usize = 500;
/// Most rows times rows times outputs of a half whose rows are all terms. An output of values counts
/// `OF_VALUES` times: most of its rows are at a corner of the loss, where a step costs more.
const SQUARES: usize = 4_000_000;
const OF_VALUES: usize = 16;
/// Most rows times columns of a half whose rows are all terms.
const NUMBERS: usize = 1 << 22;
/// Rows a term of the budget up to which a machine of all rows stands for the one on the budget.
const ROWS_A_TERM: usize = 2;
/// Terms of a machine on a budget, and their share of the rows at most.
const TERMS: usize = 200;
const SHARE: usize = 2;
/// Newton steps of a solution.
const STEPS: usize = 50;
/// C is within this range, in units of the spread of values.
pub(super) const RANGE: (f64, f64) = (1e-2, 1e4);

/// How rows are decided about that a machine was not trained on.
enum Scheme {
    /// All rows are terms, and each row is left out by itself.
    LeftOut,
    /// The rows of either half are the terms of its machine.
    Halves(Vec<Fold>),
    /// So many first rows are the terms of the machines of both halves.
    Terms(usize, Vec<Fold>),
}

/// Scores of C and γ on the rows of a problem, whose costs are those of C = 1.
pub(super) struct Validation<'v, 'p, F: Real> {
    config: &'v BudgetConfig,
    problem: &'v Problem<'p, F>,
    /// Weights of the rows; those that the score does not ask about have none.
    weights: Vec<f64>,
    scheme: Scheme,
    spread: f64,
    /// How coefficients are solved for.
    polish: Polish,
}

impl BudgetConfig {
    /// Rows of a problem that a validation looks at, at most.
    pub(super) fn validated_rows<F: Real>(&self, problem: &Problem<'_, F>, most: usize) -> usize {
        let outputs = problem.targets().n_outputs();
        let each = if self.loss.is_classification() { outputs } else { OF_VALUES * outputs };
        let half = (SQUARES / each.max(1)).isqrt();
        let rows = most.min(2 * half).min(problem.len());
        match self.all_are_terms(problem, rows) {
            true => rows.max(LEAVE_ONE_OUT).min(most),
            false => most,
        }
    }

    /// Whether a machine of all of so many rows, or of half of them, stands for this one.
    fn all_are_terms<F: Real>(&self, problem: &Problem<'_, F>, rows: usize) -> bool {
        let trained = if rows > LEAVE_ONE_OUT { rows / 2 } else { rows };
        let fits = trained.saturating_mul(problem.rows().n_cols()) <= NUMBERS;
        fits && self.budget.is_none_or(|budget| trained <= ROWS_A_TERM * budget)
    }
}

impl<'v, 'p, F: Real> Validation<'v, 'p, F> {
    /// `weights` are those of the rows, `spread` is that of values, or 1.
    pub(super) fn new(
        config: &'v BudgetConfig,
        problem: &'v Problem<'p, F>,
        (weights, spread): (&[f64], f64),
    ) -> Result<Self> {
        let n = problem.len();
        let mut weights = weights.to_vec();
        let scheme = if !config.all_are_terms(problem, n) {
            let terms = TERMS.min(n / SHARE).max(1);
            weights[..terms].fill(0.0);
            Scheme::Terms(terms, Grid::folds(problem.targets(), 2)?)
        } else if n <= LEAVE_ONE_OUT {
            Scheme::LeftOut
        } else {
            Scheme::Halves(Grid::folds(problem.targets(), 2)?)
        };
        let polish = config.polisher(config.unit(problem)?);
        Ok(Self { config, problem, weights, scheme, spread, polish })
    }

    /// Whether the rows are so few that a place costs little.
    pub(super) fn is_small(&self) -> bool {
        matches!(self.scheme, Scheme::LeftOut)
    }

    /// C within its range.
    pub(super) fn within(&self, c: f64) -> f64 {
        c.clamp(RANGE.0 * self.spread, RANGE.1 * self.spread)
    }

    /// The best score with this γ, and the C that it belongs to; a larger score is better. Without
    /// `climb` this C alone is looked at.
    ///
    /// # Errors
    /// `OutOfMemory`, and what the watch says.
    pub(super) fn best(
        &self,
        (c, gamma): (f64, f64),
        climb: Option<GeometricSteps>,
        watch: &mut Watch<'_>,
    ) -> Step<(f64, f64)> {
        let kernel = self.config.kernel.with_gamma(gamma);
        let (n, outputs) = (self.problem.len(), self.problem.targets().n_outputs());
        let mut values = try_vec("decision values", n * outputs, 0.0)?;
        match &self.scheme {
            Scheme::LeftOut => {
                let all: Vec<usize> = (0..n).collect();
                let mut machine = AllRowsMachine::new(self, kernel, &all, watch)?;
                self.along(c, climb, &mut |c| machine.without_each(c, &mut values, watch))
            }
            Scheme::Halves(folds) => {
                let mut machines = Vec::new();
                for fold in folds {
                    machines.push(AllRowsMachine::new(self, kernel, &fold.train, watch)?);
                }
                self.along(c, climb, &mut |c| {
                    for machine in &mut machines {
                        machine.of_others(c, &mut values, watch)?;
                    }
                    Ok(self.score(&values)?)
                })
            }
            Scheme::Terms(terms, folds) => {
                let first: Vec<usize> = (0..*terms).collect();
                let rows = self.problem.rows();
                let model = model_on(kernel, &rows, &first, outputs)?;
                let own = ModelRows::new(rows.view(), &model)?;
                let held = HeldRows::new(own, usize::MAX, watch)?;
                let mut starts = vec![model.clone(); folds.len()];
                self.along(c, climb, &mut |c| {
                    for (fold, start) in folds.iter().zip(&mut starts) {
                        self.of_terms(c, fold, (&held, start), &mut values, watch)?;
                    }
                    Ok(self.score(&values)?)
                })
            }
        }
    }

    fn score(&self, values: &[f64]) -> Result<f64> {
        proper_score_of(values, self.problem.targets(), &self.weights, self.config.loss)
    }

    /// Step 4.
    fn along(
        &self,
        c: f64,
        climb: Option<GeometricSteps>,
        score: &mut dyn FnMut(f64) -> Step<f64>,
    ) -> Step<(f64, f64)> {
        let mut look = |c: f64| match score(c) {
            Ok(found) if found.is_finite() => Ok(found),
            // A machine that numbers of this size cannot tell from rounding.
            Ok(_) | Err(Halt::Fail(Error::NotPositiveDefinite(_))) => Ok(f64::NEG_INFINITY),
            Err(halt) => Err(halt),
        };
        let mut best = (look(c)?, c);
        let Some(GeometricSteps { factor, most }) = climb else { return Ok(best) };
        for factor in [factor, 1.0 / factor] {
            let begun = best.1;
            for _ in 0..most {
                let next = self.within(best.1 * factor);
                if next == best.1 {
                    break;
                }
                let found = look(next)?;
                if found <= best.0 {
                    break;
                }
                best = (found, next);
            }
            if best.1 != begun {
                break;
            }
        }
        Ok(best)
    }

    /// Step 3, for one half: the values of the other half are written.
    fn of_terms(
        &self,
        c: f64,
        fold: &Fold,
        (held, start): (&HeldRows<'_, F>, &mut KernelModel<F>),
        values: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step {
        let (problem, outputs) = (self.problem, self.problem.targets().n_outputs());
        let mut cost = try_vec("costs", problem.len(), 0.0)?;
        fold.train.iter().for_each(|&i| cost[i] = c * problem.cost()[i]);
        let how = Polish { tol: 1e-2, ..self.polish };
        let part = problem.with_cost(&cost);
        let polished = coefficients::polish_on(&how, &part, (held, &*start), watch)?;
        if polished.stop.is_early() {
            return Err(Halt::Stop(polished.stop));
        }
        *start = start.with_coef(&polished.coef, polished.intercept)?;
        let mut decided = try_vec("decision values", values.len(), 0.0)?;
        start.decision(&problem.rows(), &mut decided)?;
        for &i in &fold.test {
            let own = i * outputs..(i + 1) * outputs;
            values[own.clone()].copy_from_slice(&decided[own]);
        }
        Ok(())
    }
}

/// C is multiplied by `factor` up to `most` times.
#[derive(Clone, Copy, Debug)]
pub(super) struct GeometricSteps {
    pub(super) factor: f64,
    pub(super) most: usize,
}

/// A machine whose terms are all rows that it is trained on, at one C after another.
struct AllRowsMachine<'v, 'p, F: Real> {
    of: &'v Validation<'v, 'p, F>,
    rows: Vec<usize>,
    model: KernelModel<F>,
    gram: Vec<f64>,
    targets: SomeTargets,
    coef: Vec<f64>,
    intercept: Vec<f64>,
}

impl<'v, 'p, F: Real> AllRowsMachine<'v, 'p, F> {
    fn new(
        of: &'v Validation<'v, 'p, F>,
        kernel: AnyKernel,
        rows: &[usize],
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let (all, targets) = (of.problem.rows(), of.problem.targets());
        let outputs = targets.n_outputs();
        let model = model_on(kernel, &all, rows, outputs)?;
        let gram = basis_gram(&ModelRows::of_some(all.view(), rows, &model)?, watch)?;
        Ok(Self {
            of,
            rows: rows.to_vec(),
            gram,
            targets: SomeTargets::new(targets, rows.iter().copied())?,
            coef: model.coef(),
            intercept: model.intercept().to_vec(),
            model,
        })
    }

    /// Solves for the coefficients at this C, and hands over the solution.
    fn solve<T>(
        &mut self,
        c: f64,
        watch: &mut Watch<'_>,
        take: impl FnOnce(&Polish, &[f64], Start<'_>, &mut Watch<'_>) -> Step<T>,
    ) -> Step<T> {
        let cost: Vec<f64> = self.rows.iter().map(|&i| c * self.of.problem.cost()[i]).collect();
        let how = Polish { max_steps: STEPS, ..self.of.polish };
        let (targets, cost) = (self.targets.view(), cost.as_slice());
        let start = Start { targets, cost, coef: &self.coef, intercept: &self.intercept };
        let solved = newton(&how, &self.gram, start, watch)?;
        if solved.stop.is_early() {
            return Err(Halt::Stop(solved.stop));
        }
        (self.coef, self.intercept) = (solved.coef, solved.intercept);
        let solution = Start { targets, cost, coef: &self.coef, intercept: &self.intercept };
        take(&how, &self.gram, solution, watch)
    }

    /// Step 1: the score of the values of every row by the machine without it.
    fn without_each(&mut self, c: f64, values: &mut [f64], watch: &mut Watch<'_>) -> Step<f64> {
        let found = self.solve(c, watch, leave_one_out)?;
        values.copy_from_slice(&found);
        Ok(self.of.score(values)?)
    }

    /// Step 2: the values of the rows that are no terms are written.
    fn of_others(&mut self, c: f64, values: &mut [f64], watch: &mut Watch<'_>) -> Step {
        self.solve(c, watch, |_, _, _, _| Ok(()))?;
        let problem = self.of.problem;
        let outputs = problem.targets().n_outputs();
        let model = self.model.with_coef(&self.coef, self.intercept.clone())?;
        let mut decided = try_vec("decision values", values.len(), 0.0)?;
        model.decision(&problem.rows(), &mut decided)?;
        let mut own = try_vec("rows", problem.len(), false)?;
        self.rows.iter().for_each(|&i| own[i] = true);
        let each = values.chunks_exact_mut(outputs).zip(decided.chunks_exact(outputs));
        for ((to, from), _) in each.zip(own).filter(|(_, own)| !own) {
            to.copy_from_slice(from);
        }
        Ok(())
    }
}
