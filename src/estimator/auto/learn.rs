//! Scales of the features for a machine of a Gaussian or a Laplacian.

use super::columns::{in_place, order};
use super::train::{CODED_BY, check_width, sources, with_task};
use crate::data::Problem;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::Coding;
use crate::tuning::{Learnt, Recipe, Shape, Task, learn, steps_to_learn};
use crate::watch::{Halt, Watch};

/// The share of a fit's time that learning scales may take.
const SHARE: f64 = 0.5;

/// What has been learnt for a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LearntScales {
    /// A factor a feature; times the spread of the features the largest is 1.
    pub scales: Vec<f64>,
    /// γ of the scaled rows.
    pub gamma: f64,
    /// What least squares miss on rows held out, as a share of the variance.
    pub error: f64,
    /// The same with features as they come.
    pub before: f64,
}

/// Learns scales on at most some thousand rows; none where no error on rows held out falls, and
/// where the time (half of `max_time`, in seconds) does not suffice.
///
/// By gradient products, then by descent along the gradient of a two-fold validation error: least
/// squares on landmarks stand for the machine. With its cost `c` candidates meet as regularised as
/// the machine will be.
///
/// # Errors
/// `Unsupported` for kernels other than Gaussian and Laplacian and for too many features;
/// `OutOfMemory`, `Interrupted`.
pub fn learn_scales<F: Real>(
    problem: &Problem<'_, F>,
    kernel: AnyKernel,
    (max_time, seed, c): (Option<f64>, u64, Option<f64>),
    watch: &mut Watch<'_>,
) -> Result<Option<LearntScales>> {
    let shape = match kernel {
        AnyKernel::Gaussian { .. } => Shape::Gaussian,
        AnyKernel::Laplacian { .. } => Shape::Laplacian,
        _ => {
            return Err(Error::Unsupported(
                "feature_scales can be learnt for the kernels 'rbf' and 'laplacian' alone".into(),
            ));
        }
    };
    check_width(problem, "feature_scales='learn'")?;
    let rows = problem.rows();
    let (columns, sources, coding) = watch.unbroken(|watch| {
        let columns = order(problem, watch)?;
        let sources = sources(problem, &columns, seed)?;
        watch.glance()?;
        let seen = sources.index.len().min(CODED_BY);
        let (index, weights) = (&sources.index[..seen], &sources.weights[..seen]);
        let coding = Coding::standard(&rows, index, weights, &mut || watch.glance())?;
        Ok((columns, sources, coding))
    })?;
    let spread: Vec<f64> =
        coding.factors().iter().map(|f| if *f > 0.0 { f.recip() } else { 0.0 }).collect();
    if rows.n_cols() < 2 || spread.iter().all(|s| *s == 0.0) {
        return Ok(None);
    }
    // Half of the cost of a miss by about half the spread, squared or not.
    let ridge = c.map(|c| sources.unit / (2.0 * c));
    watch.limit(max_time, SHARE);
    let codings = [coding];
    let how = (columns.as_slice(), true, Recipe::default(), seed);
    let run = |task: &Task<'_>, watch: &mut Watch<'_>| {
        let spread: Vec<f64> = columns.iter().map(|&c| spread[c]).collect();
        let steps = steps_to_learn(&task.recipe);
        match watch.search(steps, |watch| learn(shape, task, (&spread, ridge), watch)).0 {
            Ok(learnt) => Ok(Some(learnt)),
            Err(Halt::Stop(_)) => Ok(None),
            Err(Halt::Fail(error)) => Err(error),
        }
    };
    let learnt = with_task(&rows, &sources, &codings, how, (&mut *watch, run));
    watch.limit(None, 1.0);
    let Some(Learnt { scales, error, before }) = learnt? else { return Ok(None) };
    let scales = in_place(&scales, &columns);
    let most = scales.iter().fold(0.0f64, |a, &b| a.max(b));
    // The guard.
    if !(error < before && most > 0.0 && most.is_finite()) {
        return Ok(None);
    }
    let gamma = match shape {
        Shape::Gaussian => most * most,
        Shape::Laplacian => most,
    };
    let factors = codings[0].factors();
    let scales: Vec<f64> = scales.iter().zip(factors).map(|(w, f)| w / most * f).collect();
    let fits = scales.iter().all(|w| w.is_finite()) && scales.iter().any(|w| *w > 0.0);
    Ok(fits.then_some(LearntScales { scales, gamma, error, before }))
}

impl LearntScales {
    /// The same for a kernel whose γ is another.
    #[must_use]
    pub fn at(self, kernel: AnyKernel) -> Self {
        let by = self.gamma / kernel.gamma();
        let by = if let AnyKernel::Laplacian { .. } = kernel { by } else { by.sqrt() };
        let scales = self.scales.iter().map(|w| w * by).collect();
        Self { scales, gamma: kernel.gamma(), ..self }
    }
}
