//! The exact machines, one-vs-one for classes: what scikit-learn's drop-in classes are made of.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Deserializer, Serialize};

use super::fitted::{ExactMachine, assemble};
use super::pairs::{PairColumns, at_a_time, values_of_all};
pub use super::samples::ExactTargets;
use super::samples::{costly, spread};
use crate::config::{Config, config, hyperparameters, megabytes, not_negative, optional, positive};
use crate::data::Rows;
use crate::error::{Error, LARGE, Result, check_len, check_room};
use crate::kernel::{AnyBuffers, AnyColumns, AnyKernel, Gram};
use crate::multiclass::one_vs_one;
use crate::solver::exact::{Fitted, Kind, MpdOutcome, Part, Settings, fit};
use crate::solver::mpd::{self, MpdSettings, Update};
use crate::watch::{Halt, StopReason, Watch};

/// Samples from which on kernel rows may be `f32`.
const SINGLE_FROM: usize = 2048;

/// The least `tol` that `f32` rows serve.
const SINGLE_TOL: f64 = 1e-4;
/// In units of the spread of values, to which `tol` says little where they are small.
const LARGEST_TOL: f64 = 1e-2;

/// Steps that end a fit without a `max_iter`: this many, and this many a variable (\[LIBSVM\]).
const STEPS: u64 = 10_000_000;
const STEPS_EACH: u64 = 100;

/// ε_d of the augmented Lagrangian, unless set.
const CONSTRAINT_TOL: f64 = 1e-6;

/// Steps of one variable are that much smaller.
const MPD_TIMES: u64 = 10;

/// How carefully a machine is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::estimator) struct Care {
    /// Whether a small problem is solved further than `tol`.
    refine: bool,
    /// Samples from which on kernel rows may be `f32`.
    single_from: usize,
}

impl Care {
    /// A machine in its own right.
    pub(in crate::estimator) const FULL: Self = Self { refine: true, single_from: SINGLE_FROM };
    /// A part of an approximation.
    pub(in crate::estimator) const ROUGH: Self = Self { refine: false, single_from: 0 };
}

/// Which machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExactKind {
    /// Classes, violations cost C.
    CSvc,
    /// Classes, ν in (0, 1] bounds the share of violations.
    NuSvc {
        /// ν.
        nu: f64,
    },
    /// Values, with a tube of half-width ε >= 0.
    EpsilonSvr {
        /// ε.
        epsilon: f64,
    },
    /// Values, ν in (0, 1] bounds the share outside the tube.
    NuSvr {
        /// ν.
        nu: f64,
    },
    /// The support of one class, ν in (0, 1] bounds the share left out.
    OneClass {
        /// ν.
        nu: f64,
    },
}

/// How the problem is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ExactSolver {
    /// Pairs, on working sets ([`crate::solver::exact`]).
    #[default]
    Smo,
    /// One variable at a time ([`crate::solver::mpd`]).
    Mpd(ExactMpd),
}

hyperparameters! {
    /// What the minimal primal-dual method needs beside ε_p and the number of steps; see
    /// [`MpdSettings`].
    #[derive(Copy)]
    pub struct ExactMpd {
        /// ε_d, > 0, relative to the size of a constraint. `None`: 1e-6; for
        /// [`Update::Newton`] `tol`, relative or absolute, whichever is larger.
        pub constraint_tol: Option<f64> = None;
        /// ε_d as it stands, >= 0; the larger of both counts.
        pub constraint_atol: f64 = 0.0;
        /// The update of the multipliers.
        pub update: Update = Update::Augmented;
        /// Variables of a working set, at least 1. With 1, the paper's, small problems are not
        /// solved further than the thresholds.
        pub working_set: usize = 512;
        /// The factor of every step, in (0, 2): successive over-relaxation.
        pub relaxation: f64 = 1.0;
        /// λ >= 0: `λb²/2` of the offset b is added to what is minimised.
        pub intercept_penalty: f64 = 0.0;
        /// Whether violations and multipliers are recorded.
        pub record_history: bool = false;
        /// Whether the machine has an offset (one class has one in any case).
        pub fit_intercept: bool = true;
    }
}

impl ExactMpd {
    fn settings(&self, tol: f64, max_iter: u64) -> MpdSettings {
        let Self { update, working_set, relaxation, record_history: record, .. } = *self;
        let (unset, least) = match update {
            Update::Augmented => (CONSTRAINT_TOL, 0.0),
            Update::Newton => (tol, tol),
        };
        let least = if self.constraint_tol.is_some() { 0.0 } else { least };
        MpdSettings {
            tol,
            constraint_tol: self.constraint_tol.unwrap_or(unset),
            constraint_atol: self.constraint_atol.max(least),
            max_iter,
            update,
            working_set,
            relaxation,
            refine: working_set > 1,
            record,
        }
    }

