//! What all builders share beside hyperparameters: γ by name, weights of classes, threads.

use super::summary::{check_columns, summarize};
use crate::config::{Builder, ClassWeight, Config, FeatureScales, Gamma, Setup};
use crate::data::{Rows, Targets};
use crate::error::{Error, Result, check_len, try_vec};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::parallel;

/// Hyperparameters of a machine with a kernel.
pub trait KernelConfig: Config {
    /// The kernel.
    fn kernel_mut(&mut self) -> &mut AnyKernel;
}

/// A classifier whose classes may weigh differently.
pub trait ClassWeighted {}

impl<C: KernelConfig, E> Builder<C, E> {
    /// γ in the place of the one that the kernel has: a number, [`Gamma::Scale`] or [`Gamma::Auto`].
    #[must_use]
    pub fn gamma(mut self, gamma: impl Into<Gamma>) -> Self {
        self.setup.gamma = Some(gamma.into());
        self
    }
}

impl<C: KernelConfig, E> Builder<C, E> {
    /// Factors of the features, >= 0 and not all 0: the machine is that of rows whose columns are
    /// multiplied by them, and takes rows as they come. One that is 0 drops its feature.
    /// [`Gamma::Scale`] is that of the scaled rows. [`FeatureScales::Learn`] finds them.
    #[must_use]
    pub fn feature_scales(mut self, scales: impl Into<FeatureScales>) -> Self {
        self.setup.feature_scales = scales.into();
        self
    }
}

impl<C, E: ClassWeighted> Builder<C, E> {
    /// What the samples of each class cost beside their own weights; one unless set.
    #[must_use]
    pub fn class_weight(mut self, weight: ClassWeight) -> Self {
        self.setup.class_weight = weight;
        self
    }
}

impl Setup {
    /// Number of threads.
    pub(super) fn n_threads(&self) -> Result<usize> {
        parallel::thread_count(self.threads.map(|n| i64::try_from(n).unwrap_or(i64::MAX)))
    }

    /// Whether a stream can be trained so, whose samples come in parts.
    pub(super) fn check_stream(&self) -> Result<()> {
        match self.class_weight {
            ClassWeight::One | ClassWeight::Each(_) => Ok(()),
            ClassWeight::Balanced => Err(Error::Unsupported(
                "class_weight: what is balanced is not known before all rows are, give a stream a \
                 factor for every class"
                    .into(),
            )),
        }
    }

    /// The kernel with the γ of these rows.
    pub(super) fn settled<F: Real>(
        &self,
        kernel: AnyKernel,
        rows: &Rows<'_, F>,
        weights: Option<&[f64]>,
    ) -> Result<AnyKernel> {
        let d = rows.n_cols();
        check_columns(d)?;
        let gamma = match self.gamma {
            // Rows without features are refused for what they are.
            _ if d == 0 || kernel == AnyKernel::Linear => return Ok(kernel),
            None => return Ok(kernel),
            Some(Gamma::Value(gamma)) => gamma,
            Some(Gamma::Auto) => 1.0 / d as f64,
            Some(Gamma::Scale) => {
                let ones = match weights {
                    Some(_) => Vec::new(),
                    None => try_vec("weights", rows.n_rows(), 1.0)?,
                };
                match summarize(rows, weights.unwrap_or(&ones))?.variance {
                    0.0 => 1.0,
                    variance => 1.0 / (d as f64 * variance),
                }
            }
        };
        let kernel = kernel.with_gamma(gamma);
        kernel.check()?;
        Ok(kernel)
    }

    /// The cost of every sample: `c` times the weights of its class and its own.
    pub(super) fn cost(
        &self,
        c: f64,
        weights: Option<&[f64]>,
        (targets, n): (Targets<'_>, usize),
    ) -> Result<Vec<f64>> {
        let mut cost = match weights {
            Some(weights) => weights.to_vec(),
            None => try_vec("costs", n, 1.0)?,
        };
        if let Targets::Classes { index, n_classes } = targets
            && let Some(factors) = self.factors(&cost, index, n_classes)?
        {
            // Of lengths that differ the problem tells.
            let of_class = |&class: &u32| factors.get(class as usize).copied().unwrap_or(1.0);
            cost.iter_mut().zip(index).for_each(|(cost, class)| *cost *= of_class(class));
        }
        // 0 · ∞ is no cost.
        cost.iter_mut().filter(|weight| **weight != 0.0).for_each(|weight| *weight *= c);
        Ok(cost)
    }

    /// A factor a class.
    fn factors(&self, weights: &[f64], index: &[u32], k: usize) -> Result<Option<Vec<f64>>> {
        match &self.class_weight {
            ClassWeight::One => Ok(None),
            ClassWeight::Balanced => {
                let mut sums = vec![0.0; k];
                for (weight, &class) in weights.iter().zip(index) {
                    sums[class as usize] += weight;
                }
                let share = weights.iter().sum::<f64>() / k as f64;
                let factor = |sum: &f64| if *sum > 0.0 { share / sum } else { 1.0 };
                Ok(Some(sums.iter().map(factor).collect()))
            }
            ClassWeight::Each(factors) => {
                check_len("class_weight", k, factors.len())?;
                Ok(Some(factors.clone()))
            }
        }
    }
}
