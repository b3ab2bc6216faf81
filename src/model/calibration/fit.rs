//! Curves fitted to decision values of rows that a machine was not trained on.
//!
//! 1. *Sigmoid*: the cross entropy of Platt's targets ([`sigmoid`]).
//! 2. *Isotonic*: least squares by pooling neighbours that fall; shares stay 1/(n + 2) away from 0
//!    and 1, n the weight of all rows, so that no row is impossible.
//! 3. *Temperature*: the likelihood ([`sharpness`]).
//!
//! A weight counts as so many rows.
//!
//! References: \[PLATT\] with \[LLW\]'s Newton steps; \[ZADROZNY\]; \[GUO\].

use super::curves::{CalibrationMethod, Curves, Outputs, Steps};
use super::likelihood::{sharpness, sigmoid};
use crate::error::Result;

/// The curves of all outputs.
pub(super) fn curves(
    method: CalibrationMethod,
    outputs: Outputs,
    values: &[f64],
    classes: &[u32],
    weights: &[f64],
) -> Result<Curves> {
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
    Ok(match method {
        // Whoever chooses does so before; two numbers do for any rows.
        CalibrationMethod::Auto | CalibrationMethod::Sigmoid => Curves::Sigmoid(
            (0..m)
                .map(|c| {
                    let (mut values, positive, weights) = part(c);
                    let size = values.iter().fold(f64::MIN_POSITIVE, |a, v| a.max(v.abs()));
                    values.iter_mut().for_each(|v| *v /= size);
                    let [a, b] = sigmoid(&values, &positive, &weights, || Ok(()))?;
                    // What rises where decisions rise: a machine of pure chance may say otherwise.
                    Ok([(a / size).min(0.0), b])
                })
                .collect::<Result<_>>()?,
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
            Curves::Temperature(sharpness(values, m, classes, weights), m)
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
            Curves::Temperature(sharpness(&both, 2, &side, &each), m)
        }
    })
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
