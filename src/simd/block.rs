//! The block kernel: points times packed centres, the map to distances and the exponential
//! fused in. Written once over [`Lanes`].

use super::lanes::{ExpConstants, Lanes, exp2, width};
use super::packed::{Packed, Tile};
use crate::float::Real;

/// How a point and a centre are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// `x·s`.
    Dot,
    /// `γ max(0, ‖x‖² + ‖s‖² - 2 x·s)`: fastest, exact at x = s, loses digits where the norms are
    /// large against the distance.
    SquaredByNorms,
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
    fn check(&self) {
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

const DOT: u8 = 0;
const BY_NORMS: u8 = 1;
const SQUARED: u8 = 2;
const ABSOLUTE: u8 = 3;

/// Lines that one point is compared with at once, to hide the latency of FMA.
const LINES: usize = 4;

/// Sparse points that share the lines read.
const SPARSE_POINTS: usize = 16;

/// Values of sparse rows that are written out at once.
const WRITTEN: usize = 1 << 16;

/// Groups of dense points that share them: where features are many the lines of all centres come from
/// afar.
const GROUPS: usize = 16;

#[inline(always)]
pub(super) unsafe fn run_block<F: ExpConstants, L: Lanes<F>>(job: &mut Job<'_, F>) {
    job.check();
    // SAFETY: the job was just checked; the caller enables the features of `L`.
    unsafe {
        match job.metric {
            Metric::Dot => by_metric::<F, L, DOT>(job),
            Metric::SquaredByNorms => by_metric::<F, L, BY_NORMS>(job),
            Metric::Squared => by_metric::<F, L, SQUARED>(job),
            Metric::Absolute => by_metric::<F, L, ABSOLUTE>(job),
        }
    }
}

#[inline(always)]
unsafe fn by_metric<F: ExpConstants, L: Lanes<F>, const M: u8>(job: &mut Job<'_, F>) {
    let d = job.tile.n_features();
    // SAFETY: rows of a dense tile are `d` values each; `check` has compared all other lengths.
    unsafe {
        if job.tile.dense {
            let tile = job.tile;
            let rows = tile.values.as_ptr().add(job.first * d);
            dense_points::<F, L, M>(job, (job.first, job.last), rows);
        } else if M == DOT || M == BY_NORMS {
            let mut i = job.first;
            while i < job.last {
                let len = SPARSE_POINTS.min(job.last - i);
                sparse_points::<F, L, M>(job, i, len);
                i += len;
            }
        } else {
            // Nothing is read of a row that meets no centre, however many features it has.
            let none = job.centers.is_empty();
            let at_once = (WRITTEN / d.max(1)).clamp(1, (job.last - job.first).max(1));
            let mut rows = vec![F::zero(); if none { 0 } else { at_once * d }];
            let mut first = job.first;
            while first < job.last {
                let last = (first + at_once).min(job.last);
                for (i, row) in (first..last).zip(rows.chunks_exact_mut(d.max(1))) {
                    job.tile.copy_row(i, row);
                }
                dense_points::<F, L, M>(job, (first, last), rows.as_ptr());
                first = last;
            }
        }
    }
}

/// The points `first..last`, their rows written out one after another, against all centres.
#[inline(always)]
unsafe fn dense_points<F: ExpConstants, L: Lanes<F>, const M: u8>(
    job: &mut Job<'_, F>,
    (first, last): (usize, usize),
    rows: *const F,
) {
    let d = job.tile.n_features();
    let mut i = first;
    // SAFETY: as for the caller.
    unsafe {
        macro_rules! groups {
            ($points:expr, $lines:expr, $most:expr) => {
                while last - i >= $points {
                    let groups = ((last - i) / $points).min($most);
                    // Of points that meet no centre there may be no rows.
                    let rows = rows.wrapping_add((i - first) * d);
                    dense_groups::<F, L, M, $points, $lines, $most>(job, (i, groups), rows);
                    i += groups * $points;
                }
            };
        }
        // Points x lines of sums fill the registers (constants of a trait cannot be const
        // arguments, so the shapes are matched here).
        if L::CHAINS >= 16 {
            groups!(4, 4, GROUPS);
        } else if L::CHAINS >= 6 {
            groups!(6, 1, GROUPS);
        } else {
            groups!(4, 1, GROUPS);
        }
        groups!(1, LINES, 1);
    }
}

/// The lines of the job, from and to.
#[inline(always)]
fn lines_of<F: Real>(job: &Job<'_, F>) -> (usize, usize) {
    (job.slots.0 / width::<F>(), job.slots.1 / width::<F>())
}

/// `groups` times `P` dense points from point `first` on, `G` groups at most, against all centres:
/// `N` lines at a time serve all of them before the next are read.
#[inline(always)]
unsafe fn dense_groups<
    F: ExpConstants,
    L: Lanes<F>,
    const M: u8,
    const P: usize,
    const N: usize,
    const G: usize,
>(
    job: &mut Job<'_, F>,
    (first, groups): (usize, usize),
    rows: *const F,
) {
    let d = job.tile.n_features();
    let (mut line, lines) = lines_of(job);
    // SAFETY: as for the caller.
    unsafe {
        let mut wide = [[L::wide_zero(); P]; G];
        macro_rules! each_group {
            ($lines:expr) => {
                for (group, wide) in wide.iter_mut().enumerate().take(groups) {
                    let (first, rows) = (first + group * P, rows.wrapping_add(group * P * d));
                    dense_lines::<F, L, M, P, $lines>(job, first, rows, line, wide);
                }
                line += $lines;
            };
        }
        while line + N <= lines {
            each_group!(N);
        }
        if N > 2 && line + 2 <= lines {
            each_group!(2);
        }
        while line < lines {
            each_group!(1);
        }
        for (group, wide) in wide.iter().enumerate().take(groups) {
            finish::<F, L, P>(job, first + group * P, wide);
        }
    }
}

#[inline(always)]
unsafe fn dense_lines<F: ExpConstants, L: Lanes<F>, const M: u8, const P: usize, const N: usize>(
    job: &mut Job<'_, F>,
    first: usize,
    rows: *const F,
    line: usize,
    wide: &mut [L::Wide; P],
) {
    let d = job.tile.n_features();
    let w = width::<F>();
    // SAFETY: block `line` of the packed centres is `d` lines; row `p` is `d` values.
    unsafe {
        let centers = job.centers.values().as_ptr().add(line * d * w);
        let mut acc = [[L::splat(F::zero()); N]; P];
        for k in 0..d {
            let mut s = [L::splat(F::zero()); N];
            for (l, s) in s.iter_mut().enumerate() {
                *s = L::load(centers.add((l * d + k) * w));
            }
            for p in 0..P {
                let x = L::splat(*rows.add(p * d + k));
                for l in 0..N {
                    acc[p][l] = match M {
                        SQUARED => {
                            let difference = L::sub(x, s[l]);
                            L::fma(difference, difference, acc[p][l])
                        }
                        ABSOLUTE => {
                            let size = L::max(L::sub(x, s[l]), L::sub(s[l], x));
                            L::add(acc[p][l], size)
                        }
                        _ => L::fma(x, s[l], acc[p][l]),
                    };
                }
            }
        }
        for p in 0..P {
            for l in 0..N {
                emit::<F, L, M>(job, first + p, line + l, acc[p][l], &mut wide[p]);
            }
        }
    }
}

/// `len` sparse points from point `first` on against all centres: the few lines that are at hand
/// (of all features, 32 KB at d = 128) serve all of them before the next lines are read.
#[inline(always)]
unsafe fn sparse_points<F: ExpConstants, L: Lanes<F>, const M: u8>(
    job: &mut Job<'_, F>,
    first: usize,
    len: usize,
) {
    let (mut line, lines) = lines_of(job);
    // SAFETY: as for the caller.
    unsafe {
        let mut wide = [L::wide_zero(); SPARSE_POINTS];
        while line + LINES <= lines {
            for (p, wide) in wide.iter_mut().enumerate().take(len) {
                sparse_lines::<F, L, M, LINES>(job, first + p, line, wide);
            }
            line += LINES;
        }
        while line < lines {
            for (p, wide) in wide.iter_mut().enumerate().take(len) {
                sparse_lines::<F, L, M, 1>(job, first + p, line, wide);
            }
            line += 1;
        }
        for (p, &wide) in wide.iter().enumerate().take(len) {
            finish::<F, L, 1>(job, first + p, &[wide]);
        }
    }
}

#[inline(always)]
unsafe fn sparse_lines<F: ExpConstants, L: Lanes<F>, const M: u8, const N: usize>(
    job: &mut Job<'_, F>,
    i: usize,
    line: usize,
    wide: &mut L::Wide,
) {
    let d = job.tile.n_features();
    let w = width::<F>();
    let at = job.tile.starts[i]..job.tile.starts[i + 1];
    let columns = &job.tile.columns[at.clone()];
    let entries = &job.tile.entries[at];
    // SAFETY: columns were checked to be below `d` when the tile was filled.
    unsafe {
        let centers = job.centers.values().as_ptr().add(line * d * w);
        let mut acc = [L::splat(F::zero()); N];
        for (&column, &value) in columns.iter().zip(entries) {
            let x = L::splat(value);
            for (l, acc) in acc.iter_mut().enumerate() {
                *acc = L::fma(x, L::load(centers.add((l * d + column as usize) * w)), *acc);
            }
        }
        for (l, &acc) in acc.iter().enumerate() {
            emit::<F, L, M>(job, i, line + l, acc, wide);
        }
    }
}

/// Maps one line of sums to distances or kernel values, stores and adds it up.
#[inline(always)]
unsafe fn emit<F: ExpConstants, L: Lanes<F>, const M: u8>(
    job: &mut Job<'_, F>,
    point: usize,
    line: usize,
    acc: L::Line,
    wide: &mut L::Wide,
) {
    let w = width::<F>();
    let row = point - job.first;
    // SAFETY: `check` has compared the lengths of all slices with the padded number of centres.
    unsafe {
        // The square of the distance, or the product.
        let raw = if M == BY_NORMS {
            let x = L::splat(job.tile.sq_norms()[point]);
            let s = L::load(job.centers.sq_norms().as_ptr().add(line * w));
            let square = L::fma(acc, L::splat(F::from_f64(-2.0)), L::add(x, s));
            L::max(square, L::splat(F::zero()))
        } else {
            acc
        };
        let mapped = job.values.as_ref().is_some_and(|v| v.mapped);
        let value = if M == DOT { raw } else { L::mul(raw, L::splat(job.gamma)) };
        let wanted = M != DOT && (mapped || job.sums.is_some());
        let kernel = if wanted { self::mapped::<F, L>(raw, job.gamma, job.map) } else { value };
        if let Some(values) = &mut job.values {
            let to = values.out.as_mut_ptr().add(row * values.stride + line * w - job.slots.0);
            L::store(to, if mapped { kernel } else { value });
        }
        if let Some(sums) = &job.sums {
            *wide = L::wide_fma(*wide, sums.coef.as_ptr().add(line * w), kernel);
        }
    }
}

/// What the map makes of a line of distances, γ not yet included.
#[inline(always)]
pub(super) unsafe fn mapped<F: ExpConstants, L: Lanes<F>>(
    raw: L::Line,
    gamma: F,
    map: Map,
) -> L::Line {
    // SAFETY: no pointer is involved; the caller enables the features of `L`.
    unsafe {
        match map {
            Map::Identity => L::mul(raw, L::splat(gamma)),
            Map::Exponential => exp2::<F, L>(L::mul(raw, L::splat(-gamma * F::LOG2_E))),
            Map::Matern { quadratic } => {
                matern::<F, L>(L::mul(raw, L::splat(gamma)), F::from_f64(quadratic))
            }
        }
    }
}

/// The map of the Matérn kernels, at most 1.
#[inline(always)]
unsafe fn matern<F: ExpConstants, L: Lanes<F>>(square: L::Line, quadratic: F) -> L::Line {
    // Beyond this the exponential is 0; infinity would make 0 · ∞.
    let most = -F::LOWEST;
    let mut roots = [F::zero(); 16];
    // SAFETY: a line is at most 16 values; the caller enables the features of `L`.
    unsafe {
        L::store(roots.as_mut_ptr(), square);
        // No closure: it would be compiled without the level's features.
        for root in &mut roots[..width::<F>()] {
            *root = root.sqrt();
        }
        let u = L::min(L::load(roots.as_ptr()), L::splat(most));
        let one = L::splat(F::one());
        let polynomial = L::fma(L::fma(u, L::splat(quadratic), one), u, one);
        L::min(L::mul(polynomial, exp2::<F, L>(L::mul(u, L::splat(-F::LOG2_E)))), one)
    }
}

#[inline(always)]
unsafe fn finish<F: Real, L: Lanes<F>, const P: usize>(
    job: &mut Job<'_, F>,
    first: usize,
    wide: &[L::Wide; P],
) {
    if let Some(sums) = &mut job.sums {
        for (p, &wide) in wide.iter().enumerate() {
            // SAFETY: no pointer is involved; the features are enabled.
            sums.out[first - job.first + p] = unsafe { L::wide_sum(wide) };
        }
    }
}
