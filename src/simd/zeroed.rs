//! Large vectors of zeros, which the system gives page by page as they are written.

use std::alloc::{Layout, alloc_zeroed};

use crate::error::{Error, Result, check_room_behind};
use crate::float::Real;

use super::pages::in_large_pages;

/// `len` zeros, none of which has been written: a vector that is filled with them by a loop keeps
/// the caller waiting (a second for 3 GB) with nobody to ask.
///
/// # Errors
/// `OutOfMemory`, naming `what`.
pub(crate) fn zeroed<F: Real>(what: &'static str, len: usize) -> Result<Vec<F>> {
    // SAFETY: all bits 0 are the number 0 of the sealed `Real`, f32 or f64.
    unsafe { of_bits_zero(what, len) }
}

/// The same of whole numbers.
///
/// # Errors
/// `OutOfMemory`, naming `what`.
pub(crate) fn zeroed_places(what: &'static str, len: usize) -> Result<Vec<u32>> {
    // SAFETY: all bits 0 are the number 0.
    unsafe { of_bits_zero(what, len) }
}

/// # Safety
/// All bits 0 must be a `T`.
unsafe fn of_bits_zero<T: Copy>(what: &'static str, len: usize) -> Result<Vec<T>> {
    let full = || Error::OutOfMemory { what, bytes: len.saturating_mul(size_of::<T>()) };
    let layout = Layout::array::<T>(len).map_err(|_| full())?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout is not of size 0; it is that of a vector of `len` values and as many
    // places; the caller says what all bits 0 are.
    let mut values = unsafe {
        let values = alloc_zeroed(layout).cast::<T>();
        if values.is_null() {
            return Err(full());
        }
        Vec::from_raw_parts(values, len, len)
    };
    check_room_behind(what, layout.size())?;
    in_large_pages(&mut values);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_or_an_error() {
        assert!(zeroed::<f32>("zeros", 0).unwrap().is_empty());
        let mut many = zeroed::<f64>("zeros", 100_000).unwrap();
        assert!(many.iter().all(|v| *v == 0.0));
        many.push(1.0);
        assert_eq!(many.len(), 100_001);
        // Sizes that 32 bits can name a machine may have; Miri ends where it has not.
        let shifts: &[u32] = if usize::BITS == 64 && !cfg!(miri) { &[0, 3, 9] } else { &[0, 3] };
        for len in shifts.iter().map(|by| usize::MAX >> by) {
            let refused = zeroed::<f64>("zeros", len).unwrap_err();
            assert!(refused.to_string().contains("zeros"), "{refused}");
        }
    }
}
