//! Budget maintenance: what is done when a model holds more terms than it may.
//!
//! ```text
//! G_ab = γ‖a - b‖²,  κ = exp(-G_ab),  z = (1-h) a + h b
//! β_z = β_a exp(-G h²) + β_b exp(-G (1-h)²)
//! WD  = β_a² + β_b² + 2 β_a β_b κ - β_z²          (squared weight degradation of a merge)
//! ```
//!
//! *References*: \[BSCA\] Alg. 1; \[GQ18\] (the table); \[QG18\] (multi-merge); plain
//! projection with an updated inverse.

#![deny(clippy::wildcard_enum_match_arm)]

mod event;
mod maintain;
pub mod merge_search;
mod merging;
mod multi_merge;
mod partners;
mod projection;
mod removal;
mod shared_search;

pub use event::Event;
pub use maintain::{AnyMaintenance, Maintainer};
pub use merge_search::MergeSearch;

#[cfg(test)]
mod tests;
