//! Eight vectors `w = a u` that shrink, gain of a row, and count in an average `α u + v`, a lane each:
//! what of a step is no vector.
//!
//! Plain operations, no FMA: every level gives the same bits.

use super::lanes::Lanes;
use super::side::Side;

/// The vectors' numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Strides {
    /// a.
    pub(crate) scale: Side,
    /// `‖w‖²`.
    pub(crate) sq_norm: Side,
    /// α.
    pub(crate) along: Side,
    /// An offset beside each vector, in `-bound..=bound`.
    pub(crate) offset: Side,
    pub(crate) bound: Side,
    /// Lengths of a first step, of vectors and offsets.
    pub(crate) length: Side,
    pub(crate) offset_length: Side,
    /// Of the step at hand: its length, what it leaves of w, and `w·z` before it.
    pub(crate) eta: Side,
    pub(crate) shrink: Side,
    pub(crate) product: Side,
}

/// What all vectors share in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stride {
    /// The step's length, or that of a first step counts so much.
    pub(crate) eta: Result<f64, f64>,
    /// What of its length the vectors shrink by.
    pub(crate) lambda: f64,
    /// What the row counts.
    pub(crate) weight: f64,
    /// The row's squared norm.
    pub(crate) sq_norm: f64,
    /// What a first step of an offset counts.
    pub(crate) offset: f64,
}

#[inline(always)]
pub(super) unsafe fn side_shrink<L: Lanes<f64>>(
    all: &mut Strides,
    stride: &Stride,
    products: &Side,
    decisions: &mut Side,
) {
    // SAFETY: the caller's features; every place holds a line.
    unsafe {
        let load = |side: &Side| L::load(side.0.as_ptr());
        let eta = match stride.eta {
            Ok(eta) => L::splat(eta),
            Err(by) => L::mul(load(&all.length), L::splat(by)),
        };
        let less = L::mul(eta, L::splat(stride.lambda));
        let shrink = L::max(L::sub(L::splat(1.0), less), L::splat(0.0));
        let product = L::mul(load(&all.scale), load(products));
        let scale = L::mul(load(&all.scale), shrink);
        let sq_norm = L::mul(load(&all.sq_norm), L::mul(shrink, shrink));
        let decision = L::add(product, load(&all.offset));
        for (to, line) in [
            (&mut all.eta, eta),
            (&mut all.shrink, shrink),
            (&mut all.product, product),
            (&mut all.scale, scale),
            (&mut all.sq_norm, sq_norm),
            (decisions, decision),
        ] {
            L::store(to.0.as_mut_ptr(), line);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn side_add<L: Lanes<f64>>(
    all: &mut Strides,
    stride: &Stride,
    by: &Side,
    (u, rest): (&mut Side, &mut Side),
    (later, with): (&mut [Side], &[f64]),
) {
    // SAFETY: the caller's features; every place holds a line.
    unsafe {
        let load = |side: &Side| L::load(side.0.as_ptr());
        let by = L::mul(L::splat(stride.weight), load(by));
        let gain = L::mul(load(&all.eta), by);
        let product = L::mul(load(&all.shrink), load(&all.product));
        let along = L::add(L::add(product, product), L::mul(gain, L::splat(stride.sq_norm)));
        let sq_norm = L::add(load(&all.sq_norm), L::mul(gain, along));
        let sq_norm = L::max(sq_norm, L::splat(0.0));
        let length = L::mul(load(&all.offset_length), L::splat(stride.offset));
        let offset = L::add(load(&all.offset), L::mul(length, by));
        let bound = load(&all.bound);
        // What is no number stays so.
        let offset = L::max(L::sub(L::splat(0.0), bound), L::min(bound, offset));
        let gain = L::div(gain, load(&all.scale));
        let of_rest = L::mul(L::sub(L::splat(0.0), load(&all.along)), gain);
        for (to, line) in
            [(&mut all.sq_norm, sq_norm), (&mut all.offset, offset), (u, gain), (rest, of_rest)]
        {
            L::store(to.0.as_mut_ptr(), line);
        }
        for (later, &with) in later.iter_mut().zip(with) {
            let more = L::mul(gain, L::splat(with));
            L::store(later.0.as_mut_ptr(), L::add(load(later), more));
        }
    }
}
