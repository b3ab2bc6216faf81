//! Rows that meet one vector together: what they meet is read once for some of them. Rows may be held
//! in less than the precision of the vector, `f32` or whole numbers of 16 bits, and are read as they lie.
//!
//! Every row has lines of sums of its own, so many by its length alone, without FMA, and adds to a vector
//! after those before it: so many rows at once, and the level, change no bit.

use super::lanes::{Lanes, width};
use crate::float::Real;

/// Values of a row from which on some are taken at once: of shorter ones the processor foresees the next
/// if they come one after another.
const LONG: usize = 2048;
/// Rows at once, for the registers of AVX-512 and of others, each with so many lines of sums.
const MANY: usize = 8;
const FEW: usize = 2;
const LINES: usize = 2;
/// Lines of sums of a row alone: a sum waits for its own last step.
const LINES_ALONE: usize = 4;

/// `out_k = rows_k · x`.
#[inline(always)]
pub(super) unsafe fn products<T: Copy + Into<F>, F: Real, L: Lanes<F>>(
    rows: &[&[T]],
    x: &[F],
    out: &mut [F],
) {
    assert!(out.len() == rows.len(), "a product a row");
    let mut at = 0;
    // SAFETY: the caller enables the features of `L`.
    unsafe {
        if x.len() < LONG {
            for (row, out) in rows.iter().zip(out) {
                *out = product::<T, F, L>(row, x);
            }
            return;
        }
        if L::CHAINS >= 16 {
            while rows.len() - at >= MANY {
                some_products::<T, F, L, MANY, LINES>(&rows[at..], x, &mut out[at..]);
                at += MANY;
            }
        }
        while rows.len() - at >= FEW {
            some_products::<T, F, L, FEW, LINES>(&rows[at..], x, &mut out[at..]);
            at += FEW;
        }
        if at < rows.len() {
            some_products::<T, F, L, 1, LINES>(&rows[at..], x, &mut out[at..]);
        }
    }
}

/// The product of one row.
#[inline(always)]
pub(super) unsafe fn product<T: Copy + Into<F>, F: Real, L: Lanes<F>>(row: &[T], x: &[F]) -> F {
    let mut out = [F::zero()];
    // SAFETY: the caller enables the features of `L`.
    unsafe {
        if x.len() < LONG {
            some_products::<T, F, L, 1, LINES_ALONE>(&[row], x, &mut out);
        } else {
            some_products::<T, F, L, 1, LINES>(&[row], x, &mut out);
        }
    }
    out[0]
}

#[inline(always)]
unsafe fn some_products<T: Copy + Into<F>, F: Real, L: Lanes<F>, const R: usize, const N: usize>(
    rows: &[&[T]],
    x: &[F],
    out: &mut [F],
) {
    let (width, n) = (width::<F>(), x.len());
    let rows: [&[T]; R] = std::array::from_fn(|r| &rows[r][..n]);
    // Room for a line of either precision.
    let mut sums = [[F::zero(); 16]; R];
    let mut at = 0;
    // SAFETY: the caller enables the features of `L`; no line is read that does not end within n.
    unsafe {
        let mut lines = [[L::splat(F::zero()); N]; R];
        while at + N * width <= n {
            for line in 0..N {
                let from = at + line * width;
                let met = L::load(x.as_ptr().add(from));
                for (row, sums) in rows.iter().zip(&mut lines) {
                    let values = line_of::<T, F, L>(row.as_ptr().add(from));
                    sums[line] = L::add(sums[line], L::mul(values, met));
                }
            }
            at += N * width;
        }
        while at + width <= n {
            let met = L::load(x.as_ptr().add(at));
            for (row, sums) in rows.iter().zip(&mut lines) {
                let values = line_of::<T, F, L>(row.as_ptr().add(at));
                sums[0] = L::add(sums[0], L::mul(values, met));
            }
            at += width;
        }
        for (sums, lines) in sums.iter_mut().zip(&mut lines) {
            let mut half = N / 2;
            while half > 0 {
                for line in 0..half {
                    lines[line] = L::add(lines[line], lines[line + half]);
                }
                half /= 2;
            }
            L::store(sums.as_mut_ptr(), lines[0]);
        }
    }
    for ((row, sums), out) in rows.iter().zip(&mut sums).zip(out) {
        for (sum, (&value, x)) in sums.iter_mut().zip(row[at..].iter().zip(&x[at..])) {
            *sum += value.into() * *x;
        }
        *out = folded(sums);
    }
}

/// The sum of a line, in a fixed order.
#[inline(always)]
fn folded<F: Real>(sums: &mut [F; 16]) -> F {
    let mut half = width::<F>() / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// A line of values in the vector's precision. (Of this loop the compiler makes a load and a conversion.)
#[inline(always)]
unsafe fn line_of<T: Copy + Into<F>, F: Real, L: Lanes<F>>(from: *const T) -> L::Line {
    let mut line = [F::zero(); 16];
    // SAFETY: the caller's whole line; the features of `L` are enabled.
    unsafe {
        for (k, to) in line.iter_mut().enumerate().take(width::<F>()) {
            *to = (*from.add(k)).into();
        }
        L::load(line.as_ptr())
    }
}

/// `y += Σ by_k rows_k`, one row after the other.
#[inline(always)]
pub(super) unsafe fn add<T: Copy + Into<F>, F: Real, L: Lanes<F>>(
    rows: &[&[T]],
    by: &[F],
    y: &mut [F],
) {
    assert!(by.len() == rows.len(), "a factor a row");
    let mut at = 0;
    // SAFETY: the caller enables the features of `L`.
    unsafe {
        if L::CHAINS >= 16 && y.len() >= LONG {
            while rows.len() - at >= MANY {
                add_some::<T, F, L, MANY>(&rows[at..], &by[at..], y);
                at += MANY;
            }
        }
        while rows.len() - at >= FEW {
            add_some::<T, F, L, FEW>(&rows[at..], &by[at..], y);
            at += FEW;
        }
        if at < rows.len() {
            add_some::<T, F, L, 1>(&rows[at..], &by[at..], y);
        }
    }
}

#[inline(always)]
unsafe fn add_some<T: Copy + Into<F>, F: Real, L: Lanes<F>, const R: usize>(
    rows: &[&[T]],
    by: &[F],
    y: &mut [F],
) {
    let (width, n) = (width::<F>(), y.len());
    let rows: [&[T]; R] = std::array::from_fn(|r| &rows[r][..n]);
    let mut at = 0;
    // SAFETY: the caller enables the features of `L`; no line is read that does not end within n.
    unsafe {
        let mut factors = [L::splat(F::zero()); R];
        for (factor, &by) in factors.iter_mut().zip(by) {
            *factor = L::splat(by);
        }
        while at + width <= n {
            let to = y.as_mut_ptr().add(at);
            let mut line = L::load(to);
            for (row, &factor) in rows.iter().zip(&factors) {
                let values = line_of::<T, F, L>(row.as_ptr().add(at));
                line = L::add(line, L::mul(factor, values));
            }
            L::store(to, line);
            at += width;
        }
    }
    for (row, by) in rows.iter().zip(by) {
        for (y, &value) in y[at..].iter_mut().zip(&row[at..]) {
            *y += *by * value.into();
        }
    }
}
