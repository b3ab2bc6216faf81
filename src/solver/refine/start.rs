//! The first pairs of the descent: what the curvature does to directions of conjugate gradients.
//!
//! A few directions have 10⁴ times the curvature that scales of single variables show: all points move
//! together towards the samples around them, or away. L-BFGS needs about twenty evaluations to find them,
//! and forgets them with its oldest pairs. Conjugate gradients find them by products with the curvature of
//! few samples ([`super::curve`]). Each direction p and its product `(H + λ diag H) p` is a pair, which stays.

use super::objective::Objective;
use crate::error::try_vec;
use crate::float::Real;
use crate::linalg::{Pairs, long_axpy, long_dot};
use crate::rng::Rng;
use crate::watch::{Step, Watch};

/// Directions, where the memory for pairs holds so many times as many. With ten of them 40 evaluations of
/// mnist end at 58,900, with 20 at 51,700, with 30 at 51,400.
const DIRECTIONS: usize = 20;
const PAIRS: usize = 2;
/// They end where as little as this is left of the gradient, squared, in units of the scales.
const LEAST_LEFT: f64 = 1e-10;

/// Samples that the curvature is taken of: this share of those with a slope, as memory allows, but so many
/// a term, and so many, if there are. With some 600 for the 1,000 terms of letter the first step was halved
/// four times.
const SHARE: usize = 4;
const SAMPLES_A_TERM: usize = 3;
const SAMPLES: usize = 1000;

/// λ, in units of the curvature of each variable on its own. A hundredth leaves letter 1 % higher.
const DAMPING: f64 = 0.1;

/// The pairs at `x`, where the objective was evaluated last: its gradient, and the inverse curvature of
/// each variable on its own.
pub(super) fn first_pairs<F: Real>(
    objective: &mut Objective<'_, '_, F>,
    (x, gradient, inverse): (&[f64], &[f64], &[f64]),
    (most, seed): (usize, u64),
    watch: &mut Watch<'_>,
) -> Step<Pairs> {
    let mut pairs = Pairs::new(most);
    let mut part = objective.active().to_vec();
    let (active, affordable) = (part.len(), objective.affordable_samples());
    let least = (SAMPLES_A_TERM * objective.n_terms()).max(SAMPLES).min(active);
    // What few samples say about many terms would lead astray, and few directions gain nothing.
    if least == 0 || affordable < least || most < PAIRS * DIRECTIONS {
        return Ok(pairs);
    }
    let len = (active / SHARE).max(least).min(affordable);
    Rng::new(seed).shuffle(&mut part);
    part.truncate(len);
    part.sort_unstable();
    let curve = objective.curve(x, &part, active as f64 / len as f64, watch)?;
    let mut left: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let scaled = |left: &[f64]| left.iter().zip(inverse).map(|(r, i)| r * i).collect::<Vec<f64>>();
    let mut direction = scaled(&left);
    let mut size = long_dot(&left, &direction);
    let enough = LEAST_LEFT * size;
    for _ in 0..DIRECTIONS {
        let mut product = try_vec("curvatures", x.len(), 0.0)?;
        curve.times(&direction, &mut product, watch)?;
        for ((product, &v), &inverse) in product.iter_mut().zip(&direction).zip(inverse) {
            *product += if inverse > 0.0 { DAMPING * v / inverse } else { 0.0 };
        }
        let bend = long_dot(&direction, &product);
        if !(bend > 0.0 && bend.is_finite()) {
            break;
        }
        long_axpy(-size / bend, &product, &mut left);
        let mut next = scaled(&left);
        let now = long_dot(&left, &next);
        long_axpy(now / size, &direction, &mut next);
        pairs.push(&direction, &product);
        direction = next;
        size = now;
        if size <= enough {
            break;
        }
    }
    pairs.keep();
    Ok(pairs)
}
