//! Hyperparameters, declared once: a field of a struct is a hyperparameter's default, its setter
//! in a [`Builder`], its name in Python and in files; [`Config::check`] is its only validator.
//!
//! As JSON, what Python hands over and what files hold, hyperparameters lie side by side. A choice
//! (a kernel, a loss, a learner) is a name, and beside it lies what that choice needs:
//!
//! ```text
//! {"C": 10.0, "kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2, ...}
//! ```
//!
//! The structs have enums there, `{"kernel": {"name": "poly", "gamma": 0.5, ...}}` for serde, and
//! [`Config::from_json`] puts the parts where they belong. Names that no field has are Python's own
//! and are passed over.

mod builder;
mod json;
mod range;
mod setup;

pub use builder::{Builder, FromConfig};
pub(crate) use builder::{config, hyperparameters};
pub use json::Config;
pub(crate) use json::{changed, exactly, side_by_side};
pub(crate) use range::{
    at_least, at_most_one, count, megabytes, not_negative, optional, positive, share,
};
pub use setup::{ClassWeight, FeatureScales, Gamma, Setup};
