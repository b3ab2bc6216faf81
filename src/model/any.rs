//! The model of a file, of either precision.

use super::Model;
use super::persist::Archive;
use crate::error::{Error, Result};
use crate::float::Real;

/// A model of either precision: what there is to predict with, without what could train.
///
/// ```no_run
/// use budgetsvm::model::{AnyModel, persist::Archive};
///
/// let archive = Archive::load("adult.safetensors".as_ref())?;
/// let AnyModel::F32(model) = AnyModel::of_archive(archive)? else { panic!("of doubles") };
/// let positive = model.decide_one(&[0.0; 123], |values| Ok(values[0] > 0.0))?;
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum AnyModel {
    /// Single precision.
    F32(Model<f32>),
    /// Double precision.
    F64(Model<f64>),
}

impl AnyModel {
    /// The model of the machine in a file of any estimator but those that learn a stream of their
    /// own, online and local: their files hold what they learn from, not a model.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, and for a file without a model;
    /// `OutOfMemory`.
    pub fn of_archive(archive: Archive) -> Result<Self> {
        let none = || Error::Format("no model; an online learner or local machine?".into());
        let mut machine =
            archive.machine.filter(|machine| machine.has("model")).ok_or_else(none)?;
        let precision: String = machine.take("precision")?;
        let model = machine.take_section("model")?;
        match precision.as_str() {
            f32::NAME => Model::from_section(model).map(Self::F32),
            f64::NAME => Model::from_section(model).map(Self::F64),
            _ => Err(Error::Format(format!("precision {precision:?}"))),
        }
    }
}
