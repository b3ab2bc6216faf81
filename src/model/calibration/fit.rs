//! Curves fitted to decision values of rows that a machine was not trained on.
//!
//! 1. *Sigmoid*: the cross entropy of Platt's targets, `(n₊ + 1)/(n₊ + 2)` and `1/(n₋ + 2)`, by
//!    Newton's method, each step halved until it falls.
//! 2. *Isotonic*: least squares by pooling neighbours that fall; shares stay 1/(n + 2) away from 0
//!    and 1, n the weight of all rows, so that no row is impossible.
//! 3. *Temperature*: the likelihood, which is concave in its one number, by Newton's method.
//!
//! A weight counts as so many rows.
//!
//! References: \[PLATT\] with \[LLW\]'s Newton steps; \[ZADROZNY\]; \[GUO\].

use super::curves::{CalibrationMethod, Curves, Outputs, Steps};

/// Steps at most.
const STEPS: usize = 100;

/// The curves of all outputs.
pub(super) fn curves(
    method: CalibrationMethod,
    outputs: Outputs,
    values: &[f64],
    classes: &[u32],
    weights: &[f64],
) -> Curves {
    let Outputs { n_classes: k, pairs } = outputs;
    let m = outputs.count();
    let pairs = pairs && k > 2;
    let pair_of: Vec<(u32, u32)> =
        (0..k as u32).flat_map(|i| (i + 1..k as u32).map(move |j| (i, j))).collect();
    // Values, whether they are to be positive, and weights of the rows that an output is about.
    let part = |c: usize| -> (Vec<f64>, Vec<bool>, Vec<f64>) {
        let (wanted, other) = match (k, pairs) {
            (2, _) => (1, None),
            (_, false) => (c as u32, None),
            (_, true) => (pair_of[c].0, Some(pair_of[c].1)),
        };
        let own = |i: &usize| {
            weights[*i] > 0.0
                && other.is_none_or(|other| classes[*i] == wanted || classes[*i] == other)
        };
        let rows: Vec<usize> = (0..classes.len()).filter(own).collect();
        let value = |&i: &usize| values[i * m + c];
        (
            rows.iter().map(value).collect(),
            rows.iter().map(|&i| classes[i] == wanted).collect(),
            rows.iter().map(|&i| weights[i]).collect(),
        )
    };
    match method {
        CalibrationMethod::Sigmoid => Curves::Sigmoid(
            (0..m)
                .map(|c| {
                    let (mut values, positive, weights) = part(c);
                    let size = values.iter().fold(f64::MIN_POSITIVE, |a, v| a.max(v.abs()));
                    values.iter_mut().for_each(|v| *v /= size);
                    let [a, b] = sigmoid(&values, &positive, &weights);
                    // What rises where decisions rise: a machine of pure chance may say otherwise.
                    [(a / size).min(0.0), b]
                })
                .collect(),
        ),
        CalibrationMethod::Isotonic => Curves::Isotonic(
            (0..m)
                .map(|c| {
                    let (values, positive, weights) = part(c);
                    isotonic(&values, &positive, &weights)
                })
                .collect(),
        ),
        CalibrationMethod::Temperature if k > 2 && !pairs => {
            Curves::Temperature(temperature(values, m, classes, weights), m)
        }
        // One output, or one a pair: the softmax of 0 and the value.
        CalibrationMethod::Temperature => {
            let (mut both, mut side, mut each) = (Vec::new(), Vec::new(), Vec::new());
            for c in 0..m {
                let (values, positive, weights) = part(c);
                both.extend(values.iter().flat_map(|&f| [0.0, f]));
                side.extend(positive.iter().map(|&p| u32::from(p)));
                each.extend(weights);
            }
            Curves::Temperature(temperature(&both, 2, &side, &each), m)
        }
    }
}

/// Step 2.
pub(super) fn isotonic(values: &[f64], positive: &[bool], weights: &[f64]) -> Steps {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
    /// Rows of equal share: the first and the last value, their weight and that of the positive.
    struct Pool {
        from: f64,
        to: f64,
        weight: f64,
        positive: f64,
    }
    let mut pools: Vec<Pool> = Vec::new();
    let total: f64 = weights.iter().sum();
    for i in order {
        let (v, w) = (values[i], weights[i]);
        let own = Pool { from: v, to: v, weight: w, positive: if positive[i] { w } else { 0.0 } };
        pools.push(own);
        while let [.., a, b] = &mut pools[..]
            && (a.to == b.from || a.positive * b.weight >= b.positive * a.weight)
        {
            (a.to, a.weight, a.positive) = (b.to, a.weight + b.weight, a.positive + b.positive);
            pools.pop();
        }
    }
    let least = 1.0 / (total + 2.0);
    let (mut at, mut share) = (Vec::new(), Vec::new());
    for pool in pools {
        let p = (pool.positive / pool.weight).clamp(least, 1.0 - least);
        at.push(pool.from);
        share.push(p);
        if pool.to > pool.from {
            at.push(pool.to);
            share.push(p);
        }
    }
    if at.is_empty() {
        (at, share) = (vec![0.0], vec![0.5]);
    }
    Steps { at, share }
}

/// Step 1: (a, b) of `P(positive | f) = 1/(1 + exp(a f + b))`.
pub(super) fn sigmoid(values: &[f64], positive: &[bool], weights: &[f64]) -> [f64; 2] {
    let of = |wanted: bool| -> f64 {
        positive.iter().zip(weights).filter(|(p, _)| **p == wanted).map(|(_, c)| c).sum()
    };
    let (yes, no) = (of(true), of(false));
    let (high, low) = ((yes + 1.0) / (yes + 2.0), 1.0 / (no + 2.0));
    let (mut a, mut b) = (0.0, ((no + 1.0) / (yes + 1.0)).ln());
    let loss = |a: f64, b: f64| -> f64 {
        let each = values.iter().zip(positive).zip(weights).map(|((&f, p), c)| {
            let (t, z) = (if *p { high } else { low }, a * f + b);
            c * (t * z + if z >= 0.0 { (-z).exp().ln_1p() } else { z.exp().ln_1p() - z })
        });
        each.sum()
    };
    let mut best = loss(a, b);
    for _ in 0..STEPS {
        let (mut h, mut g) = ([1e-12, 0.0, 1e-12], [0.0, 0.0]);
        for ((&f, p), c) in values.iter().zip(positive).zip(weights) {
            let t = if *p { high } else { low };
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

/// Step 3: the sharpness t of `P(c | f) ∝ exp(t f_c)`, rows of so many columns.
pub(super) fn temperature(values: &[f64], columns: usize, classes: &[u32], weights: &[f64]) -> f64 {
    let slopes = |t: f64| -> (f64, f64, f64) {
        let (mut gain, mut slope, mut curve) = (0.0, 0.0, 0.0);
        for ((row, &class), c) in values.chunks_exact(columns).zip(classes).zip(weights) {
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (mut whole, mut mean, mut square) = (0.0, 0.0, 0.0);
            for &f in row {
                let e = (t * (f - most)).exp();
                (whole, mean, square) = (whole + e, mean + f * e, square + f * f * e);
            }
            (mean, square) = (mean / whole, square / whole);
            let own = row[class as usize];
            gain += c * (t * (own - most) - whole.ln());
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
