//! What a fitted machine decides with: the expansion that training edits, the models that predict,
//! and the files that hold them.
//!
//! ```text
//! expansion   f_c(x) = Σ_j β_jc k(s_j, x) + b_c      one set of terms, or one an output
//! pairwise    the same for every pair of classes, on terms that the pairs share
//! features    f_c(x) = w_c·z(x) + b_c
//! linear      f_c(x) = w_c·x + b_c
//! cells       the expansion of the cell that x lies in
//! coded       Σ_p of expansions, each of coordinates coding_p(x) of its own
//! scaled      one of these, of rows whose features are multiplied by factors
//! ```

mod any;
pub(crate) mod assignment;
pub(crate) mod calibration;
mod cell;
mod cells;
mod chunks;
mod coded;
mod coding;
mod decide;
mod expansion;
mod feature_model;
mod fold;
mod gradient;
mod kernel_model;
pub mod libsvm;
mod lightest;
mod linear;
mod pairwise;
pub mod persist;
mod points;
mod scaled;
mod scratch;
mod stored;
mod through;

use std::sync::Arc;

use ndarray::Array2;

use crate::data::Gathered;
use crate::error::{Result, try_vec};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::AnyKernel;

pub use any::AnyModel;
pub(crate) use calibration::logistic;
pub use calibration::{Calibration, CalibrationMethod, Outputs, sigmoid};
pub use cell::{CellMachine, CellPairs};
pub use cells::CellModel;
pub use coded::CodedModel;
pub use coding::Coding;
pub use expansion::{Expansion, RowScratch};
pub use feature_model::FeatureModel;
pub(crate) use fold::Fold;
pub use kernel_model::KernelModel;
pub use linear::LinearModel;
pub(crate) use pairwise::voted;
pub use pairwise::{PairwiseModel, Support};
pub use scaled::Scaling;
pub use through::Answer;

/// A fitted model: it never changes, a clone shares it, and threads may use it together.
#[derive(Clone, Debug)]
pub enum Model<F: Real> {
    /// An expansion.
    Expansion(Arc<KernelModel<F>>),
    /// An expansion an output.
    Each(Arc<[KernelModel<F>]>),
    /// An exact machine: one output, or one a pair of classes.
    Pairwise(Arc<PairwiseModel<F>>),
    /// A linear machine on features.
    Features(Arc<FeatureModel<F>>),
    /// A linear machine.
    Linear(Arc<LinearModel>),
    /// A machine a cell.
    Cells(Arc<CellModel<F>>),
    /// Expansions of coded rows.
    Coded(Arc<CodedModel<F>>),
    /// A model of rows whose features are scaled; what it tells is in the user's units.
    Scaled(Arc<Scaling<F>>, Arc<Model<F>>),
}

impl<F: Real> Model<F> {
    /// The model of one expansion for all outputs, or one an output.
    #[must_use]
    pub fn of_expansions(mut expansions: Vec<KernelModel<F>>) -> Self {
        match expansions.pop() {
            Some(only) if expansions.is_empty() => Self::Expansion(Arc::new(only)),
            last => {
                expansions.extend(last);
                Self::Each(expansions.into())
            }
        }
    }

    /// This model, of rows whose features are scaled.
    ///
    /// # Errors
    /// `FeatureMismatch`; `LengthMismatch` where the points given are not those of its terms.
    pub fn scaled(self, scaling: Arc<Scaling<F>>) -> Result<Self> {
        let points = if scaling.given().is_some() { self.support_vectors()? } else { None };
        scaling.check(self.n_features(), points)?;
        Ok(Self::Scaled(scaling, Arc::new(self)))
    }

    /// The model that decides, of scaled rows where it is behind [`Model::Scaled`].
    #[must_use]
    pub fn behind(&self) -> &Self {
        match self {
            Self::Scaled(_, model) => model,
            Self::Expansion(_)
            | Self::Each(_)
            | Self::Pairwise(_)
            | Self::Features(_)
            | Self::Linear(_)
            | Self::Cells(_)
            | Self::Coded(_) => self,
        }
    }

    /// What its rows are scaled by before it decides.
    #[must_use]
    pub fn scaling(&self) -> Option<&Arc<Scaling<F>>> {
        match self {
            Self::Scaled(scaling, _) => Some(scaling),
            Self::Expansion(_)
            | Self::Each(_)
            | Self::Pairwise(_)
            | Self::Features(_)
            | Self::Linear(_)
            | Self::Cells(_)
            | Self::Coded(_) => None,
        }
    }

