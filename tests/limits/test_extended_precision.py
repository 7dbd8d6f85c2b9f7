"""Brackets against 60 digits or rationals, for the functions whose certificates are worked out in
float64."""

import itertools
import sys
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

import biasflow as bf

sys.path.insert(0, str(Path(__file__).parent / "margin"))
import digits

DIGITS = 60


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(DIGITS):
        yield


def rows_of(X):
    return [[mp.mpf(float(value)) for value in row] for row in X]


def contains(certificate, truth, width=1e-6):
    """dual ≤ truth ≤ primal, for minima, and the bracket as narrow as it says."""
    assert certificate.dual <= truth <= certificate.primal
    if certificate.kind in ("exact", "closed-form"):
        assert certificate.primal - certificate.dual <= width * certificate.primal


def divergence_at_least(X, y, eta0, beta_of, conjugate, nu):
    """min D_φ(β, β₀) subject to Xβ = y by Newton's method on ν, at all digits: D = ⟨y, ν⟩ − Σφ*(η₀
    + Xᵀν) + Σφ*(η₀)."""
    rows, y = rows_of(X), [mp.mpf(float(value)) for value in y]
    n, d = X.shape
    nu = mp.matrix([mp.mpf(float(value)) for value in nu])

    def shifted(nu):
        return [eta0[i] + mp.fsum(rows[k][i] * nu[k] for k in range(n)) for i in range(d)]

    for _ in range(60):
        eta = shifted(nu)
        beta, weight = zip(*(beta_of(i, eta[i]) for i in range(d)), strict=True)
        left = mp.matrix([y[k] - mp.fdot(rows[k], beta) for k in range(n)])
        if mp.norm(left, mp.inf) <= mp.mpf(10) ** (10 - DIGITS) * mp.norm(mp.matrix(y), mp.inf):
            break
        hessian = mp.matrix(n, n)
        for j in range(n):
            for k in range(n):
                hessian[j, k] = mp.fsum(rows[j][i] * weight[i] * rows[k][i] for i in range(d))
        nu = nu + mp.lu_solve(hessian, left)
    else:
        raise AssertionError("no convergence")
    eta = shifted(nu)
    return mp.fdot(y, list(nu)) - mp.fsum(
        conjugate(i, eta[i]) - conjugate(i, eta0[i]) for i in range(d)
    )


def hypentropic(alpha):
    """β, (φ*)'' and φ* of the hypentropy at η."""
    alpha = mp.mpf(float(alpha))
    return lambda i, eta: (
        alpha * mp.sinh(eta),
        alpha * mp.cosh(eta),
    ), lambda i, eta: 2 * alpha * mp.sinh(eta / 2) ** 2


def data(seed, n=3, d=6):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal(d)


@pytest.mark.parametrize("alpha", [1e-40, 1e-8, 0.1, 1e3, 1e100])
@pytest.mark.parametrize("moved", [False, True])
def test_projections_by_the_hypentropy(alpha, moved):
    for seed in range(2):
        X, y, start = data(seed)
        start = start if moved else None
        found = bf.bregman_projection(bf.potentials.Hypentropy(alpha), X, y, start)
        assert (
            bf.limits.mirror_limit(bf.potentials.Hypentropy(alpha), X, y, start).certificate.primal
            == found.certificate.primal
        )
        eta0 = (
            [mp.mpf(0)] * 6
            if start is None
            else [mp.asinh(mp.mpf(float(b)) / mp.mpf(alpha)) for b in start]
        )
        truth = divergence_at_least(X, y, eta0, *hypentropic(alpha), found.stats["nu"])
        contains(found.certificate, truth, 1e-10)
        assert found.certificate.kind == "exact"


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("units", [1.0, 2.0**-40, 2.0**530])
def test_projections_onto_least_squares_fits(d, units):
    """More rows than columns: one β fits best, of which the divergence is known. Was open from
    above."""
    X, y, _ = data(11, n=6, d=d)
    alpha = mp.mpf(0.1)
    found = bf.limits.mirror_limit(bf.potentials.Hypentropy(0.1), units * X, y)
    A = mp.matrix(rows_of(units * X))
    with mp.workdps(500):  # β² is below α² by up to 320 digits
        beta = mp.lu_solve(A.T * A, A.T * mp.matrix([mp.mpf(float(value)) for value in y]))
        truth = mp.fsum(b * mp.asinh(b / alpha) - mp.sqrt(b**2 + alpha**2) + alpha for b in beta)
    contains(found.certificate, truth, 1e-10)
    assert found.certificate.kind == "exact" or units == 2.0**530  # D is subnormal


