//! The rounded `max(0, t)`, and numbers in double precision, compiled for every level: plain loops,
//! which the compiler turns into the level's vector code. Nothing is contracted, so every level gives
//! the same bits.

use crate::float::Real;

#[inline(always)]
pub(super) fn rounded(
    t: &[f64],
    h: f64,
    (value, slope, curvature): (&mut [f64], &mut [f64], &mut [f64]),
) {
    let n = t.len();
    let (value, slope, curvature) = (&mut value[..n], &mut slope[..n], &mut curvature[..n]);
    let (quarter, half, bend) = (4.0 * h, 2.0 * h, 0.5 / h);
    for i in 0..n {
        let s = t[i] + h;
        let (flat, steep) = (t[i] <= -h, t[i] >= h);
        // Divisions before the choice: they are made whatever comes of it.
        let (square, share) = (s * s / quarter, s / half);
        let pick = |curved: f64, beyond: f64| {
            let above = if steep { beyond } else { curved };
            if flat { 0.0 } else { above }
        };
        value[i] = pick(square, t[i]);
        slope[i] = pick(share, 1.0);
        curvature[i] = pick(bend, 0.0);
    }
}

#[inline(always)]
pub(super) fn widen<F: Real>(from: &[F], to: &mut [f64]) {
    let n = from.len();
    let to = &mut to[..n];
    for i in 0..n {
        to[i] = from[i].to_f64();
    }
}

/// A loss of values: `edge` off the target it costs `below` and `above`, its corners rounded by h > 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tube {
    pub(crate) edge: f64,
    pub(crate) below: f64,
    pub(crate) above: f64,
    pub(crate) h: f64,
}

/// Samples whose losses are computed side by side, and sums side by side.
const BLOCK: usize = 64;
const SUMS: usize = 8;
type Block = [f64; BLOCK];

#[inline(always)]
pub(super) fn tube_sums(
    tube: &Tube,
    (f, s, t): (&[f64], &[f64], f64),
    y: &[f64],
    cost: &[f64],
) -> [f64; 4] {
    let mut sums = [[0.0; SUMS]; 4];
    let all = [f, s, y, cost].map(|values| values.as_chunks::<BLOCK>());
    for at in 0..all[0].0.len() {
        tube_block(tube, all.map(|(blocks, _)| &blocks[at]), t, &mut sums);
    }
    // Nothing counts samples of no cost.
    let rest = all.map(|(_, rest)| {
        let mut block = [0.0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        block
    });
    tube_block(tube, rest.each_ref(), t, &mut sums);
    sums.map(|sum| sum.iter().sum())
}

#[inline(always)]
fn tube_block(tube: &Tube, [f, s, y, cost]: [&Block; 4], t: f64, sums: &mut [[f64; SUMS]; 4]) {
    let Tube { edge, below, above, h } = *tube;
    let (width, quarter, half, bend) = (2.0 * h, 0.25 / h, 0.5 / h, 0.5 / h);
    let mut terms = [[0.0; BLOCK]; 4];
    let [values, slopes, curvatures, bends] = &mut terms;
    // Value, slope and whether it bends, of a corner at x = 0.
    let corner = |x: f64| {
        let from = x + h;
        let from = if from > 0.0 { from } else { 0.0 };
        let inside = if from < width { from } else { width };
        let bent = if x > -h && x < h { bend } else { 0.0 };
        (quarter * inside * inside + (from - inside), half * inside, bent)
    };
    for i in 0..BLOCK {
        let r = f[i] + t * s[i] - y[i];
        let (up, down) = (corner(r - edge), corner(-r - edge));
        let value = above * up.0 + below * down.0;
        let slope = above * up.1 - below * down.1;
        let bent = above * up.2 + below * down.2;
        // A sample of cost 0 is no sample, even if its margin is not finite.
        let of = |term: f64| if cost[i] > 0.0 { cost[i] * term } else { 0.0 };
        values[i] = of(value);
        slopes[i] = of(slope * s[i]);
        curvatures[i] = of(bent * s[i] * s[i]);
        bends[i] = of(bent);
    }
    for (sum, terms) in sums.iter_mut().zip(&terms) {
        for eight in terms.as_chunks::<SUMS>().0 {
            for lane in 0..SUMS {
                sum[lane] += eight[lane];
            }
        }
    }
}
