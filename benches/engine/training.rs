//! Maintenance, passes and polishing.

use std::time::{Duration, Instant};

use budgetsvm::budget::{AnyMaintenance, Maintainer, MergeSearch};
use budgetsvm::data::{Problem, SampleOrder};
use budgetsvm::estimator::{BudgetConfig, Start};
use budgetsvm::kernel::origin_for;
use budgetsvm::loss::AnyLoss;
use budgetsvm::parallel;
use budgetsvm::simd::Tile;
use budgetsvm::solver::{Budgeted, Method, State, Stop, run};
use budgetsvm::watch::{Silent, Watch};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};

use crate::data::{Data, expansion, kernel};

const MERGE: AnyMaintenance = AnyMaintenance::Merge { size: 2, search: MergeSearch::Auto };

/// Merging events of a full model, a new term each, beside as many margins: an event should
/// cost no more than a margin.
pub(crate) fn maintenance(c: &mut Criterion) {
    const EVENTS: usize = 64;
    let mut group = c.benchmark_group("maintenance");
    group.throughput(Throughput::Elements(EVENTS as u64));
    for (d, budget) in [(2, 500), (22, 50), (22, 500), (22, 5000), (123, 100), (123, 500)] {
        let full = expansion(d, budget, 1);
        let data = Data::new(EVENTS, d);
        let new: Vec<Vec<f32>> = data.x.rows().into_iter().map(|row| row.to_vec()).collect();
        let id = |name: &str| BenchmarkId::new(name, format!("d={d}/B={budget}"));
        let mut maintainer = Maintainer::new(MERGE, kernel(d), 0).expect("a kernel that merges");
        group.bench_function(id("merge"), |b| {
            let events = |model: &mut budgetsvm::model::Expansion<f32>| {
                for (i, row) in new.iter().enumerate() {
                    let slot = model.push(row).expect("memory");
                    model.set_coef(slot, 0, if data.index[i] == 1 { 0.7 } else { -0.7 });
                    maintainer.reduce(model, budget, &mut ()).expect("memory");
                }
            };
            b.iter_batched_ref(|| full.clone(), events, BatchSize::LargeInput);
        });
        let mut tile = Tile::new(d);
        tile.fill_dense(EVENTS, |i, out| out.copy_from_slice(&new[i]));
        let mut sums = vec![0.0; EVENTS];
        group.bench_function(id("margins"), |b| {
            let coef = (full.padded_coef(), 1);
            b.iter(|| {
                kernel(d).sums(
                    &tile,
                    (0, EVENTS),
                    full.centers(),
                    coef,
                    (&mut sums, &mut Vec::new()),
                )
            });
        });
    }
    group.finish();
}

/// Merging events of a full model, a new term each, by one thread and by a pool whose threads share
/// the row of distances (`row`), or that and the search too (`both`), whatever their size: from
/// where on the second is quicker than the first is `MIN_PARALLEL_ROW` (terms x features), from
/// where on the third is quicker than the second `MIN_PARALLEL_SEARCH` (terms).
///
/// Events of the three take turns, and the least time of each counts, so a machine with other work
/// tells the same; criterion's own figure is that least time.
pub(crate) fn partners(c: &mut Criterion) {
    let mut group = c.benchmark_group("partners");
    for d in [10, 50, 200, 800] {
        for budget in [500, 1000, 2000, 4000, 10_000, 16_000, 30_000, 100_000] {
            let mut least = None;
            for way in 0..WAYS.len() {
                let id = BenchmarkId::new(WAYS[way].0, format!("d={d}/B={budget}"));
                group.bench_function(id, |b| {
                    let least = least.get_or_insert_with(|| taking_turns(d, budget));
                    let time = least[way];
                    b.iter_custom(|events| time * u32::try_from(events).unwrap_or(u32::MAX));
                });
            }
            if let Some([alone, row, both]) = least.map(|times| times.map(|t| t.as_secs_f64())) {
                println!(
                    "partners d={d} B={budget} B d=2^{:.1}: alone {:.1} us, row {:.2}, both {:.2} of it",
                    ((d * budget) as f64).log2(),
                    1e6 * alone,
                    row / alone,
                    both / alone
                );
            }
        }
    }
    group.finish();
}

/// Sizes from which on a row and a search are shared.
const WAYS: [(&str, usize, usize); 3] =
    [("alone", usize::MAX, usize::MAX), ("row", 0, usize::MAX), ("both", 0, 0)];

