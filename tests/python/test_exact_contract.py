"""The scikit-learn contract for the exact machines, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from budgetsvm import SVC, SVR, NuSVC, NuSVR, OneClassSVM


@parametrize_with_checks([SVC(), NuSVC(), SVR(), NuSVR(), OneClassSVM()])
def test_contract(estimator, check):
    check(estimator)
