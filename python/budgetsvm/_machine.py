"""Bases of the estimators that hold one machine of `_core`: attributes and decision values."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from . import _core, _names, _validation
from ._calibration import warn_of_lost_curves
from ._estimator import Estimator, TrainableEstimator
from ._gradient import GradientMixin, TermGradientMixin
from ._hyperparameters import hyperparameters
from ._progress import Watcher
from ._scales import ScaledFeatures
from ._serialization import require


@hyperparameters
class KernelParameters(ScaledFeatures):
    """The hyperparameters of the kernel; a base that is not for use on its own.

    Parameters
    ----------
    @kernels@
    gamma : {"scale", "auto"} or float, default="scale"
        γ > 0. "scale" is ``1 / (n_features * variance of X)``, with the weights of the rows where
        there are some; "auto" is ``1 / n_features``. A `partial_fit` settles it on the first part
        it sees: give a number where the model should not depend on how a stream is cut.
    degree : int, default=3
        Degree of the polynomial kernel, >= 0.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel, finite.
    """

    kernel: _names.Kernel = "rbf"
    gamma: _names.Gamma = "scale"
    degree: int = 3
    coef0: float = 0.0


def machine_property(name: str, page: str) -> Any:
    """A property that returns the attribute of this name of the fitted machine."""
    return property(lambda estimator: getattr(estimator._learnt("_machine"), name), doc=page)


def _feature_map_property(name: str, page: str) -> Any:
    """A property that returns an array of the feature map, if the map has it."""

    def part(estimator: FeatureMapEstimator) -> np.ndarray:
        found = estimator._learnt("_machine").map_part(name)
        if found is None:
            raise AttributeError(f"these features have no {name}")
        return _as_matrix(found)

    return property(part, doc=page)


def has_kernel_of_parameters(estimator: Any) -> bool:
    """Whether the machine's kernel is the one that the hyperparameters name."""
    machine = estimator._machine
    if machine.kind == "linear":
        return bool(estimator.kernel == "linear")
    kernel = json.loads(machine.kernel)
    names = ("degree", "coef0") if hasattr(estimator, "degree") else ()
    told = kernel is not None and kernel.pop("name") == estimator.kernel
    return told and all(
        kernel.get(n, getattr(estimator, n)) == getattr(estimator, n) for n in names
    )


def support_vectors_of(machine: _core.Machine) -> Any:
    """The support vectors of a machine, an array or a CSR matrix."""
    rows = machine.support_vectors
    if rows is None:
        raise AttributeError("this machine has no support vectors")
    return _as_matrix(rows)


def _as_matrix(rows: Any) -> Any:
    """An array as it is, or the CSR matrix that `_core` returned as arrays."""
    if isinstance(rows, np.ndarray):
        return rows
    *arrays, width = rows
    return sp.csr_matrix(tuple(arrays), shape=(len(arrays[2]) - 1, width))


class FeatureMapEstimator(Estimator):
    """Base of the estimators with an explicit feature map; not for use on its own."""

    _machine: _core.Machine

    components_ = _feature_map_property(
        "components",
        "Landmarks, shape (n_landmarks, n_features); CSR of those of very wide sparse rows.",
    )
    normalization_ = _feature_map_property("normalization", "From kernel values to features.")
    frequencies_ = _feature_map_property(
        "frequencies", "Frequencies, shape (n_frequencies, n_features)."
    )
    phases_ = _feature_map_property("phases", "Phases of the frequencies that are not paired.")
    gamma_ = machine_property("gamma", "γ used.")


