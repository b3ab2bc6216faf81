//! Lines of one to four registers, for the levels that have them.

/// An operation on the registers of one to three lines, on the same value for all of them, or on the
/// places of a line in memory that are `per` values apart.
macro_rules! each {
    ([$($k:tt)+]; $op:expr; $a:ident) => { ($($op($a.$k),)+) };
    ([$($k:tt)+]; $op:expr; $a:ident, $b:ident) => { ($($op($a.$k, $b.$k),)+) };
    ([$($k:tt)+]; $op:expr; $a:ident, $b:ident, $c:ident) => {
        ($($op($a.$k, $b.$k, $c.$k),)+)
    };
    ([$($k:tt)+]; $op:expr; all $value:ident) => {
        ($({
            let _ = $k;
            $op($value)
        },)+)
    };
    ([$($k:tt)+]; $op:expr; from $place:ident, $per:literal) => {
        ($($op($place.add($k * $per)),)+)
    };
    ([$($k:tt)+]; $op:expr; to $place:ident, $per:literal, $a:ident) => {
        { $($op($place.add($k * $per), $a.$k);)+ }
    };
}

/// Lines of some registers: every operation is that of a register, on each of them.
macro_rules! lanes {
    (
        $level:ident, $float:ident: $line:ty, $per:literal each $at:tt,
        chains: $chains:literal, splat: $splat:ident, load: $load:ident, store: $store:ident,
        $($binary:ident: $op:ident),+;
        fma: $fma:ident, round: $round:expr, scale: $scale:ident,
        wide: $wide:tt
    ) => {
        // SAFETY of every block below: the contract of `Lanes` (features enabled, pointers valid
        // for a whole line) is all that the intrinsics ask for.
        impl Lanes<$float> for $level {
            type Line = $line;
            const CHAINS: usize = $chains;

            #[inline(always)]
            unsafe fn splat(value: $float) -> Self::Line {
                // SAFETY: see above.
                unsafe { each!($at; $splat; all value) }
            }
            #[inline(always)]
            unsafe fn load(from: *const $float) -> Self::Line {
                // SAFETY: see above.
                unsafe { each!($at; $load; from from, $per) }
            }
            #[inline(always)]
            unsafe fn store(to: *mut $float, line: Self::Line) {
                // SAFETY: see above.
                unsafe { each!($at; $store; to to, $per, line) }
            }
            $(
                #[inline(always)]
                unsafe fn $binary(a: Self::Line, b: Self::Line) -> Self::Line {
                    // SAFETY: see above.
                    unsafe { each!($at; $op; a, b) }
                }
            )+
            #[inline(always)]
            unsafe fn fma(a: Self::Line, b: Self::Line, c: Self::Line) -> Self::Line {
                // SAFETY: see above.
                unsafe { each!($at; $fma; a, b, c) }
            }
            #[inline(always)]
            unsafe fn round(a: Self::Line) -> Self::Line {
                // SAFETY: see above.
                unsafe { each!($at; $round; a) }
            }
            #[inline(always)]
            unsafe fn scale(a: Self::Line, n: Self::Line) -> Self::Line {
                // SAFETY: see above.
                unsafe { each!($at; $scale; a, n) }
            }
            #[inline(always)]
            unsafe fn fma_one(a: $float, b: $float, c: $float) -> $float {
                a.mul_add(b, c)
            }
            wide!($wide);
        }
    };
}

/// The sums in `f64`: of a line as it is, or of a line that is widened to two. `fold` adds the
/// registers of a line of `f64`, `sum` the values of a register.
macro_rules! wide {
    ({ fold: $fold:ident, sum: $sum:ident }) => {
        type Wide = Self::Line;

        #[inline(always)]
        unsafe fn wide_zero() -> Self::Wide {
            // SAFETY: see above.
            unsafe { <Self as Lanes<f64>>::splat(0.0) }
        }
        #[inline(always)]
        unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: Self::Line) -> Self::Wide {
            // SAFETY: see above.
            unsafe { <Self as Lanes<f64>>::fma(<Self as Lanes<f64>>::load(coef), line, acc) }
        }
        #[inline(always)]
        unsafe fn wide_sum(acc: Self::Wide) -> f64 {
            // SAFETY: see above.
            unsafe { $sum($fold(acc)) }
        }
    };
    ({ widen: $widen:ident, fold: $fold:ident, add: $add:ident, sum: $sum:ident }) => {
        type Wide = (<Self as Lanes<f64>>::Line, <Self as Lanes<f64>>::Line);

        #[inline(always)]
        unsafe fn wide_zero() -> Self::Wide {
            // SAFETY: see above.
            unsafe { (<Self as Lanes<f64>>::splat(0.0), <Self as Lanes<f64>>::splat(0.0)) }
        }
        #[inline(always)]
        unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: Self::Line) -> Self::Wide {
            // SAFETY: see above.
            unsafe {
                let (low, high) = $widen(line);
                let low = <Self as Lanes<f64>>::wide_fma(acc.0, coef, low);
                (low, <Self as Lanes<f64>>::wide_fma(acc.1, coef.add(8), high))
            }
        }
        #[inline(always)]
        unsafe fn wide_sum(acc: Self::Wide) -> f64 {
            // SAFETY: see above.
            unsafe { $sum($add($fold(acc.0), $fold(acc.1))) }
        }
    };
}

pub(super) use {each, lanes, wide};
