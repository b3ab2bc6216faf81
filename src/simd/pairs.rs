//! The scans of sequential minimal optimisation, compiled for every level: plain loops over fixed
//! parts, which the compiler turns into the level's vector code. Nothing is contracted, so every
//! level gives the same bits.

use super::dispatch::{Compiled, Work};
use super::lanes::Lanes;

/// The least curvature that a pair is taken to have: directions of a kernel that is not positive
/// definite, or of equal rows.
pub(crate) const LEAST_CURVATURE: f64 = 1e-12;

const PART: usize = 16;

/// `scores -= step (a - b)`, and the extremes after it.
pub(super) struct Move<'a, F> {
    pub(super) scores: &'a mut [f64],
    pub(super) up: &'a [f64],
    pub(super) down: &'a [f64],
    pub(super) rows: (&'a [F], &'a [F]),
    pub(super) step: f64,
}

impl<F: Compiled> Work<F> for Move<'_, F> {
    type Output = (f64, f64);
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) -> (f64, f64) {
        let Self { scores, up, down, rows, step } = self;
        let n = scores.len();
        let (up, down, a, b) = (&up[..n], &down[..n], &rows.0[..n], &rows.1[..n]);
        let mut most = [f64::NEG_INFINITY; PART];
        let mut least = [f64::INFINITY; PART];
        let whole = n - n % PART;
        for at in (0..whole).step_by(PART) {
            for l in 0..PART {
                let t = at + l;
                let score = scores[t] - step * (a[t].to_f64() - b[t].to_f64());
                scores[t] = score;
                let (high, low) = (score + up[t], score + down[t]);
                most[l] = if high > most[l] { high } else { most[l] };
                least[l] = if low < least[l] { low } else { least[l] };
            }
        }
        for t in whole..n {
            scores[t] -= step * (a[t].to_f64() - b[t].to_f64());
            most[0] = most[0].max(scores[t] + up[t]);
            least[0] = least[0].min(scores[t] + down[t]);
        }
        let most = most.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
        (most, least.iter().fold(f64::INFINITY, |m, &v| m.min(v)))
    }
}

/// The gains `(score_i - score_t)² / curvature` of all partners.
pub(super) struct Gains<'a, F> {
    pub(super) scores: &'a [f64],
    pub(super) down: &'a [f64],
    pub(super) diagonal: &'a [f64],
    pub(super) row: &'a [F],
    pub(super) own: (f64, f64),
    pub(super) out: &'a mut [f64],
}

impl<F: Compiled> Work<F> for Gains<'_, F> {
    type Output = f64;
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) -> f64 {
        let Self { scores, down, diagonal, row, own: (score, own), out } = self;
        let n = scores.len();
        let (down, diagonal, row, out) = (&down[..n], &diagonal[..n], &row[..n], &mut out[..n]);
        let gain = |t: usize| {
            let curvature = own + diagonal[t] - 2.0 * row[t].to_f64();
            let curvature = if curvature > LEAST_CURVATURE { curvature } else { LEAST_CURVATURE };
            let gap = score - (scores[t] + down[t]);
            let gap = if gap > 0.0 { gap } else { 0.0 };
            gap * gap / curvature
        };
        let mut most = [0.0f64; PART];
        let whole = n - n % PART;
        for at in (0..whole).step_by(PART) {
            for l in 0..PART {
                let value = gain(at + l);
                out[at + l] = value;
                most[l] = if value > most[l] { value } else { most[l] };
            }
        }
        for (t, out) in out.iter_mut().enumerate().skip(whole) {
            *out = gain(t);
            most[0] = most[0].max(*out);
        }
        most.iter().fold(0.0, |m, &v| m.max(v))
    }
}

/// The first `t` with `values_t + marks_t == wanted`.
pub(super) struct Find<'a> {
    pub(super) values: &'a [f64],
    pub(super) marks: &'a [f64],
    pub(super) wanted: f64,
}

