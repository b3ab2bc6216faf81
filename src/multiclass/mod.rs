//! Several classes by several machines.

mod one_vs_one;
mod one_vs_rest;

pub use one_vs_one::{one_vs_one, pairs};
pub use one_vs_rest::one_vs_rest;
