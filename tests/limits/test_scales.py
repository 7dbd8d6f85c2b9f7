"""Limits and measures over the range of floats: labels and inputs in any unit, each by its scaling
law."""

import mpmath as mp
import numpy as np
import pytest

import biasflow as bf

RNG = np.random.default_rng(7)
X, Y = RNG.standard_normal((4, 7)), RNG.standard_normal(4)
K = X @ X.T
CLASSES = np.array([1, 1, -1, -1])
FAR = [-990, -530, -40, 0, 40, 530, 990]
"""Powers of two: scaling by them is exact."""


@pytest.mark.parametrize("power", FAR)
def test_kernel_interpolators_scale_with_their_labels(power):
    base, limit = (
        bf.limits.kernel_interpolator(K, Y),
        bf.limits.kernel_interpolator(K, np.ldexp(Y, power)),
    )
    assert np.array_equal(limit.value, np.ldexp(base.value, power))
    assert limit.objective == np.ldexp(base.objective, power)
    assert limit.certificate.primal == np.ldexp(base.certificate.primal, power)
    assert limit.certificate.dual == np.ldexp(base.certificate.dual, power)
    assert limit.certificate.residual == base.certificate.residual


@pytest.mark.parametrize("power", [-900, -600, -41, 41, 600, 900])
def test_kernel_interpolators_scale_with_their_kernel(power):
    base, limit = (
        bf.limits.kernel_interpolator(K, Y),
        bf.limits.kernel_interpolator(np.ldexp(K, power), Y),
    )
    assert np.array_equal(limit.value, np.ldexp(base.value, -power))
    root = np.ldexp(1 if power % 2 == 0 else 2**-0.5, -(power // 2))
    assert limit.objective == pytest.approx(base.objective * root, rel=1e-15)


@pytest.mark.parametrize("condition", [1e1, 1e4, 1e8])
def test_the_bracket_of_a_kernel_interpolator_against_50_digits(condition):
    q = np.linalg.qr(RNG.standard_normal((5, 5)))[0]
    M = q @ np.diag(np.geomspace(1, condition, 5)) @ q.T
    M, y = (M + M.T) / 2, RNG.standard_normal(5)
    with mp.workdps(50):
        v = mp.lu_solve(mp.matrix(M.tolist()), mp.matrix(y.tolist()))
        truth = mp.sqrt(mp.fdot(v, map(mp.mpf, y.tolist())))
        found = bf.limits.kernel_interpolator(M, y).certificate
        assert found.dual <= truth <= found.primal
        assert found.primal - found.dual <= 1e-14 * condition * truth + 1e-13 * truth


@pytest.mark.parametrize("scale", [1e-300, 1e160])
def test_tangent_limits_at_the_ends_of_floats(scale):
    model, data = bf.DiagonalNetwork(2), bf.Dataset(X, scale * Y)
    params = model.init(1.0, dim=7)
    for limit in (
        bf.limits.tangent_interpolator(model, params, X, scale * Y),
        bf.limits.tangent_kernel_limit(model, data, params),
    ):
        c = limit.certificate
        assert 0 < c.dual <= limit.objective <= c.primal < np.inf
        assert c.primal - c.dual <= 1e-11 * c.primal and c.residual < 1e-12


@pytest.mark.parametrize("power", [-990, -530, 530, 990])
@pytest.mark.parametrize("rank", [1, 7])
def test_distances_of_classes_scale_with_the_inputs(power, rank):
    base, far = (
        bf.diagnostics.interclass_distance(X, CLASSES, rank),
        bf.diagnostics.interclass_distance(np.ldexp(X, power), CLASSES, rank),
    )
    assert base.objective > 0 and far.objective == np.ldexp(base.objective, power)
    assert far.certificate.dual == np.ldexp(base.certificate.dual, power)
    assert np.array_equal(far.value, base.value)


def test_the_bracket_of_a_distance_holds_in_exact_arithmetic():
    for offset in (0.0, 1e3, 1e8):
        Z = X[:, :3] + offset
        c = bf.diagnostics.interclass_distance(Z, CLASSES, 3).certificate
        with mp.workdps(50):
            rows = [[mp.mpf(float(a)) for a in row] for row in Z]
            gaps = [
                [a - b for a, b in zip(rows[i], rows[j], strict=True)]
                for i in (0, 1)
                for j in (2, 3)
            ]
            truth = min(mp.sqrt(mp.fdot(g, g)) for g in gaps)
            assert c.primal <= truth <= c.dual <= c.primal * (1 + 1e-13)


@pytest.mark.parametrize("scale", [1e-170, 1e-100, 1.0, 1e100])
def test_movement_of_kernels_at_any_scale(scale):
    model = bf.DiagonalNetwork(2)
    start, end = model.init(1.0, dim=7), model.init(1.5, dim=7)
    assert bf.regime.kernel_distance(model, start, end, X * 1e-60) == pytest.approx(
        bf.regime.kernel_distance(model, start, end, X), rel=1e-12
    )
    if scale > 1e-160:
        assert bf.regime.kernel_distance(model, start, end, X * scale) == pytest.approx(
            1.25, rel=1e-12
        )
    with pytest.raises(bf.errors.InputError, match="float range"):
        bf.regime.kernel_distance(model, start, end, X * 1e160)
    with pytest.raises(bf.errors.InputError, match="float range"):
        bf.regime.gradient_distance(model, start, end, X * 1e160)


def test_kkt_residuals_of_large_networks_are_numbers():
    params = bf.models.TwoLayerParams(1e160 * np.ones(2), np.eye(2, 7))
    assert np.isfinite(bf.limits.kkt_residual(params, bf.Dataset(X, Y)))


def exact(values):
    return mp.matrix([[mp.mpf(float(v)) for v in row] for row in np.atleast_2d(values)])


@pytest.mark.parametrize("scale", [1e-280, 1e-12, 1.0, 1e12, 1e280])
@pytest.mark.parametrize("near", [1.0, 1e-3, 1e-5])
def test_least_norms_lie_in_their_brackets_at_50_digits(scale, near):
    """ℓ2 by the normal equations, ℓ1 over all bases; the two rows are `near` to one another."""
    A = RNG.standard_normal((2, 5))
    A[1] = A[0] + near * A[1]
    y = scale * RNG.standard_normal(2)
    with mp.workdps(50):
        M, b = exact(A), exact(y).T
        v = mp.lu_solve(M * M.T, b)
        two = mp.sqrt(mp.fdot(v, b))
        pairs = [(i, j) for i in range(5) for j in range(i)]
        bases = [mp.lu_solve(mp.matrix([[M[k, i], M[k, j]] for k in (0, 1)]), b) for i, j in pairs]
        one = min(abs(z[0]) + abs(z[1]) for z in bases)
        for found, truth in ((bf.limits.min_l2(A, y), two), (bf.limits.min_l1(A, y), one)):
            c = found.certificate
            assert c.dual <= truth <= c.primal, (found.certificate, mp.nstr(truth, 17))
            assert c.primal - c.dual <= 1e-12 / near * truth


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_norms_of_matrices_lie_in_their_brackets_at_50_digits(scale):
    M = scale * RNG.standard_normal((4, 3))
    i, j = np.indices(M.shape)
    with mp.workdps(50):
        unit = mp.mpf(float(np.max(np.abs(M))))
        values = mp.svd_r(exact(M) / unit, compute_uv=False)
        nuclear, frobenius = unit * mp.fsum(values), unit * mp.sqrt(mp.fdot(values, values))
        for function, truth in (
            (bf.limits.min_nuclear_norm, nuclear),
            (bf.limits.min_frobenius_norm, frobenius),
        ):
            c = function(M.shape, i.ravel(), j.ravel(), M.ravel()).certificate
            assert c.dual <= truth <= c.primal and c.primal - c.dual <= 1e-9 * truth, function


@pytest.mark.parametrize("size", [1e-200, 1e-12, 1.0, 1e12])
def test_residuals_do_not_depend_on_the_units_of_the_labels(size):
    """β = 0 violates Xβ = y by all of y; of labels below one it used to be judged by a share of
    their size."""
    assert bf.limits.min_l1(X, size * Y).certificate.residual < 1e-13
    assert bf.limits.min_l2(X, size * Y).certificate.residual < 1e-13
    assert (
        bf.bregman_projection(bf.potentials.Hypentropy(size), X, size * Y).certificate.residual
        < 1e-12
    )
    nothing = bf.models.TwoLayerParams(np.zeros(1), np.zeros((1, 7)))
    assert bf.limits.kkt_point(nothing, bf.Dataset(X, size * Y)).feasibility == 1.0
