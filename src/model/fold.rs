//! Rows of decision values made into something smaller, some rows at a time.

use std::sync::Mutex;

use crate::error::Result;
use crate::parallel::{self, ROW_CHUNK};
use crate::watch::Look;

/// Multiply-adds between two looks: folds do fewer of them at a time than kernel rows.
const WORK_BETWEEN_LOOKS: usize = 1 << 27;

/// Makes numbers of the decision values of one row.
pub(crate) type Fold<'f> = dyn Fn(&[f64], &mut [f64]) -> Result<()> + Sync + 'f;

/// `fold` of every row of `values`, in parallel inside the current pool; it does `work` multiply-adds
/// a row. `look` is asked between blocks of rows.
///
/// # Errors
/// The first of `fold` or `look`.
pub(super) fn fold_rows(
    (values, outputs): (&[f64], usize),
    (out, width): (&mut [f64], usize),
    (work, fold): (usize, &Fold<'_>),
    look: Look<'_>,
) -> Result<()> {
    let together = (WORK_BETWEEN_LOOKS / work.max(1)).max(1);
    // A part of the work is a few rows where a row is much.
    let chunk = together.div_ceil(ROW_CHUNK).min(ROW_CHUNK);
    let blocks = values.chunks(together * outputs).zip(out.chunks_mut(together * width));
    for (values, out) in blocks {
        let failed = Mutex::new(Ok(()));
        let chunks = values.chunks(chunk * outputs).zip(out.chunks_mut(chunk * width));
        parallel::each(chunks, &|_, (values, out): (&[f64], &mut [f64])| {
            let mut rows = values.chunks_exact(outputs).zip(out.chunks_exact_mut(width));
            let folded = rows.try_for_each(|(row, out)| fold(row, out));
            if folded.is_err()
                && let Ok(mut failed) = failed.lock()
            {
                *failed = folded;
            }
        });
        failed.into_inner().unwrap_or(Ok(()))?;
        look()?;
    }
    Ok(())
}
