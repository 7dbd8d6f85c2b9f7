"""Bregman projections: closed forms, other software, and certificates over the whole range of
scales."""

import cvxpy as cp
import numpy as np
import pytest

import biasflow as bf
from biasflow import DiagonalNetwork, bregman_projection
from biasflow.errors import DomainError, InconsistentError, InfeasibleError, InputError
from biasflow.limits import min_l1, min_l2
from biasflow.potentials import DepthPotential, Entropy, Euclidean, Hypentropy, ScaledPotential

EPS = float(np.finfo(float).eps)
LOG_ALPHAS = (13.8, 0.0, -7.0, -50.0, -230.0, -2300.0, -23000.0)


def proved(limit, X, y, residual=1e-10) -> np.ndarray:
    """The certificate, recomputed where it can be. Rounding floor: eps·log(1/α) ≈ 5e-12 at log α =
    −23 000."""
    certificate = limit.certificate
    assert certificate.kind == "exact"
    assert np.max(np.abs(X @ limit.value - y)) <= residual * max(1.0, np.max(np.abs(y)))
    assert certificate.residual <= residual
    assert certificate.gap <= 1e-7
    assert certificate.membership <= 1e-8
    return limit.value


def problem(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, d = 9, 30
    X, truth = rng.standard_normal((n, d)), np.zeros(d)
    truth[:3] = [1.0, -0.5, 0.25]
    match kind:
        case "noisy":
            return X, X @ truth + 0.1 * rng.standard_normal(n)
        case "sparse":
            return X, X @ truth
        case "nearly sparse":
            return X, X @ truth + 1e-6 * rng.standard_normal(n)
        case "square":
            X = rng.standard_normal((d, d))
            return X, X @ truth + 0.1 * rng.standard_normal(d)
        case "one row":
            return X[:1], X[:1] @ truth
        case "correlated":
            X = 0.05 * X + rng.standard_normal((n, 1))
            return X, X @ truth + 0.01 * rng.standard_normal(n)
        case "rows":
            X = X * 10.0 ** rng.uniform(-4, 4, (n, 1))
            return X, X @ truth
        case "columns":
            X = X * 10.0 ** rng.uniform(-3, 3, d)
            return X, X @ truth + 0.1 * rng.standard_normal(n)
        case "integers":
            X = rng.integers(-2, 3, (n, d)).astype(float)
            return X, X @ np.sign(truth)
        case "binary":
            X = rng.integers(0, 2, (n, d)).astype(float)
            return X, X @ np.sign(truth)
        case "twins":
            return np.hstack([X, X[:, :10]]), X @ truth
        case "small labels":
            return X, 1e-8 * (X @ truth + 0.1 * rng.standard_normal(n))
        case "dependent rows":
            # sums of these are exact, and the rows dependent whatever the precision
            X = np.rint(np.ldexp(X, 10)) / 2**10
            X = np.vstack([X, rng.integers(-3, 4, (4, n)) @ X])
            return X, X @ truth
    raise AssertionError(kind)


KINDS = (
    "noisy",
    "sparse",
    "square",
    "one row",
    "correlated",
    "rows",
    "columns",
    "integers",
    "binary",
    "twins",
    "small labels",
    "dependent rows",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("log_alpha", LOG_ALPHAS)
def test_hypentropy_from_a_cold_start(kind, log_alpha):
    X, y = problem(kind, 1)
    limit = bregman_projection(Hypentropy(log_alpha=log_alpha), X, y)
    beta = proved(limit, X, y)
    if kind == "dependent rows":
        assert limit.stats["rank"] == 9 and X.shape[0] == 13
    # the dual point is one of the original rows: η = Xᵀν
    eta = Hypentropy(log_alpha=log_alpha).grad(beta)
    visible = np.abs(beta) > 1e-290
    np.testing.assert_allclose(
        (X.T @ limit.stats["nu"])[visible], eta[visible], atol=1e-8 * max(1.0, np.max(np.abs(eta)))
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [3, 5, 20])
def test_depth_potentials_from_a_cold_start(kind, depth):
    X, y = problem(kind, 2)
    for log_unit in LOG_ALPHAS:
        proved(bregman_projection(DepthPotential(depth, log_scale=log_unit / depth), X, y), X, y)


@pytest.mark.parametrize("log_alpha", LOG_ALPHAS)
def test_labels_that_are_sparse_up_to_small_noise(log_alpha):
    """Support entries a million times smaller than others must neither be lost nor frozen."""
    X, y = problem("nearly sparse", 3)
    proved(bregman_projection(Hypentropy(log_alpha=log_alpha), X, y), X, y)
    proved(
        bregman_projection(DepthPotential(3, log_scale=log_alpha / 3), X, y), X, y, residual=1e-9
    )


@pytest.mark.parametrize("scale", [1e-60, 1e-12, 1e12, 1e60])
def test_units_of_the_labels_do_not_matter(scale):
    """Φ_α(β) is homogeneous jointly in (α, β), so that the projection at (cα, cy) is c times that
    at (α, y)."""
    X, y = problem("noisy", 4)
    reference = bregman_projection(Hypentropy(1e-5), X, y).value
    scaled = bregman_projection(Hypentropy(1e-5 * scale), X, scale * y).value / scale
    np.testing.assert_allclose(scaled, reference, atol=1e-11 * np.max(np.abs(reference)))


def test_rows_may_be_rescaled():
    X, y = problem("noisy", 5)
    c = 10.0 ** np.linspace(-6, 6, len(y))
    reference = bregman_projection(Hypentropy(1e-30), X, y).value
    rescaled = bregman_projection(Hypentropy(1e-30), c[:, None] * X, c * y).value
    np.testing.assert_allclose(rescaled, reference, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_seeds(kind):
    for seed in range(100, 108):
        X, y = problem(kind, seed)
        for log_alpha in LOG_ALPHAS:
            proved(bregman_projection(Hypentropy(log_alpha=log_alpha), X, y), X, y)
            for depth in (3, 5, 20):
                proved(
                    bregman_projection(DepthPotential(depth, log_scale=log_alpha / depth), X, y),
                    X,
                    y,
                )


POTENTIALS = [
    Euclidean(),
    Hypentropy(1e3),
    Hypentropy(1.0),
    Hypentropy(1e-30),
    DepthPotential(3, 1.0),
    DepthPotential(5, 1e-6),
]


@pytest.mark.parametrize("potential", POTENTIALS, ids=repr)
def test_identity_design_returns_the_labels(potential):
    y = np.array([1.0, -2.0, 1e-3, 0.0])
    np.testing.assert_allclose(bregman_projection(potential, np.eye(4), y).value, y, atol=1e-12)


def test_one_equation_euclidean():
    x, beta0 = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -1.0])
    expected = beta0 + x * (2.0 - x @ beta0) / (x @ x)
    np.testing.assert_allclose(
        bregman_projection(Euclidean(), x[None], [2.0], beta0).value, expected, rtol=8 * EPS
    )


def test_one_equation_entropy_is_the_simplex():
    """Σβ = 1 from β₀: normalisation, β = β₀/Σβ₀."""
    beta0 = np.array([0.5, 2.0, 1e-6, 4.0])
    beta = bregman_projection(Entropy(), np.ones((1, 4)), [1.0], beta0).value
    np.testing.assert_allclose(beta, beta0 / np.sum(beta0), rtol=1e-13)


def test_one_equation_hypentropy_with_equal_columns():
    beta = bregman_projection(Hypentropy(log_alpha=-5000.0), np.ones((1, 7)), [3.0]).value
    np.testing.assert_allclose(beta, 3 / 7, rtol=1e-12)


def test_euclidean_is_least_norm():
    X, y = problem("noisy", 6)
    np.testing.assert_allclose(
        bregman_projection(Euclidean(), X, y).value, min_l2(X, y).value, atol=1e-12
    )


@pytest.mark.parametrize("alpha", [1.0, 1e-2])
@pytest.mark.parametrize("seed", [0, 1])
def test_hypentropy_against_clarabel(alpha, seed):
    """φ_α is conic: √(x²+α²) a norm, and x·arcsinh(x/α) = max over η; here through D = Σ kl of β =
    u − v, uv = α²/4.

    With u = (R+β)/2, v = (R−β)/2: φ_α(β) = min over u−v = β of kl(u, α/2) + kl(v, α/2), kl(a, b) =
    a·log(a/b) − a + b. Clarabel stops at 1e-8; φ is 1/R-strongly convex, so points agree to about
    √(1e-8·2R).
    """
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((3, 7)), rng.standard_normal(3)
    u, v = cp.Variable(7), cp.Variable(7)
    half = np.full(7, alpha / 2)
    cone = cp.Problem(
        cp.Minimize(cp.sum(cp.kl_div(u, half) + cp.kl_div(v, half))), [X @ (u - v) == y]
    )
    cone.solve(solver="CLARABEL")
    limit = bregman_projection(Hypentropy(alpha), X, y)
    assert limit.objective == pytest.approx(cone.value, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(limit.value, u.value - v.value, atol=2e-4)


def test_entropy_against_clarabel():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3, 8))
    y, beta0 = X @ rng.uniform(0.1, 1, 8), rng.uniform(0.1, 1, 8)
    b = cp.Variable(8)
    cone = cp.Problem(cp.Minimize(cp.sum(cp.kl_div(b, beta0))), [X @ b == y])
    cone.solve(solver="CLARABEL")
    limit = bregman_projection(Entropy(), X, y, beta0)
    assert limit.objective == pytest.approx(cone.value, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(limit.value, b.value, atol=2e-4)


@pytest.mark.parametrize(
    "potential", [Euclidean(), Hypentropy(1.0), Hypentropy(1e-12), DepthPotential(3, 0.5)], ids=repr
)
def test_idempotent(potential):
    X, y = problem("noisy", 7)
    first = bregman_projection(potential, X, y).value
    again = bregman_projection(potential, X, y, first)
    np.testing.assert_allclose(again.value, first, atol=1e-11)
    assert 0 <= again.objective <= 1e-18


@pytest.mark.parametrize(
    "potential", [Euclidean(), Hypentropy(1.0), Hypentropy(1e-12), DepthPotential(4, 0.3)], ids=repr
)
def test_from_a_start_and_pythagoras(potential):
    """D(b, β₀) = D(b, β*) + D(β*, β₀) for every interpolator b."""
    X, y = problem("noisy", 8)
    rng = np.random.default_rng(0)
    beta0 = rng.standard_normal(X.shape[1])
    limit = bregman_projection(potential, X, y, beta0)
    star = proved(limit, X, y)
    other = min_l2(X, y).value
    whole = potential.divergence(other, beta0)
    assert whole == pytest.approx(potential.divergence(other, star) + limit.objective, rel=1e-9)
    change = potential.grad(star) - potential.grad(beta0)
    outside = change - X.T @ np.linalg.lstsq(X.T, change, rcond=None)[0]
    assert np.max(np.abs(outside)) <= 1e-10 * max(1.0, np.max(np.abs(change)))


def test_alpha_over_a_hundred_orders_of_magnitude():
    X, y = problem("noisy", 9)
    alpha = 10.0 ** np.linspace(-100, 0, X.shape[1])
    beta = proved(bregman_projection(Hypentropy(alpha), X, y), X, y)
    eta = np.arcsinh(beta / alpha)
    outside = eta - X.T @ np.linalg.lstsq(X.T, eta, rcond=None)[0]
    assert np.max(np.abs(outside)) <= 1e-10 * np.max(np.abs(eta))


def test_scaling_the_potential_changes_nothing():
    X, y = problem("noisy", 10)
    plain = bregman_projection(Hypentropy(1e-6), X, y)
    scaled = bregman_projection(ScaledPotential(17.0, Hypentropy(1e-6)), X, y)
    np.testing.assert_allclose(scaled.value, plain.value, atol=1e-12)
    assert scaled.objective == pytest.approx(17 * plain.objective, rel=1e-11)


@pytest.mark.parametrize(
    "potential",
    [Euclidean(), Hypentropy(1e-20), Hypentropy(log_alpha=-2300.0), DepthPotential(3, 1e-9)],
    ids=repr,
)
def test_zero_labels(potential):
    X, _ = problem("noisy", 11)
    assert not np.any(bregman_projection(potential, X, np.zeros(9)).value)


def test_zero_labels_from_a_start_leave_the_kernel_part():
    X, _ = problem("noisy", 12)
    beta0 = np.linspace(-1, 1, X.shape[1])
    limit = bregman_projection(Hypentropy(1.0), X, np.zeros(9), beta0)
    assert np.any(proved(limit, X, np.zeros(9), residual=1e-12))


def test_more_rows_than_columns():
    rng = np.random.default_rng(13)
    X, truth = rng.standard_normal((8, 4)), np.array([1.0, -2.0, 0.5, 0.0])
    limit = bregman_projection(Hypentropy(1e-3), X, X @ truth)
    np.testing.assert_allclose(limit.value, truth, atol=1e-12)
    assert limit.stats["rank"] == 4
    with pytest.raises(InconsistentError, match=r"X, y: no β.*n = 8 exceeds d = 4.*least residual"):
        bregman_projection(Hypentropy(1e-3), X, X @ truth + rng.standard_normal(8))


def test_inconsistent_dependent_rows():
    X, y = problem("dependent rows", 14)
    spoiled = y.copy()
    spoiled[-1] += 1e-3
    with pytest.raises(InconsistentError, match="rank 9 < n = 13"):
        bregman_projection(Hypentropy(1.0), X, spoiled)
    for function in (min_l1, min_l2):
        with pytest.raises(InconsistentError):
            function(X, spoiled)


def test_a_zero_row_is_dropped_or_inconsistent():
    X, y = problem("noisy", 15)
    limit = bregman_projection(Hypentropy(1e-3), np.vstack([X, np.zeros(30)]), np.append(y, 0.0))
    np.testing.assert_allclose(
        limit.value, bregman_projection(Hypentropy(1e-3), X, y).value, atol=1e-11
    )
    with pytest.raises(InconsistentError):
        bregman_projection(Hypentropy(1e-3), np.vstack([X, np.zeros(30)]), np.append(y, 1.0))


def test_no_constraint_at_all_returns_the_start():
    assert np.array_equal(
        bregman_projection(Hypentropy(1.0), np.zeros((1, 2)), [0.0], [1.0, -2.0]).value, [1.0, -2.0]
    )
    assert np.array_equal(
        bregman_projection(Euclidean(), np.zeros((2, 2)), [0.0, 0.0]).value, [0.0, 0.0]
    )


class TestHalfLines:
    def test_interior(self):
        rng = np.random.default_rng(20)
        X, sign = rng.standard_normal((4, 12)), rng.choice([-1.0, 1.0], 12)
        y = X @ (sign * rng.uniform(0.1, 1, 12))
        beta0 = sign * rng.uniform(0.5, 2, 12)
        for limit in (
            bregman_projection(Hypentropy(0.0), X, y, beta0),
            bregman_projection(Hypentropy(0.0, sign=sign), X, y, beta0),
        ):
            beta = proved(limit, X, y)
            assert np.all(beta * sign > 0) and limit.stats["boundary"].size == 0
            change = np.log(np.abs(beta / beta0)) * sign
            assert (
                np.max(np.abs(change - X.T @ np.linalg.lstsq(X.T, change, rcond=None)[0])) <= 1e-10
            )

    def test_the_sign_of_the_start_wins(self):
        """`oriented` takes the signs of β₀ where α = 0."""
        beta = bregman_projection(
            Hypentropy(0.0), np.array([[1.0, -1.0]]), [3.0], [1.0, -1.0]
        ).value
        np.testing.assert_allclose(beta, [1.5, -1.5], rtol=1e-13)

    def test_boundary(self):
        """Rows (1,1,0,0) with label 0 force β₁ = β₂ = 0 (R, Theorem 2.3); the rest is a projection
        of its own."""
        X = np.array([[1.0, 1.0, 0.0, 0.0], [0.3, -0.2, 1.0, 2.0]])
        limit = bregman_projection(Entropy(), X, [0.0, 3.0], [1.0, 1.0, 1.0, 1.0])
        assert list(limit.stats["boundary"]) == [0, 1]
        assert np.array_equal(limit.value[:2], [0.0, 0.0])
        inner = bregman_projection(Entropy(), X[1:, 2:], [3.0], [1.0, 1.0]).value
        np.testing.assert_allclose(limit.value[2:], inner, rtol=1e-12)
        assert limit.certificate.residual <= 1e-14
        assert limit.objective == pytest.approx(
            2.0 + Entropy().divergence(inner, [1.0, 1.0]), rel=1e-12
        )

    def test_boundary_with_free_coordinates(self):
        X = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 2.0]])
        limit = bregman_projection(
            Hypentropy([0.0, 0.0, 1e-3, 1.0], sign=1.0), X, [0.0, -3.0], [1.0, 1.0, 0.0, 0.0]
        )
        assert list(limit.stats["boundary"]) == [0, 1] and np.all(limit.value[2:] < 0)
        proved(limit, X, np.array([0.0, -3.0]))

    @pytest.mark.parametrize("seed", range(5))
    def test_infeasible_with_a_farkas_vector(self, seed):
        rng = np.random.default_rng(seed)
        X, sign = rng.standard_normal((6, 10)), rng.choice([-1.0, 1.0], 10)
        free = np.arange(10) < 2
        # tilt the columns until `separator` proves infeasibility
        separator = rng.standard_normal(6)
        tilt = np.where(
            free,
            X.T @ separator,
            np.maximum(sign * (X.T @ separator), 0) * sign + 0.1 * sign * ~free,
        )
        X -= np.outer(separator, tilt) / (separator @ separator)
        y = separator + 0.01 * rng.standard_normal(6)
        potential = Hypentropy(np.where(free, 1e-3, 0.0), sign=sign)
        with pytest.raises(InfeasibleError, match="y: labels out of reach") as caught:
            bregman_projection(potential, X, y)
        g = caught.value.certificate
        tolerance = 1e-7  # HiGHS' feasibility tolerance, on rows scaled to unit length
        assert y @ g > 10 * tolerance
        assert np.all(sign[~free] * (X.T @ g)[~free] <= tolerance)
        assert np.all(np.abs((X.T @ g)[free]) <= tolerance)

    def test_the_farkas_vector_speaks_of_the_rows_given(self):
        """Dependent, badly scaled rows are replaced by others inside; the certificate must not
        be."""
        X = np.array([[1e4, 1e4, 1e4], [2e-3, 2e-3, 2e-3], [0.0, 1.0, 2.0]])
        y = np.array([-1e4, -2e-3, 1.0])
        with pytest.raises(InfeasibleError) as caught:
            bregman_projection(Entropy(), X, y)
        g = caught.value.certificate
        assert g.shape == (3,) and y @ g > 1e-3
        assert np.all(X.T @ g <= 1e-7 * np.max(np.abs(y * g)))

    def test_negative_mass_is_infeasible(self):
        with pytest.raises(InfeasibleError) as caught:
            bregman_projection(Entropy(), np.ones((1, 3)), [-1.0])
        assert caught.value.certificate[0] < 0

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    def test_units_of_the_labels_do_not_matter(self, scale):
        """The linear program behind has absolute tolerances."""
        with pytest.raises(InfeasibleError):
            bregman_projection(Entropy(), np.ones((1, 3)), [-scale])
        limit = bregman_projection(Entropy(), np.ones((1, 3)), [scale])
        assert limit.stats["boundary"].size == 0
        np.testing.assert_allclose(limit.value, scale / 3, rtol=1e-11)

    def test_zero_labels_force_everything_to_zero(self):
        limit = bregman_projection(Entropy(), np.ones((1, 3)), [0.0], [1.0, 2.0, 3.0])
        assert np.array_equal(limit.value, np.zeros(3))
        assert limit.objective == pytest.approx(6.0)

    def test_zero_start_on_a_half_line_is_refused(self):
        with pytest.raises(DomainError, match="beta0: coordinate 1"):
            bregman_projection(Hypentropy(0.0), np.ones((1, 2)), [1.0], [1.0, 0.0])
        with pytest.raises(DomainError, match="sign"):
            bregman_projection(Hypentropy(0.0), np.ones((1, 2)), [1.0])
        with pytest.raises(DomainError, match="half-line"):
            bregman_projection(Entropy(), np.ones((1, 2)), [1.0], [1.0, -1.0])

    @pytest.mark.parametrize("seed", [4, 5, 10])
    def test_zero_labels_with_a_start_and_tiny_scales_beside(self, seed):
        """Confined coordinates are forced to zero; the free ones fall from β₀ through a hundred
        orders of magnitude."""
        rng = np.random.default_rng(seed)
        X, beta0 = rng.standard_normal((11, 11)), 10.0 ** rng.uniform(-3, 3, 11)
        alpha = np.where(np.arange(11) < 6, 10.0 ** rng.uniform(-100, 0, 11), 0.0)
        limit = bregman_projection(Hypentropy(alpha), X, np.zeros(11), beta0)
        assert list(limit.stats["boundary"]) == list(range(6, 11))
        assert np.max(np.abs(limit.value)) <= 1e-18 * np.max(beta0)


