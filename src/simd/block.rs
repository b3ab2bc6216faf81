//! The block kernel: points times packed centres, the map to distances and the exponential
//! fused in. Written once over [`Lanes`].

use super::emit::{emit, finish, taken};
use super::job::{ABSOLUTE, BY_NORMS, DOT, IN_PARTS, Job, LINES, Metric, SQUARED, lines_of};
use super::lanes::{ExpConstants, Lanes, PART, width};
use super::parted::Parts;
use super::skipping::skipping_points;
use super::thinned::Words;
use super::tile::Tile;
use crate::float::Real;

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
            Metric::SquaredInParts => by_metric::<F, L, IN_PARTS>(job),
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
            let (tile, points) = (job.tile, (job.first, job.last));
            dense_points::<F, L, M>(job, points, (tile, job.first));
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
            let (tile, mut written) = (job.tile, Tile::new(d));
            let mut first = job.first;
            while first < job.last {
                let last = (first + at_once).min(job.last);
                let rows = if none { 0 } else { last - first };
                written.fill_dense(rows, |k, row| tile.copy_row(first + k, row));
                dense_points::<F, L, M>(job, (first, last), (&written, 0));
                first = last;
            }
        }
    }
}

/// What is known of the zeros in rows.
enum Zeros<'z> {
    Unknown,
    InParts(Parts<'z>),
    OneByOne(Words<'z>),
}

impl<'z> Zeros<'z> {
    /// Of a dense tile from this row on: what is of use where so many lines of centres are compared.
    fn of<F: Real, const M: u8>(tile: &'z Tile<F>, row: usize, lines: usize) -> Self {
        let d = tile.n_features();
        let found = match M {
            SQUARED => tile.blanks().of(row, d).map(|parts| Self::InParts(Parts(parts))),
            DOT | BY_NORMS | IN_PARTS if lines >= LINES => {
                tile.present().of(row, d).map(|words| Self::OneByOne(Words(words)))
            }
            _ => None,
        };
        found.unwrap_or(Self::Unknown)
    }
}

/// The points `first..last` against all centres; their rows are those of a dense tile from `row` on.
#[inline(always)]
unsafe fn dense_points<F: ExpConstants, L: Lanes<F>, const M: u8>(
    job: &mut Job<'_, F>,
    (first, last): (usize, usize),
    (tile, row): (&Tile<F>, usize),
) {
    let d = tile.n_features();
    // Of points that meet no centre there may be no rows.
    let rows = tile.values.as_ptr().wrapping_add(row * d);
    let (from, to) = lines_of(job);
    let (all, mut i) = ((first, last), first);
    // SAFETY: as for the caller.
    unsafe {
        match Zeros::of::<F, M>(tile, row, to - from) {
            Zeros::InParts(zeros) if M == SQUARED => {
                return skipping_points::<F, L, M, _>(job, all, (rows, zeros));
            }
            Zeros::OneByOne(zeros) if M == DOT || M == BY_NORMS || M == IN_PARTS => {
                return skipping_points::<F, L, M, _>(job, all, (rows, zeros));
            }
            _ => {}
        }
    }
    // SAFETY: as for the caller.
    unsafe {
        macro_rules! groups {
            ($points:expr, $lines:expr, $most:expr) => {
                while last - i >= $points {
                    let groups = ((last - i) / $points).min($most);
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

/// `groups` times `P` dense points from point `first` on, `G` groups at most, against all centres:
/// `N` lines at a time serve all of them before the next are read, a part of many features after the
/// other, from the nearest cache.
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
    let long = job.tile.n_features() > PART;
    let (mut line, lines) = lines_of(job);
    // SAFETY: as for the caller.
    unsafe {
        let mut wide = [[L::wide_zero(); P]; G];
        macro_rules! each_group {
            ($lines:expr) => {
                let wide = &mut wide[..groups];
                if long {
                    long_lines::<F, L, M, P, { $lines }, G>(job, (first, line), rows, wide);
                } else {
                    short_lines::<F, L, M, P, { $lines }>(job, (first, line), rows, wide);
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

/// Sums of one part stay in registers.
#[inline(always)]
unsafe fn short_lines<F: ExpConstants, L: Lanes<F>, const M: u8, const P: usize, const N: usize>(
    job: &mut Job<'_, F>,
    (first, line): (usize, usize),
    rows: *const F,
    wide: &mut [[L::Wide; P]],
) {
    let d = job.tile.n_features();
    // SAFETY: as for the caller. Block `line` of the packed centres is `d` lines.
    unsafe {
        let centers = job.centers.values().as_ptr().add(line * d * width::<F>());
        for (group, wide) in wide.iter_mut().enumerate() {
            let mut sums = [[L::splat(F::zero()); N]; P];
            let rows = rows.wrapping_add(group * P * d);
            add_part::<F, L, M, P, N>((rows, centers), (0, d, d), &mut sums);
            emit_all::<F, L, M, P, N>(job, (first + group * P, line), &sums, wide);
        }
    }
}

/// A part serves all groups before the next is read.
#[inline(always)]
unsafe fn long_lines<
    F: ExpConstants,
    L: Lanes<F>,
    const M: u8,
    const P: usize,
    const N: usize,
    const G: usize,
>(
    job: &mut Job<'_, F>,
    (first, line): (usize, usize),
    rows: *const F,
    wide: &mut [[L::Wide; P]],
) {
    let d = job.tile.n_features();
    // SAFETY: as for `short_lines`.
    unsafe {
        let centers = job.centers.values().as_ptr().add(line * d * width::<F>());
        let mut sums = [[[L::splat(F::zero()); N]; P]; G];
        for from in (0..d).step_by(PART) {
            let features = (from, d.min(from + PART), d);
            for (group, sums) in sums.iter_mut().enumerate().take(wide.len()) {
                let rows = rows.wrapping_add(group * P * d);
                add_part::<F, L, M, P, N>((rows, centers), features, sums);
            }
        }
        for ((group, wide), sums) in wide.iter_mut().enumerate().zip(&sums) {
            emit_all::<F, L, M, P, N>(job, (first + group * P, line), sums, wide);
        }
    }
}

/// Takes the features `from..to` of `d` into the sums of `P` points and `N` lines of centres.
#[inline(always)]
unsafe fn add_part<F: ExpConstants, L: Lanes<F>, const M: u8, const P: usize, const N: usize>(
    (rows, centers): (*const F, *const F),
    (from, to, d): (usize, usize, usize),
    sums: &mut [[L::Line; N]; P],
) {
    let w = width::<F>();
    // SAFETY: row `p` is `d` values; a block of centres is `d` lines.
    unsafe {
        let mut acc = if M == IN_PARTS { [[L::splat(F::zero()); N]; P] } else { *sums };
        for k in from..to {
            let mut s = [L::splat(F::zero()); N];
            for (l, s) in s.iter_mut().enumerate() {
                *s = L::load(centers.add((l * d + k) * w));
            }
            for p in 0..P {
                let x = L::splat(*rows.add(p * d + k));
                for l in 0..N {
                    acc[p][l] = taken::<F, L, M>(x, s[l], acc[p][l]);
                }
            }
        }
        for (sums, acc) in sums.iter_mut().zip(acc) {
            for (sum, acc) in sums.iter_mut().zip(acc) {
                *sum = if M == IN_PARTS { L::add(*sum, acc) } else { acc };
            }
        }
    }
}

#[inline(always)]
unsafe fn emit_all<F: ExpConstants, L: Lanes<F>, const M: u8, const P: usize, const N: usize>(
    job: &mut Job<'_, F>,
    (first, line): (usize, usize),
    sums: &[[L::Line; N]; P],
    wide: &mut [L::Wide; P],
) {
    for p in 0..P {
        // In registers until its last line.
        let mut own = wide[p];
        for l in 0..N {
            // SAFETY: as for the caller.
            unsafe { emit::<F, L, M>(job, first + p, line + l, sums[p][l], &mut own) };
        }
        wide[p] = own;
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
        macro_rules! take {
            ($lines:expr) => {
                for (p, wide) in wide.iter_mut().enumerate().take(len) {
                    sparse_lines::<F, L, M, { $lines }>(job, first + p, line, wide);
                }
            };
        }
        while line + LINES <= lines {
            take!(LINES);
            line += LINES;
        }
        // The rest at once: a line by itself waits for its own last sum.
        match lines - line {
            0 => {}
            1 => take!(1),
            2 => take!(2),
            _ => take!(3),
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
