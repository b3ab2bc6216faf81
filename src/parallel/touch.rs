//! New memory, asked for by all threads at once.

use std::hint::black_box;

use super::share::each;

/// Bytes from which on it is worth it.
const LEAST: usize = 32 << 20;
/// Bytes of a task, a large page, and of the least page that there is.
const TASK: usize = 2 << 20;
const PAGE: usize = 4 << 10;
/// Tasks until others are let in.
const WAVE: usize = 32;

/// Writes a zero to every page of memory that holds zeros and was never written, where it is large.
///
/// The system clears a page for whoever writes to it first, and a large one takes a millisecond or two
/// on a virtual machine: in work that is shared out by rows one thread waits for that, and then the
/// others for this one. `between` is asked now and then, and its error ends it.
pub(crate) fn first_touch<T: Copy + Default + Send, E>(
    zeros: &mut [T],
    between: &mut dyn FnMut() -> Result<(), E>,
) -> Result<(), E> {
    if size_of_val(zeros) < LEAST {
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
        let len = if cfg!(miri) { 1000 } else { 2 * LEAST + 12_345 };
        for threads in [1, 2] {
            let mut zeros = vec![0_i16; len];
            let mut asked = 0;
            let told: Result<(), ()> = parallel::run(threads, |_| {
                first_touch(&mut zeros, &mut || {
                    asked += 1;
                    if asked < 3 { Ok(()) } else { Err(()) }
                })
            })
            .unwrap();
            assert!(zeros.iter().all(|v| *v == 0));
            assert_eq!((told.is_err(), asked), if cfg!(miri) { (false, 0) } else { (true, 3) });
        }
    }
}
