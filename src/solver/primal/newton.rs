//! Newton's method on the coefficients of a kernel expansion.
//!
//! ```text
//! min over β in R^n (and b)   1/2 βᵀKβ + Σ_i C_i L_h(y_i, f_i),   f = Kβ + b
//! ```
//!
//! # Method
//!
//! \[PRIMAL\] Algorithm 1, for every loss that is made of quadratic pieces; others are in the place
//! of a piece the parabola that touches them.
//!
//! 1. More than 1000 samples: solve for the first half of them (in the same way, but only
//!    roughly), and start from its solution. The first systems are then small.
//! 2. Samples fall in three kinds of zones: quadratic Q, where the loss is `D/2 (f - z)²`,
//!    linear T, where it has the slope r, and those that cost nothing.
//! 3. For given zones the minimum has `β_T = -r_T`, 0 outside Q and T, and
//!    `(K_QQ + D_Q⁻¹) β_Q + b = z_Q - K_QT β_T`; with an offset also `1ᵀβ_Q = -1ᵀβ_T`
//!    (Appendix B). For the squared hinge this is `(K_sv + I/(2C)) β = y`. Full steps can cycle:
//!    the length of a step, and the path from a wide h to the one wanted, are those of
//!    [`path`](super::path).
//! 4. When Q has changed by a few samples, the factor of the system is bordered, not made again
//!    ([`border`](super::border)).
//! 5. Stop when a full step left every sample in its zone: this is the minimum, up to rounding.
//!
//! # Cost
//!
//! n_sv³/3 a step for the factor (n_sv² a sample that changed, when few did), n² for the decision
//! values; a few steps of full size. Memory 8n² bytes for K, 16 n_sv² for the system.
//!
//! # Certificate
//!
//! `converged`: the zones stayed in a full step, or the decrease that the model promised was
//! below 1e-13 of the objective (1e-9 where no step goes down any more).
//!
//! References: \[PRIMAL\] sections 3, 4.2, Appendix B.

use std::mem::swap;

use rayon::prelude::*;

use super::border::{Bordered, System};
use super::path::{Direction, Goal, Newton, all_quadratic, follow, piece};
use crate::error::{Error, Result, try_vec};
use crate::linalg::dot64;
use crate::loss::{Piece, Zone};
use crate::solver::smoothed::ray::Samples;
use crate::solver::smoothed::{Polish, Polished, Solved, Start, check_gram};
use crate::watch::{Step, Watch};

/// Up to this many samples are solved for directly.
const DIRECT: usize = 1000;
/// Rows of a task.
const CHUNK: usize = 32;

/// Minimises over all n samples, each a basis point. `gram` is K, row-major n x n; any beginning
/// of the samples should be a fair part of them (shuffle them first). `polish.tol` is not used.
/// `start` may be all 0. The steps told are those on all samples.
///
/// # Errors
/// `InvalidParam`, `LengthMismatch`, `NonFinite` for kernel values that are not finite,
/// `OutOfMemory`, `NotPositiveDefinite`, `Interrupted`. Any other stop is a result.
pub fn newton(
    polish: &Polish,
    gram: &[f64],
    start: Start<'_>,
    watch: &mut Watch<'_>,
) -> Result<Polished> {
    let (n, m) = (start.cost.len(), start.targets.n_outputs());
    start.check(polish, n, n)?;
    check_gram(gram, n)?;
    watch.begin();
    let mut result = Polished::nothing(n, m);
    for output in 0..m {
        let mut state = NewtonState::new(polish, gram, start, output)?;
        let done = state.minimise(watch);
        let solved = Solved {
            coef: &state.beta,
            intercept: state.b,
            f: &state.f,
            penalty: state.penalty(),
            steps: state.steps - state.steps_before,
            converged: state.converged,
        };
        if !result.take_output(&state.samples(polish.h), &solved, done)? {
            break;
        }
    }
    Ok(result)
}

struct NewtonState<'a> {
    polish: &'a Polish,
    gram: &'a [f64],
    start: Start<'a>,
    output: usize,
    n: usize,
    beta: Vec<f64>,
    b: f64,
    /// Samples of the running stage, and their decision values; all of them at the end.
    size: usize,
    f: Vec<f64>,
    system: Bordered,
    aim: Aim,
    steps: usize,
    /// Of them, those on parts of the samples.
    steps_before: usize,
    converged: bool,
}

/// Where a Newton step leads.
#[derive(Default)]
struct Aim {
    beta: Vec<f64>,
    b: f64,
    f: Vec<f64>,
}

impl<'a> NewtonState<'a> {
    fn new(polish: &'a Polish, gram: &'a [f64], start: Start<'a>, output: usize) -> Result<Self> {
        let n = start.cost.len();
        let (beta, b) = start.of_output(polish, output)?;
        let f = try_vec("decision values", n, 0.0)?;
        let (system, aim) = (Bordered::default(), Aim::default());
        Ok(Self {
            polish,
            gram,
            start,
            output,
            n,
            beta,
            b,
            size: n,
            f,
            system,
            aim,
            steps: 0,
            steps_before: 0,
            converged: false,
        })
    }

