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
//! 4. Clearly bad places are not looked at closely, and of the others fewer from fold to fold
//!    ([`super::halving`]).
//! 5. Where a fit does something else than that (`refine`, terms of each class's own, no polishing,
//!    or a budget that holds every row), every place is a fit.
//!
//! *Cost* a pass a fold and a γ, a polish a place.

use super::config::{BudgetConfig, ROWS_A_TERM};
use super::halving::{Fold, Round, racing, rounds, survivors};
use super::hold_out::Samples;
use super::part;
use super::train::{Start, check_classes};
use crate::config::{Config as _, positive};
use crate::data::{Problem, Rows, SomeTargets, Targets};
use crate::error::{Error, Result, try_vec};
use crate::estimator::basis::{HeldRows, ModelRows};
use crate::estimator::coefficients;
use crate::estimator::repeated::repeated;
use crate::estimator::score::score_of;
use crate::float::Real;
use crate::model::KernelModel;
use crate::solver::smoothed::Polish;
use crate::watch::{StopReason, Watch};

/// Places to judge, and what they are judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Costs of a violation, each > 0.
    pub cs: Vec<f64>,
    /// γ of the kernel, each > 0; of a linear kernel one, which it does not use.
    pub gammas: Vec<f64>,
    /// The folds.
    pub folds: Vec<Fold>,
    /// Whether a part of the rows may say which places are clearly bad: then only the others are
    /// trained on all rows of a fold.
    pub halving: bool,
}

/// What a place came to in a fold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Accuracy, or R², of the fold's test rows, with their weights; NaN where it was not reached.
    pub score: f64,
    /// Decision values of the test rows, where they were asked for.
    pub values: Vec<f64>,
}

impl Place {
    fn unreached() -> Self {
        Self { score: f64::NAN, values: Vec::new() }
    }
}

/// All places.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Fold by fold, of each γ by γ, of each C by C.
    pub places: Vec<Place>,
    /// Of each γ by γ, of each C by C: the share of a fold's rows that the place was trained on.
    pub shares: Vec<f64>,
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

    /// The best place, (γ, C) by number, and its mean score: that of the largest mean among those
    /// that were trained on most rows in most folds, the first of equal ones.
    #[must_use]
    pub fn best(&self, judged: &Judged) -> Option<(usize, usize, f64)> {
        let &(place, (_, folds, mean)) = self.ranked(judged).first()?;
        let k = self.cs.len();
        (folds > 0).then_some((place / k, place % k, mean))
    }

    /// The places with share, folds reached and mean score of each, the best first.
    fn ranked(&self, judged: &Judged) -> Vec<(usize, (f64, usize, f64))> {
        let (k, m) = (self.cs.len(), self.cs.len() * self.gammas.len());
        // C by C, as a search of scikit-learn's.
        let places = (0..k).flat_map(|c| (0..self.gammas.len()).map(move |g| g * k + c));
        let mut all: Vec<_> = places
            .map(|place| {
                let of_folds = judged.places.iter().skip(place).step_by(m).map(|p| p.score);
                let scores: Vec<f64> = of_folds.filter(|s| s.is_finite()).collect();
                let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
                (place, (judged.shares[place], scores.len(), mean))
            })
            .collect();
        all.sort_by(|(_, a), (_, b)| {
            b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(b.2.total_cmp(&a.2))
        });
        all
    }
}

