//! Newton's method on the coefficients of a kernel expansion, the second form of the
//! [problem](super).
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

use super::border::{Bordered, System};
use super::path::{Direction, Goal, Newton, follow};
use super::place::{Of, Place, each_output};
use super::zones::Split;
use crate::data::check_finite;
use crate::error::{Result, try_vec};
use crate::linalg::{axpy, dot};
use crate::loss::Zone;
use crate::parallel;
use crate::solver::smoothed::ray::Samples;
use crate::solver::smoothed::{Polish, Polished, Start, check_gram_between};
use crate::watch::{Step, Watch};

/// Up to this many samples are solved for directly.
const DIRECT: usize = 1000;

/// Values of K that are read between two looks at the watch.
const VALUES_BETWEEN_LOOKS: usize = 1 << 25;

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
    let n = start.cost.len();
    start.check(polish, n, n)?;
    watch.begin();
    check_gram_between(gram, n, &mut || watch.unbroken(Watch::glance))?;
    each_output(polish, Of::Samples, start, watch, |place, watch| {
        let mut machine = Expansion { gram, n, system: Bordered::default(), aim: Aim::default() };
        machine.minimise(place, watch)
    })
}

struct Expansion<'a> {
    gram: &'a [f64],
    n: usize,
    system: Bordered,
    aim: Aim,
}

/// Where a Newton step leads.
#[derive(Default)]
struct Aim {
    beta: Vec<f64>,
    b: f64,
    f: Vec<f64>,
}

impl Expansion<'_> {
    fn minimise(&mut self, place: &mut Place<'_>, watch: &mut Watch<'_>) -> Step<bool> {
        let warm = place.is_warm();
        let mut sizes = vec![self.n];
        while !warm && sizes[sizes.len() - 1] > DIRECT {
            sizes.push(sizes[sizes.len() - 1] / 2);
        }
        let last_h = place.polish.h;
        let mut first_h = last_h;
        let mut converged = false;
        // Step 1.
        for (stage, &size) in sizes.iter().rev().enumerate() {
            (place.size, place.steps_before) = (size, place.steps);
            place.f = watch.unbroken(|watch| self.products(size, &place.coef, place.b, watch))?;
            if stage == 0 && !warm {
                first_h = place.first_width();
            }
            self.system.forget();
            let exact = size == self.n;
            let widths = (first_h, if exact { last_h } else { first_h });
            let done = follow(self, place, &Goal { widths, exact, tol: 0.0 }, watch);
            if !exact && done.is_err() {
                // Stopped early: the decision values of all samples are still to be known.
                place.size = self.n;
                let all =
                    |watch: &mut Watch<'_>| self.products(self.n, &place.coef, place.b, watch);
                place.f = watch.unbroken(all)?;
            }
            converged = done?;
        }
        Ok(converged)
    }

    /// Rows of K that are read between two looks at the watch.
    fn at_once(&self) -> usize {
        (VALUES_BETWEEN_LOOKS / self.n.max(1)).max(1)
    }

    /// [`Newton::times`] with looks at the watch.
    fn products(&self, size: usize, beta: &[f64], b: f64, watch: &mut Watch<'_>) -> Step<Vec<f64>> {
        let row = |i: usize| &self.gram[i * self.n..][..size];
        let mut f = try_vec("decision values", size, b)?;
        for (part, f) in f.chunks_mut(self.at_once()).enumerate() {
            let first = part * self.at_once();
            let products = parallel::map(f.len(), &|i| dot(row(first + i), &beta[..size]));
            f.iter_mut().zip(products).for_each(|(f, product)| *f += product);
            watch.glance()?;
        }
        Ok(f)
    }
}

impl Newton for Expansion<'_> {
    /// Steps 2 and 3.
    fn aim(
        &mut self,
        place: &Place<'_>,
        samples: &Samples<'_>,
        zones: &[Zone],
        watch: &mut Watch<'_>,
    ) -> Step<Direction> {
        let (n, size) = (self.n, place.size);
        let mut beta = try_vec("coefficients", n, 0.0)?;
        let Split { rows, ridge, mut target, steep } = Split::new(samples, zones, &place.f);
        steep.iter().for_each(|&(i, slope)| beta[i] = -slope);
        let linear: f64 = beta.iter().sum();
        if beta.iter().any(|&v| v != 0.0) {
            let known = &beta[..size];
            let product = |q: usize| dot(&self.gram[rows[q] * n..][..size], known);
            for (part, targets) in target.chunks_mut(self.at_once()).enumerate() {
                let first = part * self.at_once();
                let products = parallel::map(targets.len(), &|q| product(first + q));
                targets.iter_mut().zip(products).for_each(|(z, product)| *z -= product);
                watch.glance()?;
            }
        }
        let fit_intercept = place.polish.fit_intercept;
        let mut b = place.b;
        if rows.is_empty() {
            // Nothing holds the offset: down its slope, and the line search says how far.
            if fit_intercept && linear != 0.0 {
                b += linear.signum();
            }
        } else {
            let system = System { gram: self.gram, n, rows: &rows, ridge: &ridge };
            self.system.prepare(&system, watch)?;
            self.system.solve(&system, &mut target)?;
            if fit_intercept {
                let mut ones = vec![1.0; rows.len()];
                self.system.solve(&system, &mut ones)?;
                b = (target.iter().sum::<f64>() + linear) / ones.iter().sum::<f64>();
                target.iter_mut().zip(&ones).for_each(|(v, u)| *v -= b * u);
            }
            rows.iter().zip(&target).for_each(|(&i, &value)| beta[i] = value);
        }
        check_finite("coefficients", &beta, 1)?;
        let f = self.products(size, &beta, b, watch)?;
        let s: Vec<f64> = f.iter().zip(&place.f).map(|(to, from)| to - from).collect();
        let turn = b - place.b;
        let (mut first, mut second) = (0.0, 0.0);
        for i in 0..size {
            let d = beta[i] - place.coef[i];
            first += d * (place.f[i] - place.b);
            second += d * (s[i] - turn);
        }
        self.aim = Aim { beta, b, f };
        Ok(Direction { s, linear: first, quadratic: second })
    }

    fn advance(&mut self, place: &mut Place<'_>, t: f64, direction: &Direction) -> Result<()> {
        let aim = &mut self.aim;
        if t == 1.0 {
            // No rounding is carried along.
            swap(&mut place.coef, &mut aim.beta);
            swap(&mut place.f, &mut aim.f);
            place.b = aim.b;
            return Ok(());
        }
        place.coef.iter_mut().zip(&aim.beta).for_each(|(from, to)| *from += t * (to - *from));
        axpy(t, &direction.s, &mut place.f);
        place.b += t * (aim.b - place.b);
        Ok(())
    }

    fn times(&self, size: usize, beta: &[f64], b: f64) -> Result<Vec<f64>> {
        let row = |i: usize| &self.gram[i * self.n..][..size];
        Ok(parallel::map(size, &|i| dot(row(i), &beta[..size]) + b))
    }
}
