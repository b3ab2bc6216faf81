//! Several classes by several machines.

mod one_vs_rest;

pub use one_vs_rest::one_vs_rest;
