"""Factors of the features that a machine learns from its rows."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from . import _core, _parameters, _validation
from ._hyperparameters import hyperparameters
from ._scales import ScaledFeatures

#: Kernels of a distance that scales can be learnt for.
LEARNABLE = ("rbf", "laplacian")
#: Time that is left to a fit at least.
_LEAST = 1e-3


@hyperparameters
class LearntScales(ScaledFeatures):
    """Mixin of the machines that can learn scales of their features; not for use on its own.

    Parameters
    ----------
    feature_scales : array-like of shape (n_features,), "learn" or None, default=None
        Factors of the features, >= 0 and not all 0: the machine of ``X * feature_scales``, for rows
        as they come. A feature of factor 0 is as if it were not there. ``gamma="scale"`` and
        "auto" are those of the scaled rows; what the fitted machine tells of points and features
        is in the units of X (where X is multiplied and divided again, to rounding).

        "learn" finds them in `fit` (kernels "rbf" and "laplacian") as `AutoSVC` does, on at most
        some thousand rows: by gradient products, then by descent along the gradient of a two-fold
        validation error of least squares on landmarks. They are kept where the error on rows held
        out falls, of ridge regression as regularised as `C` says, else the features stay as they
        come. A width is found with them: it is in the scales where `gamma` is a number, else in
        `gamma_`. It takes half of `max_time` at most; `partial_fit` learns from its first part.
    """

    feature_scales: ArrayLike | None = None

    _ranges: ClassVar[dict] = {"feature_scales": _parameters.learnt_scales}

    def _learns(self) -> bool:
        return isinstance(self.feature_scales, str)

    def _has_scales_of(self, machine: _core.Machine) -> bool:
        return self._learns() or super()._has_scales_of(machine)

    def _given_scales(self, d: int) -> np.ndarray | None:
        if not self._learns():
            return super()._given_scales(d)
        found = self.__dict__.get("_found")
        return None if found is None else found[0]

    def _learnt_gamma(self) -> float | None:
        found = self.__dict__.get("_found") if self._learns() else None
        gamma: Any = getattr(self, "gamma", None)
        return found[1] if found is not None and isinstance(gamma, str) else None

    def _in_units(self, machine: _core.Machine, given: Any = None) -> _core.Machine:
        for name in ("_found", "_spent", "_lesson"):
            self.__dict__.pop(name, None)
        return super()._in_units(machine, given)

    def _check_hyperparameters(self) -> None:
        super()._check_hyperparameters()
        kernel: Any = getattr(self, "kernel", None)
        if self._learns() and kernel not in LEARNABLE:
            known = " and ".join(map(repr, LEARNABLE))
            raise ValueError(
                f"feature_scales='learn' is for the kernels {known}, got kernel={kernel!r}: give "
                "the scales, or standardise the features"
            )

    def _learn_scales(self, X: Any, y: Any) -> None:
        if not self._learns():
            return
        begun = time.monotonic()
        sample_weight, notify = self.__dict__.get("_lesson", (None, None))
        if is_classifier(self) and np.ndim(y) == 1:
            _validation.check_labels("y", y)
            classes, target = np.unique(y, return_inverse=True)
            target, k = target.astype(np.uint32), len(classes)
        else:
            known: Any = y.toarray() if hasattr(y, "toarray") else y
            target, k = np.ascontiguousarray(known, dtype=np.float64), None
            target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
        weights = _validation.check_weights(sample_weight, X)
        # Classes weigh as they do in the training; weights of exact machines have it in them.
        if k is not None and not hasattr(self, "class_weight_"):
            class_weight: Any = getattr(self, "class_weight", None)
            weights = (
                weights * _validation.class_factors(class_weight, classes, target, weights)[target]
            )
        gamma: Any = getattr(self, "gamma", "scale")
        known = None if isinstance(gamma, str) else float(gamma)
        limit: Any = getattr(self, "max_time", None)
        seed = self._seed() if hasattr(self, "random_state") else 0
        kernel: Any = getattr(self, "kernel", "rbf")
        C: Any = getattr(self, "C", None)
        cost = float(C) if _validation.is_number(C) else None
        found = _core.learn_scales(
            kernel, known, _validation.as_rows(X), target, k, weights, (limit, seed, cost), notify,
            self._threads(),
        )  # fmt: skip
        self._found = found
        self._spent = time.monotonic() - begun

    def _left_of(self, max_time: float) -> float:
        """What of the time learning scales has left to the training."""
        return max(max_time - self.__dict__.get("_spent", 0.0), min(_LEAST, max_time))
