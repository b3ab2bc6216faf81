"""Kernel support vector machines on a budget: fast, small, online."""

from ._asset_classes import AssetSVC, AssetSVR
from ._core import __version__
from ._exact_classes import SVC, NuSVC
from ._exact_values import SVR, NuSVR, OneClassSVM
from ._features import IncompleteCholesky, Nystroem, RandomFourier
from ._persistence import load
from ._svc import BudgetSVC
from ._svr import BudgetSVR

__all__ = [
    "SVC",
    "SVR",
    "AssetSVC",
    "AssetSVR",
    "BudgetSVC",
    "BudgetSVR",
    "IncompleteCholesky",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "RandomFourier",
    "__version__",
    "load",
]
