"""Kernel support vector machines on a budget: fast, small, online."""

from ._core import __version__
from ._exact_classes import SVC, NuSVC
from ._exact_values import SVR, NuSVR, OneClassSVM
from ._persistence import load
from ._primal_svc import PrimalSVC
from ._primal_svr import PrimalSVR
from ._svc import BudgetSVC
from ._svr import BudgetSVR

__all__ = [
    "SVC",
    "SVR",
    "BudgetSVC",
    "BudgetSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PrimalSVC",
    "PrimalSVR",
    "__version__",
    "load",
]
