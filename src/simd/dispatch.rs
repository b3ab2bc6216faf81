//! Levels of the processor, and how one body is compiled for all of them.

use std::sync::OnceLock;

use super::lanes::{ExpConstants, Lanes};

/// Instruction sets that a body is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Plain Rust.
    Scalar,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512F.
    Avx512,
    /// NEON.
    Neon,
}

impl Level {
    /// The level's name, as `BUDGETSVM_SIMD` spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }
}

/// Every level that this processor has, lowest first.
#[must_use]
pub fn levels() -> Vec<Level> {
    let mut levels = vec![Level::Scalar];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            levels.push(Level::Avx2);
            if is_x86_feature_detected!("avx512f") {
                levels.push(Level::Avx512);
            }
        }
    }
    #[cfg(target_arch = "aarch64")]
    levels.push(Level::Neon);
    levels
}

/// Levels that no test has run on hardware yet: used only where `BUDGETSVM_SIMD` names them.
const UNTRIED: [Level; 1] = [Level::Neon];

/// The level in use: the highest that tests have run on, or the one that `BUDGETSVM_SIMD` names.
#[must_use]
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let wanted = std::env::var("BUDGETSVM_SIMD").unwrap_or_default();
        let levels = levels();
        let tried = levels.iter().rev().find(|level| !UNTRIED.contains(level));
        let best = tried.copied().unwrap_or(Level::Scalar);
        levels.into_iter().find(|l| l.name() == wanted).unwrap_or(best)
    })
}

/// A piece of work that is compiled for every level.
pub(super) trait Work<F: Compiled> {
    type Output;
    /// # Safety
    /// As [`Lanes`].
    unsafe fn run<L: Lanes<F>>(self) -> Self::Output;
}

/// A float type whose bodies are compiled for every level.
pub(super) trait Compiled: ExpConstants {
    /// Runs `work` at `level`.
    ///
    /// # Safety
    /// The processor has the level.
    unsafe fn dispatch<W: Work<Self>>(level: Level, work: W) -> W::Output;
}

macro_rules! compiled {
    ($float:ty) => {
        impl Compiled for $float {
            #[inline]
            unsafe fn dispatch<W: Work<Self>>(level: Level, work: W) -> W::Output {
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma")]
                unsafe fn avx2<W: Work<$float>>(work: W) -> W::Output {
                    // SAFETY: this function enables the features of the level.
                    unsafe { work.run::<super::avx2::Avx2>() }
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx2,fma")]
                unsafe fn avx512<W: Work<$float>>(work: W) -> W::Output {
                    // SAFETY: this function enables the features of the level.
                    unsafe { work.run::<super::avx512::Avx512>() }
                }
                match level {
                    // SAFETY: every aarch64 processor has NEON, and the target enables it.
                    #[cfg(target_arch = "aarch64")]
                    Level::Neon => unsafe { work.run::<super::neon::Neon>() },
                    // SAFETY: the caller vouches for the level.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => unsafe { avx512(work) },
                    // SAFETY: the caller vouches for the level.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => unsafe { avx2(work) },
                    // SAFETY: plain Rust needs no feature.
                    _ => unsafe { work.run::<super::scalar::Scalar>() },
                }
            }
        }
    };
}

compiled!(f32);
compiled!(f64);

/// Work of a concrete type. Its code is made here, once: through [`Compiled::dispatch`] alone every
/// crate that uses a function generic over floats would make all levels of it again.
pub(super) trait Anchored<F: Compiled>: Work<F> + Sized {
    /// Runs the work at `level`.
    ///
    /// # Safety
    /// The processor has the level.
    unsafe fn at(self, level: Level) -> Self::Output;
}

macro_rules! anchored {
    ($($float:ty: $($($part:ident)::+<$($of:tt),+>),+;)*) => {$($(
        impl $crate::simd::dispatch::Anchored<$float> for $($part)::+<$($of),+> {
            unsafe fn at(self, level: $crate::simd::dispatch::Level) -> Self::Output {
                // SAFETY: the caller vouches for the level.
                unsafe { <$float as $crate::simd::dispatch::Compiled>::dispatch(level, self) }
            }
        }
    )+)*};
}

/// Calls a function of the concrete float type from code that is generic over [`Real`]. The
/// trait is sealed, so `F` is `f32` or `f64`; the pointers are cast to the type they have.
macro_rules! concrete {
    ($generic:ty, |$float:ident| $body:expr) => {
        if std::any::TypeId::of::<$generic>() == std::any::TypeId::of::<f32>() {
            type $float = f32;
            $body
        } else {
            type $float = f64;
            $body
        }
    };
}

pub(super) use {anchored, concrete};

/// # Safety
/// `A` and `B` are the same type.
pub(super) unsafe fn cast_slice<A, B>(slice: &[A]) -> &[B] {
    // SAFETY: the caller vouches that nothing is changed.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), slice.len()) }
}

/// # Safety
/// `A` and `B` are the same type.
pub(super) unsafe fn cast_slice_mut<A, B>(slice: &mut [A]) -> &mut [B] {
    // SAFETY: the caller vouches that nothing is changed.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), slice.len()) }
}
