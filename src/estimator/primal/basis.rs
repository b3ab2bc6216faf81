//! Basis points of a reduced expansion, chosen among the samples.
//!
//! # Method
//!
//! - *Random*: a uniform choice without repetition.
//! - *k-means++*: the seeding of that method, on squared distances.
//! - *Cholesky*: pivots of the incomplete Cholesky factor of K: the diagonal of `K - K_nS K_SS⁻¹
//!   K_Sn` is kept up to date, and the largest entry is next. The columns of the factor are the
//!   low-rank approximation `K ≈ AAᵀ`; a machine on these pivots is the machine on A's rows.
//! - *Greedy*: the basis doubles; the next points are those of a random pool of four times as
//!   many for which `(∂F/∂β_j)²/(2 k_jj)` is largest at the solution on the points so far: what
//!   one Newton step on that coefficient alone would gain. (Departs from \[KEERTHI\] section 3,
//!   which takes one point at a time out of 59.)
//!
//! With `max_time` the choice takes half of it at most, and ends with fewer points.
//!
//! Cost for B of n points: B n d (k-means++), B n d + n B² (Cholesky), polish at B/2, B/4, ...
//! and 4B n d (greedy).
//!
//! References: \[PRIMAL\] section 6.2; \[KEERTHI\].

use super::config::{Choice, PrimalConfig};
use super::run::Shuffled;
use crate::data::Problem;
use crate::error::{Result, try_vec};
use crate::estimator::basis::{ModelRows, model_on};
use crate::estimator::coefficients;
use crate::features::incomplete_cholesky::factor;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::linalg::{axpy, dot};
use crate::loss::Smoothed;
use crate::model::KernelModel;
use crate::parallel::{self, ROW_CHUNK};
use crate::rng::Rng;
use crate::solver::smoothed::KernelRows as _;
use crate::watch::Watch;

/// The first points of a greedy basis, and the size of the pool for each point.
const FIRST: usize = 32;
const POOL: usize = 4;
/// A pivot below this share of the largest diagonal entry is spanned by those before it.
const PIVOT_TOL: f64 = 1e-10;
/// How exactly the objective is solved for while the basis still grows.
const GROWING_TOL: f64 = 1e-2;

/// Indices of at most `count` samples of positive cost; `unit` is that of the targets.
pub(super) fn choose<F: Real>(
    (config, unit): (&PrimalConfig, f64),
    watch: &mut Watch<'_>,
    problem: &Problem<'_, F>,
    choice: Choice,
    count: usize,
) -> Result<Vec<usize>> {
    let mut order = Shuffled::new(problem, config.seed)?.samples;
    if order.len() <= count {
        return Ok(order);
    }
    match choice {
        Choice::Random => {
            order.truncate(count);
            Ok(order)
        }
        Choice::KmeansPlusPlus => kmeans(config, watch, problem, &order, count),
        Choice::Cholesky => pivots(config, watch, problem, &order, count),
        Choice::Greedy => greedy((config, unit), watch, problem, &order, count),
    }
}

/// Kernel values of the samples `order` with one of them.
fn column<F: Real>(
    kernel: AnyKernel,
    problem: &Problem<'_, F>,
    order: &[usize],
    sample: usize,
    out: &mut [f64],
) -> Result<()> {
    let model = model_on(kernel, &problem.rows(), &[sample], 1)?;
    let x = problem.rows();
    let rows = ModelRows::of_some(x.view(), order, &model)?;
    parallel::each(out.chunks_mut(ROW_CHUNK), &|c, out| {
        let samples: Vec<usize> = (c * ROW_CHUNK..c * ROW_CHUNK + out.len()).collect();
        let mut values = vec![F::zero(); samples.len()];
        rows.fill(&samples, &mut values);
        out.iter_mut().zip(&values).for_each(|(to, v)| *to = Real::to_f64(*v));
    });
    Ok(())
}

/// `k(x, x)` of the samples.
fn diagonal<F: Real>(kernel: AnyKernel, problem: &Problem<'_, F>, order: &[usize]) -> Vec<f64> {
    let mut row = vec![F::zero(); problem.rows().n_cols()];
    let value = |&i: &usize| {
        problem.rows().copy_row(i, &mut row);
        let wide: Vec<f64> = row.iter().map(|v| Real::to_f64(*v)).collect();
        kernel.eval(&wide, &wide)
    };
    order.iter().map(value).collect()
}

fn kmeans<F: Real>(
    config: &PrimalConfig,
    watch: &mut Watch<'_>,
    problem: &Problem<'_, F>,
    order: &[usize],
    count: usize,
) -> Result<Vec<usize>> {
    let mut rng = Rng::stream(config.seed, 1);
    let n = order.len();
    // ‖x - s‖² = x·x + s·s - 2 x·s: squared distances from linear kernel values.
    let squares = diagonal(AnyKernel::Linear, problem, order);
    let mut nearest = try_vec("distances", n, f64::INFINITY)?;
    let mut products = try_vec("distances", n, 0.0)?;
    let mut chosen = vec![0];
    while chosen.len() < count && watch.goes_on()? {
        let last = chosen[chosen.len() - 1];
        column(AnyKernel::Linear, problem, order, order[last], &mut products)?;
        for i in 0..n {
            let distance = (squares[i] + squares[last] - 2.0 * products[i]).max(0.0);
            nearest[i] = f64::min(nearest[i], distance);
        }
        nearest[last] = 0.0;
        let total: f64 = nearest.iter().sum();
        if total <= 0.0 {
            break;
        }
        let mut left = rng.uniform() * total;
        let next = nearest.iter().position(|&d| {
            left -= d;
            left < 0.0 && d > 0.0
        });
        let furthest = || (0..n).max_by(|&a, &b| nearest[a].total_cmp(&nearest[b])).unwrap_or(0);
        chosen.push(next.unwrap_or_else(furthest));
    }
    Ok(chosen.into_iter().map(|at| order[at]).collect())
}

