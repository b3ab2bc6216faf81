//! Kernel functions, and blocks of their values.
//!
//! *Cost* of a block of P points and B centres: O(P B d), or O(B · stored entries) for sparse
//! points.

#![deny(clippy::wildcard_enum_match_arm)]

mod any;
mod blocks;
mod buffers;
mod cache;
mod classes;
mod columns;
mod form;
mod gaussian;
mod gram;
mod halves;
mod inverted;
mod layout;
mod load;
mod matern;
mod origin;
mod products;
mod sample_rows;
mod slopes;
mod whole;

pub use any::AnyKernel;
pub use buffers::{AnyBuffers, Buffers};
pub use cache::RowCache;
pub use classes::{AnyColumns, Classes};
pub use columns::{Columns, Points};
pub use form::Spectrum;
pub use gaussian::Gaussian;
pub use gram::Gram;
pub(crate) use inverted::{SparseCenters, SparseRoom};
pub use load::{load_tile, sparse_density};
pub use origin::origin_for;
pub use sample_rows::SampleRows;
pub(crate) use slopes::{Room as SlopeRoom, in_pieces};
