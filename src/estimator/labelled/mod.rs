//! Machines with labels or values of their user's: builders, fits, streams, predictions and files,
//! written once. What a family adds is what its hyperparameters say: [`Family`].

mod calibrate;
mod classifier;
mod family;
mod fitted;
mod regressor;
mod sets;
mod told;

pub use classifier::{Classifier, ClassifierModel};
pub use family::{Family, OfValues, Streams, Told, Trains, Weighted};
pub(super) use fitted::{Fitted, GoOn, Train};
pub use regressor::{Regressor, RegressorModel};
pub use sets::LabelSetsModel;
