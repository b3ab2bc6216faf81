//! Levels of the processor, and how one body is compiled for all of them.

use std::sync::OnceLock;

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
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(unused_mut, reason = "other processors have no more")
)]
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

/// The value under the name that its type has where it is known.
///
/// # Safety
/// `A` and `B` are the same type but for its lifetimes, which end where those of the value do.
#[inline(always)]
pub(super) unsafe fn same<A, B>(value: A) -> B {
    let value = std::mem::ManuallyDrop::new(value);
    // SAFETY: the caller vouches for the types; the value is not used again.
    unsafe { std::mem::transmute_copy(&value) }
}

/// Functions of slices of `F`, f32 or f64. Their bodies are generic over `F` and the lanes `L` of a
/// level; their code for every level is made here, once, or every crate that uses a function
/// generic over floats would make all of it again. The module `at` has them at a level of one's own
/// choice.
macro_rules! primitives {
    ($(
        $(#[$doc:meta])*
        $vis:vis fn $name:ident($($arg:ident: $of:ty),+) $(-> $out:ty)? = $body:expr;
    )+) => {
        mod single {
            use super::*;
            type F = f32;
            compiled! { $(fn $name($($arg: $of),+) $(-> $out)? = $body;)+ }
        }
        mod double {
            use super::*;
            type F = f64;
            compiled! { $(fn $name($($arg: $of),+) $(-> $out)? = $body;)+ }
        }
        mod at {
            use super::*;
            $(
                /// # Safety
                /// The processor has the level.
                #[inline]
                pub(super) unsafe fn $name<F: Real>(level: Level, $($arg: $of),+) $(-> $out)? {
                    // SAFETY: `Real` is sealed, so `F` is the type that it is taken for; the caller
                    // vouches for the level.
                    unsafe {
                        if std::any::TypeId::of::<F>() == std::any::TypeId::of::<f32>() {
                            same(single::$name(level, $(same($arg)),+))
                        } else {
                            same(double::$name(level, $(same($arg)),+))
                        }
                    }
                }
            )+
        }
        $(
            $(#[$doc])*
            $vis fn $name<F: Real>($($arg: $of),+) $(-> $out)? {
                // SAFETY: the level is the processor's.
                unsafe { at::$name(level(), $($arg),+) }
            }
        )+
    };
}

/// Functions of concrete types.
macro_rules! fixed {
    ($(
        $(#[$doc:meta])*
        $vis:vis fn $name:ident($($arg:ident: $of:ty),+) $(-> $out:ty)? = $body:expr;
    )+) => {
        mod fixed {
            use super::*;
            compiled! { $(fn $name($($arg: $of),+) $(-> $out)? = $body;)+ }
        }
        $(
            $(#[$doc])*
            $vis fn $name($($arg: $of),+) $(-> $out)? {
                // SAFETY: the level is the processor's.
                unsafe { fixed::$name(level(), $($arg),+) }
            }
        )+
    };
}

/// The same at a level of one's own choice: its code for every level.
macro_rules! compiled {
    ($(fn $name:ident($($arg:ident: $of:ty),+) $(-> $out:ty)? = $body:expr;)+) => {$(
        /// # Safety
        /// The processor has the level.
        #[allow(
            dead_code,
            unused_unsafe,
            clippy::too_many_arguments,
            reason = "not every body asks for lanes; the level comes on top"
        )]
        pub(super) unsafe fn $name(level: Level, $($arg: $of),+) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn avx2($($arg: $of),+) $(-> $out)? {
                type L = crate::simd::avx2::Avx2;
                // SAFETY: this function enables the features of the level.
                unsafe { $body($($arg),+) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx2,fma")]
            unsafe fn avx512($($arg: $of),+) $(-> $out)? {
                type L = crate::simd::avx512::Avx512;
                // SAFETY: this function enables the features of the level.
                unsafe { $body($($arg),+) }
            }
            match level {
                // SAFETY: every aarch64 processor has NEON, and the target enables it.
                #[cfg(target_arch = "aarch64")]
                Level::Neon => unsafe {
                    type L = crate::simd::neon::Neon;
                    $body($($arg),+)
                },
                // SAFETY: the caller vouches for the level.
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => unsafe { avx512($($arg),+) },
                // SAFETY: the caller vouches for the level.
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { avx2($($arg),+) },
                // SAFETY: plain Rust needs no feature.
                _ => unsafe {
                    type L = crate::simd::scalar::Scalar;
                    $body($($arg),+)
                },
            }
        }
    )+};
}

pub(super) use {compiled, fixed, primitives};
