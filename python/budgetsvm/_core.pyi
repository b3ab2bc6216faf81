"""Types of the compiled core."""

from collections.abc import Callable
from os import PathLike
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Machine",
    "__version__",
    "_test_panic",
    "archive_load",
    "archive_save",
    "cholesky_fit",
    "describe",
    "fourier_fit",
    "fourier_transform",
    "hyperparameters",
    "landmark_transform",
    "nystroem_fit",
    "thread_count",
    "train",
]

__version__: Final[str]

_Rows = (
    NDArray[np.float32] | NDArray[np.float64] | tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
)
_Target = NDArray[np.uint32] | NDArray[np.float64]
_Notify = Callable[[dict[str, Any]], bool]
_Weights = NDArray[np.float64]

@final
class Machine:
    def decision_function(self, x: _Rows, threads: int) -> NDArray[np.float64]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Machine: ...
    @property
    def dtype(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def n_terms(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def gamma(self) -> float: ...
    @property
    def kernel(self) -> str: ...
    @property
    def seen(self) -> int: ...
    def with_dual_coef(self, coef: NDArray[np.float64]) -> Machine: ...
    @property
    def is_sparse(self) -> bool: ...
    @property
    def takes_single(self) -> bool: ...
    @property
    def has_state(self) -> bool: ...
    @property
    def support_vectors(self) -> Any: ...
    @property
    def dual_coef(self) -> NDArray[np.float64]: ...
    @property
    def coef(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    @property
    def map(self) -> dict[str, NDArray[Any]]: ...
    @property
    def sizes(self) -> NDArray[np.uint64]: ...
    @property
    def centers(self) -> NDArray[Any] | None: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

def train(
    family: str,
    config: str,
    x: _Rows,
    y: _Target | None,
    n_classes: int | None,
    cost: _Weights,
    *,
    notify: _Notify | None,
    threads: int,
    **own: Any,
) -> tuple[Machine, dict[str, Any]]: ...
def archive_save(
    path: str | PathLike[str],
    description: str,
    arrays: dict[str, NDArray[Any]],
    machine: Machine | None,
) -> None: ...
def archive_load(
    path: str | PathLike[str],
) -> tuple[str, dict[str, NDArray[Any]], Machine | None]: ...

_Kernel = tuple[str, float, float, int]

def nystroem_fit(x: _Rows, config: str, threads: int) -> dict[str, Any]: ...
def cholesky_fit(x: _Rows, config: str, threads: int) -> dict[str, Any]: ...
def fourier_fit(d: int, config: str) -> dict[str, Any]: ...
def landmark_transform(
    x: _Rows,
    kernel: _Kernel,
    components: NDArray[Any],
    normalization: NDArray[Any],
    width: int,
    threads: int,
) -> NDArray[Any]: ...
def fourier_transform(
    x: _Rows,
    frequencies: NDArray[np.float64],
    phases: NDArray[np.float64],
    width: int,
    threads: int,
) -> NDArray[Any]: ...
def hyperparameters(family: str, config: str = "{}") -> str: ...
def describe(x: _Rows, weight: _Weights) -> tuple[float, float]: ...
def thread_count(n_jobs: int | None) -> int: ...
def _test_panic() -> None: ...
