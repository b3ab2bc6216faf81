//! Newton's method on the coefficients of a kernel expansion.
//!
//! ```text
//! min over β in R^n (and b)   1/2 βᵀKβ + Σ_i C_i L_h(y_i, f_i),   f = Kβ + b
//! ```
//!
//! # Method
//!
//! \[PRIMAL\] Algorithm 1, for every loss that is piecewise quadratic.
//!
//! 1. More than 1000 samples: solve for the first half of them (in the same way), and start from
//!    its solution. The first systems are then small.
//! 2. With slopes `r_i = C_i L_h'` and curvatures `D_i = C_i L_h''` at f, samples fall in three
//!    zones: quadratic Q (D > 0), linear T (D = 0, r ≠ 0), and those that cost nothing.
//! 3. The minimiser of the quadratic model has `β_T = -r_T`, 0 outside Q and T, and
//!    `(K_QQ + D_Q⁻¹) β_Q + b = f_Q - r_Q/D_Q - K_QT β_T`; with an offset also
//!    `1ᵀβ_Q = -1ᵀβ_T` (Appendix B). For the squared hinge this is `(K_sv + I/(2C)) β = y`.
//! 4. When Q has changed by a few samples, the factor of the system is bordered, not made again
//!    ([`Bordered`](super::border::Bordered)).
//! 5. Full step where the objective falls as promised (squared losses), else a line search on the
//!    objective, O(n) a trial. After a short step the quadratic zones are taken three times as
//!    wide (and three times more after the next), so that Q sees what it would throw across.
//! 6. A loss with a width begins with h so wide that every sample is in Q, then h falls by a
//!    constant factor.
//! 7. At the final h: stop when a full step left every sample in its zone. This is the minimum,
//!    up to rounding.
//!
//! # Cost
//!
//! n_sv³/3 a step for the factor (n_sv² a sample that changed, when few did), n² for the decision
//! values; a few steps of full size. Memory 8n² bytes for K, 16 n_sv² for the system.
//!
//! # Certificate
//!
//! `converged`: the zones stayed in a full step, or the decrease that the model promises is
//! below 1e-13 of the objective.
//!
//! References: \[PRIMAL\] sections 3, 4.2, Appendix B.

use rayon::prelude::*;

use super::border::{Bordered, System};
use super::widths::{Told, Widths, all_quadratic, step_length, zones};
use super::{Solved, check, nothing, take};
use crate::error::{Error, Result, try_vec};
use crate::linalg::dot64;
use crate::solver::polish::ray::{Ray, Samples};
use crate::solver::polish::watch::{Halt, Step, Watch};
use crate::solver::polish::{Polish, Polished, Start, Watcher};

/// Up to this many samples are solved for directly.
const DIRECT: usize = 1000;
/// Rows of a task.
const CHUNK: usize = 32;

/// Minimises over all n samples, each a basis point. `gram` is K, row-major n x n; any beginning
/// of the samples should be a fair part of them (shuffle them first). `polish.tol` is not used.
/// `start` may be all 0. Call it inside [`crate::parallel::run`].
///
/// # Errors
/// `InvalidParam`, `LengthMismatch`, `NonFinite` for kernel values that are not finite,
/// `OutOfMemory`, `NotPositiveDefinite`, `Interrupted`. Any other stop is a result.
pub fn newton(
    polish: &Polish,
    gram: &[f64],
    start: Start<'_>,
    watcher: &mut Watcher<'_>,
) -> Result<Polished> {
    let (n, m) = (start.cost.len(), start.targets.n_outputs());
    check(polish, &start, n, n)?;
    if gram.len() != n * n {
        let (what, expected, got) = ("kernel matrix", n * n, gram.len());
        return Err(Error::LengthMismatch { what, expected, got });
    }
    if let Some(bad) = gram.iter().position(|v| !v.is_finite()) {
        return Err(Error::NonFinite { what: "kernel matrix", row: bad / n, column: bad % n });
    }
    let mut watch = Watch::new(watcher);
    let mut result = nothing(n, m);
    for output in 0..m {
        let mut machine = Machine::new(polish, gram, start, output)?;
        let done = machine.minimise(&mut watch);
        let samples = machine.samples(n, polish.h);
        let penalty = machine.penalty(n);
        let solved = Solved {
            coef: &machine.beta,
            intercept: machine.b,
            smoothed: penalty + samples.loss_at(&machine.f),
            primal: penalty + samples.plain_loss_at(&machine.f),
            steps: machine.steps,
            converged: machine.converged,
        };
        if !take(&mut result, output, &solved, done)? {
            break;
        }
    }
    Ok(result)
}

