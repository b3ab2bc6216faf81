//! One output of the machine as it stands, and its Newton direction.

use super::curvature::{Derivatives, Rule};
use super::line::Line;
use crate::error::{Error, Result, try_square, try_vec};
use crate::linalg::{Cholesky, axpy, dot};
use crate::solver::smoothed::Polish;
use crate::watch::{Halt, Step};

/// Relative jitter of the Hessian: well above its rounding, far below what would damp a
/// direction that matters.
pub(super) const JITTER: f64 = 1e-12;
/// The same for a sketch, whose products are in `f32`.
pub(super) const SKETCH_JITTER: f64 = 1e-6;
/// A step shorter than this says that the quadratic zone knew too little.
pub(super) const SHORT_STEP: f64 = 0.3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Converged,
    Stalled,
}

/// One output.
pub(super) struct Output {
    pub(super) index: usize,
    /// B coefficients, then the offset (0 when there is none).
    pub(super) point: Vec<f64>,
    /// Newton direction, laid out like `point`.
    pub(super) direction: Vec<f64>,
    /// The penalty's gradient, K_BB times the coefficients.
    pub(super) pull: Vec<f64>,
    /// Margins at `point`.
    pub(super) f: Vec<f64>,
    /// Margins of `direction`.
    pub(super) s: Vec<f64>,
    pub(super) derivatives: Derivatives,
    /// Of one that goes with others: it then has no Hessian of its own.
    pub(super) line: Option<Line>,
    pub(super) h: f64,
    /// Objective at `point` for the current h.
    pub(super) value: f64,
    /// Decrease that the direction promises.
    pub(super) predicted: f64,
    /// Length of the last step, 0 before the first.
    pub(super) last_step: f64,
    /// How the last Hessian was built.
    pub(super) last_rule: Rule,
    pub(super) jitter: f64,
    /// The start, and its objective at the final h and without smoothing.
    pub(super) before: Option<(Vec<f64>, [f64; 2])>,
    pub(super) stalls: usize,
    pub(super) steps: usize,
    pub(super) state: State,
}

impl Output {
    /// At `point`, nothing computed yet; alone, or with others.
    pub(super) fn new(
        polish: &Polish,
        (index, n): (usize, usize),
        point: Vec<f64>,
        alone: bool,
    ) -> Result<Self> {
        let b = point.len() - 1;
        let derivatives = match alone {
            true => Derivatives::new(b, polish.fit_intercept)?,
            false => Derivatives::slopes(b, polish.fit_intercept)?,
        };
        Ok(Self {
            index,
            direction: vec![0.0; b + 1],
            pull: vec![0.0; b],
            point,
            f: try_vec("margins", n, 0.0)?,
            s: try_vec("margins", n, 0.0)?,
            line: (!alone).then(|| Line::new(derivatives.gradient.len())),
            derivatives,
            h: polish.h,
            value: f64::NAN,
            predicted: f64::INFINITY,
            last_step: 0.0,
            last_rule: Rule::Exact,
            jitter: JITTER,
            before: None,
            stalls: 0,
            steps: 0,
            state: State::Running,
        })
    }

    /// `1/2 βᵀ K_BB β`.
    pub(super) fn penalty(&self) -> f64 {
        0.5 * dot(&self.point[..self.pull.len()], &self.pull)
    }

    /// How the Hessian is built next: exactly at the final h.
    pub(super) fn rule(&self, polish: &Polish) -> Rule {
        match (self.h <= polish.h, self.last_step < SHORT_STEP) {
            (true, true) if polish.final_loss().uses_h() && self.last_rule == Rule::Exact => {
                Rule::Wide
            }
            (true, _) => Rule::Exact,
            (false, true) => Rule::Majorant,
            (false, false) => Rule::Sketch,
        }
    }

    /// Step 4: `d = -(H + jitter)⁻¹ g`, and the decrease that it promises.
    pub(super) fn step_4_direction(
        &mut self,
        gram: &[f64],
        between: &mut dyn FnMut() -> Step,
    ) -> Step {
        let b = self.pull.len();
        let order = self.derivatives.gradient.len();
        let gradient = &mut self.derivatives.gradient;
        axpy(1.0, &self.pull, gradient);
        let mut hessian = try_square("Hessian", order, 0.0)?;
        for j in 0..b {
            hessian[j * order..j * order + j + 1].copy_from_slice(&gram[j * b..j * b + j + 1]);
        }
        self.derivatives.hessian.add_to(&mut hessian);
        let jitter = match self.last_rule {
            Rule::Exact => self.jitter,
            Rule::Sketch | Rule::Majorant | Rule::Wide => self.jitter.max(SKETCH_JITTER),
        };
        let matrix = (&mut hessian[..], self.derivatives.weight);
        let direction = &mut self.direction[..order];
        newton_direction(matrix, gradient, (b, jitter), direction, between)?;
        self.predicted = -0.5 * dot(direction, gradient);
        Ok(())
    }

    /// Step 6.
    pub(super) fn step_6_stop(&mut self, polish: &Polish) {
        let exact = self.last_rule == Rule::Exact;
        if self.h <= polish.h && exact && self.predicted <= polish.tol * self.value.abs() {
            self.state = State::Converged;
        }
    }
}

/// `-(H + jitter)⁻¹ g` of b coefficients and perhaps an offset, whose curvature from the rows is
/// `weight`. The lower triangle of H is read.
pub(super) fn newton_direction(
    (hessian, weight): (&mut [f64], f64),
    gradient: &[f64],
    (b, jitter): (usize, f64),
    direction: &mut [f64],
    between: &mut dyn FnMut() -> Step,
) -> Step {
    let order = gradient.len();
    let mean = (0..b).map(|j| hessian[j * order + j]).sum::<f64>() / b as f64;
    if order > b && weight <= 0.0 {
        hessian[b * order + b] = mean;
    }
    direction.iter_mut().zip(gradient).for_each(|(d, g)| *d = -g);
    match Cholesky::factor("Hessian", hessian, order, jitter, between) {
        Ok(factor) => factor.solve(direction),
        // Not even with a large jitter: the scaled gradient.
        Err(Halt::Fail(Error::NotPositiveDefinite(_))) => {
            for (j, d) in direction.iter_mut().enumerate() {
                *d /= hessian[j * order + j].abs() + mean.abs() + f64::MIN_POSITIVE;
            }
        }
        Err(halt) => return Err(halt),
    }
    Ok(())
}
