//! Decision values of samples by coefficients found without them, fold by fold, on the same terms.
//!
//! ```text
//! f_i = k_i·β₋ₛ + b₋ₛ,   β₋ₛ, b₋ₛ = argmin 1/2 βᵀ K_BB β + Σ_{j not in S} C_j L_h(y_j, f_j)
//! ```
//!
//! for the fold S of sample i. The basis is that of all samples: where they are many for each term it
//! knows little of a single one, and where every sample is a term the minimum without a fold is on
//! the other samples' terms alone, so that this is what training without it would find.
//!
//! # Method
//!
//! 1. Margins at the coefficients given, of all outputs, in one pass over K_nB.
//! 2. Of each output the rows are kept whose loss slopes or bends, or would if the margin moved by
//!    `SLACK`: the others have no part in any of the solutions, unless a fold moves them further.
//!    They are of a K_nB that is kept for all outputs, where memory allows it.
//! 3. For each fold, Newton's steps on the rows kept less its own ([`super::newton`]), preconditioned
//!    by the Hessian without the fold where the start is: `Σ D k kᵀ` is summed fold by fold once, and
//!    each fold's Hessian is K_BB and the sums of the others. Where terms are many the factor of one
//!    fold preconditions the next.
//! 4. The folds' margins of all other rows: those that have come to matter are kept too, and the
//!    folds that they matter to go on. Without this a fold whose rows hold many margins lets others
//!    fall unseen, and values come out worse than those of any training.
//! 5. The folds' rows by the folds' coefficients, in one more pass.
//!
//! # Cost
//!
//! Three passes over K_nB, which is made once where memory holds it, and of each output one a round for all folds (two or three rounds); for
//! each output q B² for the q rows that bend, and for each fold a factor of B³/3 and a few products of
//! 4 q B. Where K_nB is not kept each pass makes its n B values.
//!
//! References: ours; \[PRIMAL\] section 4.

use super::basis::Basis;
use super::direction::{Hessian, Like};
use super::newton::{Last, Stage};
use super::rows::Rows;
use crate::data::check_finite;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::linalg::dots;
use crate::parallel::{self, ROW_CHUNK};
use crate::solver::polish::steps::Shared;
use crate::solver::smoothed::ray::Samples;
use crate::solver::smoothed::{KernelRows, Start};
use crate::watch::{Step, Watch};

/// How far a fold may move the margins of samples that it brings in, at first.
const SLACK: f64 = 1.2;
/// Rounds of an output at most: a fold moves some samples further.
const ROUNDS: usize = 6;
/// Rows between two looks at the watch.
const WAVE: usize = 64;

