//! Run-time dispatched primitives: packed blocks of kernel values, the exponential, searches in
//! slices. The only room with `unsafe`.
//!
//! Each body is written once over lines of 64 bytes (`lanes.rs`) and compiled for every level of
//! the processor: plain Rust (the twin that tests compare with), AVX2 with FMA, AVX-512F, NEON. The
//! environment variable `BUDGETSVM_SIMD` (`scalar`, `avx2`, `avx512`, `neon`) forces a level; a level
//! that the processor lacks falls back to the best it has.
//!
//! A kernel value is a chain of multiply-adds in the order of the features (parts that a point is blank
//! of come by themselves where differences are squared: `parted.rs`; products leave zeros out:
//! `thinned.rs`), whatever the shape of the block around it, so cutting the points into other tiles
//! changes no bit.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod blanks;
mod block;
mod corners;
mod dispatch;
mod emit;
mod found;
mod job;
mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod norms;
mod packed;
mod pages;
mod pairs;
mod parted;
mod present;
mod primitives;
mod products;
mod pulls;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod registers;
mod roofline;
mod scalar;
mod side;
mod skipping;
mod slices;
mod sparse;
mod strides;
mod thinned;
mod tile;
mod together;
mod touch;
mod waves;
mod zeroed;

pub(crate) use corners::Tube;
pub use dispatch::{Level, level, levels};
pub use job::{Job, Map, Metric, Sums, Values};
pub use lanes::PART;
pub(crate) use norms::{sq_norm, sq_norms};
pub use packed::Packed;
pub(crate) use pairs::LEAST_CURVATURE;
pub(crate) use primitives::{
    absolute_differences, add_rows, add_scaled, add_scaled_rows, add_shorts, add_singles,
    add_to_side, add_wide, cosines, descents, dots, exp_in_place, find_sum, first_at_most,
    indices_at_most, inner, least, lengthen, merge_degradations, move_scores, pair_gains, prefetch,
    products_with_next, rounded, same_sign_distances, shared_degradations, short_products, shorten,
    side_add, side_products, side_shrink, signed, single_products, tube_sums, waves, weighted_sums,
    weighted_sums_of, wide_products, widen,
};
pub use primitives::{run_block, run_block_at};
#[doc(hidden)]
pub use roofline::fma_rounds;
pub(crate) use side::{SIDE, Side, TOGETHER};
pub(crate) use sparse::{map_distances, scatter, scatter_shared, scatter_wide, squares};
pub(crate) use strides::{Stride, Strides};
pub use tile::Tile;
pub(crate) use touch::touched;
pub(crate) use zeroed::{zeroed, zeroed_places};

#[cfg(test)]
mod tests;
