"""The scikit-learn contract for the exact machines, and scikit-learn's own tests of its SVMs."""

import subprocess
import sys
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.estimator_checks import parametrize_with_checks

from budgetsvm import (
    SVC,
    SVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    SemiparametricNuSVC,
    SemiparametricNuSVR,
    SemiparametricOneClassSVM,
    SemiparametricSVC,
    SemiparametricSVR,
)

ROOT = Path(__file__).resolve().parents[2]


# The nu-SVCs twice: at their defaults, where the weights of some checks allow no nu so large, and
# with one that they allow; there with break_ties, as one check compares predict with the largest
# decision value.
@parametrize_with_checks(
    [
        SVC(),
        NuSVC(),
        NuSVC(nu=0.1, break_ties=True),
        SVR(),
        NuSVR(),
        OneClassSVM(),
        SemiparametricSVC(),
        SemiparametricNuSVC(),
        SemiparametricNuSVC(nu=0.1, break_ties=True),
        SemiparametricSVR(),
        SemiparametricNuSVR(),
        SemiparametricOneClassSVM(),
    ]
)
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9."), reason="the items are those of scikit-learn 1.9"
)
def test_sklearns_own_tests_pass_with_our_classes():
    script = ROOT / "tests" / "sklearn_svm.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