struct Machine<'a> {
    polish: &'a Polish,
    gram: &'a [f64],
    start: Start<'a>,
    output: usize,
    n: usize,
    beta: Vec<f64>,
    b: f64,
    /// Decision values of the samples of the running stage; all of them at the end.
    f: Vec<f64>,
    system: Bordered,
    steps: usize,
    converged: bool,
}

/// Where a Newton step leads.
struct Aim {
    beta: Vec<f64>,
    b: f64,
    f: Vec<f64>,
}

impl<'a> Machine<'a> {
    fn new(polish: &'a Polish, gram: &'a [f64], start: Start<'a>, output: usize) -> Result<Self> {
        let (n, m) = (start.cost.len(), start.targets.n_outputs());
        let mut beta = try_vec("coefficients", n, 0.0)?;
        beta.iter_mut().zip(start.coef.iter().skip(output).step_by(m)).for_each(|(b, &c)| *b = c);
        let b = if polish.fit_intercept { start.intercept[output] } else { 0.0 };
        let f = try_vec("decision values", n, 0.0)?;
        let system = Bordered::default();
        Ok(Self { polish, gram, start, output, n, beta, b, f, system, steps: 0, converged: false })
    }

    /// The first `size` samples at this width.
    fn samples(&self, size: usize, h: f64) -> Samples<'a> {
        let mut loss = self.polish.final_loss();
        loss.h = h;
        let (targets, cost) = (self.start.targets, &self.start.cost[..size]);
        Samples { loss, targets, output: self.output, cost }
    }

    fn penalty(&self, size: usize) -> f64 {
        let (beta, f) = (&self.beta[..size], &self.f[..size]);
        0.5 * beta.iter().zip(f).map(|(beta, f)| beta * (f - self.b)).sum::<f64>()
    }

    /// `Kβ + b` of the first `size` samples, for a β that is 0 beyond them.
    fn decisions(&self, beta: &[f64], b: f64, size: usize) -> Result<Vec<f64>> {
        let mut f = try_vec("decision values", self.n, 0.0)?;
        f[..size].par_chunks_mut(CHUNK).enumerate().for_each(|(c, out)| {
            for (k, out) in out.iter_mut().enumerate() {
                let row = &self.gram[(c * CHUNK + k) * self.n..][..size];
                *out = dot64(row, &beta[..size]) + b;
            }
        });
        Ok(f)
    }

    fn minimise(&mut self, watch: &mut Watch<'_, '_>) -> Step<()> {
        let warm = self.beta.iter().any(|&b| b != 0.0);
        let mut sizes = vec![self.n];
        while !warm && sizes[sizes.len() - 1] > DIRECT {
            sizes.push(sizes[sizes.len() - 1] / 2);
        }
        // Step 1.
        for (stage, &size) in sizes.iter().rev().enumerate() {
            self.f = self.decisions(&self.beta, self.b, size)?;
            let mut h = self.polish.h;
            if self.polish.final_loss().uses_h() && stage == 0 && !warm {
                h = h.max(all_quadratic(&self.samples(size, h), &self.f));
            }
            self.system.forget();
            let done = self.widths(size, h, size == self.n, watch);
            if size < self.n && done.is_err() {
                // Stopped early: the decision values of all samples are still to be known.
                self.f = self.decisions(&self.beta, self.b, self.n)?;
            }
            done?;
        }
        Ok(())
    }

    fn widths(
        &mut self,
        size: usize,
        first: f64,
        whole: bool,
        watch: &mut Watch<'_, '_>,
    ) -> Step<()> {
        let mut widths = Widths::new(first, self.polish.h, whole);
        loop {
            let samples = self.samples(size, widths.h);
            let value = self.penalty(size) + samples.loss_at(&self.f[..size]);
            if self.steps >= self.polish.max_steps {
                return Ok(());
            }
            (watch.step, watch.objective) = (self.steps, value);
            watch.poll()?;
            let before = zones(&samples, &self.f, widths.wider);
            let aim = self.aim(&samples, widths.wider, watch)?;
            self.steps += 1;
            let (t, promised) = self.go(&samples, aim, value);
            let same = t == 1.0 && before == zones(&samples, &self.f, widths.wider);
            let told = Told { t, promised: promised / value.abs(), same };
            if let Some(converged) = widths.after(told, samples.loss.uses_h()) {
                self.converged = converged;
                return Ok(());
            }
        }
    }

    /// Steps 2 and 3.
    fn aim(&mut self, samples: &Samples<'_>, wider: f64, watch: &mut Watch<'_, '_>) -> Step<Aim> {
        let (n, size) = (self.n, samples.cost.len());
        let mut beta = try_vec("coefficients", n, 0.0)?;
        let (mut quadratic, mut ridge, mut right) = (Vec::new(), Vec::new(), Vec::new());
        let mut slopes = 0.0;
        for i in 0..size {
            let slope = samples.at(i, self.f[i]).slope;
            let curvature = samples.widened(wider).at(i, self.f[i]).curvature;
            slopes += slope;
            if curvature > 0.0 {
                quadratic.push(i);
                ridge.push(1.0 / curvature);
                right.push(self.f[i] - slope / curvature);
            } else if slope != 0.0 {
                beta[i] = -slope;
            }
        }
        let linear: f64 = beta.iter().sum();
        if linear != 0.0 || beta.iter().any(|&v| v != 0.0) {
            let known = &beta[..size];
            right.par_iter_mut().zip(&quadratic).for_each(|(right, &i)| {
                *right -= dot64(&self.gram[i * n..][..size], known);
            });
        }
        let mut b = self.b;
        if quadratic.is_empty() {
            // Nothing holds the offset: down the slope, and the line search says how far.
            if self.polish.fit_intercept && slopes != 0.0 {
                b -= slopes.signum();
            }
        } else {
            let system = System { gram: self.gram, n, rows: &quadratic, ridge: &ridge };
            self.system.prepare(&system, watch)?;
            self.system.solve(&system, &mut right)?;
            if self.polish.fit_intercept {
                let mut ones = vec![1.0; quadratic.len()];
                self.system.solve(&system, &mut ones)?;
                b = (right.iter().sum::<f64>() + linear) / ones.iter().sum::<f64>();
                right.iter_mut().zip(&ones).for_each(|(v, u)| *v -= b * u);
            }
            for (&i, &value) in quadratic.iter().zip(&right) {
                beta[i] = value;
            }
        }
        if let Some(bad) = beta.iter().position(|v| !v.is_finite()) {
            let error = Error::NonFinite { what: "coefficients", row: bad, column: 0 };
            return Err(Halt::Fail(error));
        }
        let f = self.decisions(&beta, b, size)?;
        Ok(Aim { beta, b, f })
    }

    /// Step 5: goes there, or as far as it is good. Returns how far, and the decrease that the
    /// quadratic model promised.
    fn go(&mut self, samples: &Samples<'_>, aim: Aim, value: f64) -> (f64, f64) {
        let size = samples.cost.len();
        let turn = aim.b - self.b;
        let d: Vec<f64> = aim.beta.iter().zip(&self.beta).map(|(to, from)| to - from).collect();
        let s: Vec<f64> = aim.f[..size].iter().zip(&self.f).map(|(to, from)| to - from).collect();
        let pull = |(d, f): (&f64, &f64)| d * (f - self.b);
        let linear = d[..size].iter().zip(&self.f).map(pull).sum();
        let quadratic = d[..size].iter().zip(&s).map(|(d, s)| d * (s - turn)).sum();
        let base = self.penalty(size);
        let ray = Ray { samples: *samples, f: &self.f[..size], s: &s, base, linear, quadratic };
        let promised = -0.5 * ray.at(0.0).slope;
        let t = step_length(&ray, value, promised);
        if t == 1.0 {
            (self.beta, self.b, self.f) = (aim.beta, aim.b, aim.f);
        } else {
            self.beta.iter_mut().zip(&d).for_each(|(beta, d)| *beta += t * d);
            self.f[..size].iter_mut().zip(&s).for_each(|(f, s)| *f += t * s);
            self.b += t * turn;
        }
        (t, promised)
    }
}