fn of_rows(weights: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&i| weights[i]).collect()
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
        if let Some(own) = self.leveled(problem)? {
            let problem = problem.with_targets(own.view());
            return self.cross_validate(&problem, grid, (weights, keep), watch);
        }
        grid.check(problem.len())?;
        watch.limit(self.max_time, 1.0);
        let m = grid.cs.len() * grid.gammas.len();
        let mut judged = Judged {
            places: vec![Place::unreached(); m * grid.folds.len()],
            shares: vec![0.0; m],
            stop: None,
        };
        let fewest = grid.folds.iter().map(|fold| fold.train.len()).min().unwrap_or(0);
        let mut rounds = rounds(m, (fewest, problem.targets()));
        rounds.retain(|round| grid.halving || round.is_whole());
        let mut places: Vec<usize> = (0..m).collect();
        for round in rounds {
            if judged.shares.iter().any(|share| *share > 0.0) {
                places = grid.ranked(&judged).into_iter().map(|(place, _)| place).collect();
                places.truncate(survivors(m));
            }
            let (found, stop) =
                self.round(problem, grid, (round, &places), (weights, keep), watch)?;
            judged.stop = stop;
            // A later round counts when all of its folds are there.
            if stop.is_some() && judged.shares.iter().any(|share| *share > 0.0) {
                break;
            }
            places.iter().for_each(|&place| judged.shares[place] = round.rows);
            for (at, place) in found.into_iter().enumerate() {
                if places.contains(&(at % m)) {
                    judged.places[at] = place;
                }
            }
            if stop.is_some() {
                break;
            }
        }
        Ok(judged)
    }

    /// All folds of some places, by number; where `places` are the best of a round before, fewer
    /// from fold to fold.
    fn round<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        grid: &Grid,
        (round, places): (Round, &[usize]),
        (weights, keep): (&[f64], bool),
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<Place>, Option<StopReason>)> {
        let (k, m) = (grid.cs.len(), grid.cs.len() * grid.gammas.len());
        let mut found = vec![Place::unreached(); m * grid.folds.len()];
        let mut stopped = None;
        let budget = self.budget.map(|budget| round.budget(budget));
        let mut alive = places.to_vec();
        for (of, rows) in round.parts(&grid.folds, problem.targets(), self.seed) {
            if let Err(halt) = watch.poll() {
                stopped = Some(halt.into_reason()?);
                break;
            }
            if places.len() < m {
                let mean = |place: usize| -> f64 {
                    (0..of.start).map(|fold| found[fold * m + place].score).sum()
                };
                alive.sort_by(|&a, &b| mean(b).total_cmp(&mean(a)));
                alive.truncate(racing(places.len(), of.start));
            }
            let wanted: Vec<Vec<usize>> = (0..grid.gammas.len())
                .map(|g| (0..k).filter(|c| alive.contains(&(g * k + c))).collect())
                .collect();
            let folds = &grid.folds[of.clone()];
            let judged = folds.iter().flat_map(|fold| fold.test.iter().copied());
            let judged: Vec<usize> = judged.collect();
            let [train, test] = [Samples::new(problem, &rows)?, Samples::new(problem, &judged)?];
            let (train, test) = (train.problem()?, test.rows()?);
            check_classes(&train)?;
            let tests: Vec<(SomeTargets, Vec<f64>)> = (folds.iter())
                .map(|fold| {
                    let rows = fold.test.iter().copied();
                    Ok((SomeTargets::new(problem.targets(), rows)?, of_rows(weights, &fold.test)))
                })
                .collect::<Result<_>>()?;
            let paths = watch.side_by_side(grid.gammas.len(), |g, watch| {
                let kernel = self.kernel.with_gamma(grid.gammas[g]);
                kernel.check()?;
                let of_gamma = Self { kernel, budget, ..self.clone() };
                let mut places = vec![Place::unreached(); k * folds.len()];
                if wanted[g].is_empty() {
                    return Ok((places, None));
                }
                // What comes before the first step of a pass takes a while where rows are wide.
                if let Err(halt) = watch.poll() {
                    return halt.into_reason().map(|stop| (places, Some(stop)));
                }
                let cs = (grid.cs.as_slice(), wanted[g].as_slice(), round);
                let stop = of_gamma.path((&train, &test), cs, watch, &mut |at, values| {
                    let mut rest = values.as_slice();
                    for (f, (targets, weights)) in tests.iter().enumerate() {
                        let targets = targets.view();
                        let (own, after) = rest.split_at(targets.len() * targets.n_outputs());
                        rest = after;
                        let score = score_of(own, targets, weights, self.loss);
                        let values = if keep { own.to_vec() } else { Vec::new() };
                        places[f * k + at] = Place { score, values };
                    }
                })?;
                Ok((places, stop))
            })?;
            for (g, (places, stop)) in paths.into_iter().enumerate() {
                for (at, place) in places.into_iter().enumerate() {
                    found[(of.start + at / k) * m + g * k + at % k] = place;
                }
                stopped = stopped.or(stop);
            }
            if stopped.is_some() {
                break;
            }
        }
        Ok((found, stopped))
    }

    /// Decision values for `test` with every C that is wanted, by number, given to `take` with it as
    /// they are found; what stopped it.
    fn path<F: Real>(
        &self,
        (problem, test): (&Problem<'_, F>, &Rows<'_, F>),
        (cs, wanted, round): (&[f64], &[usize], Round),
        watch: &mut Watch<'_>,
        take: &mut dyn FnMut(usize, Vec<f64>),
    ) -> Result<Option<StopReason>> {
        let mut order = wanted.to_vec();
        order.sort_by(|&a, &b| cs[a].total_cmp(&cs[b]));
        let middle = order.len() / 2;
        let of_c = |at: usize| -> Vec<f64> { problem.cost().iter().map(|w| w * cs[at]).collect() };
        if !self.shares_terms(problem, watch)? {
            for at in order {
                let cost = of_c(at);
                let one = Self { c: cs[at], max_time: None, ..self.clone() };
                let (machine, report) =
                    one.fit(&problem.with_cost(&cost), Start::default(), &mut watch.inner())?;
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
        let how = self.polisher(self.unit(problem)?);
        let bytes = how.cache_bytes / watch.pool().threads().max(1);
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
                let mut how = Polish { tol: round.tol, near, ..how };
                // From the pass to the first C it is further than from one C to the next; and values
                // ask for more of it than the sides of a boundary.
                match problem.targets() {
                    _ if near => how.max_steps = round.steps,
                    Targets::Classes { .. } => how.max_steps = 2 * round.steps,
                    Targets::Values(_) | Targets::Columns { .. } => {}
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
    fn shares_terms<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<bool> {
        let Some(budget) = self.budget.filter(|_| self.polishing && !self.refine) else {
            return Ok(false);
        };
        let one = self.shared || problem.targets().n_outputs() == 1;
        Ok(one && !self.early_stopping && repeated(problem, budget, watch)?.is_none())
    }
}