/// The least seconds of an event of each way.
fn taking_turns(d: usize, budget: usize) -> [Duration; 3] {
    let data = Data::new(256, d);
    let mut ways = WAYS.map(|(_, row, search)| {
        let maintainer = Maintainer::new(MERGE, kernel(d), 0).expect("a kernel that merges");
        (maintainer.sharing_from(row, search), expansion(d, budget, 1), Duration::MAX)
    });
    let rounds = (200_000_000 / (budget * (d + 50))).clamp(40, 3000);
    let mut turns = || {
        for round in 0..rounds {
            let at = round % data.index.len();
            for (maintainer, model, least) in &mut ways {
                let start = Instant::now();
                let new = data.x.row(at);
                let slot = model.push(new.as_slice().expect("a row")).expect("memory");
                model.set_coef(slot, 0, if data.index[at] == 1 { 0.7 } else { -0.7 });
                maintainer.reduce(model, budget, &mut ()).expect("memory");
                *least = start.elapsed().min(*least);
            }
        }
    };
    parallel::run(2, |_| turns()).expect("a pool");
    ways.map(|(_, _, least)| least)
}

fn solver(d: usize, budget: usize) -> Budgeted {
    Budgeted {
        method: Method::Bsca,
        kernel: kernel(d),
        loss: AnyLoss::Hinge,
        budget: Some(budget),
        maintenance: MERGE,
        order: SampleOrder::Shuffled,
        seed: 0,
        record_objective: false,
        n_expected: None,
    }
}

/// One pass from the empty model.
fn one_pass(data: &Data, budget: usize, block_len: Option<usize>, threads: usize) {
    let solver = solver(data.x.ncols(), budget);
    let rows = data.rows();
    let problem = Problem::new(rows, data.targets(), &data.cost).expect("sound data");
    let origin = origin_for(solver.kernel, &rows).expect("an origin of finite rows");
    let mut state = State::new(&solver, origin, data.x.ncols(), 1).expect("memory");
    if let Some(len) = block_len {
        state = state.with_block_len(len);
    }
    let stop = Stop { max_iter: 1, tol: 0.0, rows: usize::MAX };
    let pass = |watch: &mut Watch<'_>| run(&solver, &problem, &mut state, &stop, watch);
    Watch::run(threads, &mut Silent, pass).expect("a pass");
}

/// A pass by length of blocks; `Budgeted::block_len` should be near the best.
pub(crate) fn block(c: &mut Criterion) {
    let mut group = c.benchmark_group("block");
    for budget in [50, 200, 500, 1000] {
        let data = Data::new(4096, 22);
        group.throughput(Throughput::Elements(data.index.len() as u64));
        for (threads, len) in [1, 2].iter().flat_map(|t| [8, 16, 32, 64, 128].map(|l| (*t, l))) {
            let id = format!("B={budget}/threads={threads}");
            group.bench_function(BenchmarkId::new(id, len), |b| {
                b.iter(|| one_pass(&data, budget, Some(len), threads));
            });
        }
    }
    group.finish();
}

/// A pass over at least three times as many samples as the budget.
pub(crate) fn pass(c: &mut Criterion) {
    let mut group = c.benchmark_group("pass");
    for budget in [50, 200, 500, 1000, 2000, 5000] {
        let data = Data::new((3 * budget).max(4096), 22);
        group.throughput(Throughput::Elements(data.index.len() as u64));
        for threads in [1, 2] {
            let id = BenchmarkId::new(format!("threads={threads}"), format!("B={budget}"));
            group.bench_function(id, |b| b.iter(|| one_pass(&data, budget, None, threads)));
        }
    }
    group.finish();
}

/// New coefficients for the terms of a trained model, kernel values kept or made again.
pub(crate) fn polish(c: &mut Criterion) {
    let mut group = c.benchmark_group("polish");
    let data = Data::new(8192, 22);
    let problem = Problem::new(data.rows(), data.targets(), &data.cost).expect("sound data");
    group.throughput(Throughput::Elements(data.index.len() as u64));
    for budget in [100, 500] {
        let mut config = BudgetConfig::default();
        (config.budget, config.kernel, config.polishing) = (Some(budget), kernel(22), false);
        let trained = |watch: &mut Watch<'_>| config.fit(&problem, Start::default(), watch);
        let (machine, _) = Watch::run(2, &mut Silent, trained).expect("a fit");
        for (kept, cache_size) in [("kept", 200.0), ("again", 1e-3)] {
            let mut config = config.clone();
            config.cache_size = cache_size;
            for threads in [1, 2] {
                let id = format!("B={budget}/threads={threads}");
                group.bench_function(BenchmarkId::new(kept, id), |b| {
                    let solve = |watch: &mut Watch<'_>| config.polish(&problem, &machine, watch);
                    b.iter(|| Watch::run(threads, &mut Silent, solve).expect("a polish"));
                });
            }
        }
    }
    group.finish();
}
