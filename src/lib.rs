//! Kernel support vector machines on a budget: a model has at most as many terms as you allow,
//! whatever the number of samples. Training passes over the data once or a few times, and one
//! prediction costs that many kernel values: microseconds.
//!
//! ```console
//! $ cargo add budgetsvm
//! ```
//!
//! ```
//! use budgetsvm::{BudgetSvc, data::Rows, kernel::Gaussian};
//! use budgetsvm::ndarray::Array2;
//!
//! // Points inside and outside a circle.
//! let points = Array2::from_shape_fn((400, 2), |(i, j)| {
//!     let (a, r) = (i as f32 * 0.7, if i % 2 == 0 { 1.0 } else { 2.0 });
//!     if j == 0 { r * a.cos() } else { r * a.sin() }
//! });
//! let labels: Vec<&str> = (0..400).map(|i| if i % 2 == 0 { "in" } else { "out" }).collect();
//!
//! let svc = BudgetSvc::builder().budget(20).c(10.0).kernel(Gaussian::new(1.0)?).build()?;
//! let model = svc.fit(&Rows::from(&points), &labels)?;
//! assert!(model.n_terms() <= 20);
//! assert_eq!(model.predict(&Rows::of_one(&[0.1, 0.9])?)?, ["in"]);
//! # Ok::<(), budgetsvm::error::Error>(())
//! ```
//!
//! # Which machine
//!
//! | machine | what it is | its page |
//! |---|---|---|
//! | [`BudgetSvc`], [`BudgetSvr`] | the flagship: any kernel, a budget of terms, streams by `partial_fit` | [`estimator::BudgetSvc`] |
//! | [`Svc`], [`NuSvc`], [`Svr`], [`NuSvr`], [`OneClassSvm`] | exact, classes one against one: what LIBSVM solves | [`estimator::Svc`] |
//! | [`SemiparametricSvc`], [`SemiparametricNuSvc`], [`SemiparametricSvr`], [`SemiparametricNuSvr`], [`SemiparametricOneClassSvm`] | exact, beside functions that you know | [`estimator::SemiparametricSvr`] |
//! | [`PrimalSvc`], [`PrimalSvr`] | Newton's method and conjugate gradients in the primal, exact or on a basis; tunes C and γ by itself | [`estimator::PrimalSvc`] |
//! | [`AssetSvc`], [`AssetSvr`] | linear on Nyström or Fourier features | [`estimator::AssetSvc`] |
//! | [`OnlineSvc`] | online learners, twelve of them, from the kernel perceptron on: row by row, in place | [`estimator::OnlineSvc`], [`online`] |
//! | [`LocalBudgetSvc`] | cells of the space, a small machine in each | [`estimator::LocalBudgetSvc`] |
//! | [`AutoSvc`], [`AutoSvr`] | tune themselves: kernels, scales of the features and regularisation are found | [`estimator::AutoSvc`] |
//!
//! All take [`data::Rows`], dense (ndarray's views, slices) or sparse (CSR), of `f32` or `f64`:
//! `f32` rows stay `f32`. Labels are of any type with an order. The kernel is Gaussian with γ = 1
//! unless set; `.gamma(Gamma::Scale)` ([`config::Gamma`]) chooses γ by the rows. What goes wrong is
//! an [`error::Error`], which says which argument and what would be right.
//!
//! Regression:
//!
//! ```
//! use budgetsvm::{PrimalSvr, data::Rows, kernel::Gaussian, ndarray::Array2};
//!
//! let x = Array2::from_shape_fn((300, 1), |(i, _)| i as f64 / 50.0);
//! let y: Vec<f64> = x.iter().map(|x| x.sin()).collect();
//! let model = PrimalSvr::builder().c(10.0).kernel(Gaussian::new(1.0)?).build()?.fit(&Rows::from(&x), &y)?;
//! let sine = model.predict(&Rows::of_one(&[1.0])?)?;
//! assert!((sine[0] - 1.0_f64.sin()).abs() < 0.1);
//! # Ok::<(), budgetsvm::error::Error>(())
//! ```
//!
//! # What to know
//!
//! - The same seed gives the same bits for any number of threads.
//! - A fitted model changes only where it is asked to `learn`; it is `Send` and `Sync`: any number of threads may predict with it. A
//!   few rows are predicted on the thread that asks, without a lock; many by all cores, in a pool
//!   that no fit waits in.
//! - `predict_one(&[..])` gives the label or value of one row and allocates nothing, once its thread
//!   has predicted with such a model (semi-parametric ones have `predict` alone).
//! - A fit tells an observer ([`watch::Observer`]) how far it is, and ends when that says so.
//! - Every fitted model is [`Saved`]: to a file, to bytes, to a stream. Those of the budgeted, primal
//!   and ASSET families are read by Python too. Loading one runs no code, and [`inspect`] tells what
//!   it is.
//!
//! # Features
//!
//! `train`, on by default, is all of the crate. `default-features = false, features = ["predict"]`
//! is what predicts, without a solver: [`model::AnyModel`] of a file's bytes, for a service.
//!
//! # Rooms
//!
//! Imports point down only: [`estimator`] stands on [`solver`], [`online`] and the local machines,
//! these on [`budget`] (what happens to a term too many), that on [`model`], this on [`features`],
//! and they on [`kernel`], [`loss`] and [`data`].

// What training alone uses is left where it is.
#![cfg_attr(not(feature = "train"), allow(dead_code, unused_imports, unused_macros))]

#[cfg(feature = "train")]
pub mod budget;
pub mod config;
pub mod data;
pub mod error;
#[cfg(feature = "train")]
pub mod estimator;
pub mod features;
pub mod float;
pub mod kernel;
pub(crate) mod linalg;
#[cfg(feature = "train")]
#[doc(hidden)]
pub mod local;
pub mod loss;
pub mod model;
#[cfg(feature = "train")]
pub(crate) mod multiclass;
#[cfg(feature = "train")]
pub mod online;
#[doc(hidden)]
pub mod parallel;
#[doc(hidden)]
pub mod rng;
#[doc(hidden)]
pub mod simd;
#[cfg(feature = "train")]
pub mod solver;
#[cfg(feature = "train")]
pub(crate) mod tuning;
pub mod watch;

pub use ndarray;

#[cfg(feature = "train")]
pub use estimator::{
    AssetSvc, AssetSvcModel, AssetSvr, AssetSvrModel, AutoSvc, AutoSvcModel, AutoSvr, AutoSvrModel,
    BudgetOneClassSvm, BudgetOneClassSvmModel, BudgetSvc, BudgetSvcModel, BudgetSvr,
    BudgetSvrModel, LabelSetsModel, LocalBudgetSvc, LocalBudgetSvcModel, NuSvc, NuSvr, OneClassSvm,
    OneClassSvmModel, OnlineSvc, OnlineSvcModel, PrimalSvc, PrimalSvcModel, PrimalSvr,
    PrimalSvrModel, Saved, SemiparametricNuSvc, SemiparametricNuSvr, SemiparametricOneClassSvm,
    SemiparametricOneClassSvmModel, SemiparametricSvc, SemiparametricSvcModel, SemiparametricSvr,
    SemiparametricSvrModel, Svc, SvcModel, Svr, SvrModel, inspect,
};

/// The README's example runs as it stands.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// So do those of the site's page.
#[cfg(doctest)]
#[doc = include_str!("../docs/rust.md")]
struct Page;
