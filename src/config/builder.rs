//! The one builder, and the declaration that gives it its setters.

use std::marker::PhantomData;

use super::json::Config;
use super::setup::Setup;
use crate::error::Result;

/// Something made from checked hyperparameters.
pub trait FromConfig<C>: Sized {
    /// Made from these, which were checked.
    ///
    /// # Errors
    /// `InvalidParam` for what other machines of the family allow and this one does not.
    fn from_config(config: C, setup: Setup) -> Result<Self>;
}

/// Sets the hyperparameters `C` and builds the estimator `E`.
#[derive(Clone, Debug)]
pub struct Builder<C, E> {
    pub(crate) config: C,
    pub(crate) setup: Setup,
    estimator: PhantomData<fn() -> E>,
}

impl<C: Config, E: FromConfig<C>> Builder<C, E> {
    /// Begins with these hyperparameters.
    #[must_use]
    pub fn new(config: C) -> Self {
        Self { config, setup: Setup::default(), estimator: PhantomData }
    }

    /// The hyperparameters as they are set, unchecked.
    #[must_use]
    pub fn config(&self) -> &C {
        &self.config
    }

    /// Trains and predicts with this many threads, at least 1; unless set one a core. Results have
    /// the same bits for any number.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.setup.threads = Some(threads);
        self
    }

    /// Checks the hyperparameters.
    ///
    /// # Errors
    /// `InvalidParam` for a value out of its range, `Unsupported` for a combination that is not
    /// offered.
    pub fn build(self) -> Result<E> {
        self.config.check()?;
        self.setup.check()?;
        E::from_config(self.config, self.setup)
    }
}

/// Declares a struct of hyperparameters: of every one its documentation, type and default.
macro_rules! hyperparameters {
    (
        $(#[$about:meta])*
        pub struct $config:ident {$(
            $(#[$doc:meta])*
            $vis:vis $name:ident: $kind:ty = $default:expr;
        )*}
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $config {$(
            $(#[$doc])*
            $vis $name: $kind,
        )*}

        impl Default for $config {
            fn default() -> Self {
                Self { $($name: $default),* }
            }
        }
    };
}
pub(crate) use hyperparameters;

/// Declares the [`hyperparameters`] of a family, and the setters of its [`Builder`]. `into` marks
/// those whose setter takes all that converts into their type.
macro_rules! config {
    (
        $(#[$about:meta])*
        pub struct $config:ident {$(
            $(#[doc = $doc:literal])*
            $(#[serde($($serde:tt)*)])?
            $name:ident: $kind:ty = $default:expr $(, $into:ident)?;
        )*}
    ) => {
        $crate::config::hyperparameters! {
            $(#[$about])*
            #[non_exhaustive]
            pub struct $config {$(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])?
                pub $name: $kind = $default;
            )*}
        }

        impl<E> $crate::config::Builder<$config, E> {$(
            $(#[doc = $doc])*
            #[doc = concat!("\n\nUnless set `", stringify!($default), "`.")]
            #[must_use]
            pub fn $name(mut self, $name: $crate::config::config!(@taken $kind $(, $into)?)) -> Self {
                self.config.$name = $crate::config::config!(@put $name $(, $into)?);
                self
            }
        )*}
    };
    (@taken $kind:ty) => { $kind };
    (@taken $kind:ty, into) => { impl Into<$kind> };
    (@put $name:ident) => { $name };
    (@put $name:ident, into) => { $name.into() };
}
pub(crate) use config;
