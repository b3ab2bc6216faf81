//! Rows whose features are scaled before a machine is trained, which then takes rows as they come.

use std::sync::Arc;

use super::machine::Machine;
use crate::config::Setup;
use crate::data::{Gathered, Rows, Scales};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::model::Scaling;

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

impl Setup {
    /// Rows whose features are scaled as this says.
    pub(super) fn scaled<F: Real>(&self, rows: &Rows<'_, F>) -> Result<Scaled<F>> {
        Scaled::new(self.feature_scales.clone().map(Scales::new).transpose()?, rows)
    }

    /// Whether a machine's features are scaled as this says.
    pub(super) fn check_scales<F: Real>(&self, machine: &Machine<F>) -> Result<()> {
        let used = machine.scaling().map(|scaling| scaling.scales().values());
        if used == self.feature_scales.as_deref() {
            return Ok(());
        }
        Err(Error::Unsupported(
            "feature_scales must be those of the machine that the fit begins with".into(),
        ))
    }
}
