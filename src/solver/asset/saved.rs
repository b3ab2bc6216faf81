//! What a stream goes on from, as a section of a file.

use super::steps::State;
use crate::error::{Error, Result};
use crate::model::persist::{Section, Tensor};

impl State {
    /// What a file holds of it.
    #[must_use]
    pub fn to_section(&self) -> Section {
        let mut section = Section::default();
        for (name, values) in [
            ("weights", &self.weights),
            ("intercept", &self.intercept),
            ("mean", &self.mean),
            ("mean_intercept", &self.mean_intercept),
        ] {
            section.put_array(name, Tensor::doubles(values.clone()));
        }
        section.put("steps", self.steps);
        section.put("samples", self.samples);
        section.put("gradient", self.gradient);
        section
    }

    /// The state of a file.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid.
    pub fn from_section(mut section: Section) -> Result<Self> {
        let state = Self {
            weights: section.take_doubles("weights")?,
            intercept: section.take_doubles("intercept")?,
            steps: section.take("steps")?,
            samples: section.take("samples")?,
            gradient: section.take_number("gradient")?,
            mean: section.take_doubles("mean")?,
            mean_intercept: section.take_doubles("mean_intercept")?,
        };
        section.end()?;
        if state.gradient < 0.0 {
            return Err(Error::Format("gradient of a stream".into()));
        }
        Ok(state)
    }

    /// Whether it is one of so many outputs on so many features.
    #[must_use]
    pub fn fits(&self, outputs: usize, width: usize) -> bool {
        let of = |w: &[f64], b: &[f64]| (w.len(), b.len()) == (outputs * width, outputs);
        of(&self.weights, &self.intercept) && of(&self.mean, &self.mean_intercept)
    }
}