@pytest.mark.parametrize("scale", [1e-6, 0.1, 3.0])
def test_limits_of_diagonal_networks(scale):
    X, y, _ = data(5)
    found = bf.limit(bf.DiagonalNetwork(2), bf.Dataset(X, y), scale=scale)
    truth = divergence_at_least(
        X, y, [mp.mpf(0)] * 6, *hypentropic(2 * mp.mpf(scale) ** 2), found.stats["nu"]
    )
    # 2α² is rounded
    assert (
        found.certificate.dual <= truth * (1 + 1e-14)
        and truth * (1 - 1e-14) <= found.certificate.primal
    )


@pytest.mark.parametrize("scale", [1e-3, 0.5, 20.0])
def test_projections_of_depth_three(scale):
    X, y, _ = data(7)
    potential = bf.potentials.DepthPotential(3, scale)
    found = bf.bregman_projection(potential, X, y)
    unit = mp.mpf(scale) ** 3

    def beta_of(i, z):
        return unit * ((1 - z) ** -3 - (1 + z) ** -3), 3 * unit * ((1 - z) ** -4 + (1 + z) ** -4)

    def conjugate(i, z):
        return unit * ((1 - z) ** -2 + (1 + z) ** -2 - 2) / 2

    truth = divergence_at_least(X, y, [mp.mpf(0)] * 6, beta_of, conjugate, found.stats["nu"])
    contains(found.certificate, truth, 1e-10)


def test_projections_on_half_lines():
    X, _, start = data(3)
    start = np.abs(start)
    y = X @ (start * np.exp(X.T @ [0.3, -0.2, 0.1]))
    found = bf.bregman_projection(bf.potentials.Hypentropy(0.0), X, y, start)
    eta0 = [mp.log(mp.mpf(float(b))) for b in start]
    truth = divergence_at_least(
        X,
        y,
        eta0,
        lambda i, eta: (mp.exp(eta), mp.exp(eta)),
        lambda i, eta: mp.exp(eta),
        found.stats["nu"],
    )
    contains(found.certificate, truth, 1e-9)


@pytest.mark.parametrize("apart", [2.0**-30, 2.0**-46, 2.0**-52])
def test_rows_that_depend_by_rounding_only(apart):
    """β = (1, 1) is the only solution: of ℓ1 norm 2, of ℓ2 norm √2, and of kernel norm √(aᵀKa) for
    a = K⁻¹y."""
    X, y = np.array([[1.0, 0.0], [1.0, apart]]), np.array([1.0, 1.0 + apart])
    contains(bf.limits.min_l1(X, y).certificate, 2)
    contains(bf.limits.min_l2(X, y).certificate, mp.sqrt(2))
    one, alpha = mp.mpf(1), mp.mpf(0.1)
    truth = 2 * (one * mp.asinh(one / alpha) - mp.sqrt(one + alpha**2) + alpha)
    contains(bf.bregman_projection(bf.potentials.Hypentropy(0.1), X, y).certificate, truth)
    K, target = np.array([[1.0, 1.0], [1.0, 1.0 + apart]]), np.array([1.0, 1.0])
    contains(bf.limits.kernel_interpolator(K, target).certificate, 1)
    if apart < 2.0**-50:
        assert (
            bf.limits.min_l1(X, y).certificate.kind == "bound"
            and "in exact arithmetic" in bf.limits.min_l1(X, y).stats["note"]
        )
        assert bf.limits.min_l1(X, y).certificate.gap == np.inf


