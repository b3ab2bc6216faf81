//! Candidates judged on rows that have not found them, by ridge regression on all rows of the search:
//! a few landmarks prefer scales that are too smooth, and too little regularisation. Of few rows a
//! fifth says little: there every row is judged by the machine without it.

use super::aim::Aim;
use super::distances::{distances, kernel_values, product};
use super::grid::{Grid, Shape};
use super::recipe::{JUDGE_LAMBDA, JUDGE_RAISES, JUDGE_WIDTHS};
use super::reduced::Sought;
use super::ridge::OnAll;
use crate::watch::{Step, Watch};

/// Where scales come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The width alone.
    Tuned,
    /// Mean squares of the gradient.
    Outer,
    /// Descent.
    Descended,
}

impl Kind {
    /// Its name on the leaderboard.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tuned => "width",
            Self::Outer => "gradient products",
            Self::Descended => "descent",
        }
    }
}

/// A kernel on a coding, with scales and λ.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) shape: Shape,
    pub(crate) coding: usize,
    pub(crate) kind: Kind,
    pub(crate) scales: Vec<f64>,
    pub(crate) lambda: f64,
    /// Leave-one-out on landmarks, then on the rows held out: a share of the variance.
    pub(crate) error: f64,
}

/// Rows held out: coded, with values less the means of the rows that are fitted. Where every row is
/// left out in turn they are the rows fitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldOut<'a> {
    pub(crate) rows: &'a Grid,
    pub(crate) values: &'a Grid,
    pub(crate) weights: &'a [f64],
    pub(crate) in_turn: bool,
}

impl Candidate {
    /// Moves λ, unless it is fixed, and the width while that helps on the rows held out; gives the
    /// values there.
    pub(crate) fn judge(
        &mut self,
        rows: &Grid,
        (sought, fixed): (&Sought<'_>, bool),
        held_out: &HeldOut<'_>,
        watch: &mut Watch<'_>,
    ) -> Step<Grid> {
        let (rows, others) = (rows.scaled(&self.scales)?, held_out.rows.scaled(&self.scales)?);
        let own = distances(self.shape, &rows, &rows, watch)?;
        let across = match held_out.in_turn {
            true => Grid::zeros("distances", 0, rows.rows())?,
            false => distances(self.shape, &others, &rows, watch)?,
        };
        let at = |gamma: f64| -> Step<(Grid, Grid)> {
            Ok((kernel_values(&own, gamma)?, kernel_values(&across, gamma)?))
        };
        let look = |(ridge, across): (&OnAll<'_>, &Grid), lambda: f64, watch: &mut Watch<'_>| {
            let found = if held_out.in_turn {
                ridge.left_out(lambda, watch)?
            } else {
                let coef = ridge.solve(lambda, watch)?.coef;
                product(across, &Grid::of_doubles(&coef, sought.values.columns))?
            };
            let error = Aim::Values.share_missed(&found, held_out.values, held_out.weights);
            watch.judged(error);
            Step::Ok((error, found))
        };
        let (mut gamma, mut lambda) = (1.0, self.lambda);
        let (k, k_across) = at(gamma)?;
        let ridge = OnAll::new(&k, sought, watch)?;
        let (mut error, mut values) = look((&ridge, &k_across), lambda, watch)?;
        let others = [lambda / JUDGE_LAMBDA, lambda * JUDGE_LAMBDA];
        for other in others.into_iter().filter(|_| !fixed) {
            let (now, found) = look((&ridge, &k_across), other, watch)?;
            if now < error {
                (error, values, lambda) = (now, found, other);
                break;
            }
        }
        drop(ridge);
        drop((k, k_across));
        let raise = match self.shape {
            Shape::Gaussian => JUDGE_WIDTHS.0,
            Shape::Laplacian => JUDGE_WIDTHS.1,
        };
        for _ in 0..JUDGE_RAISES {
            let (k, k_across) = at(gamma * raise)?;
            let ridge = OnAll::new(&k, sought, watch)?;
            let (now, found) = look((&ridge, &k_across), lambda, watch)?;
            if now >= error {
                break;
            }
            (error, values, gamma) = (now, found, gamma * raise);
        }
        let factor = self.shape.scale_of(gamma);
        self.scales.iter_mut().for_each(|w| *w *= factor);
        (self.lambda, self.error) = (lambda, error);
        Ok(values)
    }
}
