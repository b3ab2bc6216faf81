"""The scikit-learn contract, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from budgetsvm import (
    BudgetOGD,
    BudgetOneClassSVM,
    BudgetPassiveAggressive,
    BudgetSVC,
    BudgetSVR,
    Forgetron,
    FourierOGD,
    KernelOGD,
    KernelPerceptron,
    LocalBudgetSVC,
    NystroemOGD,
    Projectron,
    ProjectronPlusPlus,
    RandomizedBudgetPerceptron,
    SparsePassiveAggressive,
    Stoptron,
)

ONLINE = [
    BudgetOGD(),
    BudgetOGD(sampling="uniform", average=True),
    BudgetPassiveAggressive(),
    Forgetron(average=True),
    FourierOGD(),
    KernelOGD(),
    KernelPerceptron(),
    NystroemOGD(budget=20),
    Projectron(),
    ProjectronPlusPlus(average=True),
    RandomizedBudgetPerceptron(average=True),
    SparsePassiveAggressive(),
    Stoptron(),
]


@parametrize_with_checks(
    [
        BudgetSVC(),
        BudgetSVC(loss="log_loss"),
        BudgetSVR(),
        BudgetOneClassSVM(),
        BudgetOneClassSVM(budget=20, nu=0.1),
        LocalBudgetSVC(),
        LocalBudgetSVC(budget=100),
        *ONLINE,
    ]
)
def test_contract(estimator, check):
    check(estimator)
