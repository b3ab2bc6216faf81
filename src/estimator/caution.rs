//! What may disappoint in a fit, and what a user can do about it.

use std::fmt;

use super::machine::Machine;
use super::scales::{Scales, drowned};
use crate::data::{Rows, Targets};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::AnyKernel;

/// Something about a fit that its user may want to know; `Display` says what to do.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Caution {
    /// A few features make up nearly all of the distance between rows.
    FewFeatures(Scales),
    /// Most values lie within ε of one constant.
    WideTube {
        /// The half-width of the tube.
        epsilon: f64,
        /// The standard deviation of the values.
        spread: f64,
    },
    /// The machine says the same of every row.
    NoTerms,
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewFeatures(Scales { few, varying, share }) => write!(
                f,
                "{few} of {varying} features make up {:.1} % of the squared distance between \
                 rows, and the kernel hardly sees the others: scale the features",
                100.0 * share
            ),
            Self::WideTube { epsilon, spread } => write!(
                f,
                "epsilon = {epsilon} is no less than the spread of y (standard deviation \
                 {spread:.3}), so a constant is nearly as good as any machine: lower epsilon, or \
                 standardise y"
            ),
            Self::NoTerms => f.write_str(
                "the machine has no terms and predicts the same value for every row: where y is \
                 no constant, lower epsilon or raise C",
            ),
        }
    }
}

/// What there is to say of rows and values (none for classes) before a fit with this kernel.
pub(super) fn before<F: Real>(
    kernel: AnyKernel,
    (rows, weights): (&Rows<'_, F>, Option<&[f64]>),
    tube: Option<(f64, Targets<'_>)>,
) -> Result<Vec<Caution>> {
    let mut found = Vec::new();
    if kernel != AnyKernel::Linear {
        let ones = match weights {
            Some(_) => Vec::new(),
            None => try_vec("weights", rows.n_rows(), 1.0)?,
        };
        found.extend(drowned(rows, weights.unwrap_or(&ones))?.map(Caution::FewFeatures));
    }
    if let Some((epsilon, targets)) = tube {
        let wide = |spread: &f64| 0.0 < *spread && *spread <= epsilon;
        let mut spreads = (0..targets.n_outputs()).map(|output| spread(targets, output));
        let widest = spreads.find(wide);
        found.extend(widest.map(|spread| Caution::WideTube { epsilon, spread }));
    }
    Ok(found)
}

/// The standard deviation of an output's values.
fn spread(targets: Targets<'_>, output: usize) -> f64 {
    let n = targets.len() as f64;
    let values = || (0..targets.len()).map(|i| targets.value(i, output));
    let mean = values().map(|y| y / n).sum::<f64>();
    (values().map(|y| (y - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// What there is to say of a regression machine.
pub(super) fn after<F: Real>(machine: &Machine<F>) -> Result<Option<Caution>> {
    let model = machine.model()?;
    let silent = model.dual_coef().iter().chain(model.coef().iter()).all(|c| *c == 0.0);
    Ok(silent.then_some(Caution::NoTerms))
}
