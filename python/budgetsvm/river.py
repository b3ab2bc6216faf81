"""River's interface: rows one at a time, as dictionaries of features by name.

    from river import evaluate, metrics, preprocessing
    from budgetsvm import BudgetSVC
    from budgetsvm.river import Classifier

    machine = Classifier(BudgetSVC(budget=100, gamma=0.1))
    model = preprocessing.StandardScaler() | machine
    evaluate.progressive_val_score(stream, model, metrics.Accuracy())

Needs the package river (`pip install river`). Any estimator of this package that has `partial_fit`
can be wrapped; `BudgetSVC` and `BudgetSVR` keep what they learn (the guide, "Streams").
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any

import numpy as np
from river import base
from scipy.special import expit
from sklearn.base import clone, is_classifier, is_regressor

from . import _core, _parameters
from ._base import BudgetMachineEstimator
from ._svc import BudgetSVC
from ._svr import BudgetSVR

__all__ = ["Classifier", "Regressor"]

#: Rows that are held until a prediction is asked for: how a stream is cut changes no bit.
HELD = 256
#: Rows up to which a machine on a budget is given them by the short way.
FEW = 16


def _check_finite(what: str, value: Any) -> None:
    """Refuse, by its name, what is no number that floats hold."""
    try:
        fine = math.isfinite(value)
    except TypeError:
        raise TypeError(f"{what}: a number, got {value!r}") from None
    except OverflowError:
        bits = int(value).bit_length()
        raise ValueError(f"{what}: a finite number, got an integer of {bits} bits") from None
    if not fine:
        raise ValueError(f"{what}: a finite number, got {value!r}")


class _EstimatorAdapter:
    """Adapter of an estimator with `partial_fit` to rows that are dictionaries."""

    estimator: Any
    features: Any

    def _begin(self, estimator: Any, features: Any) -> None:
        if not hasattr(estimator, "partial_fit"):
            raise ValueError(f"estimator: {estimator!r} has no partial_fit")
        if isinstance(getattr(estimator, "gamma", None), str):
            raise ValueError(
                "estimator: gamma must be a number: one row tells no scale. Put a scaler of "
                "river's before it and use 1 / number of features, for example."
            )
        self.estimator, self.features = estimator, features
        self._machine = clone(estimator)
        self._weighs = "sample_weight" in signature(estimator.partial_fit).parameters
        self._names: tuple[Any, ...] = tuple(features) if features is not None else ()
        self._fixed = features is not None
        self._known: frozenset[Any] = frozenset(self._names)
        self._rows: list[Any] = []
        self._targets: list[Any] = []
        self._weights: list[float] = []
        self._seen = False
        self._warned = False
        self._config = ""

    def _values(self, x: Mapping[Any, Any]) -> list[Any]:
        """A row: 0 for what it lacks."""
        get = x.get
        row = [get(name, 0.0) for name in self._names]
        try:
            fine = math.isfinite(sum(row))
        except (TypeError, OverflowError):
            fine = False
        if not fine:
            for name, value in zip(self._names, row, strict=True):
                _check_finite(f"feature {name!r}", value)
        return row

    def _hold(self, x: Mapping[Any, Any], y: Any, w: float) -> None:
        """Takes a row, or says what is wrong with it and takes nothing."""
        _check_finite("w", w)
        if w < 0:
            raise ValueError(f"w: a finite number >= 0, got {w!r}")
        if w != 1 and not self._weighs:
            raise ValueError(f"w: {type(self.estimator).__name__} learns rows without weights")
        if not self._known.issuperset(x):
            self._meet(x)
        row = self._values(x)
        if w == 0:
            return
        self._rows.append(row)
        self._targets.append(y)
        self._weights.append(w)
        if len(self._rows) >= HELD:
            self._flush()

    def _meet(self, x: Mapping[Any, Any]) -> None:
        """Features not met before: they have a place, unless the machine has its width already."""
        new = [name for name in x if name not in self._known]
        if not self._fixed:
            self._names += tuple(new)
            self._known = frozenset(self._names)
        elif not self._warned:
            self._warned = True
            warnings.warn(
                f"feature {new[0]!r} was not among the first rows and is left out, as all are that "
                "come later: name all of them by features=[...].",
                stacklevel=4,
            )

    def _matrix(self, rows: list[Any]) -> np.ndarray:
        X = np.zeros((len(rows), max(len(self._names), 1)))
        if self._fixed and rows:
            X[:, : len(self._names)] = rows
            return X
        # Rows from before the last feature was met are shorter.
        for to, row in zip(X, rows, strict=True):
            to[: len(row)] = row
        return X

    def _flush(self) -> None:
        """The machine learns the rows that are held; they stay held if it does not come to that."""
        if self._rows:
            X = self._matrix(self._rows)
            weights = {"sample_weight": self._weights} if self._weighs else {}
            if self._config and len(X) <= FEW:
                self._learn_few(X)
            else:
                self._learn(X, self._targets, weights)
                if (
                    isinstance(self._machine, BudgetMachineEstimator)
                    and self._machine.max_time is None
                ):
                    machine: Any = self._machine
                    self._config = _parameters.config(
                        machine, gamma=machine.gamma, random_state=machine._seed()
                    )
            self._fixed = self._seen = True
            self._rows, self._targets, self._weights = [], [], []

    def _learn(self, X: np.ndarray, y: list[Any], weights: dict[str, Any]) -> None:
        raise NotImplementedError

    def _learn_few(self, X: np.ndarray) -> None:
        """`partial_fit` without another look at hyperparameters that the first call looked at: it
        takes longer than one row does."""
        machine = self._machine
        target, count = self._targets_of(self._targets)
        cost = machine._cost(target, np.array(self._weights, dtype=float), balance=False)
        machine._machine, _ = _core.train(
            "budget", self._config, X, target, count, cost, task="partial_fit",
            start=machine._machine, notify=None, threads=1,
        )  # fmt: skip

    def _targets_of(self, targets: list[Any]) -> tuple[np.ndarray, int | None]:
        raise NotImplementedError

    def _values_at(self, X: np.ndarray) -> np.ndarray:
        """Decision values of a row, shape (1, n_outputs)."""
        if self._config:
            return self._machine._machine.decision_function(X, 1)
        return self._machine._decision(X)

    def _row(self, x: Mapping[Any, Any]) -> np.ndarray:
        self._flush()
        if not self._known.issuperset(x):
            self._meet(x)
        return self._matrix([self._values(x)])


class Classifier(_EstimatorAdapter, base.Classifier):
    """A classifier with `partial_fit`, for river.

    Rows are held until a prediction is asked for, or there are 256 of them: a stream gives the same
    machine however it is cut.

    Parameters
    ----------
    estimator
        A classifier of this package that has `partial_fit`, with a number as its `gamma`. It is
        copied, not changed.
    classes
        All labels that will come; two or more.
    features
        The names of all features, in order. None: those of the rows before the first prediction
        (or of the first 256 rows). A feature that a row lacks counts as 0; one that is not among
        these is left out, with one warning.

    Raises
    ------
    ValueError, TypeError
        For an estimator that learns no stream; a label that is not among `classes`; a value that is
        not a finite number. The row is then not learnt, and nothing else is lost.

    Examples
    --------
    >>> from budgetsvm import BudgetSVC
    >>> from budgetsvm.river import Classifier
    >>> model = Classifier(BudgetSVC(budget=50, C=30, gamma=1.0, loss="log_loss"))
    >>> for i in range(200):
    ...     model.learn_one({"a": i % 7, "b": i % 2}, i % 2 == 1)
    >>> model.predict_one({"a": 3, "b": 1})
    True
    >>> model.predict_proba_one({"a": 3, "b": 1})[True] > 0.9
    True
    """

    def __init__(
        self, estimator: Any, classes: tuple[Any, ...] = (False, True), features: Any = None
    ) -> None:
        self._begin(estimator, features)
        if not is_classifier(estimator):
            raise ValueError(f"estimator: {estimator!r} is no classifier")
        self.classes = classes
        # Labels as the estimator knows them: their order in `classes`.
        self._index = {label: at for at, label in enumerate(classes)}
        if len(self._index) < 2 or len(self._index) != len(classes):
            raise ValueError(f"classes: two or more, all different, got {classes!r}")

    @property
    def _multiclass(self) -> bool:
        return len(self.classes) > 2

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"estimator": BudgetSVC(budget=20, gamma=0.1, random_state=0)}
        proba = BudgetSVC(budget=20, gamma=0.1, loss="log_loss", random_state=0)
        yield {"estimator": proba}

    def _learn(self, X: np.ndarray, y: list[Any], weights: dict[str, Any]) -> None:
        self._machine.partial_fit(X, y, classes=range(len(self.classes)), **weights)

    def _targets_of(self, targets: list[Any]) -> tuple[np.ndarray, int | None]:
        return np.array(targets, dtype=np.uint32), len(self.classes)

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learns a row with its label, which counts `w` times."""
        at = self._index.get(y)
        if at is None:
            raise ValueError(f"label {y!r} is not among classes={self.classes!r}")
        self._hold(x, at, w)

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """The label of a row; None while nothing was learnt."""
        values = self.decide_one(x)
        return self.classes[int(self._machine._labels(values[None])[0])] if self._seen else None

    def decide_one(self, x: Mapping[Any, Any]) -> np.ndarray:
        """Decision values of a row: one for two classes, else one a class; 0 at first."""
        X = self._row(x)
        count = len(self.classes)
        return self._values_at(X)[0] if self._seen else np.zeros(1 if count == 2 else count)

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each class, which a machine with the log loss knows: the logistic
        function of its decision value, of several classes each against the rest, to the sum 1.

        Raises NotImplementedError for others, as river's classifiers do.
        """
        if getattr(self.estimator, "loss", None) != "log_loss":
            raise NotImplementedError('probabilities need an estimator with loss="log_loss"')
        values = self.decide_one(x)
        told = np.maximum(expit(values), 1e-300)
        told = np.array([1 - told[0], told[0]]) if len(told) == 1 else told / told.sum()
        return dict(zip(self.classes, told.tolist(), strict=True))


class Regressor(_EstimatorAdapter, base.Regressor):
    """A regressor with `partial_fit`, for river: see `Classifier`.

    Parameters
    ----------
    estimator
        A regressor of this package that has `partial_fit`, with a number as its `gamma`. It is
        copied, not changed.
    features
        The names of all features, in order, or None: see `Classifier`.

    Examples
    --------
    >>> from budgetsvm import BudgetSVR
    >>> from budgetsvm.river import Regressor
    >>> model = Regressor(BudgetSVR(budget=50, gamma=1.0, C=100))
    >>> for i in range(200):
    ...     model.learn_one({"a": i % 7 / 7}, i % 7)
    >>> round(model.predict_one({"a": 3 / 7}))
    3
    """

    def __init__(self, estimator: Any, features: Any = None) -> None:
        self._begin(estimator, features)
        if not is_regressor(estimator):
            raise ValueError(f"estimator: {estimator!r} is no regressor")

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"estimator": BudgetSVR(budget=20, gamma=0.1, random_state=0)}

    def _learn(self, X: np.ndarray, y: list[Any], weights: dict[str, Any]) -> None:
        self._machine.partial_fit(X, y, **weights)

    def _targets_of(self, targets: list[Any]) -> tuple[np.ndarray, int | None]:
        return np.array(targets, dtype=float), None

    def learn_one(self, x: Mapping[Any, Any], y: float, w: float = 1.0) -> None:
        """Learns a row with its value, which counts `w` times."""
        _check_finite("y", y)
        self._hold(x, y, w)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """The value at a row; 0 while nothing was learnt."""
        X = self._row(x)
        if not self._seen:
            return 0.0
        return float(self._values_at(X)[0, 0] if self._config else self._machine.predict(X)[0])