/// Values n x m; the start's coefficients are to be near the best.
pub(in crate::solver::polish) fn left_out<F: Real>(
    shared: &Shared<'_>,
    kernel: &dyn KernelRows<F>,
    (start, folds, n_folds): (Start<'_>, &[u32], usize),
    watch: &mut Watch<'_>,
) -> Step<Vec<f64>> {
    let (n, m) = (kernel.n_rows(), start.targets.n_outputs());
    let polish = shared.polish;
    let mut points = Vec::with_capacity(m);
    for c in 0..m {
        let (mut point, offset) = start.of_output(polish, c)?;
        point.extend(polish.fit_intercept.then_some(offset));
        points.push(point);
    }
    let everyone: Vec<u32> = (0..n as u32).collect();
    // Half the memory: rows of it are copied.
    let room = n.saturating_mul(8 * kernel.n_terms()) <= polish.cache_bytes;
    let held = if room { n } else { 0 };
    let all = Rows::new(kernel, (everyone.clone(), held), polish.cache_bytes, watch)?;
    let look = |chosen: &[u32], points: &[Vec<f64>], out: &mut [f64], watch: &mut Watch<'_>| {
        if !room {
            return values(kernel, chosen, points, out, watch);
        }
        let points: Vec<&[f64]> = points.iter().map(Vec::as_slice).collect();
        all.times_each(chosen, &points, out, watch)
    };
    // Step 1.
    let mut out = try_vec("decision values", n * m, 0.0)?;
    look(&everyone, &points, &mut out, watch)?;
    check_finite("kernel matrix", &out, m)?;
    let mut found = vec![Vec::with_capacity(m); n_folds];
    let mut f = try_vec("margins", n, 0.0)?;
    let basis = Basis::of(shared, kernel, watch)?;
    for (c, point) in points.iter().enumerate() {
        f.iter_mut().zip(out.iter().skip(c).step_by(m)).for_each(|(f, v)| *f = *v);
        let samples = shared.samples(c, polish.h);
        // Step 2.
        let (mut kept, mut others) = (Vec::new(), Vec::new());
        for (i, &f) in f.iter().enumerate() {
            if super::matters(&samples, i, f, 0.0) {
                kept.push(i as u32);
            } else if super::matters(&samples, i, f, SLACK) {
                others.push(i as u32);
            }
        }
        kept.extend(others);
        let mut at = vec![point.clone(); n_folds];
        let mut open: Vec<usize> = (0..n_folds).collect();
        let mut last = Last { serves: true, cautious: false, promise: 0.0, ..Last::default() };
        let mut factors = Vec::new();
        for round in 0..ROUNDS {
            let most = kept.len();
            let rows = match room {
                true => all.some(kept.clone())?,
                false => Rows::new(kernel, (kept.clone(), most), polish.cache_bytes, watch)?,
            };
            // Step 3.
            let mut own = try_vec("margins", most, 0.0)?;
            if round == 0 {
                let start = (&samples, &f[..]);
                factors = made_factors(shared, (&rows, &basis), start, (folds, n_folds), watch)?;
            }
            for &fold in &open {
                let cost = without(start.cost, folds, fold)?;
                if round > 0 {
                    rows.times(&at[fold], &mut own, watch)?;
                    kept.iter().zip(&own).for_each(|(&i, own)| f[i as usize] = *own);
                }
                let stage = Stage {
                    shared,
                    rows: &rows,
                    basis: &basis,
                    from: None,
                    samples: Samples { cost: &cost, ..samples },
                    tol: polish.tol,
                    until: 0.0,
                    max_steps: polish.max_steps,
                    alone: true,
                };
                if let Some(factor) = factors.get_mut(fold) {
                    last.like = factor.take();
                    last.serves = last.like.is_some();
                    last.seen.clear();
                }
                stage.minimise(&mut at[fold], &mut usize::from(round > 0), &f, &mut last, watch)?;
                (last.promise, last.cautious) = (0.0, false);
                if let Some(factor) = factors.get_mut(fold) {
                    *factor = last.like.take_if(|_| last.serves);
                }
            }
            // Step 4.
            let missed = missed((&all, &kept), (samples, folds), (&at, &mut open), watch)?;
            if missed.is_empty() {
                break;
            }
            kept.extend(missed);
        }
        found.iter_mut().zip(at).for_each(|(found, at)| found.push(at));
    }
    // Step 5.
    for (fold, points) in found.iter().enumerate() {
        let own: Vec<u32> =
            everyone.iter().copied().filter(|&i| folds[i as usize] as usize == fold).collect();
        let mut some = try_vec("decision values", own.len() * m, 0.0)?;
        look(&own, points, &mut some, watch)?;
        for (&i, from) in own.iter().zip(some.chunks_exact(m)) {
            out[i as usize * m..][..m].copy_from_slice(from);
        }
    }
    Ok(out)
}

