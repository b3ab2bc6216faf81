//! Blocks of kernel values, when threads pay, and prediction.

use std::hint::black_box;

use budgetsvm::data::{Csr, Indices, Rows};
use budgetsvm::kernel::load_tile;
use budgetsvm::model::KernelModel;
use budgetsvm::parallel::{self, ROW_CHUNK};
use budgetsvm::rng::Rng;
use budgetsvm::simd::{self, Job, Map, Metric, Sums, Tile};
use criterion::{BenchmarkId, Criterion, Throughput};
use rayon::prelude::*;

use crate::data::{Data, expansion, kernel as kernel_for};

const CENTERS: usize = 512;
const POINTS: usize = ROW_CHUNK;

/// `POINTS` CSR rows of about this density.
fn sparse(d: usize, density: f64) -> (Vec<f32>, Vec<i32>, Vec<i32>) {
    let mut rng = Rng::new(3);
    let (mut values, mut columns, mut starts) = (vec![], vec![], vec![0]);
    for _ in 0..POINTS {
        for column in 0..d as i32 {
            if rng.uniform() < density {
                columns.push(column);
                values.push(rng.uniform() as f32);
            }
        }
        starts.push(columns.len() as i32);
    }
    (values, columns, starts)
}

/// Points of CSR rows compared entry by entry (`entries`) or written out first (`written`), at
/// several densities: the crossing is `sparse_density`. Dense points by `norms` or by
/// `differences`: up to `differences_up_to` the latter cost no more.
pub(crate) fn kernel(c: &mut Criterion) {
    let mut group = c.benchmark_group("kernel");
    group.throughput(Throughput::Elements((POINTS * CENTERS) as u64));
    for d in [123, 784, 8000] {
        let model = expansion(d, CENTERS, 0);
        let mut tile = Tile::new(d);
        let mut sums = vec![0.0; POINTS];
        let coef = (model.padded_coef(), 1);
        for density in [0.005, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6] {
            let (values, columns, starts) = sparse(d, density);
            let csr = Csr::new(&values, Indices::I32(&columns), Indices::I32(&starts), d);
            let csr = csr.expect("sound rows");
            let rows = Rows::Csr(csr);
            let id = |name: &str| BenchmarkId::new(name, format!("d={d}/density={density}"));
            group.bench_function(id("entries"), |b| {
                b.iter(|| {
                    tile.fill_sparse(POINTS, |i, columns, entries| {
                        csr.for_each(i, |column, value| {
                            columns.push(column as u32);
                            entries.push(value);
                        });
                    });
                    kernel_for(d).sums(
                        &tile,
                        (0, POINTS),
                        model.centers(),
                        coef,
                        (&mut sums, &mut Vec::new()),
                    );
                });
            });
            group.bench_function(id("written"), |b| {
                b.iter(|| {
                    tile.fill_dense(POINTS, |i, out| rows.copy_row(i, out));
                    kernel_for(d).sums(
                        &tile,
                        (0, POINTS),
                        model.centers(),
                        coef,
                        (&mut sums, &mut Vec::new()),
                    );
                });
            });
        }
    }
    for d in [2, 8, 16, 24, 32, 40, 48, 64, 128] {
        let model = expansion(d, CENTERS, 0);
        let data = Data::new(POINTS, d);
        let mut tile = Tile::new(d);
        load_tile(&data.rows(), POINTS, |i| i, &[], &mut tile);
        let mut sums = vec![0.0; POINTS];
        for (name, metric) in [("norms", Metric::SquaredByNorms), ("differences", Metric::Squared)]
        {
            group.bench_function(BenchmarkId::new(name, format!("d={d}")), |b| {
                b.iter(|| {
                    simd::run_block(&mut Job {
                        tile: &tile,
                        first: 0,
                        last: POINTS,
                        centers: model.centers(),
                        slots: (0, model.centers().padded_len()),
                        metric,
                        gamma: 3.0 / d as f32,
                        map: Map::Exponential,
                        values: None,
                        sums: Some(Sums { coef: model.padded_coef(), out: &mut sums }),
                    });
                });
            });
        }
    }
    group.finish();
}