def test_rows_that_depend_whatever_the_precision():
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (3, 8)).astype(float)
    X = np.vstack([X, 2 * X[0] - X[2]])
    y = X @ rng.integers(-3, 4, 8)
    for found in (
        bf.limits.min_l1(X, y),
        bf.limits.min_l2(X, y),
        bf.bregman_projection(bf.potentials.Hypentropy(0.1), X, y),
    ):
        assert (
            found.certificate.kind != "bound"
            and found.certificate.gap < 1e-9
            and found.stats["rank"] == 3
        )
    y[3] = np.nextafter(y[3], np.inf)  # now no β solves it
    assert bf.limits.min_l2(X, y).certificate.primal == np.inf


@pytest.mark.parametrize("seed", range(4))
def test_l1_margins(seed):
    """The value of the game in rationals: the best of all square subgames (Shapley and Snow,
    1950)."""
    Z = np.random.default_rng(seed).standard_normal((3, 4)) * 10.0 ** (seed * np.arange(4))
    whole = [[Fraction(float(value)) for value in row] for row in Z]
    values = []
    for k in (1, 2, 3):
        for rows, columns in itertools.product(
            itertools.combinations(range(3), k), itertools.combinations(range(4), k)
        ):
            a = _equalising([[whole[i][j] for j in columns] for i in rows])
            if a is not None and min(a) >= 0:
                values.append(
                    min(
                        sum(row[j] * share for j, share in zip(columns, a, strict=True))
                        for row in whole
                    )
                )
    certificate = bf.limits.l1_max_margin(Z).certificate
    assert Fraction(certificate.primal) <= max(values) <= Fraction(certificate.dual)


def _equalising(square):
    """a with Σa = 1 and all entries of Ma equal, by Cramer's rule on (M −1; 1 0); None where there
    is none."""
    k = len(square)
    system = [[*row, Fraction(-1), Fraction(0)] for row in square] + [
        [Fraction(1)] * k + [Fraction(0), Fraction(1)]
    ]
    for i in range(k + 1):
        pivot = next((j for j in range(i, k + 1) if system[j][i]), None)
        if pivot is None:
            return None
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [value / system[i][i] for value in system[i]]
        for j in range(k + 1):
            if j != i:
                system[j] = [
                    x - system[j][i] * z for x, z in zip(system[j], system[i], strict=True)
                ]
    return [row[-1] for row in system[:k]]


def largest_gain(rows, weights):
    """max over unit u of |Σ_i w_i(⟨u, x_i⟩)₊| in R² or R³: attained where u is, within its face,
    along Σ_S w_ix_i."""
    n, dim = len(rows), len(rows[0])
    best = mp.mpf(0)
    for size in range(dim):
        for face in itertools.combinations(range(n), size):
            basis = []
            for i in face:
                v = _off(rows[i], basis)
                if mp.norm(mp.matrix(v)) > mp.mpf(10) ** -30:
                    basis.append([value / mp.norm(mp.matrix(v)) for value in v])
            for chosen in itertools.product((0, 1), repeat=n):
                g = _off(
                    [
                        mp.fsum(
                            c * w * row[k] for c, w, row in zip(chosen, weights, rows, strict=True)
                        )
                        for k in range(dim)
                    ],
                    basis,
                )
                length = mp.norm(mp.matrix(g))
                if length > 0:
                    for side in (1, -1):
                        u = [side * value / length for value in g]
                        gain = mp.fsum(
                            w * max(mp.fdot(u, row), 0)
                            for w, row in zip(weights, rows, strict=True)
                        )
                        best = max(best, abs(gain))
    return best


