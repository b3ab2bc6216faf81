//! What a fit of a machine that tunes itself tells.

use crate::model::Coding;
use crate::tuning::{Candidate, Chosen, Shape};
use crate::watch::StopReason;

/// A kernel that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// "rbf" or "laplacian".
    pub kernel: &'static str,
    /// "standard" or "ranks".
    pub coding: &'static str,
    /// Where its scales come from: "width", "gradient products" or "descent".
    pub scales: &'static str,
    /// λ, as a share of the mean weight; of a kernel in the machine the one that all rows are
    /// fitted with.
    pub lambda: f64,
    /// What it misses on rows held out, as a share of the variance.
    pub error: f64,
    /// Its weight in the machine.
    pub weight: f64,
}

/// How a training went.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoReport {
    /// Why it ended.
    pub stop: StopReason,
    /// The kernels judged, best first.
    pub judged: Vec<Judged>,
    /// Scales of the features in the coordinates of each part, relative to the largest.
    pub scales: Vec<Vec<f64>>,
    /// γ of each part's kernel, of coordinates scaled so.
    pub gammas: Vec<f64>,
    /// C of each part: `1/(2 λ n)`, where `1/2 ‖w‖² + C Σ weight (y - f)²` is least.
    /// (Of classes with a budget, of which terms move, squared hinges in place of squares where
    /// these make no fewer mistakes.)
    pub costs: Vec<f64>,
    /// `(A, B)` of the sigmoid of two classes, the sharpness of the softmax of several; empty
    /// for values.
    pub calibration: Vec<f64>,
    /// What the user should know of how it ended: nothing is kept of it in files.
    pub advice: Option<String>,
    /// "time", in seconds, and the least "error" so far at the end of every part of the search and
    /// of the fits after it: by leaving one out, of rows held out once the candidates are judged.
    pub history: Vec<(String, Vec<f64>)>,
}

impl AutoReport {
    /// How much the machine looks at each feature: the weighted mean of the scales of its kernels,
    /// as a share of the largest.
    #[must_use]
    pub fn feature_scales(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.scales.first().map_or(0, Vec::len)];
        // Of a file they are one.
        let weights = self.judged.iter().map(|one| one.weight).filter(|w| *w > 0.0);
        for (scales, weight) in self.scales.iter().zip(weights) {
            mean.iter_mut().zip(scales).for_each(|(m, s)| *m += weight * s);
        }
        let most = mean.iter().fold(f64::MIN_POSITIVE, |a, &b| a.max(b));
        mean.iter().map(|m| m / most).collect()
    }
}

pub(super) fn report(
    chosen: &Chosen,
    codings: &[Coding],
    (stop, n): (StopReason, usize),
    (calibration, advice): (Vec<f64>, Option<String>),
) -> AutoReport {
    let judged = chosen.judged.iter().map(|one| {
        let same = |part: &&(Candidate, f64)| (part.0.shape, part.0.kind) == (one.shape, one.kind);
        let own = chosen.parts.iter().find(same);
        Judged {
            kernel: match one.shape {
                Shape::Gaussian => "rbf",
                Shape::Laplacian => "laplacian",
            },
            coding: codings[one.coding].name(),
            scales: one.kind.name(),
            lambda: own.map_or(one.lambda, |(part, _)| part.lambda),
            error: one.error,
            weight: own.map_or(0.0, |(_, w)| *w),
        }
    });
    let relative = |scales: &[f64]| -> Vec<f64> {
        let most = scales.iter().fold(f64::MIN_POSITIVE, |a, &b| a.max(b));
        scales.iter().map(|w| w / most).collect()
    };
    let scales = chosen.parts.iter().map(|(part, _)| relative(&part.scales)).collect();
    let most = |scales: &[f64]| scales.iter().fold(f64::MIN_POSITIVE, |a, &b| a.max(b));
    let gamma = |part: &Candidate| match part.shape {
        Shape::Gaussian => most(&part.scales).powi(2),
        Shape::Laplacian => most(&part.scales),
    };
    let gammas = chosen.parts.iter().map(|(part, _)| gamma(part)).collect();
    let costs = chosen.parts.iter().map(|(part, _)| 1.0 / (2.0 * part.lambda * n as f64)).collect();
    let (judged, history) = (judged.collect(), Vec::new());
    AutoReport { stop, judged, scales, gammas, costs, calibration, advice, history }
}
