//! The one error type. Not converging is no error: see [`crate::watch::StopReason`].

use std::path::PathBuf;

/// What went wrong, with the name of the argument that was at fault: "X" are the rows, "y" the
/// labels or values, "sample_weight" the weights of the samples.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A hyperparameter outside its range.
    #[error("{name} must be {expected}, got {got}")]
    InvalidParam {
        /// The parameter's name, as Python writes it: `C` for `c`.
        name: &'static str,
        /// The admissible values, in words.
        expected: String,
        /// The value given.
        got: String,
    },
    /// Two arrays that must have the same number of rows do not.
    #[error("{what} has {got} entries, expected {expected}")]
    LengthMismatch {
        /// The array at fault.
        what: &'static str,
        /// Entries it should have.
        expected: usize,
        /// Entries it has.
        got: usize,
    },
    /// Rows with another number of features than the model was fitted on.
    #[error("X has {got} features, but the model was fitted with {expected} features")]
    FeatureMismatch {
        /// Features of the fitted model.
        expected: usize,
        /// Features of the rows given.
        got: usize,
    },
    /// NaN or infinity where a finite number is needed.
    #[error("{what} contains NaN or infinity (row {row}, column {column})")]
    NonFinite {
        /// The array at fault.
        what: &'static str,
        /// Row of the first bad value.
        row: usize,
        /// Column of the first bad value.
        column: usize,
    },
    /// Finite rows whose decision values are not.
    #[error("{what} leads out of the range of floating point numbers: scale it, or lower gamma")]
    OutOfRange {
        /// The array at fault.
        what: &'static str,
    },
    /// Data whose form is wrong: no rows, a broken CSR structure.
    #[error("{what}: {reason}")]
    InvalidData {
        /// The array at fault.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Labels that no machine can be trained on.
    #[error("labels: {0}")]
    BadLabels(String),
    /// A combination that is not offered; the message names what works.
    #[error("{0}")]
    Unsupported(String),
    /// A matrix that should be positive definite is not, even with a jitter.
    #[error("{0} is not positive definite")]
    NotPositiveDefinite(&'static str),
    /// A model file that is not exactly valid.
    #[error("not a valid budgetsvm model file: {0}")]
    Format(String),
    /// A valid model file of something else than was asked for.
    #[error("the file holds {found}: load it as that, not as {asked}")]
    OtherFile {
        /// What is in it.
        found: String,
        /// What was asked for.
        asked: String,
    },
    /// The operating system refused to read or write a file.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: std::io::Error,
    },
    /// An allocation that depends on the input could not be made.
    #[error("out of memory: {what} needs {bytes} bytes")]
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
        /// How much was asked for.
        bytes: usize,
    },
    /// An observer asked to stop and to throw the result away (Ctrl-C).
    #[error("interrupted")]
    Interrupted,
}

/// Shorthand for results with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// `InvalidParam` from anything that prints.
    pub(crate) fn param(
        name: &'static str,
        expected: impl Into<String>,
        got: impl std::fmt::Display,
    ) -> Self {
        Self::InvalidParam { name, expected: expected.into(), got: got.to_string() }
    }
}

/// [`Error::LengthMismatch`] unless there are as many entries as expected.
pub(crate) fn check_len(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::LengthMismatch { what, expected, got }) }
}

/// [`Error::FeatureMismatch`] unless there are as many features as expected.
pub(crate) fn check_features(expected: usize, got: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::FeatureMismatch { expected, got }) }
}

/// Bytes that stay free behind everything large: what is small is asked for by the standard
/// library and by others, who end the process where it cannot be had. Large enough for the system's
/// allocator to ask the system, and to keep nothing of it.
const ROOM: usize = 34 << 20;
/// From so many bytes on, an allocation is large.
pub(crate) const LARGE: usize = 1 << 18;

/// So many times what the process has already, freed, is put aside when the system is asked.
const PUT_ASIDE: usize = 4;

/// Whether the system has `bytes` more, and room for what is small: they are asked for, and given
/// back.
///
/// Whoever is to call something that makes large arrays by itself asks for as much before.
///
/// # Errors
/// `OutOfMemory`.
#[doc(hidden)]
pub fn check_room(what: &'static str, bytes: usize) -> Result<()> {
    let mut asked: [Vec<u8>; PUT_ASIDE] = Default::default();
    for block in &mut asked {
        let had = block.try_reserve_exact(bytes.saturating_add(ROOM));
        had.map_err(|_| Error::OutOfMemory { what, bytes })?;
        // Nobody uses it: the compiler must not see that.
        if of_the_system(std::hint::black_box(block.as_ptr())) {
            break;
        }
    }
    Ok(())
}