fn pivots<F: Real>(
    config: &PrimalConfig,
    watch: &mut Watch<'_>,
    problem: &Problem<'_, F>,
    order: &[usize],
    count: usize,
) -> Result<Vec<usize>> {
    let (sample, limits) = (|i: usize| order[i], (count.min(order.len()), PIVOT_TOL));
    let go_on = &mut || watch.goes_on();
    let (found, _) = factor(config.kernel, &problem.rows(), (&sample, order.len()), limits, go_on)?;
    Ok(found.pivots.into_iter().map(|at| order[at]).collect())
}

fn greedy<F: Real>(
    (config, unit): (&PrimalConfig, f64),
    watch: &mut Watch<'_>,
    problem: &Problem<'_, F>,
    order: &[usize],
    count: usize,
) -> Result<Vec<usize>> {
    let mut rng = Rng::stream(config.seed, 2);
    let mut left = order.to_vec();
    let mut chosen = left.split_off(left.len() - FIRST.min(count));
    while chosen.len() < count && watch.goes_on()? {
        let more = chosen.len().min(count - chosen.len());
        let solved = solution((config, unit), watch, problem, &chosen)?;
        rng.shuffle(&mut left);
        let pool = left.len().min(POOL * more);
        let mut candidates = left.split_off(left.len() - pool);
        let Some(gains) = gains((config, unit), watch, problem, &solved, &candidates)? else {
            break;
        };
        let mut best: Vec<usize> = (0..pool).collect();
        best.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]).then(a.cmp(&b)));
        let mut taken = vec![false; pool];
        for &at in &best[..more] {
            taken[at] = true;
            chosen.push(candidates[at]);
        }
        let mut at = 0;
        candidates.retain(|_| {
            at += 1;
            !taken[at - 1]
        });
        left.append(&mut candidates);
    }
    Ok(chosen)
}

fn solution<F: Real>(
    (config, unit): (&PrimalConfig, f64),
    watch: &mut Watch<'_>,
    problem: &Problem<'_, F>,
    chosen: &[usize],
) -> Result<KernelModel<F>> {
    let outputs = problem.targets().n_outputs();
    let model = model_on(config.kernel, &problem.rows(), chosen, outputs)?;
    let mut polish = config.polish(unit);
    polish.tol = polish.tol.max(GROWING_TOL);
    let solved = coefficients::polish(&polish, problem, &model, watch)?;
    model.with_coef(&solved.coef, solved.intercept)
}

/// What each candidate would gain, summed over the outputs; nothing when time is over.
fn gains<F: Real>(
    (config, unit): (&PrimalConfig, f64),
    watch: &mut Watch<'_>,
    problem: &Problem<'_, F>,
    model: &KernelModel<F>,
    candidates: &[usize],
) -> Result<Option<Vec<f64>>> {
    let (n, outputs) = (problem.len(), model.n_outputs());
    let mut values = try_vec("decision values", n * outputs, 0.0)?;
    model.decision(&problem.rows(), &mut values)?;
    let loss = Smoothed { loss: config.loss, h: config.smoothing * unit };
    let slope = |i: usize, c: usize| {
        let cost = problem.cost()[i];
        let y = problem.targets().value(i, c);
        if cost > 0.0 { cost * loss.at(y, values[i * outputs + c]).slope } else { 0.0 }
    };
    // ∂F/∂β_j = Σ_i r_i k(x_i, s_j) + f(s_j) without the offset.
    let basis = model_on(config.kernel, &problem.rows(), candidates, 1)?;
    let x = problem.rows();
    let rows = ModelRows::new(x.view(), &basis)?;
    let pool = candidates.len();
    let mut gradient = try_vec("gains", pool * outputs, 0.0)?;
    let wave = 16 * ROW_CHUNK;
    for first in (0..n).step_by(wave) {
        if !watch.goes_on()? {
            return Ok(None);
        }
        let last = (first + wave).min(n);
        let chunks: Vec<usize> = (first..last).step_by(ROW_CHUNK).collect();
        let parts = parallel::map(chunks.len(), &|chunk| {
            let samples: Vec<usize> = (chunks[chunk]..last).take(ROW_CHUNK).collect();
            let mut block = vec![F::zero(); samples.len() * pool];
            rows.fill(&samples, &mut block);
            let mut sum = vec![0.0; pool * outputs];
            for (row, &i) in block.chunks_exact(pool).zip(&samples) {
                for c in 0..outputs {
                    let r = slope(i, c);
                    if r != 0.0 {
                        axpy(r, row, &mut sum[c * pool..(c + 1) * pool]);
                    }
                }
            }
            sum
        });
        parts.iter().for_each(|part| axpy(1.0, part, &mut gradient));
    }
    let own = diagonal(config.kernel, problem, candidates);
    let gains = (0..pool)
        .map(|j| {
            let squares: Vec<f64> = (0..outputs)
                .map(|c| {
                    let f = values[candidates[j] * outputs + c] - model.intercept()[c];
                    gradient[c * pool + j] + f
                })
                .collect();
            dot(&squares, &squares) / own[j].max(f64::MIN_POSITIVE)
        })
        .collect();
    Ok(Some(gains))
}
