//! A machine of either precision, and what decides about rows of either.

use std::sync::Arc;

use super::machine::Machine;
use crate::data::RowFloat;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::model::persist::Section;
use crate::model::{Model, Scaling};
use crate::watch::Look;

/// A machine of either precision: what a file has.
#[derive(Clone, Debug)]
pub enum AnyMachine {
    /// Single precision.
    F32(Machine<f32>),
    /// Double precision.
    F64(Machine<f64>),
}

impl AnyMachine {
    /// "float32" or "float64".
    #[must_use]
    pub fn precision(&self) -> &'static str {
        match self {
            Self::F32(_) => f32::NAME,
            Self::F64(_) => f64::NAME,
        }
    }

    /// What a file holds of the machine; `look` is asked now and then.
    ///
    /// # Errors
    /// `OutOfMemory`; those of `look`.
    pub fn to_section(&self, look: Look<'_>) -> Result<Section> {
        match self {
            Self::F32(machine) => machine.to_section(look),
            Self::F64(machine) => machine.to_section(look),
        }
    }

    /// The machine of a file.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn from_section(mut section: Section) -> Result<Self> {
        let precision: String = section.take("precision")?;
        match precision.as_str() {
            f32::NAME => Machine::from_section(section).map(Self::F32),
            f64::NAME => Machine::from_section(section).map(Self::F64),
            _ => Err(Error::Format(format!("precision {precision:?}"))),
        }
    }
}

/// The precisions that a machine may be of.
pub trait Precision: RowFloat {
    /// The machine, said to be of this precision.
    fn any(machine: Machine<Self>) -> AnyMachine;

    /// The machine, if it is of this precision.
    fn of_any(machine: &AnyMachine) -> Option<&Machine<Self>>;

    /// What decides about rows of this precision: a linear model does, and an exact one about rows
    /// of single precision where that is as good; else only one of this precision.
    ///
    /// # Errors
    /// As [`Machine::model`].
    fn model_of(machine: &AnyMachine) -> Result<Option<Model<Self>>>;
}

/// A model that decides about rows of any precision.
fn of_any_rows<F: Real, G: Real>(model: &Model<G>) -> Result<Option<Model<F>>> {
    let Model::Linear(linear) = model.behind() else { return Ok(None) };
    scaled_alike(model, Model::Linear(Arc::clone(linear))).map(Some)
}

/// A model in the place of the one behind the scales, if there are any.
fn scaled_alike<F: Real, G: Real>(like: &Model<G>, model: Model<F>) -> Result<Model<F>> {
    match like.scaling() {
        Some(scaling) => model.scaled(Arc::new(Scaling::new(scaling.scales().clone(), None)?)),
        None => Ok(model),
    }
}

impl Precision for f32 {
    fn any(machine: Machine<Self>) -> AnyMachine {
        AnyMachine::F32(machine)
    }

    fn of_any(machine: &AnyMachine) -> Option<&Machine<Self>> {
        if let AnyMachine::F32(machine) = machine { Some(machine) } else { None }
    }

    fn model_of(machine: &AnyMachine) -> Result<Option<Model<Self>>> {
        match machine {
            AnyMachine::F32(machine) => machine.model().cloned().map(Some),
            AnyMachine::F64(machine) => {
                let model = machine.model()?;
                match model.behind() {
                    Model::Pairwise(pairs) => {
                        let single = pairs.single()?.map(Model::Pairwise);
                        single.map(|single| scaled_alike(model, single)).transpose()
                    }
                    _ => of_any_rows(model),
                }
            }
        }
    }
}

impl Precision for f64 {
    fn any(machine: Machine<Self>) -> AnyMachine {
        AnyMachine::F64(machine)
    }

    fn of_any(machine: &AnyMachine) -> Option<&Machine<Self>> {
        if let AnyMachine::F64(machine) = machine { Some(machine) } else { None }
    }

    fn model_of(machine: &AnyMachine) -> Result<Option<Model<Self>>> {
        match machine {
            AnyMachine::F32(machine) => of_any_rows(machine.model()?),
            AnyMachine::F64(machine) => machine.model().cloned().map(Some),
        }
    }
}
