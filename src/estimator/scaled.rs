//! Rows whose features are scaled before a machine is trained, which then takes rows as they come.

use std::sync::Arc;

use super::auto::learn_scales;
use super::machine::Machine;
use crate::config::{FeatureScales, Gamma, Setup};
use crate::data::{Gathered, Problem, Rows, Scales, Targets};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::Scaling;
use crate::watch::{Observer, Watch};

/// Rows whose features are scaled; nothing where they stay as they are.
pub(super) struct Scaled<F: Real> {
    scales: Option<Scales>,
    rows: Option<Gathered<F>>,
}

impl<F: Real> Scaled<F> {
    /// Rows that these scales, if any, make of others.
    ///
    /// # Errors
    /// `LengthMismatch`, `OutOfMemory`.
    pub(super) fn new(scales: Option<Scales>, rows: &Rows<'_, F>) -> Result<Self> {
        let rows = scales.as_ref().map(|scales| scales.times(rows)).transpose()?;
        Ok(Self { scales, rows })
    }

    /// Whether the rows are scaled.
    pub(super) fn scales(&self) -> bool {
        self.scales.is_some()
    }

    /// The scaled rows, or the user's.
    ///
    /// # Errors
    /// None in practice.
    pub(super) fn rows<'a>(&'a self, user: &'a Rows<'_, F>) -> Result<Rows<'a, F>> {
        self.rows.as_ref().map_or_else(|| Ok(user.view()), Gathered::rows)
    }

    /// The machine that was trained on them, for rows as they come; `given` are its points, where
    /// they are rows of the user's.
    ///
    /// # Errors
    /// `FeatureMismatch`, those of `given`.
    pub(super) fn machine(
        &self,
        machine: Machine<F>,
        given: impl FnOnce() -> Result<Option<Gathered<F>>>,
    ) -> Result<Machine<F>> {
        let Some(scales) = &self.scales else { return Ok(machine) };
        machine.scaled(Arc::new(Scaling::new(scales.clone(), given()?)?))
    }
}

/// Rows, what they are to be, and their weights.
type Samples<'a, 'r, F> = (&'a Rows<'r, F>, Targets<'a>, Option<&'a [f64]>);

impl Setup {
    /// Rows whose features are scaled as this says, without learning.
    pub(super) fn scaled<F: Real>(&self, rows: &Rows<'_, F>) -> Result<Scaled<F>> {
        let scales = match &self.feature_scales {
            FeatureScales::Given(scales) => Some(Scales::new(scales.clone())?),
            FeatureScales::One | FeatureScales::Learn => None,
        };
        Scaled::new(scales, rows)
    }

    /// The rows that a machine of cost `c` is trained on, and its kernel for them, if it has one.
    pub(super) fn scaled_for<F: Real>(
        &self,
        (kernel, c): (Option<AnyKernel>, f64),
        (rows, targets, weights): Samples<'_, '_, F>,
        observer: &mut dyn Observer,
    ) -> Result<(Scaled<F>, Option<AnyKernel>)> {
        let Some(kernel) = kernel else { return Ok((Scaled::new(None, rows)?, None)) };
        if self.feature_scales != FeatureScales::Learn {
            let scaled = self.scaled(rows)?;
            let kernel = self.settled(kernel, &scaled.rows(rows)?, weights)?;
            return Ok((scaled, Some(kernel)));
        }
        let cost = self.cost(1.0, weights, (targets, rows.n_rows()))?;
        let problem = Problem::new(rows.view(), targets, &cost)?;
        let learnt = Watch::run(self.n_threads()?, observer, |watch| {
            learn_scales(&problem, kernel, (None, 0, Some(c)), watch)
        })?;
        let kernel = self.settled(kernel, rows, weights)?;
        let Some(learnt) = learnt else { return Ok((Scaled::new(None, rows)?, Some(kernel))) };
        let learnt = match self.gamma {
            Some(Gamma::Scale | Gamma::Auto) => learnt,
            Some(Gamma::Value(_)) | None => learnt.at(kernel),
        };
        let kernel = kernel.with_gamma(learnt.gamma);
        Ok((Scaled::new(Some(Scales::new(learnt.scales)?), rows)?, Some(kernel)))
    }

    /// Whether a machine's features are scaled as this says.
    pub(super) fn check_scales<F: Real>(&self, machine: &Machine<F>) -> Result<()> {
        let used = machine.scaling().and_then(|scaling| scaling.scales().of_columns());
        let same = match &self.feature_scales {
            FeatureScales::One => used.is_none(),
            FeatureScales::Given(scales) => used == Some(scales),
            FeatureScales::Learn => false,
        };
        if same {
            return Ok(());
        }
        Err(Error::Unsupported(
            "feature_scales must be those of the machine that the fit begins with".into(),
        ))
    }
}