class FittedEstimator(GradientMixin):
    """Base of the estimators that hold a fitted machine; not for use on its own.

    A machine never changes: every training call makes a new one, so that a failure of any kind
    leaves the estimator as it was, copies are independent, and prediction from other threads goes
    on undisturbed.
    """

    #: What the machine's model may be, by the names of `_core`.
    _kinds: ClassVar[tuple[str, ...]] = ("expansion", "each")

    #: What training may go on from, by the names of `_core`.
    _states: ClassVar[tuple[str, ...]] = ("none",)

    _has_machine: ClassVar[bool] = True
    _machine: _core.Machine

    @property
    def support_vectors_(self) -> Any:
        """Points of the terms, shape (n_terms, n_features), CSR where they are rows of one."""
        return support_vectors_of(self._learnt("_machine"))

    @property
    def dual_coef_(self) -> Any:
        """Coefficients of the terms, shape (n_outputs, n_terms)."""
        machine = self._learnt("_machine")
        coef = machine.dual_coef
        if coef.shape[1] == 0 and machine.coef.shape[1]:
            raise AttributeError("this machine has no terms")
        return coef

    intercept_ = machine_property("intercept", "Offsets, shape (n_outputs,).")

    def _decision(self, X: Any) -> np.ndarray:
        rows = _validation.as_rows(self._new_rows(X))
        return self._decided(rows)

    def _decided(self, rows: Any) -> np.ndarray:
        """Decision values of checked rows."""
        return self._machine.decision_function(rows, self._threads())

    def _behind_scales(self) -> _core.Machine:
        """The machine of rows as training sees them."""
        machine = self._machine
        return machine if machine.scales is None else machine.behind()

    def _left_out(
        self, X: Any, y: Any, index: np.ndarray, weights: np.ndarray, folds: tuple[np.ndarray, int]
    ) -> np.ndarray | None:
        """Decision values of each row without its fold, where there is a way but training anew."""
        return None

    def _dtype(self) -> Any:
        return np.dtype(self._machine.dtype)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_machine")

    def _outputs_wanted(self) -> int:
        """Outputs of a machine of these classes."""
        classes = getattr(self, "classes_", None)
        return len(classes) if classes is not None and len(classes) > 2 else 1

    def _check_archived(self) -> None:
        machine = self._machine
        fits = is_classifier(self) == hasattr(self, "classes_")
        fits = fits and machine.kind in self._kinds and machine.state in self._states
        fits = fits and machine.n_outputs == self._outputs_wanted()
        curves = machine.calibration
        fits = fits and (curves is None or curves[1] == len(getattr(self, "classes_", ())))
        require(fits and machine.n_features == self._width(), "machine and labels")
        require(self._kernel_fits(), "another kernel than the machine has")
        self._check_scales()

    def _width(self) -> int:
        """Columns of the rows that the machine takes."""
        return self.n_features_in_

    def _kernel_fits(self) -> bool:
        """Whether the machine's kernel is the one that the hyperparameters name."""
        return True

    def _check_scales(self) -> None:
        """Whether the machine's features are scaled as the hyperparameters say."""
        require(self._machine.scales is None, "feature_scales")

    def _in_units(self, machine: _core.Machine, given: Any = None) -> _core.Machine:
        """The machine of rows as they come, where it was trained on scaled ones."""
        return machine


class KernelMachineEstimator(KernelParameters, TermGradientMixin, FittedEstimator):
    """Base of the estimators whose machine has one kernel; not for use on its own."""

    def _kernel_fits(self) -> bool:
        return has_kernel_of_parameters(self)


class TrainableMachine(FittedEstimator, TrainableEstimator):
    """Base of the estimators that train a machine and report progress; not for use on its own."""

    _archived: ClassVar[dict] = {"n_iter_": "count", "history_": "curves", "stop_reason_": "stop"}

    n_terms_ = machine_property("n_terms", "Number of terms, all outputs together.")

    def _take(self, machine: _core.Machine, report: dict, watcher: Watcher) -> None:
        """Make what `_core` returned the fitted state: the last thing that a training does."""
        machine = self._in_units(machine)
        if not watcher.is_fit:
            warn_of_lost_curves(self.__dict__.get("_machine"), machine)
        self._machine = machine
        self.n_iter_ = report["n_iter"]
        self.history_ = report["history"]
        self.stop_reason_ = report["stop_reason"]
        # A family whose report has no objective shows none.
        objective = report.get("objective", {}).get("primal")
        watcher.finish(machine, report["stop_reason"], objective)


class MachineEstimator(KernelMachineEstimator, TrainableMachine):
    """Base of the estimators that train a machine of one kernel; not for use on its own."""

    def _settle_gamma(self, rows: Any, d: int, weights: np.ndarray, machine: Any) -> float:
        """The γ of a machine that is made, or of `machine`, which training goes on with."""
        if machine is not None:
            return _validation.settled_gamma(self.kernel, self.gamma, machine.gamma)
        learnt = self._learnt_gamma()
        if learnt is not None:
            return learnt
        # Scales that were learnt are meant so.
        told = self.kernel != "linear" and self.__dict__.get("_found") is None
        return _validation.settle_gamma(self.gamma, rows, d, weights, told)