impl Work<f64> for Find<'_> {
    type Output = Option<usize>;
    #[inline(always)]
    unsafe fn run<L: Lanes<f64>>(self) -> Option<usize> {
        let Self { values, marks, wanted } = self;
        let n = values.len();
        let marks = &marks[..n];
        let mut at = 0;
        while at + PART <= n {
            let (part, marks) = (&values[at..at + PART], &marks[at..at + PART]);
            let mut found = false;
            for l in 0..PART {
                found |= part[l] + marks[l] == wanted;
            }
            if found {
                break;
            }
            at += PART;
        }
        (at..n).find(|&t| values[t] + marks[t] == wanted)
    }
}

/// `sums += Σ_j coef_j row_j`, four rows at a time.
pub(super) struct AddRows<'a, F> {
    pub(super) rows: &'a [(&'a [F], f64)],
    pub(super) sums: &'a mut [f64],
}

impl<F: Compiled> Work<F> for AddRows<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        let Self { rows, sums } = self;
        let n = sums.len();
        let mut fours = rows.chunks_exact(4);
        for four in &mut fours {
            let (a, b) = (&four[0].0[..n], &four[1].0[..n]);
            let (c, d) = (&four[2].0[..n], &four[3].0[..n]);
            let [p, q, r, s] = [four[0].1, four[1].1, four[2].1, four[3].1];
            for t in 0..n {
                let first = p * a[t].to_f64() + q * b[t].to_f64();
                sums[t] += first + (r * c[t].to_f64() + s * d[t].to_f64());
            }
        }
        for (row, coef) in fours.remainder() {
            let row = &row[..n];
            for t in 0..n {
                sums[t] += coef * row[t].to_f64();
            }
        }
    }
}

/// What a step of one variable alone gains, for all of them, after `scores -= step row`.
pub(super) struct Descents<'a> {
    pub(super) scores: &'a mut [f64],
    pub(super) row: &'a [f64],
    pub(super) step: f64,
    pub(super) beta: &'a [f64],
    pub(super) bounds: (&'a [f64], &'a [f64]),
    pub(super) curvature: &'a [f64],
    pub(super) out: &'a mut [f64],
}

impl Work<f64> for Descents<'_> {
    type Output = (f64, f64);
    #[inline(always)]
    unsafe fn run<L: Lanes<f64>>(self) -> (f64, f64) {
        let Self { scores, row, step, beta, bounds: (lower, upper), curvature, out } = self;
        let n = scores.len();
        let (row, beta, lower, upper) = (&row[..n], &beta[..n], &lower[..n], &upper[..n]);
        let (curvature, out) = (&curvature[..n], &mut out[..n]);
        let one = |t: usize, score: f64| {
            let (least, most) = (lower[t] - beta[t], upper[t] - beta[t]);
            let free = score / curvature[t];
            let by = if free > most { most } else { free };
            let by = if by < least { least } else { by };
            let gain = by * (score - 0.5 * curvature[t] * by);
            // A score that the box holds back is no violation.
            let held = if score > 0.0 { most <= 0.0 } else { least >= 0.0 };
            (gain, if held { 0.0 } else { score.abs() })
        };
        let (mut most, mut worst) = ([0.0f64; PART], [0.0f64; PART]);
        let whole = n - n % PART;
        for at in (0..whole).step_by(PART) {
            for l in 0..PART {
                let t = at + l;
                let score = scores[t] - step * row[t];
                scores[t] = score;
                let (gain, violation) = one(t, score);
                out[t] = gain;
                most[l] = if gain > most[l] { gain } else { most[l] };
                worst[l] = if violation > worst[l] { violation } else { worst[l] };
            }
        }
        for t in whole..n {
            scores[t] -= step * row[t];
            let (gain, violation) = one(t, scores[t]);
            out[t] = gain;
            most[0] = most[0].max(gain);
            worst[0] = worst[0].max(violation);
        }
        let largest = |parts: [f64; PART]| parts.iter().fold(0.0, |m: f64, &v| m.max(v));
        (largest(most), largest(worst))
    }
}
