//! Models: what a fit gives and files hold.

pub mod persist;