def _off(v, basis):
    for b in basis:
        along = mp.fdot(v, b)
        v = [value - along * other for value, other in zip(v, b, strict=True)]
    return v


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_f1_margins(offset):
    """The margin of the network found and the largest gain under the weights found, both at 60
    digits, lie within the bracket."""
    X = np.random.default_rng(2).standard_normal((5, 2)) + offset
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    found = bf.limits.f1_max_margin(X, y, time_s=5.0)
    rows = [[*row, mp.mpf(1)] for row in rows_of(X)]
    network = found.value
    masses = [mp.exp(mp.mpf(float(value))) for value in network.log_masses]
    units = [[value / mp.norm(mp.matrix(u)) for value in u] for u in rows_of(network.directions)]
    margins = [
        mp.fsum(
            m * s * max(mp.fdot(u, row), 0)
            for m, s, u in zip(masses, network.signs, units, strict=True)
        )
        * label
        / 2
        for row, label in zip(rows, y, strict=True)
    ]
    assert found.certificate.primal <= min(margins) / mp.fsum(masses)
    p = [mp.mpf(float(value)) for value in found.stats["weights"]]
    gain = largest_gain(
        rows, [value * label / mp.fsum(p) / 2 for value, label in zip(p, y, strict=True)]
    )
    assert (
        gain <= found.certificate.dual * (1 + 1e-30)
        and found.certificate.primal <= found.certificate.dual
    )


def test_tangent_margins():
    rng = np.random.default_rng(0)
    model, X, y = (
        bf.TwoLayer(12, 3),
        rng.standard_normal((5, 3)),
        np.array([1.0, -1.0, 1.0, -1.0, 1.0]),
    )
    start = model.init(0.7, key=2)
    found = bf.limits.tangent_max_margin(model, start, X, y)
    with mp.workdps(150):
        rows, W, a = rows_of(X), rows_of(start.W), [mp.mpf(float(value)) for value in start.a]
        hidden = [[mp.fdot(w, row) for w in W] for row in rows]
        K = mp.matrix(5, 5)
        for i, k in itertools.product(range(5), repeat=2):
            both = [j for j in range(12) if hidden[i][j] > 0 and hidden[k][j] > 0]
            K[i, k] = mp.fsum(
                hidden[i][j] * hidden[k][j] + a[j] ** 2 * mp.fdot(rows[i], rows[k]) for j in both
            )
        truth = digits.margin(K, y)
    assert (
        found.certificate.primal <= truth <= found.certificate.dual
        and found.certificate.kind == "exact"
    )


@pytest.mark.parametrize("seed", range(3))
def test_networks_of_vanishing_initialisation(seed):
    """Inputs along axes of any lengths, and rows of a Hadamard matrix, are orthogonal without
    rounding."""
    rng = np.random.default_rng(seed)
    hadamard = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    for X in (np.diag(rng.uniform(0.1, 3.0, 4)), hadamard * rng.uniform(0.5, 1.0)):
        y = rng.standard_normal(4)
        rows, labels = rows_of(X), [mp.mpf(float(value)) for value in y]
        squares = [label**2 / mp.fdot(row, row) for label, row in zip(labels, rows, strict=True)]
        truth = 2 * sum(
            mp.sqrt(mp.fsum(s for s, v in zip(squares, y, strict=True) if side * v > 0))
            for side in (1, -1)
        )
        contains(bf.limits.min_norm_interpolator(X, y).certificate, truth, 1e-12)
        a, W = np.repeat([0.01, -0.01], 30), rng.standard_normal((60, 4)) * 0.005
        try:
            contains(
                bf.flows.saddle_limit(bf.Dataset(X, y), bf.models.TwoLayerParams(a, W)).certificate,
                truth,
                1e-12,
            )
        except bf.errors.AssumptionError:
            continue


