//! In which order a pass visits the samples.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::rng::Rng;

/// The order of a pass of n steps over n samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SampleOrder {
    /// A fresh random permutation each pass.
    #[default]
    Shuffled,
    /// n independent uniform draws (the BSCA paper's).
    Uniform,
    /// 0, 1, ..., n-1.
    Sequential,
    /// These indices, over and over; for tests that walk in step with a reference.
    #[serde(untagged)]
    Scripted(Vec<usize>),
}

impl SampleOrder {
    /// Fills `order` (length n) with the indices of the next pass.
    ///
    /// # Errors
    /// `InvalidParam` when a scripted order is empty or leaves the data.
    pub fn next_pass(&self, rng: &mut Rng, order: &mut [usize]) -> Result<()> {
        let n = order.len();
        match self {
            Self::Shuffled => {
                order.iter_mut().enumerate().for_each(|(i, o)| *o = i);
                rng.shuffle(order);
            }
            Self::Uniform => order.iter_mut().for_each(|o| *o = rng.below(n)),
            Self::Sequential => order.iter_mut().enumerate().for_each(|(i, o)| *o = i),
            Self::Scripted(script) => {
                if script.is_empty() || script.iter().any(|&i| i >= n) {
                    return Err(Error::param(
                        "order",
                        format!("a non-empty list of indices below {n}"),
                        format!("{} indices", script.len()),
                    ));
                }
                order.iter_mut().zip(script.iter().cycle()).for_each(|(o, &i)| *o = i);
            }
        }
        Ok(())
    }
}
