//! What the exact machines with labels or values share: how they are declared, and one fit.

use ndarray::ArrayView2;
use serde_json::{Map, Value};

use super::fitted::ExactMachine;
use super::machine::{ExactConfig, ExactKind, ExactSolver, ExactTargets};
use crate::config::Setup;
use crate::data::{Gathered, Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::caution;
use crate::estimator::labelled::{Family, Fitted, OfValues, Told};
use crate::estimator::machine::{Machine, State};
use crate::estimator::precision::Precision;
use crate::estimator::saved::Attributes;
use crate::float::Real;
use crate::kernel::Gram;
use crate::model::{Model, voted};
use crate::watch::{Observer, Watch};

impl Family for ExactConfig {
    type Report = ExactMachine;

    const CLASSIFIER: &'static str = "Svc";

    fn c(&self) -> f64 {
        match self.kind {
            ExactKind::NuSvc { .. } | ExactKind::OneClass { .. } => 1.0,
            ExactKind::CSvc | ExactKind::EpsilonSvr { .. } | ExactKind::NuSvr { .. } => self.c,
        }
    }

    fn n_outputs(k: usize) -> usize {
        k * (k - 1) / 2
    }

    /// The class of k with most votes of the pairs, the first of equals. A value of 0 is the first
    /// of two classes, among votes the second of the pair (as in LIBSVM).
    fn class(values: &[f64], k: usize) -> Result<usize> {
        if k == 2 {
            return Ok(usize::from(values[0] > 0.0));
        }
        voted(values, k)
    }

    /// None: nothing goes on from a machine.
    fn kept(&self) -> Map<String, Value> {
        Map::new()
    }
}

impl OfValues for ExactConfig {
    const REGRESSOR: &'static str = "Svr";

    fn of_values() -> Self {
        Self { kind: ExactKind::EpsilonSvr { epsilon: 0.1 }, ..Self::default() }
    }
}

impl Told for ExactMachine {
    /// Which samples the support vectors are.
    fn attributes<F: Real>(&self, _c: f64, _machine: &Machine<F>) -> Attributes {
        Attributes::default().put_counts("support_", &self.support)
    }

    /// How each part of the fit went is not told.
    fn of<F: Real>(told: &mut Attributes, machine: &Machine<F>) -> Result<Self> {
        let support = told.take_counts("support_")?;
        let Model::Pairwise(pairs) = machine.model()?.behind() else {
            return Err(Error::Format("a machine that is not exact".into()));
        };
        if support.len() != pairs.n_terms() {
            return Err(Error::Format("support_".into()));
        }
        let (n_support, dual_coef) = (pairs.n_support().to_vec(), pairs.coef().clone());
        let (intercept, parts) = (pairs.intercept().to_vec(), Vec::new());
        Ok(Self { support, n_support, dual_coef, intercept, parts })
    }
}

/// An exact machine to be fitted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exact {
    config: ExactConfig,
    setup: Setup,
}

/// What a fit is given beside rows and targets.
#[derive(Clone, Copy, Default)]
pub(super) struct Given<'a> {
    pub(super) weights: Option<&'a [f64]>,
    pub(super) functions: Option<ArrayView2<'a, f64>>,
}

impl Exact {
    /// A machine of the kind of `unset`, by any solver that may take the place of its own.
    pub(super) fn new(config: ExactConfig, setup: Setup, unset: &ExactConfig) -> Result<Self> {
        if config.solver == ExactSolver::Smo && unset.solver != ExactSolver::Smo {
            let reason = "semi-parametric machines need the solver 'mpd'";
            return Err(Error::Unsupported(reason.into()));
        }
        if std::mem::discriminant(&unset.kind) == std::mem::discriminant(&config.kind) {
            return Ok(Self { config, setup });
        }
        let expected = format!("{:?} for this estimator", unset.kind);
        Err(Error::param("kind", expected, format!("{:?}", config.kind)))
    }

    pub(super) fn fit<F: Precision>(
        &self,
        rows: &Rows<'_, F>,
        targets: ExactTargets<'_>,
        given: Given<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted<ExactConfig, F>> {
        let (classes, all) = match targets {
            ExactTargets::Classes(index, n_classes) => {
                let classes = Targets::Classes { index, n_classes };
                (classes, classes)
            }
            ExactTargets::Values(values) => (Targets::Values(&[]), Targets::Values(values)),
            ExactTargets::None => (Targets::Values(&[]), Targets::Values(&[])),
        };
        let (user_rows, own) = (rows, (Some(self.config.kernel), self.config.c()));
        let (scaled, kernel) = self.setup.scaled_for(own, (rows, all, given.weights), observer)?;
        let rows = &scaled.rows(user_rows)?;
        let mut config = self.config;
        config.kernel = kernel.unwrap_or(config.kernel);
        let cost = self.setup.cost(config.c(), given.weights, (classes, rows.n_rows()))?;
        let gram = (Gram::Kernel(config.kernel, rows.view().into()), given.functions);
        let report = Watch::run(self.setup.n_threads()?, observer, |watch| {
            ExactMachine::fit_with(&config, gram, targets, &cost, watch)
        })?;
        let model = report.model(config.kernel, &rows.view().into())?;
        let points = || Gathered::new(user_rows, &report.support).map(Some);
        let machine = scaled.machine(Machine::new(model, State::None), points)?;
        let setup = self.setup.clone();
        let tube = match (config.kind, targets) {
            (ExactKind::EpsilonSvr { epsilon }, ExactTargets::Values(y)) => {
                Some((epsilon, Targets::Values(y)))
            }
            _ => None,
        };
        let mut cautions = caution::before(config.kernel, (rows, given.weights), tube)?;
        if matches!(targets, ExactTargets::Values(_)) {
            cautions.extend(caution::after(&machine)?);
        }
        Ok(Fitted { config, setup, machine, report, cautions })
    }
}

/// Declares an estimator by the hyperparameters with which it begins.
macro_rules! estimator {
    ($(#[$about:meta])* $name:ident, $unset:expr) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            exact: Exact,
        }

        impl FromConfig<ExactConfig> for $name {
            fn from_config(config: ExactConfig, setup: Setup) -> Result<Self> {
                Ok(Self { exact: Exact::new(config, setup, &$unset)? })
            }
        }

        impl $name {
            /// Sets hyperparameters.
            #[must_use]
            pub fn builder() -> Builder<ExactConfig, Self> {
                Builder::new($unset)
            }
        }
    };
}
pub(super) use estimator;
