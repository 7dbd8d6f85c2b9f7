"""γ₁ and γ₂ where they are known, and against other software."""

import itertools

import numpy as np
import pytest

import biasflow as bf

GAP = 1e-9


def patterns(rows):
    """Activation patterns (C, n) of the rows' hyperplanes, from very many random neurons: all of
    them for few rows."""
    u = np.random.default_rng(0).standard_normal((200_000, rows.shape[1]))
    return np.unique(u @ rows.T > 0, axis=0)


def convex_program(X, y):
    """γ₁ over activation patterns D: f = ½Σ_D D⟨v_D − w_D, (x,1)⟩ with v_D, w_D in the cone of D
    and Σ‖v_D‖ + ‖w_D‖ ≤ 1."""
    import cvxpy as cp

    rows = np.hstack([X, np.ones((len(y), 1))])
    total, outputs, constraints = 0, 0, []
    for active in patterns(rows):
        for sign in (1, -1):
            v = cp.Variable(rows.shape[1])
            constraints.append(cp.multiply(np.where(active, 1.0, -1.0), rows @ v) >= 0)
            outputs = outputs + sign * cp.multiply(active.astype(float), rows @ v)
            total = total + cp.norm(v)
    t = cp.Variable()
    problem = cp.Problem(
        cp.Maximize(t), [*constraints, cp.multiply(y, outputs) / 2 >= t, total <= 1]
    )
    problem.solve(solver=cp.CLARABEL)
    return float(t.value)


class TestClosedForms:
    X, y = [[1.0], [-1.0]], [1, 1]

    def test_two_points_of_one_class(self):
        """γ₁ = ½ < γ₂ = √(¼ + 1/4π): C's ‖f‖_{F1} ≤ ‖f‖_{F2} lacks a factor two."""
        one, two = bf.limits.f1_max_margin(self.X, self.y), bf.limits.f2_max_margin(self.X, self.y)
        assert one.objective == pytest.approx(0.5, rel=GAP)
        assert two.objective == pytest.approx(np.sqrt(0.25 + 1 / (4 * np.pi)), rel=1e-12)

    def test_one_point(self):
        """γ₁ = ½‖(x, 1)‖, γ₂ = √k(x, x) = ‖(x, 1)‖/√(2(d+1))."""
        x = np.array([[3.0, 0.0, 4.0]])
        assert bf.limits.f1_max_margin(x, [-1]).objective == pytest.approx(
            0.5 * np.sqrt(26), rel=GAP
        )
        assert bf.limits.f2_max_margin(x, [-1]).objective == pytest.approx(
            np.sqrt(26 / 8), rel=1e-12
        )

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_two_points_of_two_classes(self, d):
        """f = ½·½((⟨e₁, x⟩)₊ − (⟨−e₁, x⟩)₊) has margin δ/4 at x = ±δe₁, and f is ½-Lipschitz: γ₁ ≤
        δ/2."""
        delta = 0.3
        X = np.zeros((2, d))
        X[:, 0] = delta, -delta
        limit = bf.limits.f1_max_margin(X, [1, -1])
        assert delta / 4 < limit.objective <= limit.certificate.dual <= delta / 2 * (1 + 1e-12)
        assert limit.objective == pytest.approx(convex_program(X, np.array([1.0, -1.0])), abs=1e-7)

    def test_kernels_at_equal_and_opposite_inputs(self):
        """E(u₁)₊² = 1/(2p), E(u₁)₊⁴ = 3/(2p(p+2)) on the sphere of R^p."""
        x = np.zeros((1, 4))
        assert bf.limits.arc_cosine_kernel(x)[0, 0] == pytest.approx(1 / 10)
        assert bf.limits.arc_cosine_kernel(x, activation="squared_relu")[0, 0] == pytest.approx(
            3 / 70
        )

    def test_kernels_against_many_neurons(self):
        """A million neurons: standard errors below 1e-4 of these sizes."""
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (3, 2))
        u = rng.standard_normal((1_000_000, 3))
        u /= np.linalg.norm(u, axis=1)[:, None]
        for activation, power in (("relu", 1), ("squared_relu", 2)):
            z = np.maximum(np.hstack([X, np.ones((3, 1))]) @ u.T, 0) ** power
            np.testing.assert_allclose(
                bf.limits.arc_cosine_kernel(X, activation=activation), z @ z.T / 1e6, rtol=0.01
            )

    def test_games(self):
        """Rock, paper, scissors has value zero; a row that dominates has its own."""
        cyclic = np.array([[0.0, 1, -1], [-1, 0, 1], [1, -1, 0]])
        limit = bf.limits.l1_max_margin(cyclic)
        assert limit.objective == pytest.approx(0, abs=1e-15) and not limit.stats["separable"]
        np.testing.assert_allclose(limit.value, 1 / 3, atol=1e-12)
        assert bf.limits.l1_max_margin([[1.0, 2.0], [3.0, 5.0]]).objective == 2.0

    def test_nearest_points(self):
        """The hull of e₁, …, e_n has its nearest point at distance 1/√n; features on both sides of
        the origin do not separate."""
        limit = bf.limits.l2_max_margin(np.eye(4))
        assert limit.objective == pytest.approx(0.25, rel=1e-12)  # 1/√n over √m
        np.testing.assert_allclose(limit.value, 0.25, rtol=1e-12)
        lost = bf.limits.l2_max_margin([[1.0, 0.0], [-1.0, 0.0]])
        assert lost.objective == 0 and not lost.stats["separable"] and not np.any(lost.value)


