//! What the exact machines with labels or targets share: one fit, and the function that it finds.

use ndarray::{Array2, ArrayView2};

use super::fitted::ExactMachine;
use super::machine::{ExactConfig, ExactKind, ExactTargets};
use crate::config::Setup;
use crate::data::{Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::machine::{Machine, Precision, State};
use crate::estimator::saved::{self, Attributes, Unpacked};
use crate::estimator::setup::KernelConfig;
use crate::kernel::{AnyKernel, Gram};
use crate::model::Model;
use crate::model::persist::{Archive, Labels};
use crate::watch::{Observer, Watch};

impl KernelConfig for ExactConfig {
    fn kernel_mut(&mut self) -> &mut AnyKernel {
        &mut self.kernel
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

/// A fitted function of rows, as a machine decides.
#[derive(Clone, Debug)]
pub(super) struct Function<F: Precision> {
    pub(super) model: Model<F>,
    pub(super) machine: ExactMachine,
    threads: usize,
}

impl Exact {
    /// The hyperparameters of a machine of this kind.
    pub(super) fn new(config: ExactConfig, setup: Setup, kind: &ExactKind) -> Result<Self> {
        if std::mem::discriminant(kind) == std::mem::discriminant(&config.kind) {
            return Ok(Self { config, setup });
        }
        Err(Error::param(
            "kind",
            format!("{kind:?} for this estimator"),
            format!("{:?}", config.kind),
        ))
    }

    pub(super) fn fit<F: Precision>(
        &self,
        rows: &Rows<'_, F>,
        targets: ExactTargets<'_>,
        given: Given<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Function<F>> {
        let config = self.setup.settled(&self.config, rows, given.weights)?;
        let c = match config.kind {
            ExactKind::NuSvc { .. } | ExactKind::OneClass { .. } => 1.0,
            ExactKind::CSvc | ExactKind::EpsilonSvr { .. } | ExactKind::NuSvr { .. } => config.c,
        };
        let classes = match targets {
            ExactTargets::Classes(index, n_classes) => Targets::Classes { index, n_classes },
            ExactTargets::Values(_) | ExactTargets::None => Targets::Values(&[]),
        };
        let cost = self.setup.cost(c, given.weights, (classes, rows.n_rows()))?;
        let threads = self.setup.n_threads()?;
        let gram = (Gram::Kernel(config.kernel, rows.view().into()), given.functions);
        let machine = Watch::run(threads, observer, |watch| {
            ExactMachine::fit_with(&config, gram, targets, &cost, watch)
        })?;
        Ok(Function { model: machine.model(config.kernel, &rows.view().into())?, machine, threads })
    }
}

impl<F: Precision> Function<F> {
    /// What a file holds: the machine, and which samples its support vectors are.
    pub(super) fn to_archive(
        &self,
        kind: &str,
        labels: &Labels,
        parametric: Option<&Array2<f64>>,
    ) -> Result<Archive> {
        let machine = Machine::new(self.model.clone(), State::None);
        let mut told = Attributes::default().put_counts("support_", &self.machine.support);
        if let Some(parametric) = parametric {
            told = told.put_doubles("parametric_coef_", parametric.iter().copied().collect());
        }
        saved::pack::<F, ExactConfig>(kind, None, &machine, labels, told)
    }

    /// The function of a file; how each part of the fit went is not told there.
    pub(super) fn of(found: &mut Unpacked<F, ExactConfig>) -> Result<Self> {
        let model = found.machine.model()?.clone();
        let support = found.told.take_counts("support_")?;
        let Model::Pairwise(pairs) = &model else {
            return Err(Error::Format("a machine that is not exact".into()));
        };
        if support.len() != pairs.n_terms() {
            return Err(Error::Format("support_".into()));
        }
        let (n_support, dual_coef) = (pairs.n_support().to_vec(), pairs.coef().clone());
        let (intercept, parts) = (pairs.intercept().to_vec(), Vec::new());
        let machine = ExactMachine { support, n_support, dual_coef, intercept, parts };
        Ok(Self { model, machine, threads: Setup::default().n_threads()? })
    }

    /// Decision values, samples x outputs.
    pub(super) fn decision(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.model.decision(rows, self.threads)
    }

    /// The one value of every row.
    pub(super) fn values(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        Ok(self.decision(rows)?.into_raw_vec_and_offset().0)
    }
}

/// What every model of an exact machine tells.
macro_rules! tells {
    ($($model:tt)*) => {
        $($model)* {
            /// Number of support vectors.
            #[must_use]
            pub fn n_terms(&self) -> usize {
                self.machine().support.len()
            }

            /// Support vectors, coefficients, offsets and how each part of the fit went.
            #[must_use]
            pub fn machine(&self) -> &ExactMachine {
                &self.function.machine
            }
        }
    };
}
pub(super) use tells;
