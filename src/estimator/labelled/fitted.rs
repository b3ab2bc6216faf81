//! A fitted machine with the hyperparameters that it was fitted by.

use ndarray::{Array2, Array3};

use super::family::{Family, Streams, Told as _, Trains};
use crate::config::{FeatureScales, Setup};
use crate::data::{Problem, Rows, Targets};
use crate::error::{Result, try_vec};
use crate::estimator::caution::{self, Caution};
use crate::estimator::machine::Machine;
use crate::estimator::precision::Precision;
use crate::estimator::saved::{self, Attributes, Unpacked};
use crate::estimator::scaled::Scaled;
use crate::estimator::selected::SelectedRows;
use crate::float::Real;
use crate::model::persist::{Archive, Labels};
use crate::model::{Calibration, Fold};
use crate::parallel;
use crate::watch::{Observer, Silent, Watch};

/// Rows, what they are to be, and their weights.
type Samples<'a, 'r, F> = (&'a Rows<'r, F>, Targets<'a>, Option<&'a [f64]>);

/// Trains with these hyperparameters, whose γ is settled.
pub(in crate::estimator) type Train<'t, C, F> = dyn Fn(&C, &Problem<'_, F>, &mut Watch<'_>) -> Result<(Machine<F>, <C as Family>::Report)>
    + Sync
    + 't;

/// Goes on with the training of a machine.
pub(in crate::estimator) type GoOn<'t, C, F> = dyn Fn(&C, &Problem<'_, F>, &mut Machine<F>, &mut Watch<'_>) -> Result<<C as Family>::Report>
    + Sync
    + 't;

/// What finds the class of a row's decision values: the curves of a calibrated machine, else what
/// the fit or the family says.
pub(in crate::estimator) struct Election<'f, C: Family> {
    curves: Option<&'f Calibration>,
    report: &'f C::Report,
}

impl<C: Family> Election<'_, C> {
    /// The class, of k.
    pub(in crate::estimator) fn class(&self, values: &[f64], k: usize) -> Result<usize> {
        match (self.curves, self.report.class(values)) {
            (Some(curves), _) => curves.class(values),
            (None, Some(class)) => Ok(class),
            (None, None) => C::class(values, k),
        }
    }

    /// Multiply-adds of a row, about.
    pub(in crate::estimator) fn work(&self, k: usize) -> usize {
        self.curves.map_or_else(|| C::n_outputs(k), Calibration::row_work)
    }
}

#[derive(Clone, Debug)]
pub(in crate::estimator) struct Fitted<C: Family, F: Real> {
    pub(in crate::estimator) config: C,
    pub(in crate::estimator) setup: Setup,
    pub(in crate::estimator) machine: Machine<F>,
    pub(in crate::estimator) report: C::Report,
    pub(in crate::estimator) cautions: Vec<Caution>,
}

impl<C: Trains, F: Real> Fitted<C, F> {
    pub(in crate::estimator) fn train(
        (config, setup): (&C, &Setup),
        (rows, targets, weights): Samples<'_, '_, F>,
        observer: &mut dyn Observer,
        train: &Train<'_, C, F>,
    ) -> Result<Self> {
        let selects = config.selects_columns();
        Self::train_on((config, setup, selects), (rows, targets, weights), observer, train)
    }

    /// [`Fitted::train`] where columns are selected if `selects` says so.
    fn train_on(
        (config, setup, selects): (&C, &Setup, bool),
        (rows, targets, weights): Samples<'_, '_, F>,
        observer: &mut dyn Observer,
        train: &Train<'_, C, F>,
    ) -> Result<Self> {
        let mut config = config.clone();
        let kernel = config.own_kernel().copied();
        let (scaled, kernel) =
            setup.scaled_for((kernel, config.c()), (rows, targets, weights), observer)?;
        let user_rows = scaled.rows(rows)?;
        let selected = match kernel.or(config.own_kernel().copied()) {
            Some(kernel) if selects && !scaled.scales() => {
                SelectedRows::new(&user_rows, kernel, &mut || Ok(()))?
            }
            _ => SelectedRows::none(),
        };
        let rows = &selected.rows(&user_rows)?;
        if let (Some(own), Some(kernel)) = (config.own_kernel(), kernel) {
            *own = kernel;
        }
        let tube = config.tube().filter(|_| !targets.are_classes()).zip(Some(targets));
        let cost = setup.cost(config.c(), weights, (targets, targets.len()))?;
        let problem = Problem::new(rows.view(), targets, &cost)?;
        let threads = setup.n_threads()?;
        let (machine, report) =
            Watch::run(threads, observer, |watch| train(&config, &problem, watch))?;
        let machine = scaled.machine(selected.machine(machine)?, || Ok(None))?;
        let mut cautions = match kernel {
            Some(kernel) => caution::before(kernel, (rows, weights), tube)?,
            None => Vec::new(),
        };
        if !targets.are_classes() {
            cautions.extend(caution::after(&machine)?);
        }
        Ok(Self { config, setup: setup.clone(), machine, report, cautions })
    }

