"""Kernel support vector machines on a budget: fast, small, online."""

from ._archive import ESTIMATORS as _ESTIMATORS
from ._archive import load as load  # not in `__all__`: users have a `load` of their own
from ._asset_classes import AssetSVC, AssetSVR
from ._auto_classes import AutoSVC, AutoSVR
from ._core import __version__
from ._exact_classes import SVC, NuSVC
from ._exact_values import SVR, NuSVR, OneClassSVM
from ._features import IncompleteCholesky, Nystroem, RandomFourier
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
    "BudgetSVR",
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

_ESTIMATORS.update({name: globals()[name] for name in __all__ if isinstance(globals()[name], type)})
