//! The two numbers of a sigmoid and the sharpness of a softmax, by Newton's method.

use crate::error::{Result, check_len};
use crate::float::Real;
use crate::watch::Look;

/// Steps at most, and halvings of one.
const STEPS: usize = 100;
const HALVINGS: usize = 40;

/// What makes the curvature regular, and the share of the objective that a step must promise.
const RIDGE: f64 = 1e-12;
const SMALL: f64 = 1e-14;

/// `[a, b]` of `P(positive | f) = 1 / (1 + exp(a f + b))`, which minimise the cross entropy of Platt's
/// targets: `(n₊ + 1) / (n₊ + 2)` for the positive, `1 / (n₋ + 2)` for the others, n the sums of
/// weights. Newton's method, each step halved until the objective falls \[LLW\].
///
/// `look` is asked before every step.
///
/// # Errors
/// `LengthMismatch`, and what `look` says.
pub fn sigmoid(
    values: &[f64],
    positive: &[bool],
    weights: &[f64],
    mut look: impl FnMut() -> Result<()>,
) -> Result<[f64; 2]> {
    check_len("positive", values.len(), positive.len())?;
    check_len("weights", values.len(), weights.len())?;
    let of = |wanted: bool| -> f64 {
        positive.iter().zip(weights).filter(|(p, _)| **p == wanted).map(|(_, c)| c).sum()
    };
    let (yes, no) = (of(true), of(false));
    let (high, low) = ((yes + 1.0) / (yes + 2.0), 1.0 / (no + 2.0));
    // In a unit of their own: squares of values are floats.
    let size = values.iter().fold(1.0f64, |most, f| most.max(f.abs()));
    let rows = || {
        let each = values.iter().zip(positive).zip(weights);
        each.map(|((f, p), c)| (f / size, if *p { high } else { low }, *c))
    };
    let loss = |[a, b]: [f64; 2]| -> f64 {
        rows().fold(0.0, |sum, (f, t, c)| {
            let z = a * f + b;
            sum + c * ((-z.abs()).exp().ln_1p() + z.max(0.0) - (1.0 - t) * z)
        })
    };
    let mut now = [0.0, ((no + 1.0) / (yes + 1.0)).ln()];
    let mut best = loss(now);
    for _ in 0..STEPS {
        look()?;
        let (mut h, mut g) = ([0.0; 3], [0.0; 2]);
        for (f, t, c) in rows() {
            let z = now[0] * f + now[1];
            let (e, one) = ((-z.abs()).exp(), 1.0 + (-z.abs()).exp());
            let p = if z >= 0.0 { e / one } else { 1.0 / one };
            let (curve, slope) = (c * e / (one * one), c * (t - p));
            h = [h[0] + f * f * curve, h[1] + f * curve, h[2] + curve];
            g = [g[0] + f * slope, g[1] + slope];
        }
        let ridge = RIDGE * (1.0 + h[0] + h[2]);
        let (square, own) = (h[0] + ridge, h[2] + ridge);
        let det = square * own - h[1] * h[1];
        let mut step = [(own * g[0] - h[1] * g[1]) / det, (square * g[1] - h[1] * g[0]) / det];
        let mut decrease = g[0] * step[0] + g[1] * step[1];
        if decrease.is_nan() || decrease <= SMALL * (1.0 + best.abs()) {
            break;
        }
        let mut further = best;
        for _ in 0..HALVINGS {
            further = loss([now[0] - step[0], now[1] - step[1]]);
            if further <= best - 1e-4 * decrease {
                break;
            }
            (step, decrease) = (step.map(|s| s / 2.0), decrease / 2.0);
        }
        if further.is_nan() || further > best {
            break;
        }
        (now, best) = ([now[0] - step[0], now[1] - step[1]], further);
    }
    Ok([now[0] / size, now[1]])
}

/// The sharpness t of `P(c | f) ∝ exp(t f_c)`. `look` is asked before every pass over the rows.
///
/// # Errors
/// What `look` says.
pub(crate) fn sharpness<F: Real>(
    values: &[F],
    columns: usize,
    classes: &[u32],
    weights: &[f64],
    look: Look<'_>,
) -> Result<f64> {
    // The likelihood is concave in t: Newton's method, held to steps that rise.
    let slopes = |t: f64| -> (f64, f64, f64) {
        let (mut gain, mut slope, mut curve) = (0.0, 0.0, 0.0);
        for ((row, &class), c) in values.chunks_exact(columns).zip(classes).zip(weights) {
            let most = row.iter().copied().fold(F::neg_infinity(), F::max);
            let (mut whole, mut mean, mut square) = (0.0, 0.0, 0.0);
            for &f in row {
                let (f, e) = (f.to_f64(), (t * (f - most).to_f64()).exp());
                (whole, mean, square) = (whole + e, mean + f * e, square + f * f * e);
            }
            (mean, square) = (mean / whole, square / whole);
            let own = row[class as usize].to_f64();
            gain += c * (t * (own - most.to_f64()) - whole.ln());
            slope += c * (own - mean);
            curve += c * (square - mean * mean);
        }
        (gain, slope, curve)
    };
    let mut t = 1.0;
    let mut here = slopes(t);
    for _ in 0..STEPS {
        let step = if here.2 > 1e-12 { here.1 / here.2 } else { 0.0 };
        let mut by = 1.0;
        let next = loop {
            look()?;
            let other = (t + by * step).clamp(1e-3, 1e3);
            let there = slopes(other);
            if there.0 >= here.0 {
                break Some((other, there));
            }
            by *= 0.5;
            if by < 1e-6 {
                break None;
            }
        };
        let Some((other, there)) = next else { break };
        let small = (other - t).abs() < 1e-6 * t;
        (t, here) = (other, there);
        if small {
            break;
        }
    }
    Ok(t)
}
