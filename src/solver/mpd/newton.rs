//! The paper's own loop (\[MPD\] Algorithm 1).

use super::problem::MpdSettings;
use super::run::Run;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::simd::LEAST_CURVATURE;
use crate::watch::{Step, StopReason};

/// Iterations between two looks at the watch and at Kβ's rounding.
const LOOK: u64 = 64;

/// Iterations in a row that bring the constraints no nearer, at most. Where ε_d asks for more than
/// ε_p lets a step do, the loop goes round a cycle for ever; the longest stretch without progress
/// of any run that ended was 170,000.
const STALLED: u64 = 250_000;

/// The system `Hγ = -f` of one constraint, of which γ itself is not kept.
struct System {
    /// `Hγ` in the signed variables: a value a sample.
    product: Vec<f64>,
    /// `fᵀγ <= 0`: the estimate of the dual function's second derivative.
    curvature: f64,
}

/// Runs the loop on a fresh state with ρ = 0.
pub(super) fn run<F: Real>(
    run: &mut Run<'_, '_, '_, F>,
    settings: &MpdSettings,
) -> Step<StopReason> {
    let (n, k) = (run.product.f.len(), run.equalities.len());
    // Lines 2 to 4.
    let mut systems = Vec::with_capacity(k);
    for _ in 0..k {
        let product = try_vec("estimates of the Hessian", n, 0.0)?;
        systems.push(System { product, curvature: 0.0 });
    }
    let (mut picks, mut samples, mut slots) = (Vec::new(), Vec::new(), Vec::new());
    let (mut fresh, mut progress, mut nearest) = (false, 0, f64::INFINITY);
    run.allow(settings);
    for (rho, equality) in run.rho.iter_mut().zip(run.equalities) {
        *rho = equality.penalty.map_or(0.0, f64::recip);
    }
    loop {
        // Line 7: the largest residual of every system.
        picks.clear();
        for (system, equality) in systems.iter().zip(run.equalities) {
            let residual = |v: usize| system.product[run.dual.sample[v]] + equality.column[v];
            let larger = |best: Option<(usize, f64)>, v: usize| match best {
                Some((_, r)) if residual(v).abs() <= r.abs() => best,
                _ => Some((v, residual(v))),
            };
            picks.push((0..run.beta.len()).fold(None, larger));
        }
        run.rescore();
        let worst = (0..run.beta.len())
            .map(|v| (run.badness(v), v))
            .fold((0.0, None), |best, (b, v)| if b > best.0 { (b, Some(v)) } else { best });
        run.record(settings, worst.0);
        let tol = run.tolerance(settings);
        let optimal = worst.0 <= tol;
        let step = if optimal { None } else { worst.1 };
        samples.clear();
        samples.extend(step.map(|v| run.dual.sample[v]));
        let systems_of = picks.iter().flatten().map(|&(v, _)| run.dual.sample[v]);
        samples.extend(systems_of);
        samples.sort_unstable();
        samples.dedup();
        // Rows of the step and of the systems; a cache of two takes them in turns.
        let at_once = run.product.cache.capacity();
        let mut place = |run: &mut Run<'_, '_, '_, F>, sample: usize| -> Result<u32> {
            if samples.len() <= at_once {
                run.product.cache.request(&samples, &mut slots)?;
                return Ok(samples.binary_search(&sample).map_or(0, |at| slots[at]));
            }
            run.product.cache.request(&[sample], &mut slots)?;
            Ok(slots[0])
        };
        for ((system, equality), pick) in systems.iter_mut().zip(run.equalities).zip(&picks) {
            let Some((v, residual)) = *pick else { continue };
            let sample = run.dual.sample[v];
            let slot = place(run, sample)?;
            let by = -residual / run.product.diagonal[sample].max(LEAST_CURVATURE);
            // Departs from [MPD] section 5.2: Δh_i = +Δγ_ij f_ij, as h_i = f_iᵀγ_i.
            system.curvature += by * equality.column[v];
            run.product.cache.accumulate(&[(slot, by)], &mut system.product)?;
        }
        // Line 8.
        if let Some(v) = step {
            let sample = run.dual.sample[v];
            let slot = place(run, sample)?;
            let before = run.beta[v];
            let free = before + settings.relaxation * run.scores[v] / run.curvature(v);
            run.beta[v] = free.max(run.dual.lower[v]).min(run.dual.upper[v]);
            let by = run.beta[v] - before;
            run.product.cache.accumulate(&[(slot, by)], &mut run.product.f)?;
            run.moved(v, by);
            run.product.steps += 1;
            fresh = false;
            if by == 0.0 {
                return Ok(StopReason::MaxIter);
            }
        } else if run.infeasibility() <= 1.0 {
            // Lines 9 to 11.
            if fresh {
                return Ok(StopReason::Converged);
            }
            run.refresh()?;
            fresh = true;
        } else {
            // Line 13.
            let off = run.infeasibility();
            for (i, system) in systems.iter().enumerate() {
                if system.curvature < 0.0 && run.is_hard(i) {
                    run.eta[i] -= run.excess[i] / system.curvature;
                }
            }
            run.updates += 1;
            if off < 0.9 * nearest {
                (nearest, progress) = (off, run.product.steps + run.updates);
            }
            fresh = false;
        }
        let rounds = run.product.steps + run.updates;
        if rounds >= settings.max_iter || run.updates > 0 && rounds - progress > STALLED {
            return Ok(StopReason::MaxIter);
        }
        if rounds.is_multiple_of(LOOK) {
            run.product.look(&run.beta)?;
        }
    }
}
