"""Kernel support vector machines on a budget: fast, small, online."""

from ._core import __version__
from ._persistence import load
from ._svc import BudgetSVC
from ._svr import BudgetSVR

__all__ = ["BudgetSVC", "BudgetSVR", "__version__", "load"]
