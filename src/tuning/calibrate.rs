//! Probabilities of decision values: a sigmoid of two classes (Platt, by Newton's method as in \[LLW\]),
//! a softmax of several, its sharpness by the likelihood on rows held out.

use super::grid::Grid;

/// Steps at most.
const STEPS: usize = 100;

/// `(A, B)` of `P(y = +1 | f) = 1/(1 + exp(A f + B))`, with Platt's targets.
pub(crate) fn probabilities_of_two(values: &[f32], positive: &[bool], weights: &[f64]) -> [f64; 2] {
    let of = |wanted: bool| -> f64 {
        positive.iter().zip(weights).filter(|(p, _)| **p == wanted).map(|(_, c)| c).sum()
    };
    let (yes, no) = (of(true), of(false));
    let (high, low) = ((yes + 1.0) / (yes + 2.0), 1.0 / (no + 2.0));
    let (mut a, mut b) = (0.0, ((no + 1.0) / (yes + 1.0)).ln());
    let loss = |a: f64, b: f64| -> f64 {
        let each = values.iter().zip(positive).zip(weights).map(|((f, p), c)| {
            let (t, z) = (if *p { high } else { low }, a * f64::from(*f) + b);
            c * (t * z + if z >= 0.0 { (-z).exp().ln_1p() } else { z.exp().ln_1p() - z })
        });
        each.sum()
    };
    let mut best = loss(a, b);
    for _ in 0..STEPS {
        let (mut h, mut g) = ([1e-12, 0.0, 1e-12], [0.0, 0.0]);
        for ((f, p), c) in values.iter().zip(positive).zip(weights) {
            let (t, f) = (if *p { high } else { low }, f64::from(*f));
            let z = a * f + b;
            let p = if z >= 0.0 { (-z).exp() / (1.0 + (-z).exp()) } else { 1.0 / (1.0 + z.exp()) };
            let (curve, slope) = (c * p * (1.0 - p), c * (t - p));
            h = [h[0] + f * f * curve, h[1] + f * curve, h[2] + curve];
            g = [g[0] + f * slope, g[1] + slope];
        }
        let det = h[0] * h[2] - h[1] * h[1];
        if g[0].abs().max(g[1].abs()) < 1e-5 || det <= 0.0 {
            break;
        }
        let (da, db) = ((h[1] * g[1] - h[2] * g[0]) / det, (h[1] * g[0] - h[0] * g[1]) / det);
        let slope = g[0] * da + g[1] * db;
        let mut step = 1.0;
        let found = loop {
            let now = loss(a + step * da, b + step * db);
            if now < best + 1e-4 * step * slope {
                break Some(now);
            }
            step *= 0.5;
            if step < 1e-10 {
                break None;
            }
        };
        let Some(now) = found else { break };
        (a, b, best) = (a + step * da, b + step * db, now);
    }
    [a, b]
}

/// The sharpness t of `P(c | f) ∝ exp(t f_c)`.
pub(crate) fn probabilities_of_classes(values: &Grid, classes: &[u32], weights: &[f64]) -> f64 {
    // The likelihood is concave in t: Newton's method, held to steps that rise.
    let slopes = |t: f64| -> (f64, f64, f64) {
        let (mut gain, mut slope, mut curve) = (0.0, 0.0, 0.0);
        for ((row, &class), c) in
            values.values.chunks_exact(values.columns).zip(classes).zip(weights)
        {
            let most = row.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
            let (mut whole, mut mean, mut square) = (0.0, 0.0, 0.0);
            for &f in row {
                let (f, e) = (f64::from(f), (t * f64::from(f - most)).exp());
                (whole, mean, square) = (whole + e, mean + f * e, square + f * f * e);
            }
            (mean, square) = (mean / whole, square / whole);
            let own = f64::from(row[class as usize]);
            gain += c * (t * (own - f64::from(most)) - whole.ln());
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
    t
}
