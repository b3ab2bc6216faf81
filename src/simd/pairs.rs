//! The scans of sequential minimal optimisation, compiled for every level: plain loops over fixed
//! parts, which the compiler turns into the level's vector code. Nothing is contracted, so every
//! level gives the same bits.

use crate::float::Real;

/// The least curvature that a pair is taken to have: directions of a kernel that is not positive
/// definite, or of equal rows.
pub(crate) const LEAST_CURVATURE: f64 = 1e-12;

const PART: usize = 16;

/// Reduces the lanes pairwise, in four rounds. A chain of one lane after another would take sixteen
/// dependent steps, which is most of the time of a short scan. `choose` ignores a NaN on its right.
#[inline(always)]
fn reduce_lanes(mut values: [f64; PART], choose: impl Fn(f64, f64) -> f64) -> f64 {
    let mut width = PART / 2;
    while width > 0 {
        for l in 0..width {
            values[l] = choose(values[l], values[l + width]);
        }
        width /= 2;
    }
    values[0]
}

#[inline(always)]
fn larger(most: f64, value: f64) -> f64 {
    if value > most { value } else { most }
}

#[inline(always)]
fn lesser(least: f64, value: f64) -> f64 {
    if value < least { value } else { least }
}

#[inline(always)]
pub(super) fn move_scores<F: Real>(
    scores: &mut [f64],
    (up, down): (&[f64], &[f64]),
    (a, b): (&[F], &[F]),
    step: f64,
) -> (f64, f64) {
    let n = scores.len();
    let (up, down, a, b) = (&up[..n], &down[..n], &a[..n], &b[..n]);
    let mut most = [f64::NEG_INFINITY; PART];
    let mut least = [f64::INFINITY; PART];
    let whole = n - n % PART;
    for at in (0..whole).step_by(PART) {
        for l in 0..PART {
            let t = at + l;
            let score = scores[t] - step * (a[t].to_f64() - b[t].to_f64());
            scores[t] = score;
            most[l] = larger(most[l], score + up[t]);
            least[l] = lesser(least[l], score + down[t]);
        }
    }
    for (l, t) in (whole..n).enumerate() {
        scores[t] -= step * (a[t].to_f64() - b[t].to_f64());
        most[l] = larger(most[l], scores[t] + up[t]);
        least[l] = lesser(least[l], scores[t] + down[t]);
    }
    (reduce_lanes(most, larger), reduce_lanes(least, lesser))
}

#[inline(always)]
pub(super) fn pair_gains<F: Real>(
    scores: &[f64],
    down: &[f64],
    (diagonal, row): (&[f64], &[F]),
    (score, own): (f64, f64),
    out: &mut [f64],
) -> f64 {
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
            most[l] = larger(most[l], value);
        }
    }
    for (l, t) in (whole..n).enumerate() {
        out[t] = gain(t);
        most[l] = larger(most[l], out[t]);
    }
    reduce_lanes(most, larger)
}

#[inline(always)]
pub(super) fn find_sum(values: &[f64], marks: &[f64], wanted: f64) -> Option<usize> {
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

#[inline(always)]
pub(super) fn descents(
    scores: &mut [f64],
    (row, step): (&[f64], f64),
    beta: &[f64],
    (lower, upper): (&[f64], &[f64]),
    curvature: &[f64],
    out: &mut [f64],
) -> (f64, f64) {
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
            most[l] = larger(most[l], gain);
            worst[l] = larger(worst[l], violation);
        }
    }
    for (l, t) in (whole..n).enumerate() {
        scores[t] -= step * row[t];
        let (gain, violation) = one(t, scores[t]);
        out[t] = gain;
        most[l] = larger(most[l], gain);
        worst[l] = larger(worst[l], violation);
    }
    (reduce_lanes(most, larger), reduce_lanes(worst, larger))
}
