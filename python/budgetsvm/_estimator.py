"""What all estimators share: checks before the work, nothing half done after it, rows and seeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import _columns, _names, _out_of_core, _parameters, _validation
from ._archive import ArchiveMixin
from ._callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from ._docs import documented
from ._hyperparameters import hyperparameters, nearest
from ._needs import warn_of_idle
from ._progress import Watcher
from ._validation import validate_data
from .data._stored_rows import StoredRows

#: The page of a family of estimators.
PAGE = "https://github.com/budgetsvm/budgetsvm/blob/main/docs/api/{family}.md"
#: What rows are used as they are.
FLOATS = (np.float64, np.float32)


#: Names of hyperparameters, which scikit-learn reads off a signature each time anew.
_NAMES: dict[type, list[str]] = {}


@hyperparameters
class Estimator(ArchiveMixin, BaseEstimator):
    """Base of all estimators; not for use on its own.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads; None is all cores (or ``OMP_NUM_THREADS``), -1 all cores. The result has the same
        bits for any number.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X had string column names.
    """

    n_jobs: int | None = None

    #: Whether `fit` takes rows of a source as they are stored; if not it gets arrays.
    _takes_stored: ClassVar[bool] = False

    # The link of the HTML representation: scikit-learn's default leads to its own pages.
    _doc_link_module = "budgetsvm"
    _doc_link_template = PAGE

    #: The family whose page is linked.
    _page: ClassVar[str]

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"family": self._page}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        if cls not in _NAMES:
            _NAMES[cls] = super()._get_param_names()
        return list(_NAMES[cls])

    def set_params(self, **params: Any) -> Self:
        """Set hyperparameters by their names.

        Parameters
        ----------
        params : dict
            Hyperparameters and their values; ``name__part`` is one of an estimator within.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            If there is no hyperparameter of a name; the message has the nearest one.
        """
        known = self._get_param_names()
        unknown = [name for name in params if name.partition("__")[0] not in known]
        try:
            return super().set_params(**params)
        except ValueError as error:
            if not unknown:
                raise
            raise ValueError(f"{error}{nearest(unknown[0], known)}") from None

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Check the hyperparameters; on an exception of any kind put everything back as it was."""
        _parameters.once(self, self._check_hyperparameters)
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_hyperparameters(self) -> None:
        _parameters.check(self)

    def _check_X_y(self, X: Any, y: Any, reset: bool, dtype: Any = None) -> tuple[Any, np.ndarray]:
        """Training rows and targets; rows of `dtype`, by default of what the machine is made of."""
        if reset and dtype is None and _validation.are_plain(X, y, is_classifier(self)):
            _validation.note_features(self, X)
            return X, y
        if dtype is None:
            dtype = list(FLOATS) if reset else self._dtype()
        if isinstance(X, StoredRows):
            rows = _out_of_core.stored_rows(self, X, reset, dtype)
            return rows, _out_of_core.stored_target(self, X)
        if reset:
            _columns.forget(self)
        return validate_data(
            self, X, y, accept_sparse="csr", y_numeric=not is_classifier(self), dtype=dtype,
            reset=reset, multi_output=self._several_targets(y),
        )  # fmt: skip

    def _check_rows(self, X: Any, reset: bool, dtype: Any) -> Any:
        """Training rows where there are no targets."""
        if isinstance(X, StoredRows):
            return _out_of_core.stored_rows(self, X, reset, dtype)
        if reset:
            _columns.forget(self)
        return validate_data(self, X, accept_sparse="csr", dtype=dtype, reset=reset)

    def _several_targets(self, y: Any) -> bool:
        """Whether `y` may have several columns."""
        return False

    def _new_rows(self, X: Any, dtypes: Any = None, **checks: Any) -> Any:
        """Checked rows of one of `dtypes`, to predict or to transform."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        if dtypes is None:
            dtype = self._dtype()
            dtypes = dtype if isinstance(dtype, tuple) else (dtype,)
        if self._is_plain(X, dtypes):
            return X
        return validate_data(
            self, X, accept_sparse="csr", dtype=list(dtypes), reset=False, **checks
        )

    def _is_plain(self, X: Any, dtypes: Any) -> bool:
        """Whether scikit-learn's checks of rows to predict would change and find nothing."""
        return (
            type(X) is np.ndarray
            and X.shape[1:] == (self.n_features_in_,)
            and not hasattr(self, "feature_names_in_")
            and _validation.is_plain(X, dtypes)
        )

    def _dtype(self) -> Any:
        """The type of the numbers that the fitted machine is made of."""
        raise NotImplementedError

    def _decision(self, X: Any) -> np.ndarray:
        """Decision values, shape (n_samples, n_outputs)."""
        raise NotImplementedError

    def _learnt(self, name: str) -> Any:
        """A learnt attribute that a property tells of."""
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet") from None

    def _seed(self) -> int:
        """The seed that `random_state` stands for."""
        try:
            generator = check_random_state(self.random_state)
        except ValueError as error:
            raise ValueError(f"random_state: {error}") from None
        return int(generator.randint(np.iinfo(np.int32).max))

    def _used_C(self) -> float:
        """The number that C stands for; 1 before it is tuned."""
        C = getattr(self, "C", 1.0)
        return float(self.__dict__.get("C_", 1.0) if isinstance(C, str) else C)

    def _threads(self) -> int:
        return _validation.thread_count(self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@hyperparameters
class TrainableEstimator(CallbackSupportMixin, Estimator):
    """Base of the estimators whose `fit` reports progress and can stop; not for use on its own.

    Parameters
    ----------
    max_time : float or None, default=None
        Seconds after which training ends with the model so far, > 0.
    random_state : int, RandomState or None, default=None
        Seed of the order and of all other random choices.
    verbose : int, default=0
        Above 0: a progress line on standard error; where that is no terminal, one a pass and every
        five seconds. The logger "budgetsvm" has a line every five seconds at the level INFO.
    callback : callable or None, default=None
        Called at most ten times a second and after every pass with a dictionary (phase, iteration,
        seen, n_samples, n_sv, moved, maintained, objective, validation_score, time). While a
        machine is searched for, the phase is "search" and the iteration its steps so far; there
        are planned (steps at most), candidates (judged so far), error (the least of them) and
        time_left (seconds, about) too. Returning True ends training with the model so far; an
        exception ends it and changes nothing.

    Attributes
    ----------
    n_iter_ : int
        Passes made by the last training call.
    history_ : dict of ndarray
        "time": seconds at the end of every pass of the last training call.
    stop_reason_ : str
        "converged", "max_iter", "max_time" or "callback".
    """

    max_time: float | None = None
    random_state: _names.RandomState = None
    verbose: int = 0
    callback: Any = None

    @with_callbacks
    @documented
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train from the start (with ``warm_start=True`` from the last fit).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Source
            Training rows, finite. Float32 and float64 are used as they are, without a copy. A
            source (`budgetsvm.data.open`) has targets and weights of its own.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels of any sortable kind, at least two; finite numbers for regression, of
            several columns where the class says so.
        @weights@

        @fitted@
        """
        return self._watched_fit(X, y, sample_weight)

    def _watched_fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        tasks = FitTasks(self, X, y, sample_weight)
        with (
            self._training(tasks) as watcher,
            _out_of_core.open_training_rows(self, X, y, sample_weight, watcher.read) as given,
        ):
            self._fit(*given, watcher)
            self._look_at_fit()
        tasks.end()
        return self

    def _look_at_fit(self) -> None:
        """Warn of what may disappoint in a fit that has just ended."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        raise NotImplementedError

    @contextmanager
    def _training(self, tasks: FitTasks | None = None) -> Iterator[Watcher]:
        """All or nothing, and watched."""
        with (
            self._all_or_nothing(),
            Watcher(self.verbose, self.callback, self._passes(), tasks) as watcher,
        ):
            if tasks is not None or not self.__sklearn_is_fitted__():
                warn_of_idle(self)
            yield watcher

    def _passes(self) -> Any:
        """Passes over the data, for the time left."""
        return self.max_iter

    def _encode(self, y: np.ndarray, known: np.ndarray | None = None) -> tuple[Any, int | None]:
        """Targets as `_core` takes them, and the number of classes.

        `known` are the classes of the last fit, where training goes on from it.
        """
        raise NotImplementedError

    def _encode_part(self, y: np.ndarray, classes: Any, first: bool) -> tuple[Any, int | None]:
        """The same for a part of a stream."""
        raise NotImplementedError

    def _cost(self, target: Any, weights: np.ndarray, balance: bool = True) -> np.ndarray:
        """C of every sample: C times the weights of its class and its own."""
        raise NotImplementedError
