//! A grid of C and γ by cross-validation, at the price of a few fits.
//!
//! # Method
//!
//! 1. A fold's rows are gathered once; the γ are taken side by side.
//! 2. For a fold and a γ one pass, at the middle C, finds the terms. They come from the rows that
//!    the fold trains on: terms found on all rows have seen the labels that they are judged by
//!    (and choose a wrong γ), terms drawn at random favour smooth kernels.
//! 3. Their kernel values are held, and the coefficients of every C are solved for, each from those
//!    of the C beside it, from the middle outwards.
//! 4. Where a fit does something else than that (`refine`, terms of each class's own, no polishing,
//!    or a budget that holds every row), every place is a fit.
//!
//! *Cost* a pass a fold and a γ, a polish a place.

use super::config::{BudgetConfig, ROWS_A_TERM};
use super::hold_out::Samples;
use super::part;
use super::train::{Start, check_classes};
use crate::config::{Config as _, positive};
use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result, try_vec};
use crate::estimator::basis::{self, HeldRows, ModelRows};
use crate::estimator::coefficients;
use crate::estimator::score::score_of;
use crate::float::Real;
use crate::model::KernelModel;
use crate::solver::smoothed::Polish;
use crate::watch::{StopReason, Watch};

/// Polishing ends when a step would lower the objective by less than this share of it: scores of
/// places do not hang on more.
const TOL: f64 = 1e-2;
/// Newton steps of a polish, at most: each begins with the coefficients of the C beside it.
const STEPS: usize = 8;

/// The rows of a fold.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// To train on.
    pub train: Vec<usize>,
    /// To be judged by.
    pub test: Vec<usize>,
}

/// Places to judge, and what they are judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Costs of a violation, each > 0.
    pub cs: Vec<f64>,
    /// γ of the kernel, each > 0; of a linear kernel one, which it does not use.
    pub gammas: Vec<f64>,
    /// The folds.
    pub folds: Vec<Fold>,
}

/// What a place came to in a fold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Accuracy, or R², of the fold's test rows, with their weights; NaN where it was not reached.
    pub score: f64,
    /// Decision values of the test rows, where they were asked for.
    pub values: Vec<f64>,
}

/// All places.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Fold by fold, of each γ by γ, of each C by C.
    pub places: Vec<Place>,
    /// What ended it before all were reached.
    pub stop: Option<StopReason>,
}

impl Grid {
    /// Folds as nearly equal as can be, of every class for classes: every `count`-th row.
    ///
    /// # Errors
    /// `InvalidParam` for fewer than 2 folds, or more than there are rows (of the largest class).
    pub fn folds(targets: Targets<'_>, count: usize) -> Result<Vec<Fold>> {
        let mut seen = match targets {
            Targets::Classes { n_classes, .. } => vec![0; n_classes],
            Targets::Values(_) | Targets::Columns { .. } => vec![0],
        };
        let mut folds = vec![Fold { train: Vec::new(), test: Vec::new() }; count];
        for i in 0..targets.len() {
            let class = match targets {
                Targets::Classes { index, .. } => index[i] as usize,
                Targets::Values(_) | Targets::Columns { .. } => 0,
            };
            for (f, fold) in folds.iter_mut().enumerate() {
                let part = if seen[class] % count == f { &mut fold.test } else { &mut fold.train };
                part.push(i);
            }
            seen[class] += 1;
        }
        let most = seen.into_iter().max().unwrap_or(0);
        if count < 2 || count > most {
            return Err(Error::param("cv", format!(">= 2 and <= {most} folds"), count));
        }
        Ok(folds)
    }

    /// Whether the places are places, and the folds of so many rows.
    ///
    /// # Errors
    /// `InvalidParam`.
    pub fn check(&self, rows: usize) -> Result<()> {
        for (name, values) in [("Cs", &self.cs), ("gammas", &self.gammas)] {
            if values.is_empty() {
                return Err(Error::param(name, "at least one number > 0", "none"));
            }
            values.iter().try_for_each(|&v| positive(name, v))?;
        }
        let within = |part: &[usize]| !part.is_empty() && part.iter().all(|&i| i < rows);
        if self.folds.is_empty() || !self.folds.iter().all(|f| within(&f.train) && within(&f.test))
        {
            return Err(Error::param("cv", "folds of rows to train on and rows to test", "others"));
        }
        Ok(())
    }

    /// The best place, (γ, C) by number, and its mean score: that of the largest mean over the folds
    /// that most places were reached in, the first of equal ones.
    #[must_use]
    pub fn best(&self, judged: &Judged) -> Option<(usize, usize, f64)> {
        let (k, m) = (self.cs.len(), self.cs.len() * self.gammas.len());
        let mut best: Option<(usize, usize, f64)> = None;
        // C by C, as a search of scikit-learn's.
        for place in (0..k).flat_map(|c| (0..self.gammas.len()).map(move |g| g * k + c)) {
            let scores: Vec<f64> = (judged.places.iter().skip(place).step_by(m))
                .map(|p| p.score)
                .filter(|s| s.is_finite())
                .collect();
            let (folds, mean) = (scores.len(), scores.iter().sum::<f64>() / scores.len() as f64);
            if folds > 0 && best.is_none_or(|(_, f, b)| folds > f || (folds == f && mean > b)) {
                best = Some((place, folds, mean));
            }
        }
        best.map(|(place, _, mean)| (place / k, place % k, mean))
    }
}

