//! New memory, asked for by all threads at once.

use std::hint::black_box;

use super::zeroed::zeroed;
use crate::error::{Error, try_reserve};
use crate::float::Real;
use crate::parallel::each;

/// Bytes from which on it is worth it ...
const LEAST: usize = 1 << 19;
/// ... and from which on it comes from the system, as zeros. (What is smaller an allocator may have kept,
/// and would write zeros to alone; glibc does, up to 32 MiB.)
const LARGE: usize = 32 << 20;
/// Bytes of a task, a large page; of one that writes all of them; and of the least page that there is.
const TASK: usize = 2 << 20;
const SMALL_TASK: usize = 1 << 18;
const PAGE: usize = 4 << 10;
/// Tasks until others are let in.
const WAVE: usize = 32;

/// `len` zeros in memory that all threads ask for, where they are many. `between` is asked now and then,
/// and its error ends it.
///
/// # Errors
/// `OutOfMemory`, naming `what`; those of `between`.
pub(crate) fn touched<F: Real, E: From<Error>>(
    what: &'static str,
    len: usize,
    between: &mut dyn FnMut() -> Result<(), E>,
) -> Result<Vec<F>, E> {
    let bytes = len.saturating_mul(size_of::<F>());
    if !(LEAST..LARGE).contains(&bytes) {
        let mut zeros = zeroed(what, len)?;
        touch(&mut zeros, between)?;
        return Ok(zeros);
    }
    let mut zeros: Vec<F> = Vec::new();
    try_reserve(what, &mut zeros, len)?;
    let room = &mut zeros.spare_capacity_mut()[..len];
    each(room.chunks_mut(SMALL_TASK / size_of::<F>()), &|_, part| {
        for v in part {
            v.write(F::zero());
        }
    });
    // SAFETY: all of the first `len` places were written.
    unsafe { zeros.set_len(len) };
    between()?;
    Ok(zeros)
}

/// Writes a zero to every page of memory that holds zeros and was never written, where it is large.
///
/// The system clears a page for whoever writes to it first, and a large one takes a millisecond or two
/// on a virtual machine: in work that is shared out by rows one thread waits for that, and then the
/// others for this one.
fn touch<T: Copy + Default + Send, E>(
    zeros: &mut [T],
    between: &mut dyn FnMut() -> Result<(), E>,
) -> Result<(), E> {
    if size_of_val(zeros) < LARGE {
        return Ok(());
    }
    let values = |bytes: usize| (bytes / size_of::<T>()).max(1);
    for wave in zeros.chunks_mut(WAVE * values(TASK)) {
        each(wave.chunks_mut(values(TASK)), &|_, part: &mut [T]| {
            part.iter_mut().step_by(values(PAGE)).for_each(|v| *v = black_box(T::default()));
        });
        between()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel;

    #[test]
    fn zeros_stay_and_others_are_let_in() {
        // Miri takes minutes for a large one.
        let len = if cfg!(miri) { 1000 } else { 2 * LARGE + 12_345 };
        for threads in [1, 2] {
            let mut zeros = vec![0_i16; len];
            let mut asked = 0;
            let told: Result<(), ()> = parallel::run(threads, |_| {
                touch(&mut zeros, &mut || {
                    asked += 1;
                    if asked < 3 { Ok(()) } else { Err(()) }
                })
            })
            .unwrap();
            assert!(zeros.iter().all(|v| *v == 0));
            assert_eq!((told.is_err(), asked), if cfg!(miri) { (false, 0) } else { (true, 3) });
        }
    }

    #[test]
    fn all_of_them_are_zeros_whatever_lay_there() {
        let sizes =
            if cfg!(miri) { vec![0, 1000] } else { vec![0, LEAST, LEAST + 1234, LARGE - 4] };
        for threads in [1, 2] {
            for len in sizes.iter().map(|bytes| bytes / 4) {
                drop(std::hint::black_box(vec![7_f32; len]));
                let mut asked = 0;
                let go_on = &mut || {
                    asked += 1;
                    Ok::<_, Error>(())
                };
                let zeros = parallel::run(threads, |_| touched::<f32, _>("zeros", len, go_on));
                let zeros = zeros.unwrap().unwrap();
                assert!(zeros.len() == len && zeros.iter().all(|v| *v == 0.0), "{len}");
                assert_eq!(asked, usize::from(4 * len >= LEAST));
            }
        }
        let stop = &mut || Err(Error::Interrupted);
        let len = if cfg!(miri) { 0 } else { LEAST };
        let stopped = parallel::run(2, |_| touched::<f32, _>("zeros", len, stop)).unwrap();
        assert_eq!(stopped.is_err(), !cfg!(miri));
    }
}
