//! C and γ of the estimators with labels or values: on a grid, or tuned.

use super::config::BudgetConfig;
use super::grid::{Grid, Judged};
use super::labelled::{BudgetSvc, BudgetSvcModel, BudgetSvr, BudgetSvrModel};
use crate::config::Setup;
use crate::data::{Problem, Rows, Targets};
use crate::error::Result;
use crate::estimator::labels::{classes, encode};
use crate::float::Real;
use crate::watch::{Observer, Silent, Watch};

/// What a search over a grid came to.
#[derive(Clone, Debug)]
pub struct Found<M> {
    /// The machine of the best place, fitted to all rows.
    pub model: M,
    /// Its cost of a violation, and its γ.
    pub place: (f64, f64),
    /// Its mean score; NaN where no place was reached.
    pub score: f64,
    /// All places, in the order of `grid`.
    pub judged: Judged,
    /// What was judged.
    pub grid: Grid,
}

/// Rows, what they are to be, and their weights.
type Samples<'a, 'r, F> = (&'a Rows<'r, F>, Targets<'a>, Option<&'a [f64]>);

/// The hyperparameters of the best place, with its score.
fn searched<F: Real>(
    (config, setup): (&BudgetConfig, &Setup),
    (rows, targets, weights): Samples<'_, '_, F>,
    (cs, gammas, cv): (&[f64], &[f64], usize),
    observer: &mut dyn Observer,
) -> Result<(BudgetConfig, f64, Judged, Grid)> {
    let (scaled, kernel) =
        setup.scaled_for((Some(config.kernel), config.c), (rows, targets, weights), observer)?;
    let rows = &scaled.rows(rows)?;
    let config = BudgetConfig { kernel: kernel.unwrap_or(config.kernel), ..config.clone() };
    let cost = setup.cost(1.0, weights, (targets, targets.len()))?;
    let problem = Problem::new(rows.view(), targets, &cost)?;
    let folds = Grid::folds(targets, cv)?;
    let grid = Grid { cs: cs.to_vec(), gammas: gammas.to_vec(), folds, halving: true };
    let judged = Watch::run(setup.n_threads()?, observer, |watch| {
        config.cross_validate(&problem, &grid, (&cost, false), watch)
    })?;
    let (g, c, score) = grid.best(&judged).unwrap_or((gammas.len() / 2, cs.len() / 2, f64::NAN));
    let kernel = config.kernel.with_gamma(gammas[g]);
    Ok((BudgetConfig { c: cs[c], kernel, ..config }, score, judged, grid))
}

/// The same with C and γ tuned, those that are asked for.
fn tuned<F: Real>(
    (config, setup): (&BudgetConfig, &Setup),
    (rows, targets, weights): Samples<'_, '_, F>,
    which: (bool, bool),
) -> Result<BudgetConfig> {
    let silent = &mut Silent;
    let (scaled, kernel) =
        setup.scaled_for((Some(config.kernel), config.c), (rows, targets, weights), silent)?;
    let rows = &scaled.rows(rows)?;
    let config = BudgetConfig { kernel: kernel.unwrap_or(config.kernel), ..config.clone() };
    let cost = setup.cost(1.0, weights, (targets, targets.len()))?;
    let problem = Problem::new(rows.view(), targets, &cost)?;
    let (c, gamma) =
        Watch::run(setup.n_threads()?, &mut Silent, |watch| config.tuned(&problem, which, watch))?;
    Ok(BudgetConfig { c, kernel: config.kernel.with_gamma(gamma), ..config })
}

