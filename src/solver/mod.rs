//! Solvers, the one training loop that runs them, and what it reports.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod asset;
mod block;
mod budgeted;
pub mod exact;
mod left;
pub mod mpd;
mod objective;
pub mod polish;
pub mod primal;
pub mod recursive;
pub mod refine;
mod run;
pub mod smoothed;
mod sweep;

pub use budgeted::{Budgeted, Method, State};
pub use run::{Look, Looks, Outcome, PassRecord, Stop, run, run_part, run_watched};
