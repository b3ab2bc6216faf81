//! What the block kernel is asked: points, centres, how they are compared and where the values go.

use super::lanes::width;
use super::packed::Packed;
use super::tile::Tile;
use crate::float::Real;

#[cfg(doc)]
use super::lanes::PART;

/// How a point and a centre are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// `x·s`.
    Dot,
    /// `γ max(0, ‖x‖² + ‖s‖² - 2 x·s)`: fastest, exact at x = s, loses digits where the norms are
    /// large against the distance.
    SquaredByNorms,
    /// The same, the products and the norms summed in parts of [`PART`] features, which are added then:
    /// of long rows a digit is kept that one long sum loses.
    SquaredInParts,
    /// `γ Σ (x_k - s_k)²`: loses nothing.
    Squared,
    /// `γ Σ |x_k - s_k|`.
    Absolute,
}

/// What becomes of a distance t (γ included) on the way to the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Map {
    /// Nothing; the only one for [`Metric::Dot`].
    Identity,
    /// `exp(-t)`.
    Exponential,
    /// `(1 + u + quadratic u²) exp(-u)`, `u = √t`.
    Matern {
        /// The coefficient of u².
        quadratic: f64,
    },
}

/// Where the values of a block go: row `i` (counted from the first point of the job) begins at
/// `i * stride` and is padded to whole lines.
#[derive(Debug)]
pub struct Values<'a, F> {
    /// The rows.
    pub out: &'a mut [F],
    /// Distance between rows, at least the padded number of centres.
    pub stride: usize,
    /// Store what the job's map makes of a distance, not the distance.
    pub mapped: bool,
}

/// Weighted sums over the centres, in `f64`.
#[derive(Debug)]
pub struct Sums<'a> {
    /// One coefficient a slot, padded with 0 to whole lines.
    pub coef: &'a [f64],
    /// One sum a point of the job: `Σ coef map(value)`.
    pub out: &'a mut [f64],
}

/// Points `first..last` of a tile against all centres.
#[derive(Debug)]
pub struct Job<'a, F: Real> {
    /// The points.
    pub tile: &'a Tile<F>,
    /// First point.
    pub first: usize,
    /// One past the last point.
    pub last: usize,
    /// The centres.
    pub centers: &'a Packed<F>,
    /// The slots `first..last` that are compared, in whole lines: `(0, padded_len)` is all of them.
    pub slots: (usize, usize),
    /// How they are compared.
    pub metric: Metric,
    /// Factor of the distances.
    pub gamma: F,
    /// What becomes of them.
    pub map: Map,
    /// Where single values go, if anywhere.
    pub values: Option<Values<'a, F>>,
    /// Where sums go, if anywhere.
    pub sums: Option<Sums<'a>>,
}

impl<F: Real> Job<'_, F> {
    /// Panics unless every pointer that the body forms is in range.
    pub(super) fn check(&self) {
        let (from, to) = self.slots;
        let whole = from.is_multiple_of(width::<F>()) && to.is_multiple_of(width::<F>());
        assert!(whole && from <= to && to <= self.centers.padded_len(), "slots in whole lines");
        let lines = to - from;
        assert!(self.first <= self.last && self.last <= self.tile.len(), "points in the tile");
        assert!(self.tile.n_features() == self.centers.n_features(), "equal numbers of features");
        assert!(self.metric != Metric::Dot || self.map == Map::Identity, "products as they are");
        let n = self.last - self.first;
        if let Some(values) = &self.values {
            assert!(values.stride >= lines, "a stride of whole lines");
            assert!(n == 0 || values.out.len() >= (n - 1) * values.stride + lines, "room");
        }
        if let Some(sums) = &self.sums {
            assert!(sums.coef.len() >= to && sums.out.len() >= n, "padded coefficients");
        }
    }
}

pub(super) const DOT: u8 = 0;
pub(super) const BY_NORMS: u8 = 1;
pub(super) const SQUARED: u8 = 2;
pub(super) const ABSOLUTE: u8 = 3;
pub(super) const IN_PARTS: u8 = 4;

/// Lines that one point is compared with at once, to hide the latency of FMA.
pub(super) const LINES: usize = 4;

/// The lines of the job, from and to.
#[inline(always)]
pub(super) fn lines_of<F: Real>(job: &Job<'_, F>) -> (usize, usize) {
    (job.slots.0 / width::<F>(), job.slots.1 / width::<F>())
}
