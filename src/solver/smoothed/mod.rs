//! The smoothed primal problem: what polishing and the primal machines minimise, each on unknowns of
//! its own.
//!
//! ```text
//! min over f (and b)   1/2 ‖f‖² + Σ_i C_i L_h(y_i, f(x_i) + b)
//! ```
//!
//! Problem, start and result, kernel values by blocks (`panels`), and line search (`ray`).

pub(super) mod panels;
pub(super) mod ray;

pub use panels::basis_gram;

use crate::data::Targets;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::loss::{AnyLoss, Smoothed};
use crate::watch::{Step, StopReason};
use ray::Samples;

/// Blocks of K_nB: kernel values between samples and basis.
pub trait KernelRows<F: Real>: Sync {
    /// Number of samples n.
    fn n_rows(&self) -> usize;
    /// Number of basis points B.
    fn n_terms(&self) -> usize;
    /// Kernel values of these samples with the basis, row-major samples x B. The same values
    /// whatever the other samples are. Called from several threads, with up to
    /// [`crate::parallel::ROW_CHUNK`] samples.
    fn fill(&self, samples: &[usize], out: &mut [F]);
    /// Rows `first..` of K_BB, row-major, as many as `out` holds. Called from several threads.
    fn fill_gram(&self, first: usize, out: &mut [f64]);
}

/// What is minimised, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polish {
    /// The loss.
    pub loss: AnyLoss,
    /// Whether there is an offset, not penalised.
    pub fit_intercept: bool,
    /// Final half-width of the smoothed zone, > 0 (squared losses do not use it).
    pub h: f64,
    /// Newton steps at most, all widths together.
    pub max_steps: usize,
    /// Stop when the decrease predicted is at most this share of the objective, > 0.
    pub tol: f64,
    /// K_nB is kept when it needs no more bytes than this.
    pub cache_bytes: usize,
}

impl Default for Polish {
    fn default() -> Self {
        Self {
            loss: AnyLoss::Hinge,
            fit_intercept: false,
            h: 0.05,
            max_steps: 50,
            tol: 1e-4,
            cache_bytes: 128 << 20,
        }
    }
}

/// Coefficients found.
#[derive(Clone, Debug, PartialEq)]
pub struct Polished {
    /// B x m, term-major: the m outputs of a term together.
    pub coef: Vec<f64>,
    /// One an output; 0 without an offset.
    pub intercept: Vec<f64>,
    /// Smoothed objective at the final h, summed over the outputs. NaN when the work was stopped
    /// before any margins were known.
    pub smoothed: f64,
    /// The same with the loss itself.
    pub primal: f64,
    /// Newton steps (the largest number over the outputs).
    pub steps: usize,
    /// Whether every output met the stopping criterion.
    pub converged: bool,
    /// `Converged`, `MaxIter`, or what the watch said.
    pub stop: StopReason,
}

/// What is given beside the kernel, or the rows.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Targets of the n samples.
    pub targets: Targets<'a>,
    /// C_i of the n samples.
    pub cost: &'a [f64],
    /// Trained coefficients, B x m, term-major.
    pub coef: &'a [f64],
    /// Trained offsets, m; read when there is an offset to fit.
    pub intercept: &'a [f64],
}

impl<'a> Start<'a> {
    /// Whether everything has the right length, for n samples and `unknowns` coefficients an
    /// output, and the parameters are in their ranges.
    pub(super) fn check(&self, polish: &Polish, n: usize, unknowns: usize) -> Result<()> {
        polish.check()?;
        let m = self.targets.n_outputs();
        for (what, got, expected) in [
            ("y", self.targets.len(), n),
            ("sample_weight", self.cost.len(), n),
            ("coefficients", self.coef.len(), unknowns * m),
            ("intercept", self.intercept.len(), m),
        ] {
            if got != expected {
                return Err(Error::LengthMismatch { what, expected, got });
            }
        }
        Ok(())
    }

    /// Coefficients and offset of one output.
    pub(super) fn of_output(&self, polish: &Polish, output: usize) -> Result<(Vec<f64>, f64)> {
        let m = self.targets.n_outputs();
        let mut coef = try_vec("coefficients", self.coef.len() / m, 0.0)?;
        let own = self.coef.iter().skip(output).step_by(m);
        coef.iter_mut().zip(own).for_each(|(to, &c)| *to = c);
        Ok((coef, if polish.fit_intercept { self.intercept[output] } else { 0.0 }))
    }

    /// The samples of one output at the width h.
    pub(super) fn samples(&self, polish: &Polish, output: usize, h: f64) -> Samples<'a> {
        let loss = Smoothed { loss: polish.loss, h };
        Samples { loss, targets: self.targets, output, cost: self.cost }
    }
}

impl Polish {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `InvalidParam`.
    pub fn check(&self) -> Result<()> {
        self.loss.check()?;
        for (name, value) in [("h", self.h), ("tol", self.tol)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::param(name, "a finite number > 0", value));
            }
        }
        Ok(())
    }

    /// The loss at the final width.
    pub(crate) fn final_loss(&self) -> Smoothed {
        Smoothed { loss: self.loss, h: self.h }
    }
}

/// Whether this is a kernel matrix of n points, all of it finite.
pub(super) fn check_gram(gram: &[f64], n: usize) -> Result<()> {
    let (what, expected, got) = ("kernel matrix", n * n, gram.len());
    if got != expected {
        return Err(Error::LengthMismatch { what, expected, got });
    }
    match gram.iter().position(|v| !v.is_finite()) {
        Some(bad) => Err(Error::NonFinite { what, row: bad / n, column: bad % n }),
        None => Ok(()),
    }
}

/// One output as a solver leaves it.
pub(in crate::solver) struct Solved<'a> {
    pub(in crate::solver) coef: &'a [f64],
    pub(in crate::solver) intercept: f64,
    /// Decision values, and the penalty.
    pub(in crate::solver) f: &'a [f64],
    pub(in crate::solver) penalty: f64,
    pub(in crate::solver) steps: usize,
    pub(in crate::solver) converged: bool,
}

impl Polished {
    /// With `unknowns` coefficients for each of m outputs, nothing found yet.
    pub(super) fn nothing(unknowns: usize, m: usize) -> Self {
        Self {
            coef: vec![0.0; unknowns * m],
            intercept: vec![0.0; m],
            smoothed: 0.0,
            primal: 0.0,
            steps: 0,
            converged: true,
            stop: StopReason::Converged,
        }
    }

    /// Puts one output into the result. Whether to go on with the next one; an error when nothing
    /// is usable.
    pub(super) fn take_output(
        &mut self,
        samples: &Samples<'_>,
        solved: &Solved<'_>,
        done: Step,
    ) -> Result<bool> {
        let (m, output) = (self.intercept.len(), samples.output);
        for (j, &value) in solved.coef.iter().enumerate() {
            self.coef[j * m + output] = value;
        }
        self.intercept[output] = solved.intercept;
        self.smoothed += solved.penalty + samples.loss_at(solved.f);
        self.primal += solved.penalty + samples.plain_loss_at(solved.f);
        self.steps = self.steps.max(solved.steps);
        match done {
            Ok(()) => {
                if !solved.converged {
                    (self.converged, self.stop) = (false, StopReason::MaxIter);
                }
                Ok(true)
            }
            Err(halt) => {
                (self.converged, self.stop) = (false, halt.into_reason()?);
                Ok(false)
            }
        }
    }
}
