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
use crate::parallel;
use crate::watch::Look;

/// Rows of outputs whose curves are fitted between two questions of `look`.
const ROWS_TOGETHER: usize = 1 << 20;

/// The curves of all outputs, which are independent of each other: some at a time, in parallel
/// inside the current pool. `look` is asked in between, and before each step on many rows.
pub(super) fn curves(
    method: CalibrationMethod,
    (values, outputs): (&[f64], Outputs),
    classes: &[u32],
    weights: &[f64],
    look: Look<'_>,
) -> Result<Curves> {
    let Outputs { n_classes: k, pairs } = outputs;
    let m = outputs.count();
    let pairs = pairs && k > 2;
    let members = Members::new(classes, k, weights, pairs);
    let part = |c: usize| members.part((values, m), c);
    Ok(match method {
        // Whoever chooses does so before; two numbers do for any rows.
        CalibrationMethod::Auto | CalibrationMethod::Sigmoid => {
            let of = |c: usize, look: Look<'_>| {
                let (mut values, positive, weights) = part(c);
                let size = values.iter().fold(f64::MIN_POSITIVE, |a, v| a.max(v.abs()));
                values.iter_mut().for_each(|v| *v /= size);
                let [a, b] = sigmoid(&values, &positive, &weights, look)?;
                // What rises where decisions rise: a machine of pure chance may say otherwise.
                Ok([(a / size).min(0.0), b])
            };
            Curves::Sigmoid(of_each((m, classes.len()), look, &of)?)
        }
        CalibrationMethod::Isotonic => {
            let of = |c: usize, look: Look<'_>| {
                let (values, positive, weights) = part(c);
                look()?;
                Ok(isotonic(&values, &positive, &weights))
            };
            Curves::Isotonic(of_each((m, classes.len()), look, &of)?)
        }
        CalibrationMethod::Temperature if k > 2 && !pairs => {
            Curves::Temperature(sharpness(values, m, classes, weights, look)?, m)
        }
        // One output, or one a pair: the softmax of 0 and the value.
        CalibrationMethod::Temperature => {
            let (mut both, mut side, mut each) = (Vec::new(), Vec::new(), Vec::new());
            for c in 0..m {
                let (values, positive, weights) = part(c);
                both.extend(values.iter().flat_map(|&f| [0.0, f]));
                side.extend(positive.iter().map(|&p| u32::from(p)));
                each.extend(weights);
                look()?;
            }
            Curves::Temperature(sharpness(&both, 2, &side, &each, look)?, m)
        }
    })
}

/// What is fitted to the rows of an output.
type OfOutput<'o, T> = dyn Fn(usize, Look<'_>) -> Result<T> + Sync + 'o;

/// `of` every output: of one alone with all looks, else of some outputs side by side.
fn of_each<T: Send>(
    (outputs, rows): (usize, usize),
    look: Look<'_>,
    of: &OfOutput<'_, T>,
) -> Result<Vec<T>> {
    let together = (ROWS_TOGETHER / rows.max(1)).max(1);
    let mut found = Vec::with_capacity(outputs);
    for first in (0..outputs).step_by(together) {
        let count = together.min(outputs - first);
        if count == 1 {
            found.push(of(first, &mut *look)?);
        } else {
            for one in parallel::map(count, &|at| of(first + at, &mut || Ok(()))) {
                found.push(one?);
            }
        }
        look()?;
    }
    Ok(found)
}

/// The rows that have a weight.
struct Members<'a> {
    classes: &'a [u32],
    weights: &'a [f64],
    n_classes: usize,
    /// Those of every class where outputs are of pairs, else all in one list.
    rows: Vec<Vec<usize>>,
    /// The pairs that outputs are of; empty where there is one output a class.
    pairs: Vec<(u32, u32)>,
}

/// Values, whether they are to be positive, and weights of the rows that an output is about.
type Part = (Vec<f64>, Vec<bool>, Vec<f64>);

impl<'a> Members<'a> {
    fn new(classes: &'a [u32], n_classes: usize, weights: &'a [f64], of_pairs: bool) -> Self {
        let k = n_classes as u32;
        let mut rows = vec![Vec::new(); if of_pairs { n_classes } else { 1 }];
        for (i, &class) in classes.iter().enumerate().filter(|(i, _)| weights[*i] > 0.0) {
            rows[if of_pairs { class as usize } else { 0 }].push(i);
        }
        let pairs = (0..k).flat_map(|i| (i + 1..k).map(move |j| (i, j)));
        let pairs = if of_pairs { pairs.collect() } else { Vec::new() };
        Self { classes, weights, n_classes, rows, pairs }
    }

    /// The part of output `c` of `m`, in the order of the rows.
    fn part(&self, (values, m): (&[f64], usize), c: usize) -> Part {
        let joined: Vec<usize>;
        let (wanted, rows) = match self.pairs.get(c) {
            Some(&(i, j)) => {
                let mut both = [&*self.rows[i as usize], &*self.rows[j as usize]].concat();
                both.sort_unstable();
                joined = both;
                (i, &joined)
            }
            None => (if self.n_classes == 2 { 1 } else { c as u32 }, &self.rows[0]),
        };
        (
            rows.iter().map(|&i| values[i * m + c]).collect(),
            rows.iter().map(|&i| self.classes[i] == wanted).collect(),
            rows.iter().map(|&i| self.weights[i]).collect(),
        )
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
