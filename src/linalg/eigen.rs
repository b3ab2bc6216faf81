//! Eigendecomposition of a symmetric matrix, which an interrupt may leave behind.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use faer::linalg::solvers::SelfAdjointEigen;
use faer::{MatRef, Side};

use crate::error::{Error, Result, check_len, try_vec};
use crate::parallel::THREADED;

/// Up to this order the decomposition takes a few milliseconds and is made in place.
const SMALL: usize = 192;
/// How often `between` is asked while a larger one runs.
const PATIENCE: Duration = Duration::from_millis(20);

/// `M = Q diag(values) Qᵀ`.
#[derive(Clone, Debug)]
pub(crate) struct SymmetricEigen {
    /// Eigenvalues, falling.
    pub(crate) values: Vec<f64>,
    /// Q, row-major n x n: column j belongs to `values[j]`.
    pub(crate) vectors: Vec<f64>,
}

/// Decomposes the n x n row-major symmetric `matrix`, whose lower triangle alone is read.
///
/// Cost about 9 n³ multiply-adds, one thread. faer offers no way to stop it, so a larger one runs
/// on a thread of its own while the calling thread asks `between`; when that answers with an
/// error, the thread is left to finish for nobody.
///
/// # Errors
/// Those of `between`; `OutOfMemory`; `NotPositiveDefinite`, naming `what`, when the matrix holds
/// a number that is not finite or the iteration fails.
pub(crate) fn symmetric_eigen<E: From<Error>>(
    what: &'static str,
    matrix: Vec<f64>,
    n: usize,
    mut between: impl FnMut() -> std::result::Result<(), E>,
) -> std::result::Result<SymmetricEigen, E> {
    check_len(what, n * n, matrix.len())?;
    if !matrix.iter().all(|v| v.is_finite()) {
        return Err(Error::NotPositiveDefinite(what).into());
    }
    if n <= SMALL || !THREADED {
        return Ok(decompose(what, &matrix, n)?);
    }
    let (send, receive) = channel();
    let work = move || {
        // Nobody may be listening any more.
        let _ = send.send(decompose(what, &matrix, n));
    };
    std::thread::Builder::new()
        .name("budgetsvm-eigen".into())
        .spawn(work)
        .map_err(|_| Error::OutOfMemory { what: "a thread", bytes: 2 << 20 })?;
    loop {
        match receive.recv_timeout(PATIENCE) {
            Ok(result) => return Ok(result?),
            Err(RecvTimeoutError::Timeout) => between()?,
            // The thread died without an answer.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::NotPositiveDefinite(what).into());
            }
        }
    }
}

fn decompose(what: &'static str, matrix: &[f64], n: usize) -> Result<SymmetricEigen> {
    let view = MatRef::from_row_major_slice(matrix, n, n);
    let found =
        SelfAdjointEigen::new(view, Side::Lower).map_err(|_| Error::NotPositiveDefinite(what))?;
    let (rising, q) = (found.S(), found.U());
    let mut vectors = try_vec("eigenvectors", n * n, 0.0)?;
    for (i, row) in vectors.chunks_exact_mut(n.max(1)).enumerate() {
        for (j, v) in row.iter_mut().enumerate() {
            *v = q[(i, n - 1 - j)];
        }
    }
    let values = (0..n).map(|j| rising[n - 1 - j]).collect();
    Ok(SymmetricEigen { values, vectors })
}
