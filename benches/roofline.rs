//! Kernel rows against the machine's multiply-add peak, both measured in this run:
//! `cargo bench --bench roofline`. One thread, `f32`, B = 512 centres, the exponential and the
//! weighted sums included; a row counts 2 d B operations. The metric `chosen` is what a Gaussian
//! kernel uses, at the level in use; where most values are zeros, which count too, they are left out.

#![allow(clippy::expect_used, reason = "a bench that cannot run must stop")]

use std::time::Instant;

use budgetsvm::kernel::AnyKernel;
use budgetsvm::rng::Rng;
use budgetsvm::simd::{self, Job, Map, Metric, Packed, Sums, Tile};

const CENTERS: usize = 512;
const POINTS: usize = 64;

/// Operations a second: the best of several runs of about 20 ms.
fn rate(mut run: impl FnMut() -> f64) -> f64 {
    (0..15)
        .map(|_| {
            let start = Instant::now();
            let mut operations = 0.0;
            while start.elapsed().as_secs_f64() < 0.02 {
                operations += run();
            }
            operations / start.elapsed().as_secs_f64()
        })
        .fold(0.0, f64::max)
}

fn main() {
    println!("| level | d | metric | peak GFLOP/s | kernel rows GFLOP/s | share |");
    println!("|---|---|---|---|---|---|");
    let mut rng = Rng::new(0);
    for level in simd::levels() {
        for d in [2, 8, 22, 54, 123, 128, 256, 784] {
            let peak = rate(|| simd::fma_rounds(level, 100_000));
            let mut packed = Packed::new(d).expect("memory");
            let mut row = vec![0.0f32; d];
            for _ in 0..CENTERS {
                row.iter_mut().for_each(|v| *v = rng.uniform() as f32);
                packed.push(&row).expect("memory");
            }
            let mut tile = Tile::new(d);
            tile.fill_dense(POINTS, |_, out| {
                out.iter_mut().for_each(|v| *v = rng.uniform() as f32);
            });
            let coef = vec![0.5; CENTERS];
            let mut sums = vec![0.0; POINTS];
            let line = |metric: &str, reached: f64| {
                println!(
                    "| {} | {d} | {metric} | {:.1} | {:.1} | {:.0} % |",
                    level.name(),
                    peak / 1e9,
                    reached / 1e9,
                    100.0 * reached / peak
                );
            };
            let operations = 2.0 * (d * CENTERS * POINTS) as f64;
            for metric in [Metric::SquaredByNorms, Metric::Squared] {
                let reached = rate(|| {
                    simd::run_block_at(
                        level,
                        &mut Job {
                            tile: &tile,
                            first: 0,
                            last: POINTS,
                            centers: &packed,
                            slots: (0, packed.padded_len()),
                            metric,
                            gamma: 0.5,
                            map: Map::Exponential,
                            values: None,
                            sums: Some(Sums { coef: &coef, out: &mut sums }),
                        },
                    );
                    operations
                });
                line(&format!("{metric:?}"), reached);
            }
            if level == simd::level() {
                // Small enough that no norm is too large for the precision.
                let kernel = AnyKernel::Gaussian { gamma: 1.0 / d as f64 };
                let mut chosen = |tile: &Tile<f32>| {
                    rate(|| {
                        let out = (&mut sums[..], &mut Vec::new());
                        kernel.sums(tile, (0, POINTS), &packed, (&coef, 1), out);
                        operations
                    })
                };
                line("chosen", chosen(&tile));
                if d >= 128 {
                    let mut thin = Tile::new(d);
                    thin.fill_dense(POINTS, |_, out| {
                        out.iter_mut().for_each(|v| {
                            *v = if rng.below(5) == 0 { rng.uniform() as f32 } else { 0.0 };
                        });
                    });
                    line("chosen, a fifth of the values there", chosen(&thin));
                }
            }
        }
    }
}
