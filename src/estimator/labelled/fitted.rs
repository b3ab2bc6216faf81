//! A fitted machine with the hyperparameters that it was fitted by.

use ndarray::Array2;

use super::family::{Family, Streams, Told as _, Trains};
use crate::config::Setup;
use crate::data::{Problem, Rows, Targets};
use crate::error::Result;
use crate::estimator::machine::{Machine, Precision};
use crate::estimator::saved::{self, Attributes, Unpacked};
use crate::float::Real;
use crate::model::persist::{Archive, Labels};
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

#[derive(Clone, Debug)]
pub(in crate::estimator) struct Fitted<C: Family, F: Real> {
    pub(in crate::estimator) config: C,
    pub(in crate::estimator) setup: Setup,
    pub(in crate::estimator) machine: Machine<F>,
    pub(in crate::estimator) report: C::Report,
}

impl<C: Trains, F: Real> Fitted<C, F> {
    pub(super) fn train(
        (config, setup): (&C, &Setup),
        (rows, targets, weights): Samples<'_, '_, F>,
        observer: &mut dyn Observer,
        train: &Train<'_, C, F>,
    ) -> Result<Self> {
        let config = setup.settled(config, rows, weights)?;
        let cost = setup.cost(config.c(), weights, (targets, targets.len()))?;
        let problem = Problem::new(rows.view(), targets, &cost)?;
        let threads = setup.n_threads()?;
        let (machine, report) =
            Watch::run(threads, observer, |watch| train(&config, &problem, watch))?;
        Ok(Self { config, setup: setup.clone(), machine, report })
    }

    /// Rows or targets that are refused leave the machine as it was.
    pub(super) fn go_on(
        &mut self,
        (rows, targets): (&Rows<'_, F>, Targets<'_>),
        shares_work: bool,
        go_on: &GoOn<'_, C, F>,
    ) -> Result<()> {
        let Self { config, setup, machine, report } = self;
        let cost = setup.cost(config.c(), None, (targets, targets.len()))?;
        let problem = Problem::new(rows.view(), targets, &cost)?;
        let work = |watch: &mut Watch<'_>| go_on(config, &problem, machine, watch);
        *report = if shares_work {
            Watch::run(setup.n_threads()?, &mut Silent, work)?
        } else {
            Watch::run_here(&mut Silent, work)?
        };
        Ok(())
    }
}

impl<C: Streams, F: Real> Fitted<C, F> {
    pub(super) fn begin(
        (config, setup): (&C, &Setup),
        (rows, targets): (&Rows<'_, F>, Targets<'_>),
    ) -> Result<Self> {
        setup.check_stream()?;
        Self::train(
            (config, setup),
            (rows, targets, None),
            &mut Silent,
            &|config, problem, watch| config.pass(problem, None, watch),
        )
    }

    pub(super) fn learn(&mut self, rows: &Rows<'_, F>, targets: Targets<'_>) -> Result<()> {
        self.setup.check_stream()?;
        let shares_work = C::shares_work(&self.machine, rows.n_rows());
        self.go_on((rows, targets), shares_work, &C::go_on)
    }
}

impl<C: Family, F: Real> Fitted<C, F> {
    pub(in crate::estimator) fn decide(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.machine.decide(rows, self.setup.n_threads()?)
    }

    pub(super) fn decide_into(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.machine.model()?.predict_into(rows, out, self.setup.n_threads()?)
    }

    /// The one value of every row.
    pub(in crate::estimator) fn values(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        Ok(self.decide(rows)?.into_raw_vec_and_offset().0)
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
        saved::pack(kind, self.config.kept(), &self.machine, labels, told)
    }

    /// What a file holds; the setup is not kept there.
    pub(in crate::estimator) fn of(found: &mut Unpacked<F, C>) -> Result<Self> {
        let report = C::Report::of(&mut found.told, &found.machine)?;
        let (config, machine) = (found.config.clone(), found.machine.clone());
        Ok(Self { config, setup: Setup::default(), machine, report })
    }
}