    /// The expansions that it consists of; none for a machine that is no sum of them.
    #[must_use]
    pub fn expansions(&self) -> &[KernelModel<F>] {
        match self {
            Self::Expansion(model) => std::slice::from_ref(model),
            Self::Each(models) => models,
            Self::Features(model) => model.expansion().map_or(&[], std::slice::from_ref),
            Self::Scaled(_, model) => model.expansions(),
            Self::Pairwise(_) | Self::Linear(_) | Self::Cells(_) | Self::Coded(_) => &[],
        }
    }

    /// Its name in files; of one that is scaled, that of the model behind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Expansion(_) => "expansion",
            Self::Each(_) => "each",
            Self::Pairwise(_) => "pairwise",
            Self::Features(_) => "features",
            Self::Linear(_) => "linear",
            Self::Cells(_) => "cells",
            Self::Coded(_) => "coded",
            Self::Scaled(_, model) => model.kind(),
        }
    }

    /// Number of terms of each cell; of all where there are no cells.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        match self {
            Self::Cells(model) => model.cells().iter().map(CellMachine::n_terms).collect(),
            Self::Scaled(_, model) => model.sizes(),
            Self::Expansion(_)
            | Self::Each(_)
            | Self::Pairwise(_)
            | Self::Features(_)
            | Self::Linear(_)
            | Self::Coded(_) => vec![self.n_terms()],
        }
    }

    /// Number of terms, those of all outputs and cells together (features of a linear machine).
    #[must_use]
    pub fn n_terms(&self) -> usize {
        match self {
            Self::Expansion(_) | Self::Each(_) => {
                self.expansions().iter().map(KernelModel::n_terms).sum()
            }
            Self::Pairwise(model) => model.n_terms(),
            Self::Features(model) => {
                model.expansion().map_or(model.map().n_outputs(), KernelModel::n_terms)
            }
            Self::Linear(model) => model.n_features(),
            Self::Cells(model) => model.cells().iter().map(CellMachine::n_terms).sum(),
            Self::Coded(model) => model.n_terms(),
            Self::Scaled(_, model) => model.n_terms(),
        }
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        match self {
            Self::Expansion(model) => model.n_outputs(),
            Self::Each(models) => models.iter().map(KernelModel::n_outputs).sum(),
            Self::Pairwise(model) => model.n_outputs(),
            Self::Features(model) => model.intercept().len(),
            Self::Linear(model) => model.n_outputs(),
            Self::Cells(model) => model.n_outputs(),
            Self::Coded(model) => model.n_outputs(),
            Self::Scaled(_, model) => model.n_outputs(),
        }
    }

    /// Number of features of a row.
    #[must_use]
    pub fn n_features(&self) -> usize {
        match self {
            Self::Expansion(model) => model.n_features(),
            Self::Each(models) => models.first().map_or(0, KernelModel::n_features),
            Self::Pairwise(model) => model.n_features(),
            Self::Features(model) => model.map().n_features(),
            Self::Linear(model) => model.n_features(),
            Self::Cells(model) => model.n_features(),
            Self::Coded(model) => model.n_features(),
            Self::Scaled(scaling, _) => scaling.scales().n_columns(),
        }
    }

    /// The kernel; none where kernel values are what rows consist of.
    #[must_use]
    pub fn kernel(&self) -> Option<AnyKernel> {
        match self {
            Self::Expansion(model) => Some(model.kernel()),
            Self::Each(models) => models.first().map(KernelModel::kernel),
            Self::Pairwise(model) => match model.support() {
                Support::Vectors(kernel, _) => Some(*kernel),
                Support::Columns(..) => None,
            },
            Self::Features(model) => Some(model.kernel()),
            Self::Linear(_) => Some(AnyKernel::Linear),
            Self::Cells(model) => model.cells().first().map(CellMachine::kernel),
            Self::Coded(model) => model.parts().first().map(|(_, part)| part.kernel()),
            Self::Scaled(_, model) => model.kernel(),
        }
    }

    /// Whether the points of its terms are sparse rows.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        match self {
            Self::Expansion(model) => matches!(model.kept_rows(), Some(Gathered::Csr { .. })),
            Self::Pairwise(model) => {
                matches!(model.support(), Support::Vectors(_, Gathered::Csr { .. }))
            }
            Self::Scaled(_, model) => model.is_sparse(),
            Self::Each(_)
            | Self::Features(_)
            | Self::Linear(_)
            | Self::Cells(_)
            | Self::Coded(_) => false,
        }
    }

    /// Points of the terms: as they came, where they are rows of the user's. None for a machine
    /// without terms, or with those of each cell.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn support_vectors(&self) -> Result<Option<Gathered<F>>> {
        match self {
            Self::Expansion(model) => model.centers().map(Some),
            Self::Each(models) => {
                let d = self.n_features();
                let mut all = try_vec("support vectors", 0, F::zero())?;
                for model in models.iter() {
                    if let Gathered::Dense(rows) = model.centers()? {
                        all.extend(rows);
                    }
                }
                Gathered::from_values(all, d).map(Some)
            }
            Self::Pairwise(model) => match model.support() {
                Support::Vectors(_, rows) => rows.try_clone().map(Some),
                Support::Columns(..) => Ok(None),
            },
            Self::Features(model) => model.landmarks().transpose(),
            Self::Scaled(scaling, model) => Ok(scaling.points(model.support_vectors()?)),
            Self::Linear(_) | Self::Cells(_) | Self::Coded(_) => Ok(None),
        }
    }

    /// Coefficients of the terms, outputs x terms (0 where an output does not have the term), or
    /// as [`PairwiseModel`] lays them out; no columns for a machine without terms.
    #[must_use]
    pub fn dual_coef(&self) -> Array2<f64> {
        if let Self::Pairwise(model) = self.behind() {
            return model.coef().clone();
        }
        let models = self.expansions();
        let terms = models.iter().map(KernelModel::n_terms).sum();
        let mut all = Array2::zeros((self.n_outputs(), terms));
        let (mut output, mut term) = (0, 0);
        for model in models {
            for c in 0..model.n_outputs() {
                for (j, &value) in model.coef_of(c).iter().enumerate() {
                    all[(output + c, term + j)] = value;
                }
            }
            output += model.n_outputs();
            term += model.n_terms();
        }
        all
    }

    /// Weights of the features (of the map's, or the rows' own), outputs x features; no columns
    /// for a machine of terms.
    #[must_use]
    pub fn coef(&self) -> Array2<f64> {
        if let Self::Scaled(scaling, model) = self {
            let (mut coef, scales) = (model.coef(), scaling.scales().values());
            if let (Self::Linear(_), Some(selection)) = (&**model, scaling.scales().selection()) {
                let mut spread = Array2::zeros((coef.nrows(), selection.n_columns()));
                for (mut to, own) in spread.rows_mut().into_iter().zip(coef.rows()) {
                    let columns = selection.columns().iter().zip(own);
                    columns.for_each(|(&column, &weight)| {
                        let factors = scaling.scales().of_columns();
                        let by = factors.map_or(1.0, |factors| factors[column as usize]);
                        to[column as usize] = weight * by;
                    });
                }
                return spread;
            }
            if let Self::Linear(_) = &**model {
                coef.indexed_iter_mut().for_each(|((_, k), weight)| *weight *= scales[k]);
            }
            return coef;
        }
        let values = match self {
            Self::Features(model) => model.coef(),
            Self::Linear(model) => model.coef(),
            Self::Expansion(_)
            | Self::Each(_)
            | Self::Pairwise(_)
            | Self::Cells(_)
            | Self::Coded(_)
            | Self::Scaled(..) => &[],
        };
        let outputs = self.n_outputs();
        let width = values.len().checked_div(outputs).unwrap_or(0);
        Array2::from_shape_fn((outputs, width), |(c, j)| values[c * width + j])
    }

    /// Offsets, one an output; empty for a machine of cells.
    #[must_use]
    pub fn intercept(&self) -> Vec<f64> {
        match self {
            Self::Expansion(model) => model.intercept().to_vec(),
            Self::Each(models) => models.iter().flat_map(|m| m.intercept().to_vec()).collect(),
            Self::Pairwise(model) => model.intercept().to_vec(),
            Self::Features(model) => model.intercept().to_vec(),
            Self::Linear(model) => model.intercept().to_vec(),
            Self::Cells(_) => Vec::new(),
            Self::Coded(model) => model.intercept(),
            Self::Scaled(_, model) => model.intercept(),
        }
    }

    /// The feature map of a machine on features, scaled ones where it is behind [`Model::Scaled`].
    #[must_use]
    pub fn map(&self) -> Option<&FeatureMap<F>> {
        match self {
            Self::Features(model) => Some(model.map()),
            Self::Scaled(_, model) => model.map(),
            Self::Expansion(_)
            | Self::Each(_)
            | Self::Pairwise(_)
            | Self::Linear(_)
            | Self::Cells(_)
            | Self::Coded(_) => None,
        }
    }
}