/// The same sums of kernel values by the calling thread (`alone`) and by a pool of two threads,
/// entered from outside in chunks of `ROW_CHUNK` rows (`enter`, against `MIN_PARALLEL_WORK`) or
/// already running, in parts of 16 rows of one block (`inside`, against `MIN_PARALLEL_BLOCK`).
pub(crate) fn threshold(c: &mut Criterion) {
    let mut group = c.benchmark_group("threshold");
    let d = 22;
    for log_work in 15..=22 {
        // Multiply-adds are rows x terms x features.
        for (rows, part) in [(2 * ROW_CHUNK, ROW_CHUNK), (64, 16)] {
            let terms = ((1usize << log_work) / (rows * d)).max(1);
            let model = expansion(d, terms, 0);
            let data = Data::new(rows, d);
            let coef = (model.padded_coef(), 1);
            let chunk = |first: usize, out: &mut [f64]| {
                let mut tile = Tile::new(d);
                load_tile(&data.rows(), out.len(), |i| first + i, &[], &mut tile);
                kernel_for(d).sums(
                    &tile,
                    (0, out.len()),
                    model.centers(),
                    coef,
                    (out, &mut Vec::new()),
                );
            };
            let alone = |sums: &mut [f64]| {
                sums.chunks_mut(part).enumerate().for_each(|(at, out)| chunk(at * part, out));
            };
            let shared = |sums: &mut [f64]| {
                sums.par_chunks_mut(part).enumerate().for_each(|(at, out)| chunk(at * part, out));
            };
            let mut sums = vec![0.0; rows];
            let id = |name: &str| BenchmarkId::new(name, format!("work=2^{log_work}"));
            if part == ROW_CHUNK {
                group.bench_function(id("enter/alone"), |b| b.iter(|| alone(&mut sums)));
                group.bench_function(id("enter/pool"), |b| {
                    b.iter(|| parallel::run(2, |_| shared(&mut sums)).expect("a pool"));
                });
            } else {
                let mut inside = |name, work: &(dyn Fn(&mut [f64]) + Sync)| {
                    group.bench_function(id(name), |b| {
                        parallel::run(2, |_| b.iter(|| work(&mut sums))).expect("a pool");
                    });
                };
                inside("inside/alone", &alone);
                inside("inside/pool", &shared);
            }
        }
    }
    group.finish();
}

/// Decision values of a batch by one and by two threads, and the latency of one row.
pub(crate) fn prediction(c: &mut Criterion) {
    let mut group = c.benchmark_group("prediction");
    for (d, terms) in [(22, 50), (22, 500), (22, 5000), (123, 100), (784, 1000)] {
        let trained = expansion(d, terms, 0);
        let model = KernelModel::from_expansion(&trained, 1.0, vec![0.0]).expect("a model");
        let data = Data::new(4096, d);
        let rows = data.rows();
        let mut out = vec![0.0; rows.n_rows()];
        group.throughput(Throughput::Elements(rows.n_rows() as u64));
        for threads in [1, 2] {
            let id = BenchmarkId::new("batch", format!("d={d}/B={terms}/threads={threads}"));
            group.bench_function(id, |b| {
                b.iter(|| {
                    parallel::run(threads, |_| model.decision(&rows, &mut out))
                        .expect("a pool")
                        .expect("rows of the model's width");
                });
            });
        }
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("one_row", format!("d={d}/B={terms}")), |b| {
            let mut at = 0;
            b.iter(|| {
                at = (at + 1) % rows.n_rows();
                let row = rows.range(at, at + 1);
                model.decision(&row, &mut out[..1]).expect("a row of the model's width");
                black_box(out[0])
            });
        });
    }
    group.finish();
}
