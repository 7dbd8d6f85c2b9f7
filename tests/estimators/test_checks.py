"""Every estimator is what scikit-learn calls one."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import biasflow as bf

room = bf.estimators
QUICK = [
    room.GradientFlowRegressor(),
    room.GradientFlowRegressor(depth=3, scale=0.1),
    room.TangentKernelRegressor(width=64),
    room.MaxMarginClassifier("l2"),
]
MORE = [
    room.GradientFlowRegressor(t=1.0),
    room.AveragedFlowRegressor(log_scale=-10.0),
    room.TangentKernelRegressor(width=64, t=1.0),
    room.MaxMarginClassifier(),
    room.MaxMarginClassifier("l1"),
    room.MaxMarginClassifier("rbf", time_s=1.0),
]
"""Those whose checks take longer."""
KERNELS = [room.MaxMarginClassifier("precomputed", time_s=1.0)]
SEARCHES = [room.MaxMarginClassifier("f1", time_s=6.0), room.MinNormReLURegressor(time_s=4.0)]
UNFINISHED = (
    "80 random labels in the plane, far from the origin, take more time than there is: the search "
    "is cut off somewhere else in every run, as docs/estimators.md says"
)
REFITTED = {"check_fit_idempotent", "check_supervised_y_2d"}
"""Checks that two fits are the same to the last digits."""
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"  # meant, where time is short
)


@parametrize_with_checks(QUICK)
def test_quick_estimators_pass(estimator, check):
    check(estimator)


ROUNDED = (
    "some checks hand over a linear kernel rounded to float32, others one less its mean: their "
    "eigenvalues below zero say that these are no kernels, and they are refused"
)


@parametrize_with_checks(MORE)
def test_other_estimators_pass(estimator, check):
    check(estimator)


@parametrize_with_checks(KERNELS)
def test_kernel_matrices_pass(estimator, check):
    try:
        check(estimator)
    except (AssertionError, bf.errors.InputError) as refused:
        if "positive semi-definite" not in str(refused.__cause__ or refused):
            raise
        pytest.xfail(ROUNDED)


@parametrize_with_checks(SEARCHES)
def test_searches_pass(estimator, check):
    if check.func.__name__ in REFITTED:
        pytest.xfail(UNFINISHED)
    check(estimator)
