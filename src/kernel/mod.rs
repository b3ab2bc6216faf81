//! Kernel functions and blocks of their values.

mod any;
pub use any::AnyKernel;
