//! What predicts for the streams of all outputs.

use std::sync::Arc;

use super::Stream;
use super::expansion::BudgetedExpansion;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::model::{FeatureModel, KernelModel, Model};
use crate::watch::Look;

impl<F: Real> BudgetedExpansion<F> {
    /// The terms that predictions use, with their coefficients.
    fn to_model(&self) -> Result<KernelModel<F>> {
        let (points, d) = (self.moved_points()?, self.n_features());
        let origin = self.origin().to_vec();
        KernelModel::from_parts(self.kernel(), origin, (points, d), &self.coefs(), vec![0.0])
    }
}

/// The model of streams, one an output, all of one learner; `look` is asked between them.
///
/// # Errors
/// Those of `look`; /// `NonFinite` when coefficients have left the range of floats, `OutOfMemory`.
pub(crate) fn model_of<F: Real>(streams: &[Stream<F>], look: Look<'_>) -> Result<Model<F>> {
    let models = || streams.iter().map(Stream::model);
    let Some(first) = models().next() else {
        return Err(Error::Unsupported("a machine without an output".into()));
    };
    let Some(map) = first.map() else {
        let expansions = models().map(|model| {
            look()?;
            model.to_model()
        });
        return Ok(Model::of_expansions(expansions.collect::<Result<_>>()?));
    };
    // All outputs are on the same features.
    let width = map.n_outputs();
    let coef = models().flat_map(|m| m.weights.for_prediction().into_iter().take(width)).collect();
    let offsets = vec![0.0; streams.len()];
    let model = FeatureModel::new((map.as_ref().clone(), first.kernel()), coef, offsets, false)?;
    Ok(Model::Features(Arc::new(model)))
}
