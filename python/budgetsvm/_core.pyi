"""Types of the compiled core."""

from collections.abc import Callable
from os import PathLike
from typing import IO, Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Machine",
    "__version__",
    "_test_looks",
    "_test_panic",
    "archive_load",
    "archive_save",
    "cross_validate",
    "finish",
    "hyperparameters",
    "join",
    "learn_scales",
    "left_out",
    "libsvm_read",
    "libsvm_write",
    "local_clusters",
    "map_fit",
    "polish_sums",
    "scales",
    "sigmoid",
    "svmlight_read",
    "svmlight_write",
    "thread_count",
    "train",
    "tune",
    "variance",
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
    def answers(self, x: _Rows, answer: str, threads: int) -> NDArray[np.float64]: ...
    def gradient(self, x: _Rows, threads: int) -> NDArray[np.float64]: ...
    def transform(self, x: _Rows, width: int, threads: int) -> NDArray[Any]: ...
    def scaled(self, scales: NDArray[np.float64], given: _Rows | None = None) -> Machine: ...
    def behind(self) -> Machine: ...
    @property
    def scales(self) -> NDArray[np.float64] | None: ...
    def calibrated(
        self,
        method: str,
        values: NDArray[np.float64],
        classes: NDArray[np.uint32],
        n_classes: int,
        weights: NDArray[np.float64],
        threads: int,
    ) -> Machine: ...
    def with_sigmoids(self, curves: NDArray[np.float64], n_classes: int) -> Machine: ...
    def with_temperature(self, sharpness: float, n_classes: int) -> Machine: ...
    def probabilities(
        self, values: NDArray[np.float64], n_classes: int, threads: int
    ) -> NDArray[np.float64]: ...
    @property
    def calibration(self) -> tuple[str, int] | None: ...
    def without_summary(self) -> Machine: ...
    def parts(self) -> tuple[str, dict[str, NDArray[Any]]]: ...
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
    def state(self) -> str: ...
    @property
    def learner(self) -> str: ...
    @property
    def n_support(self) -> list[int]: ...
    @property
    def support_vectors(self) -> Any: ...
    @property
    def dual_coef(self) -> NDArray[np.float64]: ...
    @property
    def coef(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    @property
    def map_width(self) -> int: ...
    def map_part(self, name: str) -> NDArray[Any] | None: ...
    @property
    def sizes(self) -> NDArray[np.uint64]: ...
    @property
    def cell_width(self) -> int: ...
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
def join(config: str, machines: list[Machine], threads: int) -> Machine: ...
def polish_sums(
    config: str,
    x: _Rows,
    y: _Target,
    n_classes: int | None,
    cost: _Weights,
    joined: Machine,
    point: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...
def finish(
    config: str,
    joined: Machine,
    sums_of: Callable[[Machine, NDArray[np.float64]], NDArray[np.float64]],
) -> tuple[Machine, dict[str, Any]]: ...
def learn_scales(
    kernel: str,
    gamma: float | None,
    x: _Rows,
    y: Any,
    n_classes: int | None,
    weights: _Weights,
    how: tuple[float | None, int, float | None],
    notify: Any,
    threads: int,
) -> tuple[NDArray[np.float64], float] | None: ...
def left_out(
    family: str,
    config: str,
    x: _Rows,
    y: NDArray[np.uint32],
    n_classes: int,
    cost: _Weights,
    *,
    start: Machine,
    folds: NDArray[np.uint32],
    n_folds: int,
    threads: int,
) -> NDArray[np.float64] | None: ...
def cross_validate(
    config: str,
    x: _Rows,
    y: _Target,
    n_classes: int | None,
    cost: _Weights,
    *,
    grid: tuple[list[float], list[float], bool],
    folds: list[tuple[list[int], list[int]]],
    weights: _Weights,
    keep: bool,
    notify: _Notify | None,
    threads: int,
) -> tuple[list[float], list[NDArray[np.float64]], list[float], str | None]: ...
def tune(
    config: str,
    x: _Rows,
    y: _Target,
    n_classes: int | None,
    cost: _Weights,
    *,
    which: tuple[bool, bool],
    notify: _Notify | None,
    threads: int,
) -> tuple[float, float]: ...
def archive_save(
    path: str | PathLike[str],
    description: str,
    arrays: dict[str, NDArray[Any]],
    machine: Machine | None,
) -> None: ...
def archive_load(
    path: str | PathLike[str],
) -> tuple[str, dict[str, NDArray[Any]], Machine | None]: ...
def map_fit(family: str, config: str, x: _Rows, threads: int) -> tuple[Machine, dict[str, Any]]: ...
def svmlight_read(
    source: bytes | str | IO[bytes],
    *,
    single: bool,
    zero_based: bool | None,
    n_features: int | None,
    dense: bool,
    threads: int,
    lines: int = 0,
) -> tuple[Any, ...]: ...
def svmlight_write(x: _Rows, y: NDArray[np.float64], first: int, threads: int) -> list[bytes]: ...
def libsvm_read(
    source: bytes | str | IO[bytes], n_features: int | None, threads: int
) -> tuple[str, Machine, list[int], tuple[list[float], list[float]] | None]: ...
def libsvm_write(
    kind: str,
    kernel: str,
    x: _Rows,
    coef: NDArray[np.float64],
    *,
    labels: list[int],
    n_support: list[int],
    rho: list[float],
    sigmoids: tuple[list[float], list[float]] | None,
    threads: int,
) -> list[bytes]: ...
def local_clusters(config: str, n: int, n_classes: int) -> int: ...
def hyperparameters(family: str, config: str = "{}") -> str: ...
def variance(x: _Rows, weight: _Weights) -> float: ...
def scales(x: _Rows, weight: _Weights) -> tuple[int, int, float] | None: ...
def sigmoid(values: _Weights, positive: NDArray[np.bool_], weight: _Weights) -> list[float]: ...
def thread_count(n_jobs: int | None) -> int: ...
def _test_looks(clock: Callable[[], float] | None) -> tuple[float, float]: ...
def _test_panic() -> None: ...