/// Whether an allocation larger than [`ROOM`] comes from the system just now. glibc keeps what a
/// thread has freed for that thread, and the others find nothing there; what it asks the system for
/// it puts behind two words at the beginning of a page, or sixteen bytes, as x86 wants it of 32 bits
/// too. Of other allocators nothing is known.
fn of_the_system(at: *const u8) -> bool {
    let known = cfg!(all(target_os = "linux", target_env = "gnu"));
    !known || [2 * size_of::<usize>(), 16].contains(&(at as usize % 4096))
}

/// [`check_room`] after an allocation of so many bytes, which is given up when there is none.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn check_room_behind(what: &'static str, bytes: usize) -> Result<()> {
    if bytes < LARGE {
        return Ok(());
    }
    check_room(what, 0).map_err(|_| Error::OutOfMemory { what, bytes })
}

/// Sets memory aside in `vec` for `more` entries, which it does not have yet.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn try_reserve<T>(what: &'static str, vec: &mut Vec<T>, more: usize) -> Result<()> {
    let bytes = more.saturating_mul(size_of::<T>());
    vec.try_reserve_exact(more).map_err(|_| Error::OutOfMemory { what, bytes })?;
    check_room_behind(what, bytes)
}

/// A vector of `len` copies of `value`, or [`Error::OutOfMemory`].
pub(crate) fn try_vec<T: Clone>(what: &'static str, len: usize, value: T) -> Result<Vec<T>> {
    let mut out = Vec::new();
    try_reserve(what, &mut out, len)?;
    out.resize(len, value);
    Ok(out)
}

/// n rows of n copies, or [`Error::OutOfMemory`], also where `usize` does not count as many.
pub(crate) fn try_square<T: Clone>(what: &'static str, n: usize, value: T) -> Result<Vec<T>> {
    try_vec(what, n.saturating_mul(n), value)
}

/// What an iterator gives, as a vector, or [`Error::OutOfMemory`].
pub(crate) fn try_collect<T>(
    what: &'static str,
    items: impl IntoIterator<Item = T>,
) -> Result<Vec<T>> {
    let items = items.into_iter();
    let mut out = Vec::new();
    let (least, most) = items.size_hint();
    try_reserve(what, &mut out, least)?;
    if most == Some(least) {
        out.extend(items);
        return Ok(out);
    }
    for item in items {
        try_push(what, &mut out, item)?;
    }
    Ok(out)
}

/// Appends an item to a vector that grows as any, or [`Error::OutOfMemory`].
#[inline]
pub(crate) fn try_push<T>(what: &'static str, to: &mut Vec<T>, item: T) -> Result<()> {
    if to.len() == to.capacity() {
        try_reserve(what, to, to.len().max(256))?;
    }
    to.push(item);
    Ok(())
}

/// Appends values to a vector that grows as any, or [`Error::OutOfMemory`].
pub(crate) fn try_extend<T: Copy>(what: &'static str, to: &mut Vec<T>, values: &[T]) -> Result<()> {
    if to.capacity() - to.len() < values.len() {
        try_reserve(what, to, values.len().max(to.len()))?;
    }
    to.extend_from_slice(values);
    Ok(())
}

/// A copy of values, or [`Error::OutOfMemory`].
pub(crate) fn try_copy<T: Copy>(what: &'static str, values: &[T]) -> Result<Vec<T>> {
    let mut out = Vec::new();
    try_reserve(what, &mut out, values.len())?;
    out.extend_from_slice(values);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_collected_is_what_the_standard_library_collects() {
        let odd = (0..1000_u32).filter(|i| i % 2 == 1);
        assert_eq!(try_collect("all", odd.clone()).unwrap(), odd.collect::<Vec<_>>());
        assert_eq!(try_collect("all", 3..7).unwrap(), [3, 4, 5, 6]);
        assert_eq!(try_copy("all", &[1, 2, 3]).unwrap(), [1, 2, 3]);
        // Nothing of a size that cannot be had is begun.
        let endless = std::iter::repeat_n(0_u64, usize::MAX);
        assert!(matches!(try_collect("all", endless), Err(Error::OutOfMemory { .. })));
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        assert!(check_room("nothing", 0).is_ok());
        // Sizes that 32 bits can name a machine may have.
        let shifts: &[u32] = if usize::BITS == 64 { &[0, 1, 4] } else { &[0] };
        for bytes in shifts.iter().map(|by| usize::MAX >> by) {
            let asked = [
                check_room("all", bytes),
                try_vec("all", bytes, 0_u8).map(drop),
                try_reserve("all", &mut Vec::<u64>::new(), bytes),
            ];
            for error in asked.map(|asked| asked.unwrap_err()) {
                assert!(matches!(error, Error::OutOfMemory { what: "all", .. }), "{error}");
            }
        }
        assert!(try_square("all", 1 << (usize::BITS / 2), 0_u8).is_err());
    }
}
