"""find_potential against closed forms, and against what it must refuse."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg as sl

import biasflow as bf
from biasflow.errors import ConvergenceError, DomainError, InputError, RefusedError

find = bf.diagnostics.find_potential


def powers(depth):
    return lambda w: w[0] ** depth - w[1] ** depth


@pytest.mark.parametrize(("depth", "alpha"), [(2, 0.3), (2, 1e-2), (3, 0.3), (3, 1e-2)])
def test_closed_forms_are_recovered(depth, alpha):
    found = find(powers(depth), np.full((2, 3), alpha), loops=1)
    rng = np.random.default_rng(depth)
    known = bf.potentials.Hypentropy(2 * alpha**2)
    factor = 1 / 4
    if depth > 2:
        known = bf.potentials.DepthPotential(depth, alpha)
        factor = alpha ** (2 - depth) / (depth * (depth - 2))
    beta = rng.standard_normal(3) * np.array([0.01, 1.0, 30.0])
    expected = factor * known.grad(beta)
    eta = found.potential.grad(beta)
    assert eta == pytest.approx(expected, rel=1e-11)
    # at poles η resolves β no better than this
    assert found.potential.grad_conjugate(eta) == pytest.approx(beta, rel=1e-9)
    X, y = rng.standard_normal((2, 3)), rng.standard_normal(2)
    exact = bf.bregman_projection(known, X, y)
    limit = found.limit(X, y)
    assert np.all(np.abs(limit.value - exact.value) <= limit.stats["error"] + 1e-13)
    proof = limit.certificate
    assert proof.kind == "heuristic"
    assert proof.lower <= factor * exact.objective * (1 + 1e-12)
    assert proof.upper >= factor * exact.objective * (1 - 1e-12)
    assert proof.gap < 1e-9
    through = bf.bregman_projection(found.potential, X, y)
    assert through.certificate.kind == "heuristic"
    assert through.value == pytest.approx(exact.value, abs=1e-10)


def test_entropy_of_squares_and_its_half_line():
    found = find(lambda w: w**2, np.array([1.0, 0.5]), loops=1)
    mu = np.array([0.3, -0.4])
    point = found.at(mu)
    expected = np.array([1.0, 0.25]) * np.exp(4 * mu)
    assert np.all(np.abs(point.beta - expected) <= point.error)
    assert abs(point.conjugate - np.sum((expected - [1.0, 0.25]) / 4)) <= point.conjugate_error
    assert np.diag(point.hessian) == pytest.approx(4 * expected, rel=1e-12)
    with pytest.raises(ConvergenceError, match="out of reach"):
        found.limit([[1.0, 1.0]], [-1.0])
    with pytest.raises(DomainError, match="does not reach"):
        found.potential.grad([-1.0, 1.0])


def test_commuting_measurements_of_a_symmetric_product():
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    forms = np.array([Q @ np.diag(rng.standard_normal(3)) @ Q.T for _ in range(2)])
    found = find(lambda U: jnp.einsum("kij,il,jl->k", forms, U, U), 0.5 * np.eye(3), loops=2)
    assert found and found.commuting and not found.separable
    mu = np.array([0.2, -0.3])
    matrix = 0.25 * sl.expm(4 * np.tensordot(mu, forms, 1))
    expected = np.array([np.trace(form @ matrix) for form in forms])
    point = found.at(mu)
    assert np.all(np.abs(point.beta - expected) <= point.error)
    with pytest.raises(RefusedError, match="no sum over coordinates"):
        _ = found.potential


def test_weights_shared_by_coordinates_that_do_not_interfere():
    found = find(lambda w: jnp.array([(w[0] + w[1]) ** 2, (w[0] - w[1]) ** 2]), [1.0, 0.3])
    assert found and found.separable
    beta = np.array([3.0, 0.1])
    assert found.potential.grad(beta) == pytest.approx(np.log(beta / [1.69, 0.49]) / 8, rel=1e-11)


def test_brackets_that_vanish_on_the_orbit_alone():
    G = lambda w: jnp.array([w[0] ** 2, w[1] ** 2 + w[0] * w[2] ** 2])  # noqa: E731
    assert find(G, [1.0, 2.0, 0.0]).status == "mirror"
    assert find(G, [1.0, 2.0, 0.5]).status == "refuted"


def screw(w):
    r, psi = jnp.hypot(w[0], w[1]), jnp.arctan2(w[1], w[0]) - w[2]
    return jnp.array([psi**2 / 2 - (jnp.log(r) + r**2 + r**4 / 4) / 2, psi])


def test_a_mirror_flow_without_commuting_gradients():
    found = find(screw, [0.8, 0.3, 0.2])
    assert found.status == "mirror" and not found.commuting and found.bracket > 0.1
    mu = np.array([0.05, 0.1])
    point = found.at(mu)
    r = [np.hypot(*w[:2]) for w in (point.w, found.start)]
    F = [-(x**2) / (1 + x**2) for x in r]
    psi = [found.beta0[1], point.beta[1]]
    # ∇φ = (F′, −β₂F′)
    assert F[0] - F[1] == pytest.approx(mu[0], abs=1e-12)
    assert -psi[1] * F[0] + psi[0] * F[1] == pytest.approx(mu[1], abs=1e-12)


@pytest.mark.parametrize(
    ("G", "start"),
    [
        (lambda w: w[0] @ w[1].T, np.random.default_rng(0).standard_normal((2, 3, 2))),
        (lambda w: w @ w.T, np.random.default_rng(1).standard_normal((3, 3))),
        (lambda w: jnp.array([w[0] ** 2 - w[1] ** 2, 2 * w[0] * w[1]]), np.array([1.0, 2.0])),
        (lambda w: jnp.array([w[0] * w[1], w[1] * w[2]]), np.array([1.0, 2.0, 3.0])),
    ],
    ids=["UVᵀ", "UUᵀ", "complex squares", "a chain"],
)
def test_refuted_by_two_ways(G, start):
    found = find(G, start)
    assert found.status == "refuted" and found.loop.errors > 1e6
    with pytest.raises(RefusedError, match="refuted"):
        found.limit(np.ones((1, found.beta0.size)), [1.0])
    # the witness is one to others, too: LSODA ends at the same two places
    from biasflow.theory.since.commuting_gradients import other_way

    ends = [other_way(found, legs) for legs in (found.loop.legs, found.loop.legs[::-1])]
    assert np.array(ends) == pytest.approx(found.loop.ends, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("mixing", [1e-9, 1e-6, 1e-3])
def test_small_couplings_are_seen(mixing):
    found = find(lambda w: w**2 + mixing * jnp.roll(w, 1) * w, np.array([0.7, 1.0, 1.3]))
    assert found.status == "refuted"


@pytest.mark.parametrize("key", range(2))
def test_no_false_alarm(key):
    rng = np.random.default_rng((11, key))
    A, B = rng.standard_normal((2, 3, 3))
    scales = 10.0 ** rng.uniform(-1, 1, 3)
    assert find(lambda w: A @ jnp.sinh(w * scales), rng.uniform(0.5, 1, 3) / scales, key=key)
    assert find(lambda w: A @ (w[0] * w[1] + 1e6), rng.uniform(0.5, 1, (2, 3)), key=key)
    assert find(lambda w: B @ jnp.exp(w), rng.standard_normal(3), key=key)


@pytest.mark.parametrize(
    ("G", "start", "error", "words"),
    [
        (lambda w: w**2, np.zeros(3), RefusedError, "can never move"),
        (lambda w: w**2, np.array([1.0, 0.0]), RefusedError, "∇G_1 = 0"),
        (lambda w: np.array(w) ** 2, np.ones(2), InputError, "JAX"),
        (lambda w: jnp.log(w), -np.ones(2), InputError, "finite"),
        (3, np.ones(2), InputError, "a function"),
        (lambda w: w**2, np.zeros(0), InputError, "none"),
    ],
)
def test_refusals(G, start, error, words):
    with pytest.raises(error, match=words):
        find(G, start)


def test_dependent_coordinates_are_undecided():
    found = find(lambda w: jnp.array([w[0] ** 2, 2 * w[0] ** 2]), [1.0])
    assert found.status == "undecided" and "move together" in found.why
    with pytest.raises(RefusedError, match="undecided"):
        found.at([0.1, 0.1])


def test_poles_and_shapes_are_said():
    found = find(powers(3), np.full((2, 2), 0.3), loops=1)
    with pytest.raises(DomainError, match="pole"):
        found.at([2.0, 0.0])
    with pytest.raises(DomainError, match="pole"):
        found.potential.grad_conjugate([2.0, 0.0])
    with pytest.raises(InputError, match="finite numbers"):
        found.at([1.0])
    with pytest.raises(InputError, match="expected shape"):
        found.potential.grad(1.0)


def test_raw_gradients_end_at_the_limit_of_a_model_never_seen():
    d = 4
    rng = np.random.default_rng(2024)
    G = lambda w: jnp.sinh(w[0]) * w[1] + w[0] ** 3  # noqa: E731
    start = rng.uniform(0.4, 0.9, (2, d))
    found = find(G, start)
    X = rng.standard_normal((2, d))
    y = X @ np.asarray(G(start * rng.uniform(0.8, 1.2, (2, d))))
    limit = found.limit(X, y)
    from scipy.integrate import solve_ivp

    fields = found.fields
    run = solve_ivp(
        lambda _, w: fields.pull(w, X.T @ (y - X @ fields.value(w))),
        (0, 200.0),
        start.ravel(),
        method="LSODA",
        rtol=1e-11,
        atol=1e-12,
    )
    assert np.abs(fields.value(run.y[:, -1]) - limit.value).max() < 1e-8


def test_flow_of_a_found_potential_is_that_of_the_closed_form():
    found = find(powers(2), np.full((2, 3), 0.2), loops=1)
    X, y = np.array([[1.0, 0.5, 0.2], [0.3, -1.0, 0.4]]), np.array([1.0, 0.5])
    times = np.array([0.5, 1.0, 5.0])
    known = bf.potentials.ScaledPotential(1 / 4, bf.potentials.Hypentropy(2 * 0.2**2))
    flows = [bf.mirror_flow(one, X, y, times=times) for one in (found.potential, known)]
    assert flows[0].states == pytest.approx(flows[1].states, abs=1e-6)


def test_hundreds_of_separable_coordinates():
    d = 300
    rng = np.random.default_rng(8)
    found = find(powers(2), np.full((2, d), 0.1), loops=1)
    X, y = rng.standard_normal((5, d)), rng.standard_normal(5)
    exact = bf.bregman_projection(bf.potentials.Hypentropy(0.02), X, y)
    limit = found.limit(X, y)
    assert np.all(np.abs(limit.value - exact.value) <= limit.stats["error"] + 1e-14)


def uneven(shape, key):
    """Entries of sizes from 1e-4 to 1e4."""
    rng = np.random.default_rng((19, key))
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-4, 4, shape)


def test_weights_of_unlike_sizes_are_followed():
    # was refused: the pulls were as long as the largest weight allows, the poles 1e8 times nearer
    rows = np.array([[1e4], [1e-4], [1e4], [1e-4]])
    found = find(lambda w: jnp.prod(w, axis=0), np.tile(rows, 3), loops=1)
    assert found and found.separable


@pytest.mark.parametrize("key", range(4))
def test_unlike_sizes_do_not_refute(key):
    # some were refuted: errors that both tolerances share, from one floor for all weights
    for G, factors in ((lambda w: jnp.prod(w, axis=0), 6), (lambda w: (w[0] * w[1]) ** 2, 2)):
        found = find(G, uneven((factors, 3), key), loops=1)
        assert found.status == "mirror" and found.separable, found.why


@pytest.mark.parametrize("key", range(2))
def test_unlike_sizes_are_still_refuted(key):
    found = find(lambda w: w[0] @ w[1].T, uneven((2, 3, 2), key), loops=2)
    assert found.status == "refuted" and found.loop.gap > 30 * found.loop.gap_error

    def blocks(w):
        product = w[2:6].reshape(2, 2) @ w[6:].reshape(2, 2)
        return jnp.concatenate([w[:2] ** 2, product.ravel()])

    sizes = np.repeat([1e4, 1e-4], [2, 8])
    small = find(blocks, sizes * np.random.default_rng(key).uniform(0.5, 1.5, 10))
    # gap and error are of one coordinate: the large ones have errors above the gap
    assert small.status == "refuted" and small.loop.gap > 30 * small.loop.gap_error
    assert small.loop.error.max() > small.loop.gap


@pytest.mark.parametrize("depth", [2, 3])
def test_limits_on_data_as_it_comes(depth):
    rng = np.random.default_rng(21)
    found = find(powers(depth), np.full((2, 4), 0.3), loops=1)
    known = bf.potentials.Hypentropy(0.18) if depth == 2 else bf.potentials.DepthPotential(3, 0.3)
    X, beta = rng.standard_normal((2, 4)), rng.standard_normal(4)
    systems = [
        X * np.array([1e-6, 1.0, 1e6, 1.0]),
        X + 1e6,
        X * np.array([[1e8], [1e-8]]),
        np.vstack([X, X[0], 2 * X[1]]),
        rng.standard_normal((50, 2)) @ X,
    ]
    for rows, target in [*((one, one @ beta) for one in systems), (X, np.zeros(2))]:
        exact, limit = bf.bregman_projection(known, rows, target), found.limit(rows, target)
        assert np.all(np.abs(limit.value - exact.value) <= limit.stats["error"])
        assert np.max(limit.stats["error"]) < 1e-9 and limit.certificate.kind == "heuristic"


def test_pieces_beyond_those_that_were_seen_are_refused():
    G = lambda w: w**2 + 0.3 * jnp.maximum(w - 3, 0) ** 2 * jnp.roll(w, 1)  # noqa: E731
    found = find(G, np.array([1.0, 1.2, 0.7]))
    assert found and "random points" in found.why and "no proof" in repr(found)
    assert "no proof" in found._repr_html_()
    near = found.limit([[1.0, 0.0, 0.0]], [4.0]).value
    assert near == pytest.approx([4.0, 1.44, 0.49], abs=1e-10)
    with pytest.raises(RefusedError, match="no longer a mirror flow"):
        found.limit([[1.0, 1.0, 1.0]], [40.0])
    with pytest.raises(RefusedError, match="no longer a mirror flow"):
        found.at([0.6, 0.1, 0.1])
