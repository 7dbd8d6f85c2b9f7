"""The classifier against `max_margin`, other software, and labels that were tampered with."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import biasflow as bf
from biasflow.estimators import MaxMarginClassifier

NORMS = ("f1", "f2", "l1", "l2", "arc_cosine", "arc_cosine_squared", "rbf")


def two_clouds(n=24, apart=3.0, key=0):
    """Labels ±1, separated by a line."""
    rng = np.random.default_rng(key)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return 0.5 * rng.standard_normal((n, 2)) + apart / 2 * y[:, None] + 1.0, y


def named_kernel(norm, X):
    if norm == "rbf":
        return rbf_kernel(X)
    activation = "squared_relu" if norm.endswith("squared") else "relu"
    return bf.limits.arc_cosine_kernel(X, activation=activation)


@pytest.mark.parametrize("norm", NORMS)
def test_the_margin_is_that_of_max_margin(norm):
    X, y = two_clouds()
    found = MaxMarginClassifier(norm, gap=1e-9).fit(X, np.where(y > 0, "yes", "no"))
    neural = norm in ("f1", "f2", "l1", "l2")
    given = {"norm": norm, "bias": "append"} if neural else {"norm": named_kernel(norm, X)}
    limit = bf.max_margin(X, y, **given)
    assert found.certificate_.kind == "exact" and found.separable_ is True
    assert found.margin_ == pytest.approx(limit.objective, rel=1e-6)
    assert found.certificate_.primal == pytest.approx(limit.certificate.primal, rel=1e-6)
    least = np.min(y * found.decision_function(X))
    assert least == pytest.approx(found.margin_, rel=1e-6)
    assert list(found.classes_) == ["no", "yes"]
    assert np.array_equal(found.predict(X) == "yes", y > 0)


@pytest.mark.parametrize("norm", ["l1", "l2", "rbf"])
def test_a_label_that_was_flipped_is_noticed(norm):
    X, y = two_clouds()
    X, y = np.vstack([X, X[:1]]), np.append(y, -y[0])  # one input twice, with both labels
    found = MaxMarginClassifier(norm).fit(X, y)
    assert found.separable_ is False and found.margin_ < 0
    assert np.sum(found.predict(X) != y) == 1
    assert MaxMarginClassifier(norm).fit(X[:-1], y[:-1]).separable_ is True


@pytest.mark.parametrize("norm", ["f1", "f2"])
def test_networks_have_the_vote_of_equal_inputs(norm):
    X, y = two_clouds()
    flipped = y.copy()
    flipped[0] *= -1
    alone = MaxMarginClassifier(norm).fit(X, flipped)  # a network separates all that is distinct
    assert alone.separable_ is True
    assert alone.margin_ < 0.5 * MaxMarginClassifier(norm).fit(X, y).margin_
    X3, y3 = np.vstack([X, X[[0, 0]]]), np.append(flipped, [y[0], y[0]])
    voted = MaxMarginClassifier(norm).fit(X3, y3)
    assert voted.separable_ is False and np.sum(voted.predict(X3) != y3) == 1
    kept = MaxMarginClassifier(norm).fit(X, y)
    assert voted.certificate_.primal == pytest.approx(kept.certificate_.primal, rel=1e-3)
    tied = MaxMarginClassifier(norm).fit([[1.0], [1.0]], [0, 1])
    assert tied.separable_ is False and tied.margin_ == 0


def test_slack_in_squares_is_that_of_liblinear():
    """1/γ² of the inputs with slack is the least ‖f‖² + Σξ²/c²."""
    X, y = two_clouds(40, apart=0.7, key=1)
    slack = 0.2
    found = MaxMarginClassifier("l2", slack=slack).fit(X, y)
    rows = np.column_stack([X, np.ones(len(X))])
    c = slack * np.max(np.linalg.norm(rows, axis=1))
    other = LinearSVC(
        C=1 / (2 * c**2), fit_intercept=False, tol=1e-10, max_iter=10**6, random_state=0
    ).fit(rows, y)

    def cost(w):
        return w @ w + np.sum(np.maximum(1 - y * (rows @ w), 0) ** 2) / c**2

    least, most = found.certificate_.dual**-2, found.certificate_.primal**-2
    assert found.separable_ is False
    assert least <= cost(other.coef_[0]) and cost(other.coef_[0]) <= most * (1 + 1e-6)
    ours = np.append(found.coef_[0], found.intercept_)
    best = minimize_scalar(lambda log: cost(np.exp(log) * ours), bounds=(-9, 9), method="bounded")
    assert best.fun <= most * (1 + 1e-6)


def test_slack_in_sums_is_that_of_a_linear_program():
    X, y = two_clouds(30, apart=0.7, key=1)
    found = MaxMarginClassifier("l1", slack=0.3).fit(X, y)
    rows = y[:, None] * np.column_stack([X, np.ones(len(X))])
    c = 0.3 * np.max(np.abs(rows))
    program = linprog(
        np.append(np.ones(6), np.full(30, 1 / c)),
        -np.hstack([rows, -rows, np.eye(30)]),
        -np.ones(30),
    )
    assert found.separable_ is False
    assert 1 / program.fun == pytest.approx(found.certificate_.primal, rel=1e-6)


def test_zero_slack_is_the_zero_function():
    X, y = two_clouds(40, apart=0.5)
    assert np.all(MaxMarginClassifier("l2", slack=0.0).fit(X, y).decision_function(X) == 0)


def test_kernels_as_functions_and_as_matrices():
    X, y = two_clouds()
    fresh = two_clouds(key=5)[0]
    named = MaxMarginClassifier("rbf").fit(X, y)
    own = MaxMarginClassifier(rbf_kernel).fit(X, y)
    matrix = MaxMarginClassifier("precomputed").fit(rbf_kernel(X), y)
    assert own.decision_function(fresh) == pytest.approx(named.decision_function(fresh))
    assert matrix.decision_function(rbf_kernel(fresh, X)) == pytest.approx(
        named.decision_function(fresh)
    )
    assert len(cross_val_score(MaxMarginClassifier("precomputed"), rbf_kernel(X), y, cv=3)) == 3


def test_one_class_against_the_rest():
    X, y = load_digits(n_class=4, return_X_y=True)
    found = MaxMarginClassifier("f2").fit(X[:200], y[:200])
    assert found.decision_function(X[200:300]).shape == (100, 4)
    assert len(found.certificate_) == 4 and found.margin_.shape == (4,)
    assert all(certificate.kind == "exact" for certificate in found.certificate_)
    assert found.score(X[200:400], y[200:400]) > 0.95
    first = bf.max_margin(X[:200], np.where(y[:200] == 0, 1, -1), norm="f2")
    assert found.margin_[0] == pytest.approx(first.objective, rel=1e-6)
    linear = MaxMarginClassifier("l2").fit(X[:200], y[:200])
    assert linear.coef_.shape == (4, 64) and linear.intercept_.shape == (4,)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_of_columns(unit):
    X, y = two_clouds()
    for norm in ("l1",) if unit > 1 else ("f2", "l2", "l1"):
        found = MaxMarginClassifier(norm).fit(X * [1.0, unit], y)
        assert found.certificate_.kind == "exact" and found.separable_ is True
        assert np.array_equal(found.predict(X * [1.0, unit]), y)
    both = MaxMarginClassifier("l2", bias="none").fit(X * unit, y)
    assert both.margin_ / unit == pytest.approx(
        MaxMarginClassifier("l2", bias="none").fit(X, y).margin_, rel=1e-6
    )


@pytest.mark.parametrize("norm", ["f2", "l2"])
def test_functions_that_floats_do_not_hold_are_said(norm):
    """Beside inputs of 1e9 the bias of one and the other column are what separates."""
    X, y = two_clouds()
    with pytest.warns(ConvergenceWarning, match="centre and scale the columns"):
        found = MaxMarginClassifier(norm).fit(X * [1.0, 1e9], y)
    assert found.separable_ is True and found.score(X * [1.0, 1e9], y) < 1
    scaled = make_pipeline(StandardScaler(), MaxMarginClassifier(norm))
    assert scaled.fit(X * [1.0, 1e9], y).score(X * [1.0, 1e9], y) == 1


def test_columns_of_ones_and_samples_twice():
    X, y = two_clouds()
    ones = np.column_stack([np.ones(len(y)), X, np.ones(len(y))])
    for norm in ("f1", "f2", "l2"):
        found = MaxMarginClassifier(norm).fit(np.vstack([ones, ones]), np.append(y, y))
        assert found.separable_ is True and found.score(ones, y) == 1
    column = MaxMarginClassifier("f2", bias="column").fit(ones[:, 1:], y)
    assert column.margin_ == pytest.approx(MaxMarginClassifier("f2").fit(X, y).margin_)
    assert column.decision_function(ones[:, 1:]) == pytest.approx(
        MaxMarginClassifier("f2").fit(X, y).decision_function(X)
    )


def test_pipelines_searches_clones_and_frames():
    pandas = pytest.importorskip("pandas")
    X, y = two_clouds(60)
    frame, names = pandas.DataFrame(X, columns=["a", "b"]), np.where(y > 0, "up", "down")
    line = make_pipeline(StandardScaler(), clone(MaxMarginClassifier("l2")))
    search = GridSearchCV(line, {"maxmarginclassifier__norm": ["l2", "f2"]}, cv=3)
    assert search.fit(frame, names).best_score_ > 0.9
    found = MaxMarginClassifier("f2").fit(frame, names)
    assert list(found.feature_names_in_) == ["a", "b"] and found.score(frame, names) == 1


def test_what_cannot_be_done_is_said():
    X, y = two_clouds()
    with pytest.raises(ValueError, match="at least two classes, found 1"):
        MaxMarginClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(bf.errors.UnknownNameError, match="no norm named 'f3'"):
        MaxMarginClassifier("f3").fit(X, y)
    with pytest.raises(
        bf.errors.InputError, match=r"F1 and F2 are spaces of functions of \(x, 1\)"
    ):
        MaxMarginClassifier("f1", bias="none").fit(X, y)
    with pytest.raises(bf.errors.InputError, match="a kernel matrix is X, with norm='precomp"):
        MaxMarginClassifier(X @ X.T).fit(X, y)
    with pytest.raises(bf.errors.InputError, match="slack: expected a number of at least zero"):
        MaxMarginClassifier("l2", slack=-1).fit(X, y)


def test_a_bound_is_said():
    """Inputs that a kernel in floats cannot tell apart: whether it separates them is open."""
    with pytest.warns(ConvergenceWarning, match=r"largest margin is only known to lie in \[0, "):
        found = MaxMarginClassifier("rbf", slack=0.0).fit([[0.0], [1e-12], [1.0]], [1, -1, 1])
    assert found.certificate_.kind == "bound" and found.separable_ is False