@pytest.mark.parametrize("seed", range(3))
def test_least_norm_networks_in_the_plane(seed):
    """From below what λ proves, from above a network that interpolates at 60 digits."""
    rng = np.random.default_rng(seed)
    X, y = np.c_[rng.standard_normal(4), np.ones(4)], rng.standard_normal(4)
    found = bf.limits.min_norm_interpolator(X, y)
    rows, labels = rows_of(X), [mp.mpf(float(value)) for value in y]
    lam = [mp.mpf(float(value)) for value in found.stats["multipliers"]]
    assert found.certificate.dual <= 2 * mp.fdot(lam, labels) / largest_gain(rows, lam)
    a, W = [mp.mpf(float(value)) for value in found.value.a], rows_of(found.value.W)
    left = mp.matrix(
        [
            label - mp.fsum(c * max(mp.fdot(w, row), 0) for c, w in zip(a, W, strict=True))
            for label, row in zip(labels, rows, strict=True)
        ]
    )
    units = [[mp.cos(t), mp.sin(t)] for t in mp.linspace(0, 2 * mp.pi, 60)]
    F = mp.matrix([[max(mp.fdot(u, row), 0) for u in units] for row in rows])
    more = F.T * mp.lu_solve(F * F.T, left)
    norm = mp.fdot(a, a) + mp.fsum(mp.fdot(w, w) for w in W) + 2 * mp.fsum(abs(c) for c in more)
    assert found.certificate.dual <= norm and found.certificate.primal >= mp.fdot(a, a) + mp.fsum(
        mp.fdot(w, w) for w in W
    )
    assert norm <= found.certificate.primal


@pytest.mark.parametrize("least", [1.0, 1e-6, 1e-11])
def test_inverse_norms(least):
    X = np.random.default_rng(4).standard_normal((2, 5))
    X[1] = X[0] + least * X[1]
    rows = rows_of(X)
    gram = [[mp.fdot(one, other) for other in rows] for one in rows]
    trace, det = gram[0][0] + gram[1][1], gram[0][0] * gram[1][1] - gram[0][1] ** 2
    small = 2 * det / (trace + mp.sqrt(trace**2 - 4 * det))  # the least eigenvalue
    columns = list(zip(*rows, strict=True))
    corners = [
        _solved(columns[i], columns[j], side)
        for i, j in itertools.combinations(range(5), 2)
        for side in (1, -1)
    ]
    inside = [
        u for u in corners if max(abs(mp.fdot(u, x)) for x in columns) <= 1 + mp.mpf(10) ** -40
    ]
    across = [(-x[1], x[0]) for x in columns]
    truths = {
        "l2": 1 / mp.sqrt(small),
        "linf": max(mp.norm(mp.matrix(u)) for u in inside),
        "l1": max(
            mp.norm(mp.matrix(u)) / mp.fsum(abs(mp.fdot(u, x)) for x in columns) for u in across
        ),
    }
    for norm, truth in truths.items():
        certificate = bf.diagnostics.inverse_norm(X, norm, time_s=3.0).certificate
        assert certificate.primal <= truth <= certificate.dual


def _solved(x, z, side):
    """u with ⟨x, u⟩ = 1 and ⟨z, u⟩ = ±1."""
    det = x[0] * z[1] - x[1] * z[0]
    return ((z[1] - side * x[1]) / det, (side * x[0] - z[0]) / det)


@pytest.mark.parametrize("off", [1e-15, 1e-12, 1e-6, 1.0])
def test_linearised_networks_whose_labels_are_nearly_fitted(off):
    """‖g‖² = rᵀK⁻¹r with r = y − Xβ₀ and K = X·diag(4(a² + b²))·Xᵀ in rationals: the rounding of r
    was left out."""
    rng = np.random.default_rng(3)
    for n, d in ((1, 3), (2, 3), (2, 10)):
        X, (a, b) = rng.standard_normal((n, d)), np.abs(rng.standard_normal((2, d)))
        y = X @ (a**2 - b**2) * (1 + off)
        found = bf.limits.tangent_interpolator(
            bf.DiagonalNetwork(2), bf.models.DiagonalParams(a, b), X, y
        )
        a, b = ([mp.mpf(float(value)) for value in part] for part in (a, b))
        rows = mp.matrix(rows_of(X))
        start = rows * mp.matrix([p**2 - m**2 for p, m in zip(a, b, strict=True)])
        left = mp.matrix([mp.mpf(float(value)) for value in y]) - start
        K = rows * mp.diag([4 * (p**2 + m**2) for p, m in zip(a, b, strict=True)]) * rows.T
        contains(found.certificate, mp.sqrt((left.T * mp.lu_solve(K, left))[0]))
        assert off < 1e-9 or found.certificate.kind == "closed-form"