impl BudgetSvc {
    /// The machine of the best of these C and γ, by stratified cross-validation on `cv` folds: every
    /// place on every fold, at a fraction of the price of as many fits.
    ///
    /// ```
    /// use budgetsvm::{BudgetSvc, data::Rows, watch::Silent};
    ///
    /// let rows = ndarray::Array2::from_shape_fn((300, 2), |(i, j)| {
    ///     let (a, r) = (i as f64 * 0.7, if i % 2 == 0 { 1.0 } else { 2.0 });
    ///     if j == 0 { r * a.cos() } else { r * a.sin() }
    /// });
    /// let labels: Vec<bool> = (0..300).map(|i| i % 2 == 0).collect();
    /// let svc = BudgetSvc::builder().budget(20).build()?;
    /// let grid = (&[0.1, 1.0, 10.0][..], &[0.01, 1.0][..], 5);
    /// let found = svc.search((&Rows::from(&rows), &labels, None), grid, &mut Silent)?;
    /// assert!(found.score > 0.95 && found.place.1 == 1.0);
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`BudgetConfig::cross_validate`] and [`Grid::folds`], and of a fit.
    pub fn search<F: Real, L: Ord + Clone>(
        &self,
        (rows, labels, weights): (&Rows<'_, F>, &[L], Option<&[f64]>),
        grid: (&[f64], &[f64], usize),
        observer: &mut dyn Observer,
    ) -> Result<Found<BudgetSvcModel<F, L>>> {
        let known = classes(labels)?;
        let index = encode(labels, &known)?;
        let targets = Targets::Classes { index: &index, n_classes: known.len() };
        let own = (&self.config, &self.setup);
        let (config, score, judged, grid) =
            searched(own, (rows, targets, weights), grid, observer)?;
        let place = (config.c, config.kernel.gamma());
        let best = Self { config, setup: Setup { gamma: None, ..self.setup.clone() } };
        let model = best.fit_observed(rows, labels, weights, observer)?;
        Ok(Found { model, place, score, judged, grid })
    }

    /// The same machine, to be fitted, with C and γ tuned: `which` says which of the two.
    ///
    /// ```
    /// use budgetsvm::{BudgetSvc, data::Rows};
    ///
    /// let rows = ndarray::Array2::from_shape_fn((300, 2), |(i, j)| {
    ///     let (a, r) = (i as f64 * 0.7, if i % 2 == 0 { 1.0 } else { 2.0 });
    ///     if j == 0 { r * a.cos() } else { r * a.sin() }
    /// });
    /// let labels: Vec<bool> = (0..300).map(|i| i % 2 == 0).collect();
    /// let rows = Rows::from(&rows);
    /// let svc = BudgetSvc::builder().gamma(1e-3).build()?.tuned((&rows, &labels, None), (true, true))?;
    /// assert_eq!(svc.fit(&rows, &labels)?.predict(&rows)?, labels);
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`BudgetConfig::tuned`].
    pub fn tuned<F: Real, L: Ord + Clone>(
        &self,
        (rows, labels, weights): (&Rows<'_, F>, &[L], Option<&[f64]>),
        which: (bool, bool),
    ) -> Result<Self> {
        let known = classes(labels)?;
        let index = encode(labels, &known)?;
        let targets = Targets::Classes { index: &index, n_classes: known.len() };
        let config = tuned((&self.config, &self.setup), (rows, targets, weights), which)?;
        Ok(Self { config, setup: Setup { gamma: None, ..self.setup.clone() } })
    }
}

impl BudgetSvr {
    /// As [`BudgetSvc::search`], by R².
    ///
    /// # Errors
    /// As there.
    pub fn search<F: Real>(
        &self,
        (rows, values, weights): (&Rows<'_, F>, &[f64], Option<&[f64]>),
        grid: (&[f64], &[f64], usize),
        observer: &mut dyn Observer,
    ) -> Result<Found<BudgetSvrModel<F>>> {
        let own = (&self.config, &self.setup);
        let samples = (rows, Targets::Values(values), weights);
        let (config, score, judged, grid) = searched(own, samples, grid, observer)?;
        let place = (config.c, config.kernel.gamma());
        let best = Self { config, setup: Setup { gamma: None, ..self.setup.clone() } };
        let model = best.fit_observed(rows, values, weights, observer)?;
        Ok(Found { model, place, score, judged, grid })
    }

    /// As [`BudgetSvc::tuned`].
    ///
    /// # Errors
    /// As there.
    pub fn tuned<F: Real>(
        &self,
        (rows, values, weights): (&Rows<'_, F>, &[f64], Option<&[f64]>),
        which: (bool, bool),
    ) -> Result<Self> {
        let samples = (rows, Targets::Values(values), weights);
        let config = tuned((&self.config, &self.setup), samples, which)?;
        Ok(Self { config, setup: Setup { gamma: None, ..self.setup.clone() } })
    }
}
