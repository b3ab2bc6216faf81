//! Several classes by several machines: one against one. One against the rest is
//! [`crate::watch::Watch::side_by_side`] with the classes merged.

mod one_vs_one;

pub(crate) use one_vs_one::{one_vs_one, pair_index};
