//! Decision values of samples by coefficients found without their fold, for several outputs.
//!
//! # Method
//!
//! 1. Features of all samples, once for all outputs and folds; none where memory does not hold them.
//! 2. `a = -L_h'(f)` at the margins of the coefficients given: near the solution of all samples these
//!    are its dual variables. `Σ C a φ` fold by fold.
//! 3. A fold after the other: `w` is the sum of the other folds, and the passes of [`super::ascent`]
//!    over their samples lead to the minimum without it; those far from the margin rest at first.
//! 4. `w·φ` of the fold's own samples.
//!
//! # Cost
//!
//! The features, and for each fold a few passes over the other samples, soon those near the margin
//! alone. Memory: as for a fit.

use super::ascent::passes;
use super::features::Features;
use super::output::{Ascent, Coordinate, Until};
use super::{PASSES, RIDGE, SLACK};
use crate::data::check_finite;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::linalg::{Cholesky, dot};
use crate::parallel;
use crate::solver::polish::steps::Shared;
use crate::solver::smoothed::{KernelRows, Start};
use crate::watch::{Step, Watch};

/// A gap of so much of the objective moves no curve that is fitted to the values.
const GAP: f64 = 4e-3;
/// Nothing certifies it.
const UNTIL: Until = Until { patience: usize::MAX, recent: 0 };

/// One output.
struct Output {
    /// a of every row of the features.
    a: Vec<f32>,
    /// Whether the loss would have another slope if the margin moved by `SLACK`.
    near: Vec<bool>,
    /// `Σ C a φ` of each fold.
    sums: Vec<Vec<f64>>,
}

/// Values n x m; the start's coefficients are to be near the best.
pub(in crate::solver::polish) fn left_out<F: Real>(
    shared: &Shared<'_>,
    kernel: &dyn KernelRows<F>,
    (start, folds, n_folds): (Start<'_>, &[u32], usize),
    watch: &mut Watch<'_>,
) -> Step<Option<Vec<f64>>> {
    let (polish, b, n) = (shared.polish, kernel.n_terms(), kernel.n_rows());
    let (gram, m) = (&shared.gram, start.targets.n_outputs());
    let white =
        Cholesky::factor_small("kernel matrix", gram, b, 0.5 * RIDGE, &mut || watch.poll())?;
    let mut features = Features::new(&white, (n, b), (polish.cache_bytes, polish.tol))?;
    // Step 1.
    let everyone: Vec<u32> = (0..n as u32).collect();
    if !features.holds_all() || !features.add(kernel, &everyone, watch)? {
        return Ok(None);
    }
    let features = &features;
    check_finite("kernel matrix", features.norms(), 1)?;
    let points =
        (0..m).map(|c| Ok(start.of_output(polish, c)?.0)).collect::<Result<Vec<Vec<f64>>>>()?;
    // Step 2.
    let outputs = parallel::map(m, &|c| {
        let w = turned(&white, &points[c], features.stride());
        let samples = shared.samples(c, polish.h);
        let (mut a, mut near) = (vec![0.0_f32; n], vec![false; n]);
        for i in (0..n).filter(|&i| samples.cost[i] > 0.0) {
            let f = f64::from(features.row(i).dot(&w));
            let slope = |f: f64| samples.loss.at(samples.y(i), f).slope;
            a[i] = -slope(f) as f32;
            near[i] = slope(f - SLACK) != slope(f + SLACK);
        }
        let sums = (0..n_folds).map(|fold| {
            let own = (0..n).filter(|&i| folds[i] as usize == fold && a[i] != 0.0);
            let scaled: Vec<(u32, f64)> =
                own.map(|i| (i as u32, samples.cost[i] * f64::from(a[i]))).collect();
            features.sum(&scaled)
        });
        let sums = sums.collect();
        Output { a, near, sums }
    });
    let mut out = try_vec("decision values", n * m, 0.0)?;
    for fold in 0..n_folds {
        // Step 3.
        let mut ascents =
            parallel::map(m, &|c| ascent(shared, features, (&outputs[c], c), (folds, fold)));
        passes(&mut ascents, (features, polish.final_loss()), (PASSES, GAP), watch)?;
        // Step 4.
        let own: Vec<usize> = (0..n).filter(|&i| folds[i] as usize == fold).collect();
        let values = parallel::map(m, &|c| {
            let value = |&i: &usize| f64::from(features.row(i).dot(ascents[c].weights()));
            own.iter().map(value).collect::<Vec<f64>>()
        });
        for (c, values) in values.iter().enumerate() {
            own.iter().zip(values).for_each(|(&i, &v)| out[i * m + c] = v);
        }
    }
    Ok(Some(out))
}

/// `Lᵀβ`, as long as a row of features.
fn turned(white: &Cholesky, coef: &[f64], stride: usize) -> Vec<f32> {
    let b = coef.len();
    let mut w = vec![0.0; b];
    for (j, (row, &beta)) in white.lower().chunks_exact(b).zip(coef).enumerate() {
        w.iter_mut().zip(&row[..=j]).for_each(|(w, l)| *w += beta * l);
    }
    w.iter().map(|&v| v as f32).chain(std::iter::repeat(0.0)).take(stride).collect()
}

/// An output without a fold, where it begins.
fn ascent(
    shared: &Shared<'_>,
    features: &Features,
    (output, c): (&Output, usize),
    (folds, fold): (&[u32], usize),
) -> Ascent {
    let samples = shared.samples(c, shared.polish.h);
    let Output { a, near, sums } = output;
    let mut w = vec![0.0; features.stride()];
    for (_, sum) in sums.iter().enumerate().filter(|(other, _)| *other != fold) {
        w.iter_mut().zip(sum).for_each(|(w, v)| *w += v);
    }
    let mut dual = -0.5 * dot(&w, &w);
    let (mut moving, mut rest) = (Vec::new(), Vec::new());
    for i in 0..a.len() {
        if folds[i] as usize == fold || samples.cost[i] <= 0.0 {
            continue;
        }
        let (y, cost) = (samples.y(i), samples.cost[i]);
        dual += cost * samples.loss.dual_value(y, f64::from(a[i]));
        let into = if near[i] { &mut moving } else { &mut rest };
        into.push(Coordinate { row: features.row_of(i), y: y as f32, a: a[i], cost: cost as f32 });
    }
    let w: Vec<f32> = w.iter().map(|&v| v as f32).collect();
    Ascent::new((c, dual), &w, [moving, rest], UNTIL)
}
