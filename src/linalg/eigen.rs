//! Eigendecomposition of a symmetric matrix, which an interrupt may leave behind.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{MatMut, MatRef, Par, Spec};

use crate::error::{Error, Result, check_len, check_room, try_square};
use crate::parallel::{THREADED, ready};

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
    check_room("a thread", 2 << 20)?;
    let thread = std::thread::Builder::new()
        .name("budgetsvm-eigen".into())
        .spawn(work)
        .map_err(|_| Error::OutOfMemory { what: "a thread", bytes: 2 << 20 })?;
    loop {
        match receive.recv_timeout(PATIENCE) {
            Ok(result) => return Ok(result?),
            Err(RecvTimeoutError::Timeout) => between()?,
            // The thread died without an answer: of a panic, which is no other error than it is.
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(Error::NotPositiveDefinite(what).into()),
            },
        }
    }
}

fn decompose(what: &'static str, matrix: &[f64], n: usize) -> Result<SymmetricEigen> {
    let view = MatRef::from_row_major_slice(matrix, n, n);
    // Column by column, the eigenvalues rising.
    let (mut q, mut rising) = (try_square("eigenvectors", n, 0.0)?, vec![0.0; n]);
    let (yes, par) = (ComputeEigenvectors::Yes, Par::Seq);
    let scratch = self_adjoint_evd_scratch::<f64>(n, yes, par, Spec::default());
    let bytes = scratch.size_bytes();
    let full = |_| Error::OutOfMemory { what: "eigenvectors", bytes };
    let mut memory = MemBuffer::try_new(scratch).map_err(full)?;
    ready()?;
    check_room("eigenvectors", 0)?;
    self_adjoint_evd(
        view,
        DiagMut::from_slice_mut(&mut rising),
        Some(MatMut::from_column_major_slice_mut(&mut q, n, n)),
        par,
        MemStack::new(&mut memory),
        Spec::default(),
    )
    .map_err(|_| Error::NotPositiveDefinite(what))?;
    drop(memory);
    let mut vectors = try_square("eigenvectors", n, 0.0)?;
    for (i, row) in vectors.chunks_exact_mut(n.max(1)).enumerate() {
        for (j, v) in row.iter_mut().enumerate() {
            *v = q[(n - 1 - j) * n + i];
        }
    }
    rising.reverse();
    Ok(SymmetricEigen { values: rising, vectors })
}
