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
//! 3. For each fold, Newton's steps on the rows kept less its own ([`super::newton`]): the Hessian
//!    without a fold is that of all rows, less few of them, so that the factor of one fold
//!    preconditions the next.
//! 4. The folds' rows by the folds' coefficients, in one more pass.
//!
//! # Cost
//!
//! Three passes over K_nB, or two and of each output q B kernel values for the q rows kept; for each
//! output a factor of B³/3, and for each fold a few products of 4 q B.
//!
//! References: ours; \[PRIMAL\] section 4.

use super::newton::{Last, Stage};
use super::rows::Rows;
use crate::data::check_finite;
use crate::error::try_vec;
use crate::float::Real;
use crate::linalg::dots;
use crate::parallel::{self, ROW_CHUNK};
use crate::solver::polish::steps::Shared;
use crate::solver::smoothed::ray::Samples;
use crate::solver::smoothed::{KernelRows, Start};
use crate::watch::{Step, Watch};

/// How far a fold may move the margins of samples that it brings in.
const SLACK: f64 = 0.6;
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
    // Step 1.
    let mut out = try_vec("decision values", n * m, 0.0)?;
    let everyone: Vec<u32> = (0..n as u32).collect();
    values(kernel, &everyone, &points, &mut out, watch)?;
    check_finite("kernel matrix", &out, m)?;
    let mut found = vec![Vec::with_capacity(m); n_folds];
    let mut f = try_vec("margins", n, 0.0)?;
    let mut cost = try_vec("costs", n, 0.0)?;
    // Half the memory: rows of it are copied.
    let all = match 8 * n * kernel.n_terms() <= polish.cache_bytes {
        true => Some(Rows::new(kernel, (everyone.clone(), n), polish.cache_bytes, watch)?),
        false => None,
    };
    let mut single = try_vec("kernel matrix", shared.gram.len(), 0.0_f32)?;
    single.iter_mut().zip(&shared.gram).for_each(|(to, &v)| *to = v as f32);
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
        let rows = match &all {
            Some(all) => all.some(kept)?,
            None => {
                let most = kept.len();
                Rows::new(kernel, (kept, most), polish.cache_bytes, watch)?
            }
        };
        // Step 3.
        let mut last = Last { like: None, cautious: false, promise: 0.0 };
        for (fold, found) in found.iter_mut().enumerate() {
            cost.copy_from_slice(start.cost);
            let out = cost.iter_mut().zip(folds).filter(|(_, at)| **at as usize == fold);
            out.for_each(|(cost, _)| *cost = 0.0);
            let samples = Samples { cost: &cost, ..samples };
            let mut at = point.clone();
            let mut steps = 0;
            let stage = Stage {
                shared,
                rows: &rows,
                single: &single,
                samples,
                tol: polish.tol,
                until: 0.0,
                max_steps: polish.max_steps,
                alone: true,
            };
            stage.minimise(&mut at, &mut steps, &f, &mut last, watch)?;
            (last.promise, last.cautious) = (0.0, false);
            found.push(at);
        }
    }
    // Step 4.
    for (fold, points) in found.iter().enumerate() {
        let own: Vec<u32> =
            everyone.iter().copied().filter(|&i| folds[i as usize] as usize == fold).collect();
        let mut some = try_vec("decision values", own.len() * m, 0.0)?;
        values(kernel, &own, points, &mut some, watch)?;
        for (&i, from) in own.iter().zip(some.chunks_exact(m)) {
            out[i as usize * m..][..m].copy_from_slice(from);
        }
    }
    Ok(out)
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