    /// `Kβ + b` of the samples of the running stage, for a β that is 0 beyond them.
    fn times(&self, beta: &[f64], b: f64) -> Result<Vec<f64>> {
        let size = self.size;
        let mut f = try_vec("decision values", size, 0.0)?;
        f.par_chunks_mut(CHUNK).enumerate().for_each(|(c, out)| {
            for (k, out) in out.iter_mut().enumerate() {
                let row = &self.gram[(c * CHUNK + k) * self.n..][..size];
                *out = dot64(row, &beta[..size]) + b;
            }
        });
        Ok(f)
    }

    fn minimise(&mut self, watch: &mut Watch<'_>) -> Step {
        let warm = self.beta.iter().any(|&b| b != 0.0);
        let mut sizes = vec![self.n];
        while !warm && sizes[sizes.len() - 1] > DIRECT {
            sizes.push(sizes[sizes.len() - 1] / 2);
        }
        let last_h = self.polish.h;
        let mut first_h = last_h;
        // Step 1.
        for (stage, &size) in sizes.iter().rev().enumerate() {
            (self.size, self.steps_before) = (size, self.steps);
            self.f = self.times(&self.beta, self.b)?;
            if self.polish.final_loss().uses_h() && stage == 0 && !warm {
                first_h = first_h.max(all_quadratic(&self.at(last_h), &self.f));
            }
            self.system.forget();
            let exact = size == self.n;
            let widths = (first_h, if exact { last_h } else { first_h });
            let max_steps = self.polish.max_steps;
            let goal = Goal { widths, exact, tol: 0.0, max_steps };
            let mut steps = self.steps;
            let done = follow(self, &goal, &mut steps, watch);
            self.steps = steps;
            if !exact && done.is_err() {
                // Stopped early: the decision values of all samples are still to be known.
                self.size = self.n;
                self.f = self.times(&self.beta, self.b)?;
            }
            self.converged = done?;
        }
        Ok(())
    }

    fn at(&self, h: f64) -> Samples<'a> {
        let mut loss = self.polish.final_loss();
        loss.h = h;
        let (targets, cost) = (self.start.targets, &self.start.cost[..self.size]);
        Samples { loss, targets, output: self.output, cost }
    }
}

impl<'a> Newton<'a> for NewtonState<'a> {
    fn samples(&self, h: f64) -> Samples<'a> {
        self.at(h)
    }

    fn decisions(&self) -> &[f64] {
        &self.f
    }

    fn penalty(&self) -> f64 {
        let pairs = self.beta.iter().zip(&self.f);
        0.5 * pairs.map(|(beta, f)| beta * (f - self.b)).sum::<f64>()
    }

    /// Steps 2 and 3.
    fn aim(
        &mut self,
        samples: &Samples<'a>,
        zones: &[Zone],
        watch: &mut Watch<'_>,
    ) -> Step<Direction> {
        let (n, size) = (self.n, self.size);
        let mut beta = try_vec("coefficients", n, 0.0)?;
        let (mut quadratic, mut ridge, mut right) = (Vec::new(), Vec::new(), Vec::new());
        for (i, &zone) in zones.iter().enumerate() {
            let cost = samples.cost[i];
            match piece(samples, i, zone, self.f[i]) {
                Piece::Nothing => {}
                Piece::Linear(slope) => beta[i] = -cost * slope,
                Piece::Quadratic { curvature, target } => {
                    quadratic.push(i);
                    ridge.push(1.0 / (cost * curvature));
                    right.push(target);
                }
            }
        }
        let linear: f64 = beta.iter().sum();
        if beta.iter().any(|&v| v != 0.0) {
            let known = &beta[..size];
            right.par_iter_mut().zip(&quadratic).for_each(|(right, &i)| {
                *right -= dot64(&self.gram[i * n..][..size], known);
            });
        }
        let mut b = self.b;
        if quadratic.is_empty() {
            // Nothing holds the offset: down its slope, and the line search says how far.
            if self.polish.fit_intercept && linear != 0.0 {
                b += linear.signum();
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
        if let Some(row) = beta.iter().position(|v| !v.is_finite()) {
            return Err(Error::NonFinite { what: "coefficients", row, column: 0 }.into());
        }
        let f = self.times(&beta, b)?;
        let s: Vec<f64> = f.iter().zip(&self.f).map(|(to, from)| to - from).collect();
        let turn = b - self.b;
        let (mut first, mut second) = (0.0, 0.0);
        for i in 0..size {
            let d = beta[i] - self.beta[i];
            first += d * (self.f[i] - self.b);
            second += d * (s[i] - turn);
        }
        self.aim = Aim { beta, b, f };
        Ok(Direction { s, linear: first, quadratic: second })
    }

    fn advance(&mut self, t: f64, direction: &Direction) -> Step {
        if t == 1.0 {
            // No rounding is carried along.
            swap(&mut self.beta, &mut self.aim.beta);
            swap(&mut self.f, &mut self.aim.f);
            self.b = self.aim.b;
            return Ok(());
        }
        self.beta.iter_mut().zip(&self.aim.beta).for_each(|(from, to)| *from += t * (to - *from));
        self.f.iter_mut().zip(&direction.s).for_each(|(f, s)| *f += t * s);
        self.b += t * (self.aim.b - self.b);
        Ok(())
    }

    fn save(&self) -> Vec<f64> {
        let mut point = self.beta.clone();
        point.push(self.b);
        point
    }

    fn restore(&mut self, saved: &[f64]) -> Step {
        self.beta.copy_from_slice(&saved[..self.n]);
        self.b = saved[self.n];
        self.f = self.times(&self.beta, self.b)?;
        Ok(())
    }
}
