"""The scikit-learn contract, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from budgetsvm import BudgetSVC, BudgetSVR, LocalBudgetSVC


@parametrize_with_checks([BudgetSVC(), BudgetSVR(), LocalBudgetSVC()])
def test_contract(estimator, check):
    check(estimator)
