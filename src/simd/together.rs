//! Rows that meet one vector together: what they meet is read once for some of them. Rows may be held
//! in `f32` or in whole numbers of 16 bits, which are read as they lie.
//!
//! Every row has two lines of sums of its own, without FMA, and adds to a vector after those before it:
//! so many rows at once, and the level, change no bit.

use super::lanes::{Lanes, width};

/// Bytes of a row from which on some are taken at once: of shorter ones the processor foresees the next
/// if they come one after another.
const LONG: usize = 4096;
/// Rows at once: what AVX-512 has registers for, and fewer have.
const MANY: usize = 8;
const FEW: usize = 2;
/// Lines of sums of a row.
const LINES: usize = 2;
/// Values of a line.
const WIDTH: usize = width::<f32>();

/// `out_k = rows_k · x`.
#[inline(always)]
pub(super) unsafe fn products<T: Copy + Into<f32>, L: Lanes<f32>>(
    rows: &[&[T]],
    x: &[f32],
    out: &mut [f32],
) {
    assert!(out.len() == rows.len(), "a product a row");
    let mut at = 0;
    // SAFETY: the caller enables the features of `L`.
    unsafe {
        if size_of::<T>() * x.len() >= LONG {
            if L::CHAINS >= 16 {
                while rows.len() - at >= MANY {
                    some_products::<T, L, MANY>(&rows[at..], x, &mut out[at..]);
                    at += MANY;
                }
            }
            while rows.len() - at >= FEW {
                some_products::<T, L, FEW>(&rows[at..], x, &mut out[at..]);
                at += FEW;
            }
        }
        while at < rows.len() {
            some_products::<T, L, 1>(&rows[at..], x, &mut out[at..]);
            at += 1;
        }
    }
}

#[inline(always)]
unsafe fn some_products<T: Copy + Into<f32>, L: Lanes<f32>, const R: usize>(
    rows: &[&[T]],
    x: &[f32],
    out: &mut [f32],
) {
    let n = x.len();
    let rows: [&[T]; R] = std::array::from_fn(|r| &rows[r][..n]);
    let mut sums = [[0.0_f32; WIDTH]; R];
    let mut at = 0;
    // SAFETY: the caller enables the features of `L`; no line is read that does not end within n.
    unsafe {
        let mut lines = [[L::splat(0.0); LINES]; R];
        while at + LINES * WIDTH <= n {
            for line in 0..LINES {
                let from = at + line * WIDTH;
                let met = L::load(x.as_ptr().add(from));
                for (row, sums) in rows.iter().zip(&mut lines) {
                    let values = line_of::<T, L>(row.as_ptr().add(from));
                    sums[line] = L::add(sums[line], L::mul(values, met));
                }
            }
            at += LINES * WIDTH;
        }
        if at + WIDTH <= n {
            let met = L::load(x.as_ptr().add(at));
            for (row, sums) in rows.iter().zip(&mut lines) {
                let values = line_of::<T, L>(row.as_ptr().add(at));
                sums[0] = L::add(sums[0], L::mul(values, met));
            }
            at += WIDTH;
        }
        for (sums, lines) in sums.iter_mut().zip(lines) {
            L::store(sums.as_mut_ptr(), L::add(lines[0], lines[1]));
        }
    }
    for ((row, sums), out) in rows.iter().zip(&mut sums).zip(out) {
        for (sum, (&value, x)) in sums.iter_mut().zip(row[at..].iter().zip(&x[at..])) {
            *sum += value.into() * x;
        }
        *out = folded(sums);
    }
}

/// The sum of a line, in a fixed order.
#[inline(always)]
fn folded(sums: &mut [f32; WIDTH]) -> f32 {
    let mut half = WIDTH / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// A line of values in single precision. (Of this loop the compiler makes a load and a conversion.)
#[inline(always)]
unsafe fn line_of<T: Copy + Into<f32>, L: Lanes<f32>>(from: *const T) -> L::Line {
    let mut line = [0.0_f32; WIDTH];
    // SAFETY: the caller's whole line; the features of `L` are enabled.
    unsafe {
        for (k, to) in line.iter_mut().enumerate() {
            *to = (*from.add(k)).into();
        }
        L::load(line.as_ptr())
    }
}

/// `y += Σ by_k rows_k`, one row after the other.
#[inline(always)]
pub(super) unsafe fn add<T: Copy + Into<f32>, L: Lanes<f32>>(
    rows: &[&[T]],
    by: &[f32],
    y: &mut [f32],
) {
    assert!(by.len() == rows.len(), "a factor a row");
    let mut at = 0;
    // SAFETY: the caller enables the features of `L`.
    unsafe {
        if size_of::<T>() * y.len() >= LONG {
            if L::CHAINS >= 16 {
                while rows.len() - at >= MANY {
                    add_some::<T, L, MANY>(&rows[at..], &by[at..], y);
                    at += MANY;
                }
            }
            while rows.len() - at >= FEW {
                add_some::<T, L, FEW>(&rows[at..], &by[at..], y);
                at += FEW;
            }
        }
        while at < rows.len() {
            add_some::<T, L, 1>(&rows[at..], &by[at..], y);
            at += 1;
        }
    }
}

#[inline(always)]
unsafe fn add_some<T: Copy + Into<f32>, L: Lanes<f32>, const R: usize>(
    rows: &[&[T]],
    by: &[f32],
    y: &mut [f32],
) {
    let n = y.len();
    let rows: [&[T]; R] = std::array::from_fn(|r| &rows[r][..n]);
    let mut at = 0;
    // SAFETY: the caller enables the features of `L`; no line is read that does not end within n.
    unsafe {
        let mut factors = [L::splat(0.0); R];
        for (factor, &by) in factors.iter_mut().zip(by) {
            *factor = L::splat(by);
        }
        while at + WIDTH <= n {
            let to = y.as_mut_ptr().add(at);
            let mut line = L::load(to);
            for (row, &factor) in rows.iter().zip(&factors) {
                let values = line_of::<T, L>(row.as_ptr().add(at));
                line = L::add(line, L::mul(factor, values));
            }
            L::store(to, line);
            at += WIDTH;
        }
    }
    for (row, by) in rows.iter().zip(by) {
        for (y, &value) in y[at..].iter_mut().zip(&row[at..]) {
            *y += by * value.into();
        }
    }
}