@pytest.mark.parametrize(
    "n, d, seed", [(6, 1, 0), (6, 2, 1), (7, 2, 2), (5, 3, 3), (6, 3, 4), (6, 4, 5)]
)
def test_against_the_convex_program(n, d, seed):
    """Clarabel's tolerance is 1e-8; its value lies in the bracket within ten times that."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-1, 1, (n, d)), rng.choice([-1.0, 1.0], n)
    limit = bf.limits.f1_max_margin(X, y)
    assert limit.certificate.kind == "exact" and limit.stats["relative_gap"] <= GAP
    assert limit.objective == pytest.approx(convex_program(X, y), abs=1e-7)


def test_l1_and_l2_against_clarabel():
    import cvxpy as cp

    rng = np.random.default_rng(3)
    Z = rng.standard_normal((12, 40)) + 0.2
    a, t = cp.Variable(40), cp.Variable()
    for limit, ball in (
        (bf.limits.l1_max_margin(Z), [cp.sum(a) == 1, a >= 0]),
        (bf.limits.l2_max_margin(Z), [np.sqrt(40) * cp.norm(a) <= 1]),
    ):
        cp.Problem(cp.Maximize(t), [Z @ a >= t, *ball]).solve(solver=cp.CLARABEL)
        assert limit.objective == pytest.approx(float(t.value), abs=1e-7)
        assert limit.certificate.dual - limit.certificate.primal <= 1e-12
        np.testing.assert_allclose(np.min(Z @ limit.value), limit.objective, rtol=1e-12)
    assert np.sqrt(40) * np.linalg.norm(bf.limits.l2_max_margin(Z).value) == pytest.approx(
        1, rel=1e-12
    )


def test_kernel_margin_against_scikit_learn():
    """SVC has a free intercept; points (x, y) and (−x, −y) with an odd kernel make it vanish. To
    SVC's accuracy, about 1e-6."""
    from sklearn.svm import SVC

    rng = np.random.default_rng(1)
    X = rng.standard_normal((15, 2))
    y = np.sign(X[:, 0] + 0.4 * X[:, 1] ** 3)
    X, y = np.vstack([X, -X]), np.concatenate([y, -y])
    K = (X @ X.T) + (X @ X.T) ** 3
    limit = bf.limits.kernel_max_margin(K, y)
    machine = SVC(C=1e12, kernel="precomputed", tol=1e-10).fit(K, y)
    coefficients = np.zeros(30)
    coefficients[machine.support_] = machine.dual_coef_[0]
    assert abs(machine.intercept_[0]) < 1e-6
    assert limit.objective == pytest.approx(1 / np.sqrt(coefficients @ K @ coefficients), rel=1e-5)


@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_f2_gaps(activation):
    ds = bf.data.clusters(80, 3, 3, key=2)
    limit = bf.limits.f2_max_margin(ds.X, ds.y, activation=activation)
    assert limit.certificate.dual - limit.objective <= 1e-10 * limit.objective
    assert limit.value.norm == pytest.approx(1, rel=1e-10)
    assert limit.value.margin(ds.X, ds.y) == pytest.approx(limit.objective, rel=1e-8)
    assert np.array_equal(limit.value.support, limit.stats["support"])


def test_random_features_approach_the_kernel():
    """γ₂^(m)² = min_p pᵀK_mp with K_m → K: 40 000 features leave about a per cent."""
    ds = bf.data.clusters(15, 2, 2, key=1)
    exact = bf.limits.f2_max_margin(ds.X, ds.y).objective
    found = bf.limits.f2_max_margin(ds.X, ds.y, features=40_000, key=3)
    assert found.objective == pytest.approx(exact, rel=0.05)
    assert found.value.margin(ds.X, ds.y) == pytest.approx(
        found.objective, rel=1e-10
    ) and found.value.norm == pytest.approx(1)
    again = bf.limits.f2_max_margin(ds.X, ds.y, features=found.value.directions)
    assert again.objective == found.objective


def test_f2_margin_is_at_most_twice_the_f1_margin():
    for key, d in itertools.product(range(3), (1, 2)):
        rng = np.random.default_rng(key)
        X, y = rng.uniform(-1, 1, (12, d)), rng.choice([-1.0, 1.0], 12)
        assert (
            bf.limits.f2_max_margin(X, y).objective
            <= 2 * bf.limits.f1_max_margin(X, y).certificate.dual
        )


def test_features_that_do_not_separate_come_with_their_proof():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 2)), rng.choice([-1.0, 1.0], 200)
    found = bf.limits.f2_max_margin(X, y, features=50)
    assert not found.stats["separable"] and found.objective == 0
    assert found.certificate.dual <= 1e-12
