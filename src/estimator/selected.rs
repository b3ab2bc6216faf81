//! Sparse rows of very many columns, of which a machine is trained on those that occur.

use std::sync::Arc;

use super::machine::Machine;
use crate::data::{Gathered, Rows, Scales, Selection};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::Scaling;
use crate::watch::Look;

/// Rows as training sees them: the columns that occur, where they are few among very many, else the
/// user's rows.
#[derive(Debug)]
pub struct SelectedRows<F: Real> {
    scaling: Option<Arc<Scaling<F>>>,
    rows: Option<Gathered<F>>,
}

impl<F: Real> SelectedRows<F> {
    /// The user's rows.
    #[must_use]
    pub fn none() -> Self {
        Self { scaling: None, rows: None }
    }

    /// For a machine that begins with these rows and compares them by this kernel. `look` is asked
    /// between rows.
    ///
    /// # Errors
    /// `OutOfMemory`; those of `look`.
    pub fn new(rows: &Rows<'_, F>, kernel: AnyKernel, look: Look<'_>) -> Result<Self> {
        let magnitudes = matches!(kernel, AnyKernel::Laplacian { .. });
        let Some(selection) = Selection::of(rows, magnitudes)? else { return Ok(Self::none()) };
        let selected = selection.select(rows, None, look)?;
        let scaling = Scaling::new(Scales::of_selection(selection), None)?;
        Ok(Self { scaling: Some(Arc::new(scaling)), rows: Some(selected) })
    }

    /// For the training of a machine that goes on.
    ///
    /// # Errors
    /// `Unsupported` for columns that it has not seen, where those that it had seen were selected;
    /// `FeatureMismatch`, `OutOfMemory`; those of `look`.
    pub fn of(rows: &Rows<'_, F>, machine: &Machine<F>, look: Look<'_>) -> Result<Self> {
        let selects = |scaling: &&Arc<Scaling<F>>| scaling.scales().selection().is_some();
        let Some(scaling) = machine.scaling().filter(selects) else { return Ok(Self::none()) };
        // Where it scales rows, these come scaled.
        let Some(selection) = scaling.scales().selection() else { return Ok(Self::none()) };
        let selected = selection.select(rows, None, look)?;
        let unseen = scaling.scales().values().len() as i64 - 1;
        if let Gathered::Csr { columns, .. } = &selected
            && columns.contains(&unseen)
        {
            return Err(Error::Unsupported(
                "X has columns that fit has not seen: of very wide sparse rows the machine holds \
                 those alone that fit saw. Fit it to all rows, begin with partial_fit, or hash the \
                 features into fewer columns (scikit-learn's FeatureHasher)"
                    .into(),
            ));
        }
        Ok(Self { scaling: Some(Arc::clone(scaling)), rows: Some(selected) })
    }

    /// The rows to train on.
    ///
    /// # Errors
    /// None in practice.
    pub fn rows<'a>(&'a self, user: &'a Rows<'_, F>) -> Result<Rows<'a, F>> {
        self.rows.as_ref().map_or_else(|| Ok(user.view()), Gathered::rows)
    }

    /// The machine that was trained on them, for the user's rows.
    ///
    /// # Errors
    /// `FeatureMismatch`.
    pub fn machine(&self, machine: Machine<F>) -> Result<Machine<F>> {
        match &self.scaling {
            Some(scaling) => machine.scaled(Arc::clone(scaling)),
            None => Ok(machine),
        }
    }
}