impl BudgetConfig {
    /// Scores of all places in all folds. The costs of the problem are those of C = 1; `weights`
    /// are those that scores have; `keep` says whether decision values are wanted.
    ///
    /// # Errors
    /// Those of [`BudgetConfig::fit`] and of [`Grid::check`]; `BadLabels` where a fold trains on
    /// one class.
    pub fn cross_validate<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        grid: &Grid,
        (weights, keep): (&[f64], bool),
        watch: &mut Watch<'_>,
    ) -> Result<Judged> {
        self.check()?;
        grid.check(problem.len())?;
        watch.limit(self.max_time, 1.0);
        let unreached = || Place { score: f64::NAN, values: Vec::new() };
        let mut judged = Judged { places: Vec::new(), stop: None };
        for fold in &grid.folds {
            if let Err(halt) = watch.poll() {
                judged.stop = Some(halt.into_reason()?);
                break;
            }
            let [train, test] =
                [Samples::new(problem, &fold.train)?, Samples::new(problem, &fold.test)?];
            let (train, test) = (train.problem()?, test.problem()?);
            check_classes(&train)?;
            let own: Vec<f64> = fold.test.iter().map(|&i| weights[i]).collect();
            let paths = watch.side_by_side(grid.gammas.len(), |g, watch| {
                let of_gamma =
                    Self { kernel: self.kernel.with_gamma(grid.gammas[g]), ..self.clone() };
                of_gamma.kernel.check()?;
                let mut places = vec![unreached(); grid.cs.len()];
                // What comes before the first step of a pass takes a while where rows are wide.
                if let Err(halt) = watch.poll() {
                    return halt.into_reason().map(|stop| (places, Some(stop)));
                }
                let stop =
                    of_gamma.path((&train, &test.rows()), &grid.cs, watch, &mut |at, values| {
                        let score = score_of(&values, test.targets(), &own, self.loss);
                        places[at] =
                            Place { score, values: if keep { values } else { Vec::new() } };
                    })?;
                Ok((places, stop))
            })?;
            for (places, stop) in paths {
                judged.places.extend(places);
                judged.stop = judged.stop.or(stop);
            }
            if judged.stop.is_some() {
                break;
            }
        }
        judged.places.resize(grid.cs.len() * grid.gammas.len() * grid.folds.len(), unreached());
        Ok(judged)
    }

    /// Decision values for `test` with every C, given to `take` with its number as they are found;
    /// what stopped it.
    fn path<F: Real>(
        &self,
        (problem, test): (&Problem<'_, F>, &Rows<'_, F>),
        cs: &[f64],
        watch: &mut Watch<'_>,
        take: &mut dyn FnMut(usize, Vec<f64>),
    ) -> Result<Option<StopReason>> {
        let mut order: Vec<usize> = (0..cs.len()).collect();
        order.sort_by(|&a, &b| cs[a].total_cmp(&cs[b]));
        let middle = order.len() / 2;
        let of_c = |at: usize| -> Vec<f64> { problem.cost().iter().map(|w| w * cs[at]).collect() };
        if !self.shares_terms(problem)? {
            for at in order {
                let cost = of_c(at);
                let one = Self { c: cs[at], max_time: None, ..self.clone() };
                let (machine, report) =
                    one.fit(&problem.with_cost(&cost), Start::default(), watch)?;
                if report.stop.is_early() && report.stop != StopReason::EarlyStopping {
                    return Ok(Some(report.stop));
                }
                let mut values =
                    try_vec("decision values", test.n_rows() * machine.n_outputs(), 0.0)?;
                machine.model()?.decision_into(test, &mut values)?;
                take(at, values);
            }
            return Ok(None);
        }
        // 2.
        let cost = of_c(order[middle]);
        let loss = self.loss.of_passes();
        let of_passes = Self { c: cs[order[middle]], loss, ..self.clone() };
        let visited = self.budget.map_or(usize::MAX, |b| b.saturating_mul(ROWS_A_TERM));
        let found = part::passes(
            &of_passes,
            &problem.with_cost(&cost),
            (None, None),
            watch,
            (self.max_iter, visited),
        )?;
        if found.outcome.stop.is_early() {
            return Ok(Some(found.outcome.stop));
        }
        let first = found.part.model;
        // 3.
        let (rows, outputs) = (problem.rows(), problem.targets().n_outputs());
        let bytes = self.polisher().cache_bytes / watch.pool().threads().max(1);
        let held = match HeldRows::new(ModelRows::new(rows.view(), &first)?, bytes, watch) {
            Ok(held) => held,
            Err(halt) => return halt.into_reason().map(Some),
        };
        let (lower, upper) = order.split_at(middle);
        let mut settled: Option<KernelModel<F>> = None;
        for direction in [upper.to_vec(), lower.iter().rev().copied().collect()] {
            let mut model = settled.clone().unwrap_or_else(|| first.clone());
            for at in direction {
                let near = settled.is_some();
                let mut how = Polish { tol: TOL, near, ..self.polisher() };
                if near {
                    how.max_steps = STEPS;
                }
                let cost = of_c(at);
                let of_c = problem.with_cost(&cost);
                let polished = coefficients::polish_on(&how, &of_c, (&held, &model), watch)?;
                if polished.stop.is_early() {
                    return Ok(Some(polished.stop));
                }
                model = model.with_coef(&polished.coef, polished.intercept)?;
                let mut values = try_vec("decision values", test.n_rows() * outputs, 0.0)?;
                model.decision(test, &mut values)?;
                take(at, values);
                settled.get_or_insert_with(|| model.clone());
            }
        }
        Ok(None)
    }

    /// Whether a pass and polishing are all that a fit does.
    fn shares_terms<F: Real>(&self, problem: &Problem<'_, F>) -> Result<bool> {
        let Some(budget) = self.budget.filter(|_| self.polishing && !self.refine) else {
            return Ok(false);
        };
        let one = self.shared || problem.targets().n_outputs() == 1;
        Ok(one && !self.early_stopping && basis::every_row(problem, budget)?.is_none())
    }
}