    /// Rows or targets that are refused leave the machine as it was.
    pub(in crate::estimator) fn go_on(
        &mut self,
        (rows, targets, weights): Samples<'_, '_, F>,
        (shares_work, observer): (bool, &mut dyn Observer),
        go_on: &GoOn<'_, C, F>,
    ) -> Result<()> {
        let Self { config, setup, machine, report, cautions: _ } = self;
        SelectedRows::of(rows, machine, &mut || Ok(()))?;
        let scales = machine.scaling().map(|scaling| scaling.scales().clone());
        let scaled = Scaled::new(scales, rows)?;
        let rows = scaled.rows(rows)?;
        let cost = setup.cost(config.c(), weights, (targets, targets.len()))?;
        let problem = Problem::new(rows.view(), targets, &cost)?;
        let threads = setup.n_threads()?;
        let scaling = machine.take_scaling();
        let work = |watch: &mut Watch<'_>| go_on(config, &problem, machine, watch);
        let told = if shares_work {
            Watch::run(threads, observer, work)
        } else {
            Watch::run_here(observer, work)
        };
        if let Some(scaling) = scaling {
            machine.put_scaling(scaling)?;
        }
        *report = told?;
        Ok(())
    }
}

impl<C: Streams, F: Real> Fitted<C, F> {
    pub(in crate::estimator) fn begin(
        (config, setup): (&C, &Setup),
        samples: Samples<'_, '_, F>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        setup.check_stream()?;
        let pass = |config: &C, problem: &Problem<'_, F>, watch: &mut Watch<'_>| {
            config.pass(problem, None, watch)
        };
        // Rows to come may have any columns.
        let mut begun = Self::train_on((config, setup, false), samples, observer, &pass)?;
        // The first part says little of the values to come.
        begun.cautions.retain(|caution| matches!(caution, Caution::FewFeatures(_)));
        Ok(begun)
    }

    pub(in crate::estimator) fn learn(
        &mut self,
        samples: Samples<'_, '_, F>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.setup.check_stream()?;
        let shares_work = C::shares_work(&self.machine, samples.0.n_rows());
        self.go_on(samples, (shares_work, observer), &C::go_on)
    }
}

impl<C: Family, F: Real> Fitted<C, F> {
    pub(in crate::estimator) fn decide(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.machine.decide(rows, self.setup.n_threads()?)
    }

    pub(in crate::estimator) fn decide_into(
        &self,
        rows: &Rows<'_, F>,
        out: &mut [f64],
    ) -> Result<()> {
        self.machine.model()?.predict_into(rows, out, self.setup.n_threads()?)
    }

    /// What `fold` makes of the decision values of every row, `width` numbers a row.
    pub(in crate::estimator) fn through(
        &self,
        rows: &Rows<'_, F>,
        width: usize,
        fold: (usize, &Fold<'_>),
    ) -> Result<Vec<f64>> {
        let (model, n) = (self.machine.model()?, rows.n_rows());
        let mut out = try_vec("predictions", n.saturating_mul(width), 0.0)?;
        let work = model.work(n).saturating_add(n.saturating_mul(fold.0));
        parallel::predict(self.setup.n_threads()?, work, |pool| {
            let mut silent = Silent;
            let mut watch = Watch::new(&mut silent, pool);
            model.decide_through(rows, (&mut out, width), fold, &mut watch)
        })??;
        Ok(out)
    }

    /// How a class is found of decision values.
    pub(in crate::estimator) fn election(&self) -> Election<'_, C> {
        Election { curves: self.machine.calibration(), report: &self.report }
    }

    /// The one value of every row.
    pub(in crate::estimator) fn values(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        Ok(self.decide(rows)?.into_raw_vec_and_offset().0)
    }

    pub(in crate::estimator) fn gradient(&self, rows: &Rows<'_, F>) -> Result<Array3<f64>> {
        self.machine.gradient(rows, self.setup.n_threads()?)
    }

    pub(in crate::estimator) fn attributes(&self) -> Attributes {
        self.report.attributes(self.config.c(), &self.machine)
    }
}

impl<C: Family, F: Precision> Fitted<C, F> {
    pub(in crate::estimator) fn to_archive(
        &self,
        kind: &str,
        labels: &Labels,
        told: Attributes,
    ) -> Result<Archive> {
        let params = (self.config.kept(), &self.setup.class_weight);
        saved::pack(kind, params, &self.machine, labels, told)
    }

    /// What a file holds; of the setup, the class weights and the scales alone are kept there.
    pub(in crate::estimator) fn of(found: &mut Unpacked<F, C>) -> Result<Self> {
        let report = C::Report::of(&mut found.told, &found.machine)?;
        let (config, machine) = (found.config.clone(), found.machine.clone());
        let scales = machine.scaling().and_then(|scaling| scaling.scales().of_columns());
        let setup = Setup {
            class_weight: found.class_weight.clone(),
            feature_scales: scales
                .map(<[f64]>::to_vec)
                .map(FeatureScales::Given)
                .unwrap_or_default(),
            ..Setup::default()
        };
        Ok(Self { config, setup, machine, report, cautions: Vec::new() })
    }
}
