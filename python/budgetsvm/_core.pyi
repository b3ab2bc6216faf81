"""Types of the compiled core."""

from collections.abc import Callable
from os import PathLike
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BudgetMachine",
    "LocalMachine",
    "OnlineMachine",
    "__version__",
    "_test_panic",
    "archive_load",
    "archive_save",
    "asset_fit",
    "cholesky_fit",
    "describe",
    "exact_decide",
    "exact_fit",
    "expansion_decide",
    "fourier_decide",
    "fourier_fit",
    "fourier_transform",
    "hyperparameters",
    "landmark_transform",
    "nystroem_fit",
    "primal_decide",
    "primal_fit",
    "thread_count",
]

__version__: Final[str]

_Rows = (
    NDArray[np.float32] | NDArray[np.float64] | tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
)
_Target = NDArray[np.uint32] | NDArray[np.float64]
_Notify = Callable[[dict[str, Any]], bool]
_Weights = NDArray[np.float64]

@final
class BudgetMachine:
    @staticmethod
    def fit(
        config: str,
        x: _Rows,
        y: _Target,
        n_classes: int | None,
        cost: _Weights,
        *,
        start: BudgetMachine | None,
        validation: tuple[_Rows, _Target, _Weights] | None,
        notify: _Notify | None,
        threads: int,
    ) -> tuple[BudgetMachine, dict[str, Any]]: ...
    @staticmethod
    def partial_fit(
        config: str,
        x: _Rows,
        y: _Target,
        n_classes: int | None,
        cost: _Weights,
        *,
        start: BudgetMachine | None,
        notify: _Notify | None,
        threads: int,
    ) -> tuple[BudgetMachine, dict[str, Any]]: ...
    @staticmethod
    def polish(
        config: str,
        x: _Rows,
        y: _Target,
        n_classes: int | None,
        cost: _Weights,
        *,
        start: BudgetMachine,
        notify: _Notify | None,
        threads: int,
    ) -> tuple[BudgetMachine, dict[str, Any]]: ...
    def decision_function(self, x: _Rows, threads: int) -> NDArray[np.float64]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> BudgetMachine: ...
    def save(
        self,
        path: str | PathLike[str],
        description: str,
        labels: list[Any] | None,
        feature_names: list[str] | None,
        history: dict[str, NDArray[np.float64]],
    ) -> None: ...
    @staticmethod
    def load(
        path: str | PathLike[str],
    ) -> tuple[
        BudgetMachine, str, list[Any] | None, list[str] | None, dict[str, NDArray[np.float64]]
    ]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def n_terms(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def gamma(self) -> float: ...
    @property
    def support_vectors(self) -> NDArray[Any]: ...
    @property
    def dual_coef(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

@final
class LocalMachine:
    @staticmethod
    def train(
        config: str,
        x: _Rows,
        y: NDArray[np.uint32],
        n_classes: int,
        cost: _Weights,
        *,
        centers: NDArray[Any] | None,
        start: LocalMachine | None,
        stream: bool,
        notify: _Notify | None,
        threads: int,
    ) -> tuple[LocalMachine, dict[str, Any]]: ...
    def decision_function(self, x: _Rows, threads: int) -> NDArray[np.float64]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> LocalMachine: ...
    @property
    def dtype(self) -> str: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def gamma(self) -> float: ...
    @property
    def seen(self) -> int: ...
    @property
    def sizes(self) -> NDArray[np.uint64]: ...
    @property
    def centers(self) -> NDArray[Any]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

@final
class OnlineMachine:
    @staticmethod
    def train(
        config: str,
        x: _Rows,
        y: NDArray[np.uint32],
        n_classes: int,
        cost: _Weights,
        *,
        start: OnlineMachine | None,
        stream: bool,
        record: bool,
        notify: _Notify | None,
        threads: int,
    ) -> tuple[OnlineMachine, dict[str, Any]]: ...
    def decision_function(self, x: _Rows, threads: int) -> NDArray[np.float64]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> OnlineMachine: ...
    @property
    def dtype(self) -> str: ...
    @property
    def n_terms(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def gamma(self) -> float: ...
    @property
    def feature_coef(self) -> NDArray[np.float64]: ...
    @property
    def frequencies(self) -> NDArray[np.float64]: ...
    @property
    def steps(self) -> int: ...
    @property
    def support_vectors(self) -> NDArray[Any]: ...
    @property
    def dual_coef(self) -> NDArray[np.float64]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

def exact_fit(
    config: str,
    precomputed: bool,
    x: _Rows,
    y: _Target | None,
    n_classes: int | None,
    cost: _Weights,
    *,
    functions: NDArray[np.float64] | None,
    notify: _Notify | None,
    threads: int,
) -> dict[str, Any]: ...
def exact_decide(
    kernel: tuple[str, float, float, int],
    support: _Rows,
    n_support: list[int],
    dual_coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    x: _Rows,
    threads: int,
) -> NDArray[np.float64]: ...
def primal_fit(
    config: str,
    x: _Rows,
    y: _Target,
    n_classes: int | None,
    cost: _Weights,
    basis: tuple[_Rows, int] | None,
    *,
    before: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]] | None,
    notify: _Notify | None,
    threads: int,
) -> dict[str, Any]: ...
def primal_decide(
    kernel: tuple[str, float, float, int],
    points: _Rows,
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    x: _Rows,
    threads: int,
) -> NDArray[np.float64]: ...
def archive_save(
    path: str | PathLike[str], description: str, arrays: dict[str, NDArray[Any]]
) -> None: ...
def archive_load(path: str | PathLike[str]) -> tuple[str, dict[str, NDArray[Any]]] | None: ...

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
def asset_fit(
    config: str,
    x: _Rows,
    y: _Target,
    n_classes: int | None,
    cost: _Weights,
    *,
    start: dict[str, Any] | None,
    notify: _Notify | None,
    threads: int,
) -> dict[str, Any]: ...
def expansion_decide(
    x: _Rows,
    kernel: _Kernel,
    components: NDArray[Any],
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...
def fourier_decide(
    x: _Rows,
    frequencies: NDArray[np.float64],
    phases: NDArray[np.float64],
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...
def hyperparameters(family: str, config: str = "{}") -> str: ...
def describe(x: _Rows, weight: _Weights) -> tuple[float, float]: ...
def thread_count(n_jobs: int | None) -> int: ...
def _test_panic() -> None: ...
