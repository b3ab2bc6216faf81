"""Kernel support vector machines on a budget: fast, small, online."""

from ._core import __version__
from ._exact_classes import SVC, NuSVC
from ._exact_values import SVR, NuSVR, OneClassSVM
from ._local import LocalBudgetSVC
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
from ._persistence import load
from ._primal_svc import PrimalSVC
from ._primal_svr import PrimalSVR
from ._semiparametric import SemiparametricSVC, SemiparametricSVR
from ._svc import BudgetSVC
from ._svr import BudgetSVR

__all__ = [
    "SVC",
    "SVR",
    "BudgetOGD",
    "BudgetPassiveAggressive",
    "BudgetSVC",
    "BudgetSVR",
    "Forgetron",
    "FourierOGD",
    "KernelOGD",
    "KernelPerceptron",
    "LocalBudgetSVC",
    "NuSVC",
    "NuSVR",
    "NystroemOGD",
    "OneClassSVM",
    "PrimalSVC",
    "PrimalSVR",
    "Projectron",
    "ProjectronPlusPlus",
    "RandomizedBudgetPerceptron",
    "SemiparametricSVC",
    "SemiparametricSVR",
    "SparsePassiveAggressive",
    "Stoptron",
    "__version__",
    "load",
]
