"""Potentials given by φ′ alone: as accurate as said, and used like any other."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.potentials import Entropy, Euclidean, Hypentropy, Separable

PAIRS = {
    "hypentropy": (Separable(lambda beta: np.arcsinh(beta / 0.01)), Hypentropy(0.01)),
    "small hypentropy": (Separable(lambda beta: np.arcsinh(beta / 1e-100)), Hypentropy(1e-100)),
    "euclidean": (Separable(lambda beta: beta), Euclidean()),
    "entropy": (Separable(np.log, domain="positive"), Entropy()),
}
X = np.random.default_rng(1).standard_normal((3, 6))


def points(name, key):
    rng = np.random.default_rng(key)
    beta = 10.0 ** rng.uniform(-8, 8, 200) * rng.choice([-1.0, 1.0], 200)
    return np.abs(beta) if name == "entropy" else beta


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_computed_is_what_is_known(name):
    """φ and D by quadrature to 1e-12, the inverse to rounding of η, φ″ by differences to 1e-10, and
    so D and η − η₀ of points a billionth apart, of which φ′ itself keeps seven digits."""
    own, known = PAIRS[name]
    beta, other = points(name, 0), points(name, 1)
    p, q, p0, q0 = own.at(beta), known.at(beta), own.at(other), known.at(other)
    digits = 1 + np.abs(q.eta)
    assert np.max(np.abs(own.solve(q.eta) / beta - 1) / digits) < 1e-15
    np.testing.assert_allclose(p.weight(), q.weight(), rtol=1e-10)
    np.testing.assert_allclose(p.value(), q.value(), rtol=1e-12, atol=1e-14)
    size = np.abs(q.beta * q.eta) + np.abs(q.conjugate())
    assert np.max(np.abs(p.conjugate() - q.conjugate()) / size) < 1e-12
    np.testing.assert_allclose(p.divergence(p0), q.divergence(q0), rtol=1e-11)
    near = beta * (1 + 1e-9)
    for found, expected in (
        (own.at(near).minus(p), known.at(near).minus(q)),
        (own.at(near).divergence(p), known.at(near).divergence(q)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("name", ["hypentropy", "euclidean", "entropy"])
def test_projections_and_flows(name):
    own, known = PAIRS[name]
    design, beta = (np.abs(X), np.ones(6)) if name == "entropy" else (X, np.eye(6)[0])
    y = design @ beta
    found = bf.bregman_projection(own, design, y)
    np.testing.assert_allclose(
        found.value, bf.bregman_projection(known, design, y).value, atol=1e-12
    )
    flows = [bf.mirror_flow(phi, design, y, times=[0.1, 0.3]) for phi in (own, known)]
    assert flows[0].stats["method"] == "dual"
    apart = np.max(np.abs(flows[0].states - flows[1].states), axis=1)
    assert np.all(apart <= flows[0].error + flows[1].error)


def test_claims_judge_it():
    """Without a witness: nothing but its own code says what it is."""
    own, _ = PAIRS["euclidean"]
    verdict = bf.verify("R/thm2.2", bf.MirrorProblem(own, X[:2, :3], np.array([1.0, -0.5])))
    assert verdict.status == "consistent", verdict
    own, _ = PAIRS["hypentropy"]  # was violated: differences counted as exact
    verdict = bf.verify("R/thm2.2", bf.MirrorProblem(own, X, X[:, 0]))
    assert verdict.status == "consistent", verdict


def test_what_is_given_is_used():
    own = Separable(
        np.arcsinh,
        second=lambda beta: 1 / np.hypot(beta, 1),
        value=lambda beta: beta * np.arcsinh(beta) - np.hypot(beta, 1) + 1,
        inverse=np.sinh,
    )
    beta = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(own.grad_conjugate(own.grad(beta)), np.sinh(np.arcsinh(beta)))
    np.testing.assert_allclose(own.value(beta), Hypentropy(1.0).value(beta), rtol=1e-14)
    assert "arcsinh" in repr(own)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Separable(3.0), "derivative: expected a function, found float"),
        (lambda: Separable(lambda beta: -beta), "derivative: expected an increasing function"),
        (lambda: Separable(np.log), "derivative: expected 42 finite numbers"),
        (lambda: Separable(lambda beta: 1.0), "derivative: expected 42 finite numbers"),
        (lambda: Separable(lambda beta: beta, domain="half"), "domain: expected one of"),
        (lambda: Separable(lambda beta: beta, inverse=lambda eta: 2 * eta), "inverse: does not"),
        (lambda: Separable(lambda beta: beta, second=lambda beta: beta), "second: expected pos"),
        (lambda: Separable(np.cbrt), "infinitely steep at its zero"),
        (lambda: Separable(np.tanh), "derivative: expected an increasing function"),
        (lambda: PAIRS["entropy"][0].grad([-1.0]), "beta: coordinate 0 is -1"),
        (lambda: Separable(lambda b: b / np.hypot(b, 1)).grad_conjugate([2.0]), "eta: 2 is beyond"),
    ],
)
def test_what_is_not_a_derivative_is_refused(make, words):
    with pytest.raises(bf.errors.InputError, match=words):
        make()
