//! The engine's parts, each timed alone: `cargo bench --bench engine`, a group by its name behind
//! `--`. Synthetic data, Gaussian kernel, `f32`.
//!
//! | group | what | which constants it chooses |
//! |---|---|---|
//! | `kernel` | blocks of kernel values, dense and CSR; distances by norms and by differences | `sparse_density`, `differences_up_to` in `src/kernel/blocks.rs` |
//! | `threshold` | the same work by one thread and by a pool | `MIN_PARALLEL_WORK` in `src/parallel.rs`, `MIN_PARALLEL_BLOCK` in `src/solver/block.rs` |
//! | `maintenance` | merging events, and as many margins | |
//! | `partners` | merging events by one thread and by a pool, B = 500 to 100,000, d = 10 to 800 | `MIN_PARALLEL_ROW`, `MIN_PARALLEL_SEARCH` in `src/budget/partners.rs` |
//! | `block` | a pass of BSCA by length of blocks | `Budgeted::block_len` |
//! | `pass` | a pass of BSCA by budget and threads | |
//! | `prediction` | a batch; one row at a time | |
//! | `polish` | the coefficients of a trained model solved for anew | |

#![allow(missing_docs, reason = "criterion's macros")]
#![allow(clippy::expect_used, reason = "a bench that cannot run must stop")]

#[path = "engine/data.rs"]
mod data;
#[path = "engine/kernels.rs"]
mod kernels;
#[path = "engine/training.rs"]
mod training;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

fn quick() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
}

criterion_group! {
    name = engine;
    config = quick();
    targets = kernels::kernel, kernels::threshold, kernels::prediction,
        training::maintenance, training::partners, training::block, training::pass, training::polish
}
criterion_main!(engine);
