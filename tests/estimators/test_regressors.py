"""Regressors against closed forms, other software and the flow itself."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import biasflow as bf
from biasflow.estimators import (
    GradientFlowRegressor,
    MinNormReLURegressor,
    TangentKernelRegressor,
)
from biasflow.estimators.contrasts import centred, contrasted, reduced

EPS = float(np.finfo(float).eps)


def wide_table(n=40, d=100, noise=0.0, key=0):
    """Labels of three of many columns, with an offset."""
    rng = np.random.default_rng(key)
    X = rng.standard_normal((n, d))
    return X, X[:, [3, 20, 70]] @ [1.0, -0.8, 0.6] + 2.0 + noise * rng.standard_normal(n)


class TestGradientFlow:
    def test_small_starts_find_a_sparse_signal_that_ridge_misses(self):
        X, y = wide_table()
        fresh, wanted = wide_table(n=500, key=1)
        rich = GradientFlowRegressor(scale=1e-4).fit(X, y)
        assert rich.score(fresh, wanted) > 0.999
        assert Ridge(alpha=1e-6).fit(X, y).score(fresh, wanted) < 0.7
        assert GradientFlowRegressor(scale=30.0).fit(X, y).score(fresh, wanted) < 0.7
        assert set(np.argsort(-np.abs(rich.coef_))[:3]) == {3, 20, 70}
        assert rich.intercept_ == pytest.approx(2.0, abs=0.01)

    @pytest.mark.parametrize("scale", [0.5, 3.0, 30.0])
    def test_large_starts_agree_with_the_least_euclidean_norm(self, scale):
        """asinh(β/r), r = 2α², is in the span of the inputs, and |z − asinh z| ≤ |z|³/6: β has a
        part of length ‖β‖max(β/r)²/6 at most outside of it, where the least norm has none."""
        X, y = wide_table()
        beta = GradientFlowRegressor(scale=scale, fit_intercept=False).fit(X, y).coef_
        least = bf.min_norm(X, y, norm="l2")
        allowed = np.linalg.norm(beta) * np.max(beta / (2 * scale**2)) ** 2 / 6
        distance = np.linalg.norm(beta - least.value)
        assert distance <= allowed + 1e-10
        if scale == 0.5:  # the two are told apart
            assert distance > 1e-3

    def test_the_certificate_is_that_of_the_limit(self):
        X, y = wide_table()
        found = GradientFlowRegressor(scale=0.1, fit_intercept=False).fit(X, y)
        limit = bf.limit(bf.DiagonalNetwork(2), bf.Dataset(X, y), scale=0.1)
        assert np.array_equal(found.coef_, limit.value)
        assert found.certificate_.kind == "exact"
        assert found.certificate_.primal == limit.certificate.primal

    def test_an_intercept_leaves_the_proof_exact(self):
        """Rows of a centred table sum to zero but for rounding, which leaves its rank open."""
        X, y = wide_table()
        found = GradientFlowRegressor(scale=0.1).fit(X, y)
        assert found.certificate_.kind == "exact"
        assert found.predict(X) == pytest.approx(y, abs=1e-9)
        potential = bf.DiagonalNetwork(2).potential(scale=0.1)
        plain = bf.limit(bf.MirrorProblem(potential, X - X.mean(0), y - y.mean()))
        assert plain.certificate.kind == "bound"
        assert found.coef_ == pytest.approx(plain.value, abs=1e-9)

    @pytest.mark.parametrize("depth", [2, 3])
    def test_a_time_is_that_of_the_weights_flow(self, depth):
        rng = np.random.default_rng(2)
        X, y = rng.standard_normal((8, 3)), rng.standard_normal(8) + 1
        found = GradientFlowRegressor(depth, 0.3, t=4.0).fit(X, y)
        Xc, yc = X - X.mean(0), y - y.mean()

        def velocity(_, w):
            plus, minus = np.split(w, 2)
            slope = Xc.T @ (Xc @ (plus**depth - minus**depth) - yc) / len(y)
            return depth * np.concatenate(
                [-(plus ** (depth - 1)) * slope, minus ** (depth - 1) * slope]
            )

        w = solve_ivp(
            velocity, (0, 4.0), np.full(6, 0.3), method="DOP853", rtol=1e-12, atol=1e-13
        ).y[:, -1]
        beta = w[:3] ** depth - w[3:] ** depth
        assert np.max(np.abs(found.coef_ - beta)) <= found.error_ + 1e-10
        assert found.error_ < 1e-6 and found.certificate_.kind == "exact"
        late = GradientFlowRegressor(depth, 0.3, t=4000.0).fit(X, y)
        end = GradientFlowRegressor(depth, 0.3).fit(X, y)
        assert np.max(np.abs(late.coef_ - end.coef_)) <= late.error_ + 1e-9
        assert np.max(np.abs(found.coef_ - end.coef_)) > 1e-3

    def test_many_samples_have_the_least_squares_fit_in_any_units(self):
        rng = np.random.default_rng(3)
        X = rng.standard_normal((400, 4)) + 5.0
        y = X @ [1.0, 2.0, 0.0, -1.0] + rng.standard_normal(400)
        fit = LinearRegression().fit(X, y)
        units = np.array([1e9, 1.0, 1e-9, 1e-3])
        for scale, unit in ((1.0, 1.0), (1e-3, 1e9), (3.0, 1e-9)):
            found = GradientFlowRegressor(scale=scale).fit(X * units, unit * y)
            assert found.coef_ * units / unit == pytest.approx(fit.coef_, rel=1e-8, abs=1e-8)
            assert found.intercept_ / unit == pytest.approx(fit.intercept_, rel=1e-7)
            assert found.certificate_.kind == "exact"

    def test_columns_that_are_constant_or_twice(self):
        X, y = np.random.default_rng(4).standard_normal((2, 30, 6))[0], wide_table(n=30)[1]
        table = np.column_stack([X, np.full(30, 0.1), X[:, 0]])
        found = GradientFlowRegressor(scale=0.2).fit(table, y)
        assert found.coef_[6] == 0.0
        assert found.coef_[7] == pytest.approx(found.coef_[0], rel=1e-9)
        assert found.predict(table) == pytest.approx(LinearRegression().fit(X, y).predict(X))

    def test_equal_inputs_with_different_labels_have_their_mean(self):
        X, y = wide_table(n=10)
        doubled = GradientFlowRegressor(scale=0.1).fit(np.vstack([X, X]), np.append(y - 1, y + 1))
        assert doubled.coef_ == pytest.approx(
            GradientFlowRegressor(scale=0.1).fit(X, y).coef_, abs=1e-8
        )

    def test_one_sample_and_labels_that_do_not_vary(self):
        assert GradientFlowRegressor().fit([[1.0, 2.0]], [3.0]).predict([[7.0, 7.0]]) == [3.0]
        flat = GradientFlowRegressor(scale=1e-3).fit(wide_table()[0], np.full(40, 0.1))
        assert np.all(flat.coef_ == 0) and flat.intercept_ == 0.1

    def test_time_that_runs_out_is_said(self):
        X, y = wide_table()
        with pytest.warns(ConvergenceWarning, match="raise time_s, or leave out t"):
            GradientFlowRegressor(scale=1e-8, t=1e6, time_s=1e-6).fit(X, y)

    def test_scales_below_floats(self):
        """The limit is ‖β‖₁·log d/|log α| from the least ℓ1 norm, 0.6%, up to a factor near one."""
        X, y = wide_table()
        found = GradientFlowRegressor(log_scale=-2000.0).fit(X, y)
        assert found.coef_ == pytest.approx(
            bf.min_norm(X - X.mean(0), y - y.mean(), norm="l1").value, abs=1e-2
        )
        with pytest.raises(bf.errors.InputError, match="scale"):
            GradientFlowRegressor(scale=1.0, log_scale=0.0).fit(X, y)


def test_contrasts_are_orthonormal_and_see_no_constant():
    H = contrasted(np.eye(7), np.ones(7))
    assert H.shape == (6, 7)
    assert np.max(np.abs(H @ H.T - np.eye(6))) <= 8 * EPS
    assert np.max(np.abs(H @ np.ones(7))) <= 8 * EPS
    X = np.random.default_rng(0).standard_normal((9, 3))
    system = reduced(X, X @ [1.0, 2.0, 3.0], False)
    assert np.allclose(system.A.T @ system.A, X.T @ X)
    assert system.solution == pytest.approx([1, 2, 3])
    assert np.array_equal(centred(np.full((3, 1), 0.1), np.ones(3))[0], np.zeros((3, 1)))
    twice = np.vstack([X, X[:4], X[:1]])
    labels = np.random.default_rng(1).standard_normal(len(twice))
    left, right = reduced(twice, labels, True), np.random.default_rng(2).standard_normal((2, 3))
    centre = twice - twice.mean(0), labels - labels.mean()
    losses = [np.sum((left.A @ beta - left.b) ** 2) for beta in right]
    assert losses[0] - losses[1] == pytest.approx(
        np.sum((centre[0] @ right[0] - centre[1]) ** 2)
        - np.sum((centre[0] @ right[1] - centre[1]) ** 2)
    )


class TestLeastReluNetworks:
    def test_it_is_the_network_of_min_norm(self):
        x, y = np.array([[-1.0], [0.0], [0.5], [2.0]]), np.array([1.0, 0.0, 1.0, -1.0])
        found = MinNormReLURegressor().fit(x, y)
        expected = bf.min_norm(x, y, norm="relu", bias="append", gap=1e-3)
        assert found.certificate_ == expected.certificate
        assert found.predict(x) == pytest.approx(y)
        between = found.predict([[0.25]])[0]
        a, W = expected.value
        assert between == pytest.approx(np.maximum(W @ [0.25, 1.0], 0) @ a)

    def test_equal_inputs_have_the_mean_of_their_labels(self):
        x = np.array([[0.0], [1.0], [1.0], [3.0], [1.0]])
        found = MinNormReLURegressor().fit(x, [0.0, 1.0, 2.0, 1.0, 6.0])
        assert found.predict([[0.0], [1.0], [3.0]]) == pytest.approx([0.0, 3.0, 1.0])
        with pytest.raises(bf.errors.InconsistentError, match="zero input"):
            MinNormReLURegressor(bias="none").fit(x, [1.0, 1.0, 1.0, 1.0, 1.0])

    def test_a_bound_is_said(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((20, 2))
        with pytest.warns(ConvergenceWarning, match=r"‖θ‖² is only known to lie in \["):
            found = MinNormReLURegressor(gap=1e-12, time_s=0.2).fit(X, np.sin(X[:, 0]))
        assert found.certificate_.kind == "bound"
        assert found.certificate_.lower < found.certificate_.upper

    def test_zero_labels(self):
        assert np.all(MinNormReLURegressor().fit([[1.0], [2.0]], [0, 0]).predict([[3.0]]) == 0)


class TestTangentKernels:
    def test_it_interpolates_with_the_least_kernel_norm(self):
        rng = np.random.default_rng(1)
        X, y = rng.standard_normal((15, 3)), rng.standard_normal(15)
        model = bf.TwoLayer(40, 3)
        start = model.init(0.5, key=3)
        found = TangentKernelRegressor(model, start).fit(X, y)
        K = bf.tangent_kernel(model, start, X)
        rest = y - model(start, X)
        norm = np.sqrt(rest @ np.linalg.solve(K, rest))
        assert norm in found.certificate_ or norm == pytest.approx(
            found.certificate_.primal, rel=1e-9
        )
        fresh = rng.standard_normal((5, 3))
        expected = model(start, fresh) + bf.tangent_kernel(
            model, start, fresh, X
        ) @ np.linalg.solve(K, rest)
        assert found.predict(fresh) == pytest.approx(expected, abs=1e-8)
        early = TangentKernelRegressor(model, start, t=0.01).fit(X, y)
        values, modes = np.linalg.eigh(K)
        left = modes @ (np.exp(-values * 0.01 / 15) * (modes.T @ rest))
        assert early.predict(X) == pytest.approx(y - left, abs=1e-9)

    def test_labels_out_of_reach_have_their_least_squares_fit(self):
        x = np.array([[0.0], [1.0], [1.0], [3.0]])
        found = TangentKernelRegressor(width=64).fit(x, [0.0, 1.0, 2.0, 1.0])
        assert found.predict([[0.0], [1.0], [3.0]]) == pytest.approx([0.0, 1.5, 1.0], abs=1e-6)

    def test_a_function_of_your_own(self):
        X = np.array([[1.0, 2.0], [0.5, -1.0]])
        linear = TangentKernelRegressor(lambda w, X: X @ w, np.zeros(2)).fit(X, [1.0, 2.0])
        assert linear.predict(X) == pytest.approx([1.0, 2.0])


def test_pipelines_searches_clones_and_frames():
    pandas = pytest.importorskip("pandas")
    X, y = wide_table()
    frame = pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    line = make_pipeline(StandardScaler(), GradientFlowRegressor())
    search = GridSearchCV(line, {"gradientflowregressor__scale": [1e-4, 10.0]}, cv=3).fit(frame, y)
    assert search.best_params_ == {"gradientflowregressor__scale": 1e-4}
    assert search.best_score_ > 0.9
    alone = clone(GradientFlowRegressor(scale=1e-4)).fit(frame, y)
    assert list(alone.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        alone.predict(frame[frame.columns[::-1]])
    assert len(cross_val_score(TangentKernelRegressor(width=32), X, y, cv=3)) == 3


def test_scikit_learn_is_asked_for_when_it_is_used():
    code = """
import sys
import biasflow as bf
assert bf.estimators.__name__ == "biasflow.estimators" and "sklearn" not in sys.modules

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
try:
    bf.estimators.MaxMarginClassifier
except bf.errors.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'biasflow[sklearn]'" in done.stdout, done.stderr