    fn check(&self, tol: f64) -> Result<()> {
        not_negative("constraint_atol", self.constraint_atol)?;
        not_negative("intercept_penalty", self.intercept_penalty)?;
        self.settings(tol, 0).check()
    }
}

config! {
    /// Hyperparameters of an exact machine.
    #[derive(Copy)]
    pub struct ExactConfig {
        /// The machine.
        kind: ExactKind = ExactKind::CSvc;
        /// Cost of a violation, > 0; ∞ is allowed but for ν-SVR, and JSON's null. ν-SVC and one
        /// class have none.
        #[serde(rename = "C", deserialize_with = "or_infinity")]
        c: f64 = 1.0;
        /// The kernel, where its values are not given.
        kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 }, into;
        /// Largest violation of the optimality conditions at which a fit ends, > 0.
        tol: f64 = 1e-3;
        /// Kernel rows, in units of 10^6 bytes, > 0, over all pairs of classes that are trained at
        /// a time.
        cache_size: f64 = 200.0;
        /// SMO steps a machine, at most.
        max_iter: Option<u64> = None, into;
        /// Seconds after which a fit ends with the machine it has, > 0.
        max_time: Option<f64> = None, into;
        /// Whether SMO solves a large problem on a part of its samples at a time.
        shrinking: bool = true;
        /// How.
        solver: ExactSolver = ExactSolver::Smo;
    }
}

/// JSON has no ∞.
fn or_infinity<'de, D: Deserializer<'de>>(json: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(json)?.unwrap_or(f64::INFINITY))
}

impl Config for ExactConfig {
    fn check(&self) -> Result<()> {
        if self.c.is_nan() || self.c <= 0.0 {
            return Err(Error::param("C", "> 0", self.c));
        }
        self.kernel.check()?;
        positive("tol", self.tol)?;
        positive("cache_size", self.cache_size)?;
        optional(positive, "max_time", self.max_time)?;
        match self.kind {
            ExactKind::NuSvc { nu } | ExactKind::NuSvr { nu } | ExactKind::OneClass { nu } => {
                if !(nu > 0.0 && nu <= 1.0) {
                    return Err(Error::param("nu", "in (0, 1]", nu));
                }
            }
            ExactKind::EpsilonSvr { epsilon } => not_negative("epsilon", epsilon)?,
            ExactKind::CSvc => {}
        }
        if matches!(self.kind, ExactKind::NuSvr { .. }) && self.c.is_infinite() {
            return Err(Error::param("C", "finite for NuSVR: its sum of α is C ν n / 2", self.c));
        }
        match self.solver {
            ExactSolver::Smo => Ok(()),
            ExactSolver::Mpd(mpd) => mpd.check(self.tol),
        }
    }
}

impl ExactConfig {
    fn settings(&self, n: usize, refine: bool) -> Settings {
        let default = STEPS.max(STEPS_EACH.saturating_mul(n as u64));
        let max_iter = self.max_iter.unwrap_or(default);
        Settings { tol: self.tol, max_iter, refine, shrinking: self.shrinking }
    }
}

impl ExactMachine {
    /// [`ExactMachine::fit_with`] without parametric functions.
    ///
    /// # Errors
    /// As [`ExactMachine::fit_with`].
    pub fn fit(
        config: &ExactConfig,
        gram: Gram<'_>,
        targets: ExactTargets<'_>,
        cost: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        Self::fit_with(config, (gram, None), targets, cost, watch)
    }

    /// Trains on all samples of `gram` whose cost is positive. With `functions`, the values of
    /// parametric functions (samples x functions, finite), the machine is semi-parametric; that
    /// needs [`ExactSolver::Mpd`]. `cost` is `C_i` a sample, or the
    /// weight alone for ν-SVC and one class; ∞ is allowed.
    ///
    /// # Errors
    /// `InvalidParam`, `LengthMismatch`, `NonFinite`, `InvalidData` when no cost is positive, `OutOfRange`,
    /// `BadLabels`, `Unsupported` for a ν that cannot be reached, `OutOfMemory`, `Interrupted`.
    pub fn fit_with(
        config: &ExactConfig,
        given: (Gram<'_>, Option<ArrayView2<'_, f64>>),
        targets: ExactTargets<'_>,
        cost: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        Self::fit_with_care((config, Care::FULL), given, targets, cost, watch)
    }

