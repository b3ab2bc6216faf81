"""The scikit-learn contract, with no expected failure."""

from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import estimators
from budgetsvm import BudgetOGD, BudgetOneClassSVM, BudgetSVC, LocalBudgetSVC

#: Estimators whose checks stand beside the other tests of their family, and in which file.
ELSEWHERE = {
    "test_asset.py": ("AssetSVC", "AssetSVR"),
    "test_exact_contract.py": (
        "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SemiparametricSVC", "SemiparametricNuSVC",
        "SemiparametricSVR", "SemiparametricNuSVR", "SemiparametricOneClassSVM",
    ),
    "test_features.py": ("Nystroem", "RandomFourier", "IncompleteCholesky"),
    "test_grid.py": ("BudgetSVCCV", "BudgetSVRCV"),
    "test_primal.py": ("PrimalSVC", "PrimalSVR"),
}  # fmt: skip
#: Settings of the others that are another path of training; the defaults where there are none.
SETTINGS = {
    "Forgetron": {"average": True}, "NystroemOGD": {"budget": 20},
    "ProjectronPlusPlus": {"average": True}, "RandomizedBudgetPerceptron": {"average": True},
}  # fmt: skip
HERE = estimators.names(without=sum(ELSEWHERE.values(), ()))


@parametrize_with_checks(
    [
        *(estimators.CLASSES[name](**SETTINGS.get(name, {})) for name in HERE),
        BudgetSVC(loss="log_loss"),
        BudgetOneClassSVM(budget=20, nu=0.1),
        LocalBudgetSVC(budget=100),
        BudgetOGD(sampling="uniform", average=True),
    ]
)
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("file", ELSEWHERE)
def test_the_others_are_checked_where_it_says(file):
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    _, listed = text.split("@parametrize_with_checks(", 1)
    listed, _ = listed.split("def test_", 1)
    for name in ELSEWHERE[file]:
        assert f"{name}(" in listed
