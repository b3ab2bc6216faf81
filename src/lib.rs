#![doc = include_str!("../README.md")]

pub mod budget;
pub mod config;
pub mod data;
pub mod error;
pub mod estimator;
pub mod features;
pub mod float;
pub mod kernel;
pub mod linalg;
pub mod local;
pub mod loss;
pub mod model;
pub mod multiclass;
pub mod online;
pub mod parallel;
pub mod rng;
pub mod simd;
pub mod solver;

pub use ndarray;

pub use estimator::{BudgetSvc, BudgetSvcModel, BudgetSvr, BudgetSvrModel};