    /// [`ExactMachine::fit_with`], a small problem too only up to `tol`: a machine of which no more
    /// is asked for than what it says of a few rows.
    ///
    /// # Errors
    /// As [`ExactMachine::fit_with`].
    pub fn fit_to_tol(
        config: &ExactConfig,
        given: (Gram<'_>, Option<ArrayView2<'_, f64>>),
        targets: ExactTargets<'_>,
        cost: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        let care = Care { refine: false, ..Care::FULL };
        Self::fit_with_care((config, care), given, targets, cost, watch)
    }

    /// [`ExactMachine::fit_with`] with more or less care.
    ///
    /// # Errors
    /// As [`ExactMachine::fit_with`].
    pub(in crate::estimator) fn fit_with_care(
        (config, care): (&ExactConfig, Care),
        (gram, functions): (Gram<'_>, Option<ArrayView2<'_, f64>>),
        targets: ExactTargets<'_>,
        cost: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        config.check()?;
        let n = match gram {
            Gram::Kernel(_, rows) => {
                rows.check_finite("X")?;
                rows.n_rows()
            }
            Gram::Given(matrix) => {
                Rows::Dense(matrix).check_finite("X")?;
                let (expected, got) = matrix.dim();
                check_len("X", expected, got)?;
                expected
            }
        };
        if let Some(functions) = functions {
            Rows::Dense(functions).check_finite("functions")?;
            check_len("functions", n, functions.nrows())?;
            if config.solver == ExactSolver::Smo {
                let reason = "parametric functions need the solver 'mpd'";
                return Err(Error::Unsupported(reason.into()));
            }
        }
        let samples = costly(n, targets, cost)?;
        let single = config.tol >= SINGLE_TOL && n >= care.single_from && gram.suits_single();
        watch.limit(config.max_time, 1.0);
        let bytes = megabytes(config.cache_size);
        let buffers = AnyBuffers::default();
        let refine = care.refine;
        let task = Task { config, gram, functions, cost, bytes, single, refine, buffers };
        match targets {
            ExactTargets::Classes(y, k) => task.classes(y, k, samples, watch),
            ExactTargets::Values(y) => {
                let y: Vec<f64> = samples.iter().map(|&i| y[i]).collect();
                task.one(&y, samples, watch)
            }
            ExactTargets::None => task.one(&[], samples, watch),
        }
    }
}

struct Task<'g, 'a> {
    config: &'a ExactConfig,
    gram: Gram<'g>,
    functions: Option<ArrayView2<'a, f64>>,
    cost: &'a [f64],
    bytes: usize,
    single: bool,
    refine: bool,
    buffers: AnyBuffers,
}