class TestEnds:
    @pytest.mark.parametrize("seed", [30, 31])
    def test_vanishing_alpha_is_least_l1(self, seed):
        """‖β_α‖₁ − ‖β_1‖₁ ≤ C/log(1/α): at log α = −23 000 about d·log d/23 000, and far less when
        the vertex is unique."""
        X, y = problem("noisy", seed)
        least = min_l1(X, y)
        assert least.stats["unique"]
        for potential in (
            Hypentropy(log_alpha=-23000.0),
            DepthPotential(3, log_scale=-2300.0),
            DepthPotential(5, log_scale=-500.0),
        ):
            np.testing.assert_allclose(
                bregman_projection(potential, X, y).value, least.value, atol=1e-9
            )

    def test_huge_alpha_is_least_l2(self):
        """Relative difference β²/(6α²)."""
        X, y = problem("noisy", 32)
        least = min_l2(X, y)
        for potential in (Hypentropy(1e6), DepthPotential(3, 1e3), DepthPotential(10, 10.0)):
            np.testing.assert_allclose(
                bregman_projection(potential, X, y).value, least.value, atol=1e-10
            )

    @pytest.mark.parametrize("alpha", [3.0, 0.1, 1e-3])
    def test_depth_two_is_w_theorem_1(self, alpha):
        """KKT by hand: ∇Q_α = arcsinh(β/(2α²))/α² lies in the row space."""
        X, y = problem("noisy", 33)
        beta = bregman_projection(DiagonalNetwork(2).potential(scale=alpha), X, y).value
        gradient = np.arcsinh(beta / (2 * alpha**2))
        nu = np.linalg.lstsq(X.T, gradient, rcond=None)[0]
        assert np.max(np.abs(X.T @ nu - gradient)) <= 1e-11 * max(1.0, np.max(np.abs(gradient)))
        assert np.max(np.abs(X @ beta - y)) <= 1e-12

    @pytest.mark.parametrize("depth, alpha", [(3, 1.0), (3, 0.1), (5, 0.5)])
    def test_deeper_is_w_theorem_3(self, depth, alpha):
        """KKT by hand: h_D⁻¹(β/α^D) = Xᵀν, checked forwards as α^D·h_D(Xᵀν) = β."""
        X, y = problem("noisy", 34)
        limit = bregman_projection(DiagonalNetwork(depth).potential(scale=alpha), X, y)
        z, p = X.T @ limit.stats["nu"], depth / (depth - 2)
        beta = alpha**depth * ((1 - z) ** -p - (1 + z) ** -p)
        condition = p / np.min(1 - np.abs(z))  # of z -> h(z)
        np.testing.assert_allclose(beta, limit.value, atol=1e-13 * condition * np.max(np.abs(beta)))


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        ((Euclidean(), [[1.0, np.nan]], [1.0]), InputError, ("X", "(0, 1)", "nan")),
        ((Euclidean(), [[1.0, 2.0]], [np.inf]), InputError, ("y", "inf")),
        ((Euclidean(), [1.0, 2.0], [1.0]), InputError, ("X", "matrix", "(2,)")),
        ((Euclidean(), np.zeros((0, 3)), []), InputError, ("X", "non-empty")),
        ((Euclidean(), [[1.0, 2.0]], [1.0, 2.0]), InputError, ("y", "(1,)", "(2,)")),
        ((Euclidean(), [[1.0, 2.0]], [[1.0]]), InputError, ("y", "(1,)", "(1, 1)")),
        ((Euclidean(), [[1j, 2.0]], [1.0]), InputError, ("X", "complex")),
        ((Euclidean(), [[1.0, None]], [1.0]), InputError, ("X", "object")),
        ((Euclidean(), [[1.0, 2.0]], ["a"]), InputError, ("y", "real")),
        ((Euclidean(), [[1.0, 2.0]], [1.0], [1.0]), InputError, ("beta0", "2", "1")),
        ((Euclidean(), [[1.0, 2.0]], [1.0], [1.0, np.nan]), InputError, ("beta0", "nan")),
        ((Hypentropy([1.0, 1.0, 1.0]), [[1.0, 2.0]], [1.0]), InputError, ("alpha", "3", "(2,)")),
        (
            (DepthPotential(3, [1.0, 1.0, 1.0]), [[1.0, 2.0]], [1.0]),
            InputError,
            ("scale", "3", "(2,)"),
        ),
        ((Euclidean(), [[0.0, 0.0]], [1.0]), InconsistentError, ("X, y", "rank 0")),
    ],
)
def test_bad_input(arguments, error, words):
    with pytest.raises(error) as caught:
        bregman_projection(*arguments)
    assert str(caught.value).startswith(words[0])
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("potential", "X", "y", "start", "truth"),
    [
        (bf.potentials.Entropy(), [[2.0**31, -1.0, 1.0]], [0.0], [1.0, 2.0**32, 2.0**31], 0.0),
        (bf.potentials.Entropy(), [[1.7e9, -1.0, 1.0]], [0.0], [1.0, 3.4e9, 1.7e9], 0.0),
        (bf.potentials.Hypentropy(0.0), [[1.0, -1e-9, 0.0]], [0.0], [1.0, 1e9, 1.0], 0.0),
        (
            bf.potentials.Hypentropy(0.0),
            [[1.0, -1e-12, 0.0], [0.0, 1.0, 1.0]],
            [0.0, 3.0],
            [1e-15, 1.0, 2.0],
            5.972e-12,
        ),
    ],
)
def test_entries_of_mixed_units_force_no_coordinate_to_zero(potential, X, y, start, truth):
    """A linear program that drops entries below 1e-9 called coordinates zero that are not, and the
    bracket exact."""
    found = bf.bregman_projection(potential, X, y, start)
    low, high = found.certificate.dual, found.certificate.primal
    assert (
        low <= truth * 1.001
        and truth * 0.999 <= high
        and np.all(found.value[np.array(start) > 0] > 0)
    )


def test_labels_that_mixed_units_put_within_reach_are_not_called_out_of_reach():
    with pytest.raises(bf.errors.ConvergenceError):  # β = (0, 1) solves it, on the boundary
        bf.bregman_projection(bf.potentials.Entropy(), [[2.0**31, -1.0]], [-1.0], [1.0, 1.0])


def test_a_quick_look_at_rows_errs_towards_doubt():
    from biasflow.limits.constraints import reduce_constraints, surely_independent

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 20)), rng.standard_normal(6)
    assert surely_independent(X)
    scaled = X * np.array([[1e-8], [1.0], [1.0], [1.0], [1.0], [1e8]])
    assert not surely_independent(scaled) and reduce_constraints(scaled, y).rank == 6
    for doubtful in (X.T, X[[0, 1, 2, 3, 4, 4]], X + 1e6, 0 * X):
        assert not surely_independent(doubtful)
    nearly = X.copy()
    nearly[5] = nearly[4] + 1e-6 * nearly[5]
    assert not surely_independent(nearly)
