"""Kernel support vector machines on a budget: fast, small, online.

Names are looked up when they are first asked for, so that `budgetsvm.serve` needs neither
scikit-learn nor SciPy.
"""

import typing as _typing
from importlib import import_module as _import_module

from ._core import __version__

if _typing.TYPE_CHECKING:
    from ._archive import load as load
    from ._asset_classes import AssetSVC, AssetSVR
    from ._auto_classes import AutoSVC, AutoSVR
    from ._exact_classes import SVC, NuSVC
    from ._exact_values import SVR, NuSVR, OneClassSVM
    from ._features import IncompleteCholesky, Nystroem, RandomFourier
    from ._grid import BudgetSVCCV, BudgetSVRCV
    from ._local import LocalBudgetSVC
    from ._one_class import BudgetOneClassSVM
    from ._online_features import FourierOGD, NystroemOGD
    from ._online_gradient import (
        BudgetOGD,
        BudgetPassiveAggressive,
        KernelOGD,
        SparsePassiveAggressive,
    )
    from ._online_perceptrons import (
        Forgetron,
        KernelPerceptron,
        Projectron,
        ProjectronPlusPlus,
        RandomizedBudgetPerceptron,
        Stoptron,
    )
    from ._primal_svc import PrimalSVC
    from ._primal_svr import PrimalSVR
    from ._semiparametric_classes import SemiparametricNuSVC, SemiparametricSVC
    from ._semiparametric_values import (
        SemiparametricNuSVR,
        SemiparametricOneClassSVM,
        SemiparametricSVR,
    )
    from ._svc import BudgetSVC
    from ._svr import BudgetSVR

#: The public names of each module. `load` is not in `__all__`: users have a `load` of their own.
_PLACES = {
    "_archive": ("load",),
    "_asset_classes": (
        "AssetSVC",
        "AssetSVR",
    ),
    "_auto_classes": (
        "AutoSVC",
        "AutoSVR",
    ),
    "_exact_classes": (
        "SVC",
        "NuSVC",
    ),
    "_exact_values": (
        "SVR",
        "NuSVR",
        "OneClassSVM",
    ),
    "_features": (
        "IncompleteCholesky",
        "Nystroem",
        "RandomFourier",
    ),
    "_grid": (
        "BudgetSVCCV",
        "BudgetSVRCV",
    ),
    "_local": ("LocalBudgetSVC",),
    "_one_class": ("BudgetOneClassSVM",),
    "_online_features": (
        "FourierOGD",
        "NystroemOGD",
    ),
    "_online_gradient": (
        "BudgetOGD",
        "BudgetPassiveAggressive",
        "KernelOGD",
        "SparsePassiveAggressive",
    ),
    "_online_perceptrons": (
        "Forgetron",
        "KernelPerceptron",
        "Projectron",
        "ProjectronPlusPlus",
        "RandomizedBudgetPerceptron",
        "Stoptron",
    ),
    "_primal_svc": ("PrimalSVC",),
    "_primal_svr": ("PrimalSVR",),
    "_semiparametric_classes": (
        "SemiparametricNuSVC",
        "SemiparametricSVC",
    ),
    "_semiparametric_values": (
        "SemiparametricNuSVR",
        "SemiparametricOneClassSVM",
        "SemiparametricSVR",
    ),
    "_svc": ("BudgetSVC",),
    "_svr": ("BudgetSVR",),
}

__all__ = [
    "SVC",
    "SVR",
    "AssetSVC",
    "AssetSVR",
    "AutoSVC",
    "AutoSVR",
    "BudgetOGD",
    "BudgetOneClassSVM",
    "BudgetPassiveAggressive",
    "BudgetSVC",
    "BudgetSVCCV",
    "BudgetSVR",
    "BudgetSVRCV",
    "Forgetron",
    "FourierOGD",
    "IncompleteCholesky",
    "KernelOGD",
    "KernelPerceptron",
    "LocalBudgetSVC",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "NystroemOGD",
    "OneClassSVM",
    "PrimalSVC",
    "PrimalSVR",
    "Projectron",
    "ProjectronPlusPlus",
    "RandomFourier",
    "RandomizedBudgetPerceptron",
    "SemiparametricNuSVC",
    "SemiparametricNuSVR",
    "SemiparametricOneClassSVM",
    "SemiparametricSVC",
    "SemiparametricSVR",
    "SparsePassiveAggressive",
    "Stoptron",
    "__version__",
]


def __getattr__(name: str) -> _typing.Any:
    for module, names in _PLACES.items():
        if name in names:
            found = getattr(_import_module(f".{module}", __name__), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    public = {name for name in globals() if not name.startswith("_")}
    return sorted({*public, *__all__, "load"})