/// The factors of the Hessians without each fold, where the start has the margins `f`; none where
/// memory does not hold them.
fn made_factors<F: Real>(
    shared: &Shared<'_>,
    (rows, basis): (&Rows<'_, F>, &Basis<'_, F>),
    (samples, f): (&Samples<'_>, &[f64]),
    (folds, n_folds): (&[u32], usize),
    watch: &mut Watch<'_>,
) -> Step<Vec<Option<Like>>> {
    let order = basis.b + usize::from(shared.polish.fit_intercept);
    let curvature: Vec<f64> = rows
        .samples
        .iter()
        .map(|&i| match samples.cost[i as usize] > 0.0 {
            true => samples.at(i as usize, f[i as usize]).curvature,
            false => 0.0,
        })
        .collect();
    let zone: Vec<u32> =
        (0..curvature.len() as u32).filter(|&place| curvature[place as usize] > 0.0).collect();
    if zone.is_empty() {
        return Ok(Vec::new());
    }
    let (zone, curvature) = (&zone[..], &curvature[..]);
    let hessian = Hessian { basis, rows, zone, curvature, flat: 0.0 };
    let fold = |place: u32| folds[rows.samples[place as usize] as usize] as usize;
    let made = hessian.without_each(order, (n_folds, &fold), shared.polish.cache_bytes, watch)?;
    Ok(made.unwrap_or_default().into_iter().map(|factor| Some(Like::Whole(factor))).collect())
}

/// The costs, 0 in a fold.
fn without(cost: &[f64], folds: &[u32], fold: usize) -> Result<Vec<f64>> {
    let mut own = try_vec("costs", cost.len(), 0.0)?;
    let out = own.iter_mut().zip(cost).zip(folds);
    out.filter(|(_, at)| **at as usize != fold).for_each(|((own, cost), _)| *own = *cost);
    Ok(own)
}

/// Samples that are not kept and that matter at the point of a fold in `open` which is not theirs;
/// of the folds those stay open that have some.
fn missed<F: Real>(
    (all, kept): (&Rows<'_, F>, &[u32]),
    (samples, folds): (Samples<'_>, &[u32]),
    (at, open): (&[Vec<f64>], &mut Vec<usize>),
    watch: &mut Watch<'_>,
) -> Step<Vec<u32>> {
    let mut is_kept = try_vec("samples", folds.len(), false)?;
    kept.iter().for_each(|&i| is_kept[i as usize] = true);
    let rest: Vec<u32> = (0..folds.len() as u32).filter(|&i| !is_kept[i as usize]).collect();
    let points: Vec<&[f64]> = open.iter().map(|&fold| &at[fold][..]).collect();
    let mut values = try_vec("margins", rest.len() * points.len(), 0.0)?;
    all.times_each(&rest, &points, &mut values, watch)?;
    let mut some = vec![false; open.len()];
    let mut missed = Vec::new();
    for (&i, values) in rest.iter().zip(values.chunks_exact(points.len())) {
        let before = missed.len();
        for ((&f, &fold), some) in values.iter().zip(&*open).zip(&mut some) {
            if folds[i as usize] as usize != fold && super::matters(&samples, i as usize, f, 0.0) {
                *some = true;
                missed.truncate(before);
                missed.push(i);
            }
        }
    }
    let mut some = some.into_iter();
    open.retain(|_| some.next().unwrap_or(false));
    Ok(missed)
}

/// `k_i·β_c + b_c` of these samples, a row of outputs a sample.
fn values<F: Real>(
    kernel: &dyn KernelRows<F>,
    chosen: &[u32],
    points: &[Vec<f64>],
    out: &mut [f64],
    watch: &mut Watch<'_>,
) -> Step {
    let (b, m) = (kernel.n_terms(), points.len());
    let waves = out.chunks_mut(WAVE * ROW_CHUNK * m).zip(chosen.chunks(WAVE * ROW_CHUNK));
    for (out, chosen) in waves {
        let tasks = out.chunks_mut(ROW_CHUNK * m).zip(chosen.chunks(ROW_CHUNK));
        parallel::each(tasks, &|_, (out, chosen)| {
            let samples: Vec<usize> = chosen.iter().map(|&i| i as usize).collect();
            let mut block = vec![F::zero(); samples.len() * b];
            kernel.fill(&samples, &mut block);
            let mut one = vec![0.0; samples.len()];
            for (c, point) in points.iter().enumerate() {
                dots(&block, &point[..b], &mut one);
                let offset = point.get(b).copied().unwrap_or(0.0);
                for (row, v) in out.chunks_exact_mut(m).zip(&one) {
                    row[c] = v + offset;
                }
            }
        });
        watch.poll()?;
    }
    Ok(())
}
