//! Losses of several samples at a time: the same bits as one by one, computed by vectors.

use super::curve::Curve;
use super::pieces::{Corner, Pieces};
use super::smooth::Smoothed;
use crate::simd;

/// `work` with a smoothed loss, compiled for each loss, so that none is asked which it is at every sample.
macro_rules! by_loss {
    ($smoothed:expr, $own:ident => $work:expr) => {{
        use $crate::loss::{AnyLoss, Smoothed};
        let Smoothed { loss, h } = $smoothed;
        macro_rules! of {
            ($loss:expr) => {{
                let $own = Smoothed { loss: $loss, h };
                $work
            }};
        }
        match loss {
            AnyLoss::Hinge => of!(AnyLoss::Hinge),
            AnyLoss::SquaredHinge => of!(AnyLoss::SquaredHinge),
            AnyLoss::LogLoss => of!(AnyLoss::LogLoss),
            AnyLoss::EpsilonInsensitive { epsilon } => of!(AnyLoss::EpsilonInsensitive { epsilon }),
            AnyLoss::SquaredEpsilonInsensitive { epsilon } => {
                of!(AnyLoss::SquaredEpsilonInsensitive { epsilon })
            }
            AnyLoss::Quantile { quantile } => of!(AnyLoss::Quantile { quantile }),
        }
    }};
}
pub(crate) use by_loss;

/// Losses and derivatives of N samples.
pub(crate) struct Curves<const N: usize> {
    pub(crate) value: [f64; N],
    pub(crate) slope: [f64; N],
    pub(crate) curvature: [f64; N],
}

impl<const N: usize> Curves<N> {
    fn nothing() -> Self {
        Self { value: [0.0; N], slope: [0.0; N], curvature: [0.0; N] }
    }

    #[inline(always)]
    pub(crate) fn at(&self, i: usize) -> Curve {
        Curve { value: self.value[i], slope: self.slope[i], curvature: self.curvature[i] }
    }

    #[inline(always)]
    fn put(&mut self, i: usize, c: Curve) {
        (self.value[i], self.slope[i], self.curvature[i]) = (c.value, c.slope, c.curvature);
    }

    /// Of `max(0, t)` rounded by h.
    fn rounded(t: &[f64; N], h: f64) -> Self {
        let mut out = Self::nothing();
        simd::rounded(t, h, (&mut out.value, &mut out.slope, &mut out.curvature));
        out
    }
}

impl Smoothed {
    /// [`Smoothed::at`] of several samples.
    #[inline(always)]
    pub(crate) fn curves<const N: usize>(&self, y: &[f64; N], f: &[f64; N]) -> Curves<N> {
        let mut out = Curves::nothing();
        let corners = |i: usize| -> Option<(Corner, Option<Corner>)> {
            match self.loss.pieces(y[i]) {
                Pieces::Linear(corners) => Some(corners),
                Pieces::Squared(_) | Pieces::Parabola { .. } | Pieces::Smooth(_) => None,
            }
        };
        if !self.uses_h() {
            for i in 0..N {
                out.put(i, self.at(y[i], f[i]));
            }
            return out;
        }
        let (mut first, mut second, mut two) = ([0.0; N], [0.0; N], false);
        for i in 0..N {
            let Some((a, b)) = corners(i) else { continue };
            first[i] = a.t(f[i]);
            if let Some(b) = b {
                (second[i], two) = (b.t(f[i]), true);
            }
        }
        let first = Curves::rounded(&first, self.h);
        let second = if two { Curves::rounded(&second, self.h) } else { Curves::nothing() };
        for i in 0..N {
            let Some((a, b)) = corners(i) else { continue };
            let own = a.weigh(first.at(i));
            out.put(i, b.map_or(own, |b| own.plus(b.weigh(second.at(i)))));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::AnyLoss;
    use crate::rng::Rng;

    #[test]
    fn several_at_a_time_are_what_each_is() {
        let mut rng = Rng::new(5);
        for loss in [
            AnyLoss::Hinge,
            AnyLoss::SquaredHinge,
            AnyLoss::LogLoss,
            AnyLoss::EpsilonInsensitive { epsilon: 0.1 },
            AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.1 },
            AnyLoss::Quantile { quantile: 0.2 },
        ] {
            for h in [0.0, 0.05, 1.0] {
                let smoothed = Smoothed { loss, h };
                let mut y = [1.0; 37];
                y.iter_mut().for_each(|y| *y = if rng.uniform() < 0.5 { -1.0 } else { 1.0 });
                // Corners and ends of zones among them.
                let mut f = y;
                f.iter_mut().skip(3).for_each(|f| *f = 3.0 * rng.uniform() - 1.5);
                f.iter_mut().take(3).for_each(|f| *f -= h);
                let found = smoothed.curves(&y, &f);
                for i in 0..37 {
                    let (a, b) = (found.at(i), smoothed.at(y[i], f[i]));
                    let bits = |c: Curve| [c.value, c.slope, c.curvature].map(f64::to_bits);
                    assert_eq!(bits(a), bits(b), "{loss:?} {h}");
                }
            }
        }
    }
}
