//! Dense linear algebra.