impl Task<'_, '_> {
    fn train(
        &self,
        kind: Kind<'_>,
        columns: AnyColumns<'_>,
        bytes: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Fitted> {
        let mut settings = self.config.settings(columns.index().len(), self.refine);
        let cost: Vec<f64> = columns.index().iter().map(|&i| self.cost[i]).collect();
        let buffers = self.buffers.clone();
        let part = Part { columns, kind, cost, cache_bytes: bytes, buffers };
        let ExactSolver::Mpd(own) = self.config.solver else {
            if let Kind::Values(y, _) | Kind::NuValues(y, _) = kind {
                settings.tol = settings.tol.min(LARGEST_TOL * spread(y)).max(f64::MIN_POSITIVE);
            }
            return fit(part, &settings, watch);
        };
        let max_iter = match self.config.max_iter {
            Some(given) => given,
            None => settings.max_iter.saturating_mul(MPD_TIMES),
        };
        let settings = own.settings(settings.tol, max_iter);
        let form = mpd::Form {
            intercept: own.fit_intercept,
            penalty: Some(own.intercept_penalty).filter(|penalty| *penalty > 0.0),
            functions: self.functions,
        };
        mpd::fit(part, &form, &settings, watch)
    }

    /// A machine that was stopped before it began; MPD's tells what others of its kind do.
    fn unfinished(&self, n: usize, stop: StopReason) -> Fitted {
        let mut fitted = Fitted::unfinished(n, stop);
        if let ExactSolver::Mpd(_) = self.config.solver {
            let parametric = vec![0.0; self.functions.map_or(0, |values| values.ncols())];
            let constraint = f64::INFINITY;
            fitted.mpd = Some(MpdOutcome { parametric, constraint, ..MpdOutcome::default() });
        }
        fitted
    }

    /// Values, or one class.
    fn one(&self, y: &[f64], samples: Vec<usize>, watch: &mut Watch<'_>) -> Result<ExactMachine> {
        let kind = match self.config.kind {
            ExactKind::EpsilonSvr { epsilon } => Kind::Values(y, epsilon),
            ExactKind::NuSvr { nu } => Kind::NuValues(y, nu),
            ExactKind::OneClass { nu } => Kind::OneClass(nu),
            ExactKind::CSvc | ExactKind::NuSvc { .. } => {
                return Err(Error::BadLabels("this machine needs classes".into()));
            }
        };
        let columns = watch
            .glance()
            .and_then(|()| AnyColumns::new(self.gram, samples.clone(), self.single, watch));
        let fitted = match columns {
            Ok(columns) => self.train(kind, columns, self.bytes, watch)?,
            Err(halt) => self.unfinished(samples.len(), halt.into_reason()?),
        };
        let chosen: Vec<usize> = (0..samples.len()).filter(|&i| fitted.coef[i] != 0.0).collect();
        let dual_coef = Array2::from_shape_fn((1, chosen.len()), |(_, s)| fitted.coef[chosen[s]]);
        Ok(ExactMachine {
            support: chosen.iter().map(|&i| samples[i]).collect(),
            n_support: vec![chosen.len()],
            dual_coef,
            intercept: vec![fitted.intercept],
            parts: vec![fitted],
        })
    }

    fn classes(
        &self,
        y: &[u32],
        k: usize,
        samples: Vec<usize>,
        watch: &mut Watch<'_>,
    ) -> Result<ExactMachine> {
        // The machines of all pairs, and the coefficients of all samples in each, in three forms.
        let pairs = k.saturating_mul(k.saturating_sub(1)) / 2;
        let bytes = pairs.saturating_mul(2 * size_of::<Fitted>());
        let bytes = bytes.saturating_add(samples.len().saturating_mul(k).saturating_mul(24));
        if bytes > LARGE {
            check_room("the machines of all pairs of classes", bytes)?;
        }
        let of_class: Vec<Vec<usize>> = (0..k)
            .map(|c| samples.iter().copied().filter(|&i| y[i] as usize == c).collect())
            .collect();
        drop(samples);
        if of_class.iter().filter(|members| !members.is_empty()).count() < 2
            && matches!(self.config.kind, ExactKind::CSvc)
        {
            return Err(Error::InvalidData {
                what: "Invalid input",
                reason: "all samples with positive weights belong to the same class.".into(),
            });
        }
        let space = (self.bytes, self.single);
        let whole = match values_of_all(self.gram, &of_class, space, watch) {
            Ok(whole) => Ok(whole),
            Err(halt) => Err(halt.into_reason()?),
        };
        match &whole {
            Ok(Some(values)) => self.pairs(Ok(Gram::Given(values.view())), &of_class, watch),
            Ok(None) => self.pairs(Ok(self.gram), &of_class, watch),
            Err(stopped) => self.pairs(Err(*stopped), &of_class, watch),
        }
    }

    /// The machines of all pairs, of kernel values that are where `gram` says, unless the fit was
    /// stopped before them.
    fn pairs(
        &self,
        gram: std::result::Result<Gram<'_>, StopReason>,
        of_class: &[Vec<usize>],
        watch: &mut Watch<'_>,
    ) -> Result<ExactMachine> {
        let (k, space) = (of_class.len(), (self.bytes, self.single));
        let classes = match gram.map(|gram| PairColumns::new(gram, of_class, space, watch)) {
            Ok(Ok(classes)) => Ok(classes),
            Ok(Err(halt)) => Err(halt.into_reason()?),
            Err(stopped) => Err(stopped),
        };
        let at_a_time = at_a_time(k);
        let parts = one_vs_one(k, at_a_time, watch, |(i, j), watch| {
            let columns = watch.glance().and_then(|()| match &classes {
                Ok(classes) => classes.pair((i, j), watch),
                Err(stopped) => Err(Halt::Stop(*stopped)),
            });
            let columns = match columns {
                Ok(columns) => columns,
                Err(halt) => {
                    let n = of_class[i].len() + of_class[j].len();
                    return Ok(self.unfinished(n, halt.into_reason()?));
                }
            };
            let y: Vec<bool> = (0..columns.index().len()).map(|s| s < of_class[i].len()).collect();
            let kind = match self.config.kind {
                ExactKind::NuSvc { nu } => Kind::NuClasses(&y, nu),
                ExactKind::CSvc => Kind::Classes(&y),
                _ => return Err(Error::BadLabels("this machine needs values".into())),
            };
            // A machine needs no more than all of its rows.
            self.train(kind, columns, self.bytes / at_a_time, watch)
        })?;
        Ok(assemble(parts, of_class))
    }
}
