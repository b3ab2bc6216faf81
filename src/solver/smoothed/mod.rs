//! The smoothed primal problem: what polishing and the primal machines minimise, each on unknowns of
//! its own.
//!
//! ```text
//! min over f (and b)   1/2 ‖f‖² + Σ_i C_i L_h(y_i, f(x_i) + b)
//! ```
//!
//! The offset `b` is not penalised. L_h is the loss smoothed over a width h
//! ([`crate::loss::Smoothed`]). Problem, start and result, kernel values by blocks (`panels`), and
//! line search (`ray`).

pub(super) mod panels;
pub(super) mod ray;

pub use panels::{basis_gram, gram_rows};

use crate::config::positive;
use crate::data::{Targets, check_finite};
use crate::error::{Result, check_len, try_vec};
use crate::float::Real;
use crate::linalg::dots;
use crate::loss::{AnyLoss, Smoothed};
use crate::parallel;
use crate::watch::{Halt, Reader, StopReason, Words};
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
    /// `Σ_j coef_j k(x_i, s_j)` of these samples, up to [`crate::parallel::ROW_CHUNK`]. Called from
    /// several threads.
    fn weigh(&self, samples: &[usize], coef: &[f64], out: &mut [f64]) {
        let mut values = vec![F::zero(); samples.len() * self.n_terms()];
        self.fill(samples, &mut values);
        dots(&values, coef, out);
    }
    /// Rows `first..` of K_BB, row-major, as many as `out` holds. Called from several threads.
    fn fill_gram(&self, first: usize, out: &mut [f64]);
    /// The same samples with these terms alone; none where that would save nothing.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn of_terms(&self, _terms: &[u32]) -> Result<Option<Box<dyn KernelRows<F> + '_>>> {
        Ok(None)
    }
    /// Multiply-adds of a row of K_BB, about.
    fn gram_work(&self) -> usize {
        self.n_terms()
    }
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
    /// The unit of targets and decision values, > 0: widths begin at about this one.
    pub unit: f64,
    /// Newton steps at most, all widths together.
    pub max_steps: usize,
    /// Stop when the decrease predicted is at most this share of the objective, > 0.
    pub tol: f64,
    /// Whether the start is near: the width then begins at h.
    pub near: bool,
    /// K_nB is kept when it needs no more bytes than this.
    pub cache_bytes: usize,
}

impl Default for Polish {
    fn default() -> Self {
        Self {
            loss: AnyLoss::Hinge,
            fit_intercept: false,
            h: 0.05,
            unit: 1.0,
            max_steps: 50,
            tol: 1e-4,
            near: false,
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
        check_len("y", n, self.targets.len())?;
        check_len("sample_weight", n, self.cost.len())?;
        check_len("coefficients", unknowns * m, self.coef.len())?;
        check_len("intercept", m, self.intercept.len())
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
        let loss = Smoothed { loss: polish.loss.at_level(self.targets.level(output)), h };
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
        positive("h", self.h)?;
        positive("unit", self.unit)?;
        positive("tol", self.tol)
    }

    /// The loss at the final width.
    pub(crate) fn final_loss(&self) -> Smoothed {
        Smoothed { loss: self.loss, h: self.h }
    }
}

/// Values that are looked at between two looks at the watch, and those of a task.
const CHECKED: usize = 1 << 25;
const CHECKED_EACH: usize = 1 << 20;

/// Whether this is a kernel matrix of n points, all of it finite.
pub(super) fn check_gram(gram: &[f64], n: usize) -> Result<()> {
    check_gram_between(gram, n, &mut || Ok(()))
}

/// The same of a large one: `between` is asked now and then, and its error ends it.
pub(super) fn check_gram_between(
    gram: &[f64],
    n: usize,
    between: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    check_len("kernel matrix", n * n, gram.len())?;
    let fine = |part: &[f64]| part.iter().all(|v| v.is_finite());
    for part in gram.chunks(CHECKED) {
        let tasks: Vec<&[f64]> = part.chunks(CHECKED_EACH).collect();
        if !parallel::map(tasks.len(), &|t| fine(tasks[t])).into_iter().all(|fine| fine) {
            // It says where.
            return check_finite("kernel matrix", gram, n);
        }
        between()?;
    }
    Ok(())
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

    /// For a checkpoint.
    pub(crate) fn leave(&self, words: &mut Words) {
        words.put_floats(&self.coef);
        words.put_floats(&self.intercept);
        words.put_floats(&[self.smoothed, self.primal]);
        words.put(self.steps as u64);
        words.put(u64::from(self.converged));
        words.put(u64::from(self.stop == StopReason::MaxTime));
    }

    /// What [`Polished::leave`] put, of B terms and m outputs.
    pub(crate) fn read((b, m): (usize, usize), reader: &mut Reader) -> Result<Self> {
        let (mut found, mut values) = (Self::nothing(b, m), [0.0; 2]);
        reader.take_into(&mut found.coef)?;
        reader.take_into(&mut found.intercept)?;
        reader.take_into(&mut values)?;
        [found.smoothed, found.primal] = values;
        (found.steps, found.converged) = (reader.take_clock()? as usize, reader.take()? == 1);
        found.stop = match (reader.take()? == 1, found.converged) {
            (true, _) => StopReason::MaxTime,
            (false, true) => StopReason::Converged,
            (false, false) => StopReason::MaxIter,
        };
        Ok(found)
    }

    /// Stopped before anything was known; an error where that is one.
    pub(super) fn halted(mut self, halt: Halt) -> Result<Self> {
        (self.converged, self.stop) = (false, halt.into_reason()?);
        (self.smoothed, self.primal) = (f64::NAN, f64::NAN);
        Ok(self)
    }

    /// The coefficients of an output.
    pub(super) fn coef_of(&self, output: usize) -> Vec<f64> {
        self.coef.iter().skip(output).step_by(self.intercept.len()).copied().collect()
    }

    /// These are the coefficients and the offset of an output.
    pub(super) fn put(&mut self, output: usize, coef: &[f64], intercept: f64) {
        let m = self.intercept.len();
        for (j, &value) in coef.iter().enumerate() {
            self.coef[j * m + output] = value;
        }
        self.intercept[output] = intercept;
    }

    /// Adds the objective of an output with this penalty and these decision values.
    pub(super) fn add(&mut self, samples: &Samples<'_>, penalty: f64, f: &[f64]) {
        self.smoothed += penalty + samples.loss_at(f);
        self.primal += penalty + samples.plain_loss_at(f);
    }
}
